/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of others in parts, so that one part that cannot be held spoils no other: a number beyond 64 bits or a NUL in a
 * name is well-formed, and the parser refuses all of the text that has it.
 */
#ifndef MARKETD_POLICY_JSONPARTS_H
#define MARKETD_POLICY_JSONPARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct jsonparts {
	const char *at, *end;
	bool any, closed; /* there was one; the bracket that ends them was there */
};

/* Of an array ('[') or an object ('{'). false: it begins otherwise. */
bool jsonparts_begin(struct jsonparts *p, char bracket, const char *text, size_t len);
/* What stands between two commas, whatever it is. false: no other. */
bool jsonparts_next(struct jsonparts *p, const char **part, size_t *len);
/* Whether it ended with its bracket, and nothing follows. */
bool jsonparts_ended(const struct jsonparts *p);

/* A value without what cannot be read: of objects down to this level other members stay. A new reference, or NULL. */
json_t *jsonparts_read(const char *text, size_t len, int levels);
/* An object's member, if all of that can be read; a new reference, or NULL. */
json_t *jsonparts_member(const char *text, size_t len, const char *member);

#endif
