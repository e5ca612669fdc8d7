/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing buffer with a ceiling from the start. A NUL that is not counted always follows the
 * contents, so C functions can read them as text. Binary-safe.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data; /* NULL until something was added */
	size_t len, cap, max;
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);              /* frees; the buffer may be used again */
void buf_clear(struct buf *b);                /* empties, keeps the memory */
void buf_drop(struct buf *b, size_t n);       /* removes the first n bytes */
void buf_cut(struct buf *b, size_t len);      /* keeps the first len bytes only */
const char *buf_text(const struct buf *b);    /* never NULL */
char *buf_steal(struct buf *b);               /* the caller owns it; NULL when out of memory */

/* 0, -ENOMEM, or -EFBIG above the ceiling; on failure the contents stay as they were. */
int buf_reserve(struct buf *b, size_t n);
int buf_add(struct buf *b, const void *data, size_t n);
int buf_adds(struct buf *b, const char *s);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vaddf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Appends data in base64: padded, on one line. */
int buf_add_base64(struct buf *b, const void *data, size_t len);

/* Reads a whole file; -errno, or -EFBIG above the buffer's ceiling. */
int buf_read_file(struct buf *b, const char *path);
int buf_read_fd(struct buf *b, int fd);

#endif
