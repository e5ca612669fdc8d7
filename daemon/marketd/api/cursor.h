/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a page began and ended, as text for lists of one kind: SF Compute's prefix, then each word in the
 * letters of ident.h, so that it reveals no more than ids do. It names rows, not their numbers, so rows
 * that come or go between two pages move nothing.
 */
#ifndef MARKETD_API_CURSOR_H
#define MARKETD_API_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, prefix, words) */
#define CURSORS(X) \
	X(ORDERS, "ordrc", 2)        /* first and last id of the page, in all of these with two */ \
	X(POOLS, "poolc", 2) \
	X(INSTANCES, "nodec", 2) \
	X(SKUS, "iskuc", 2) \
	X(PROCUREMENTS, "procc", 2) \
	X(IMAGES, "imagec", 2) \
	X(USERS, "usrc", 2) \
	X(PROPERTIES, "ispcc", 2)    /* their positions in the catalog */ \
	X(WINDOWS, "mwin", 3)        /* start, end, SKU of the last row */ \
	X(FILLS, "mfilc", 1)         /* id of the last fill looked at */

enum cursor_kind {
#define CURSOR_X(name, prefix, words) CURSOR_##name,
	CURSORS(CURSOR_X)
#undef CURSOR_X
	CURSOR_KINDS
};

enum { CURSOR_WORDS = 3, CURSOR_TEXT = 8 + CURSOR_WORDS * 13 + 1 };

const char *cursor_text(enum cursor_kind kind, const uint64_t *words, char room[CURSOR_TEXT]);
/* 0, or -EINVAL; then words are untouched. */
int cursor_parse(enum cursor_kind kind, const char *text, uint64_t words[CURSOR_WORDS]);
const char *cursor_prefix(enum cursor_kind kind);

#endif
