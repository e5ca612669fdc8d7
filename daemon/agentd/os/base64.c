/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/base64.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

static bool base64_looks(const char *text, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t body = len;

	while (body > 0 && len - body < 2 && text[body - 1] == '=')
		body--;
	for (size_t i = 0; i < body; i++)
		if (!text[i] || !strchr(letters, text[i]))
			return false;
	return len % 4 == 0;
}

int base64_take(const char *text, size_t len, struct buf *out)
{
	size_t pad = 0;
	int rc, n;

	if (len > INT_MAX / 2 || !base64_looks(text, len))
		return -EINVAL;
	rc = buf_reserve(out, len / 4 * 3 + 4);
	if (rc || !len)
		return rc;
	while (pad < 2 && text[len - 1 - pad] == '=')
		pad++;
	n = EVP_DecodeBlock((unsigned char *)out->data + out->len, (const unsigned char *)text, (int)len);
	if (n < 0)
		return -EINVAL;
	out->len += (size_t)n - pad;
	out->data[out->len] = '\0';
	return 0;
}
