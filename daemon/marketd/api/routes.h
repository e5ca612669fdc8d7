/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of all routes of all tables, and what api_answer remembers between two commits: the answers
 * under keys that are not on disk yet.
 */
#ifndef MARKETD_API_ROUTES_H
#define MARKETD_API_ROUTES_H

#include "base/table.h"
#include "marketd/api/api.h"
#include "marketd/api/schema.h"

enum { SEGMENTS_MAX = 12 };

struct path_shape {
	struct { const char *text; size_t len; bool part; } segments[SEGMENTS_MAX];
	int count, parts;
};

struct route_row {
	const struct route *route;
	struct path_shape shape;
};

struct routes {
	struct route_row *rows;
	size_t count;
	struct schemas *schemas;
	struct table pending;      /* struct kept_answer by account and key (idempotency.c) */
	json_t *empty;             /* stands in for an absent body */
	char *openapi;             /* made when it is first asked for */
	size_t openapi_len;
};

/* 0; -ENOMEM; -EINVAL: the tables contradict themselves. */
int routes_new(struct routes **out, struct fail *f);
void routes_free(struct routes *rs);

/* Splits "/v2/orders/{id}", or a requested path (without marked parts). 0 or -E2BIG. */
int path_split(const char *path, struct path_shape *out);

/* The route for a path, with parts filled in; NULL: *allow has the methods of the path (0: no such path). */
const struct route *routes_find(const struct routes *rs, const struct path_shape *asked, enum method method, int *allow,
	const struct path_shape **shape);

/* The document of GET /openapi.json; malloc'd, NULL when out of memory. */
char *openapi_text(const struct routes *rs, const char *name);

#endif
