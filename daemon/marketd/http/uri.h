/* SPDX-License-Identifier: Apache-2.0 */
/* Splits and decodes a request's target, or refuses it. There are never two ways to read one. */
#ifndef MARKETD_HTTP_URI_H
#define MARKETD_HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "marketd/api/api.h"

enum { URI_MAX = 8192, URI_PATH_MAX = 4096 };

struct uri {
	char *room;            /* memory that the rest points into */
	const char *path;
	struct { const char *name, *value; } query[QUERY_MAX];
	size_t query_count;
};

/* 0; -EINVAL: malformed; -E2BIG; -ENOMEM. */
int uri_parse(const char *raw, struct uri *out);
void uri_release(struct uri *u);

#endif
