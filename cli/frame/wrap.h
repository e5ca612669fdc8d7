/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text in lines of a terminal: broken at blanks, with commands to type kept whole. Where the locale is not
 * UTF-8, "…" becomes "...".
 */
#ifndef CLI_FRAME_WRAP_H
#define CLI_FRAME_WRAP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How many bytes of text go on a line of so many cells; *skip: how many with the blanks after them. At least one
 * word, also where it is wider. A text in 'quotes' stays together where it fits a line of its own.
 */
size_t wrap_line(const char *text, size_t cells, size_t *skip);

/* How many bytes of text take at most so many cells; *cells: how many they take. */
size_t wrap_cut(const char *text, size_t *cells);

bool wrap_utf8(void);        /* may "…" be printed here? */
const char *wrap_dots(void); /* "…" or "..." */

/* Bytes at text that are "…" and cannot be printed here: print "..."; 0: none. */
size_t wrap_is_dots(const char *text);

#endif
