/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648) back to bytes: padded, on one line, and nothing else in it. buf_add_base64() writes it. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* How many bytes the text stands for; -1 where it is not base64. */
int64_t base64_size(const char *text);

/* Decodes into room of `size` bytes. 0, or -1 where the text is not base64 or stands for more bytes. */
int base64_read(const char *text, void *room, size_t size);

/*
 * Appends the bytes of the first len characters. 0; -EINVAL where they are not base64, and what buf_reserve() fails
 * with.
 */
int base64_take(const char *text, size_t len, struct buf *out);

#endif
