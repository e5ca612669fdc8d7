/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes are characters, and how wide they are on a terminal. Does not ask the locale. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the character at s; 0 where the bytes there are none (RFC 3629). left > 0. */
size_t utf8_len(const char *s, size_t left);

/* Are all of the bytes characters? */
bool utf8_valid(const char *text, size_t len);

/*
 * utf8_len(), but 0 for what must not reach a terminal: C0 and C1 controls, DEL, and what turns the direction of text
 * around, so that a name could show another one.
 */
size_t utf8_printable(const char *s, size_t left);

/* Puts '?' in the place of each byte that must not reach a terminal. */
void utf8_clean(char *text);

/* Cells of a terminal that the text takes; a byte that is no character takes one. */
size_t utf8_width(const char *s, size_t len);

#endif
