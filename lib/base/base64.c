/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <errno.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int64_t base64_measure(const char *text, size_t len)
{
	size_t pad = 0;

	if (len % 4)
		return -1;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < len - pad; i++)
		if (!text[i] || !strchr(letters, text[i]))
			return -1;
	return (int64_t)(len / 4 * 3 - pad);
}

/* text was measured: it stands for len bytes. */
static void base64_decode(const char *text, uint8_t *out, int64_t len)
{
	for (int64_t at = 0; at < len; text += 4) {
		uint32_t bits = 0;

		for (int i = 0; i < 4; i++)
			bits = bits << 6 | (text[i] == '=' ? 0 : (uint32_t)(strchr(letters, text[i]) - letters));
		for (int i = 2; i >= 0 && at < len; i--)
			out[at++] = (uint8_t)(bits >> 8 * i);
	}
}

int64_t base64_size(const char *text)
{
	return base64_measure(text, strlen(text));
}

int base64_read(const char *text, void *room, size_t size)
{
	int64_t len = base64_size(text);

	if (len < 0 || (uint64_t)len > size)
		return -1;
	base64_decode(text, room, len);
	return 0;
}

int base64_take(const char *text, size_t len, struct buf *out)
{
	int64_t size = base64_measure(text, len);
	int rc;

	if (size < 0)
		return -EINVAL;
	rc = buf_reserve(out, (size_t)size);
	if (rc || !size)
		return rc;
	base64_decode(text, (uint8_t *)out->data + out->len, size);
	out->len += (size_t)size;
	out->data[out->len] = '\0';
	return 0;
}
