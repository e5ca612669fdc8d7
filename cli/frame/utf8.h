/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes are characters, and how wide they are on a terminal, without asking the locale. */
#ifndef CLI_FRAME_UTF8_H
#define CLI_FRAME_UTF8_H

#include <stddef.h>

/* Length of the character at s, 0 where the bytes there are none (RFC 3629). left > 0. */
size_t utf8_len(const char *s, size_t left);

/* The same, and 0 too for what must not reach a terminal: C0 and C1 controls, DEL. */
size_t utf8_printable(const char *s, size_t left);

/* Cells that the text takes; a byte that is no character takes one. */
size_t utf8_width(const char *s, size_t len);

#endif
