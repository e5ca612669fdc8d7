/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into a buffer, with commas and escapes; each byte that is not UTF-8 becomes U+FFFD. It does not
 * parse.
 *
 *     struct json j = json_to(&buf);
 *     json_begin_object(&j, NULL);
 *     json_text(&j, "host", name);
 *     json_int(&j, "status", 0);
 *     json_end(&j);               -> {"host":"n1","status":0}
 *
 * key is NULL for members of arrays and for the outermost value. No name here clashes with libjansson,
 * which the program links too.
 */
#ifndef CLI_FRAME_JSON_H
#define CLI_FRAME_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json {
	struct buf *out;
	uint64_t arrays; /* one bit per level: is it an array? */
	uint64_t filled; /* one bit per level: does the next member need a comma? */
	unsigned depth;  /* at most 63 */
	int error;       /* the first error of the buffer; all later calls do nothing */
};

struct json json_to(struct buf *out);
void json_begin_object(struct json *j, const char *key);
void json_begin_array(struct json *j, const char *key);
void json_end(struct json *j); /* of the innermost object or array */
void json_text(struct json *j, const char *key, const char *text); /* text NULL: null */
void json_bytes(struct json *j, const char *key, const void *data, size_t len);
void json_int(struct json *j, const char *key, int64_t n);
void json_raw(struct json *j, const char *key, const char *number); /* unchanged: the caller knows that it is JSON */
void json_bool(struct json *j, const char *key, bool v);
void json_nothing(struct json *j, const char *key);

#endif
