/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen as lines of coloured pieces, no wider and no longer than the terminal. It neither asks the terminal nor
 * prints: screen.h does.
 */
#ifndef CLI_FRAME_PAGE_H
#define CLI_FRAME_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/frame/print.h"

/* A piece of a line. */
struct page_piece {
	enum color color;
	char *text;
	bool ends; /* the line */
};

struct page {
	struct page_piece *pieces;
	size_t count, capacity;
	size_t columns, room, all; /* lines that there is room for, and that there are */
	size_t cut;                /* the first piece of the last line that there is room for */
};

/* room: lines that the screen has; the others are counted only. SIZE_MAX: any. */
void page_begin(struct page *l, size_t columns, size_t room);
void page_release(struct page *l);

/* One line or a piece of it, cut to so many cells; filled: up to them. Returns how many it took. */
size_t page_piece(struct page *l, enum color color, size_t cells, bool filled, const char *text);
void page_end(struct page *l); /* of the line */

/* A whole line. */
void page_put(struct page *l, enum color color, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Where there are more lines than room: removes what stands in the last one, for a line that says so. */
void page_drop_last(struct page *l);

/*
 * The last line: keys and what they do, all of them in their short form where there is no room for the long one. The
 * one of `chosen` stands out (-1: none).
 */
struct page_key {
	int view;
	const char *wide, *narrow;
};
void page_keys(struct page *l, const struct page_key *keys, size_t count, int chosen);

#endif
