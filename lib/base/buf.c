/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max = b->max };
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_drop(struct buf *b, size_t n)
{
	if (n >= b->len) {
		buf_clear(b);
		return;
	}
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

void buf_cut(struct buf *b, size_t len)
{
	if (len < b->len) {
		b->len = len;
		b->data[len] = '\0';
	}
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_steal(struct buf *b)
{
	char *data = b->data ? b->data : calloc(1, 1);

	*b = (struct buf){ .max = b->max };
	return data;
}

int buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 64;
	char *data;

	assert(b->len <= b->max);
	assert(!b->data || b->len < b->cap);
	if (n > b->max || b->len > b->max - n)
		return -EFBIG;
	if (b->data && b->len + n < b->cap)
		return 0;
	while (cap <= b->len + n)
		cap += cap / 2 + 64;
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	b->data[b->len] = '\0';
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t n)
{
	int rc = buf_reserve(b, n);

	if (rc)
		return rc;
	if (n)
		memcpy(b->data + b->len, data, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

int buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n, rc;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return -EINVAL;
	rc = buf_reserve(b, (size_t)n + 1);
	if (rc)
		return rc;
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = buf_vaddf(b, fmt, ap);
	va_end(ap);
	return rc;
}

int buf_read_fd(struct buf *b, int fd)
{
	char chunk[16384];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		rc = buf_add(b, chunk, (size_t)n);
		if (rc)
			return rc;
	}
}

int buf_read_file(struct buf *b, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = buf_read_fd(b, fd);
	close(fd);
	return rc;
}

int buf_add_base64(struct buf *b, const void *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = data;
	int rc = buf_reserve(b, (len + 2) / 3 * 4);

	for (; !rc && len; p += 3, len = len > 3 ? len - 3 : 0) {
		uint32_t v = (uint32_t)p[0] << 16 | (len > 1 ? (uint32_t)p[1] << 8 : 0) | (len > 2 ? p[2] : 0);
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63],
			len > 1 ? digits[v >> 6 & 63] : '=', len > 2 ? digits[v & 63] : '=' };

		rc = buf_add(b, four, 4);
	}
	return rc;
}
