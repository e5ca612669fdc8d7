/* SPDX-License-Identifier: Apache-2.0 */
/* Steps through JSON text that this program or the market wrote, without building a tree. */
#ifndef CLI_FRAME_JSONWALK_H
#define CLI_FRAME_JSONWALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct jsonwalk {
	const char *key; /* of a member of an object: its text without the quotes, escapes as they are; else NULL */
	size_t key_len;
	const char *value;
	size_t len;
	const char *next; /* what follows */
};

const char *jsonwalk_blank(const char *p); /* the first byte that is no blank */
const char *jsonwalk_end(const char *p);   /* behind the value at p; NULL where the text ends within it */

/* The first member of the object or array at p, then the next ones. False: no more. */
bool jsonwalk_first(const char *p, struct jsonwalk *w);
bool jsonwalk_next(struct jsonwalk *w);

/*
 * Finds what a path names: "state", "ssh.port", "gpus.0.model". NULL: nothing. A path through null ends there.
 * *len is the length of the value.
 */
const char *jsonwalk_find(const char *value, const char *path, size_t path_len, size_t *len);

/* A value as text: a string without quotes and escapes, null as nothing, all else as it is. 0 or -ENOMEM. */
int jsonwalk_text(const char *value, size_t len, struct buf *out);

#endif
