/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keys/sshwire.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

void sshwire_init(struct sshwire *w, const void *data, size_t len)
{
	*w = (struct sshwire){ .at = data, .left = len };
}

const uint8_t *sshwire_bytes(struct sshwire *w, size_t len)
{
	const uint8_t *at = w->at;

	if (w->bad || len > w->left) {
		w->bad = true;
		w->left = 0;
		return NULL;
	}
	if (len) {
		w->at += len;
		w->left -= len;
	}
	return at;
}

uint8_t sshwire_u8(struct sshwire *w)
{
	const uint8_t *p = sshwire_bytes(w, 1);

	return p ? *p : 0;
}

uint32_t sshwire_u32(struct sshwire *w)
{
	const uint8_t *p = sshwire_bytes(w, 4);

	return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

uint64_t sshwire_u64(struct sshwire *w)
{
	uint64_t high = sshwire_u32(w);

	return high << 32 | sshwire_u32(w);
}

const uint8_t *sshwire_string(struct sshwire *w, size_t *len)
{
	size_t n = sshwire_u32(w);
	const uint8_t *p = sshwire_bytes(w, n);

	*len = p ? n : 0;
	return p ? p : (const uint8_t *)"";
}

bool sshwire_is(struct sshwire *w, const char *text)
{
	size_t len;
	const uint8_t *p = sshwire_string(w, &len);

	return !w->bad && len == strlen(text) && memcmp(p, text, len) == 0;
}

bool sshwire_text(struct sshwire *w, char *out, size_t size)
{
	size_t len;
	const uint8_t *p = sshwire_string(w, &len);

	if (w->bad || len >= size || memchr(p, 0, len))
		return false;
	memcpy(out, p, len);
	out[len] = '\0';
	return true;
}

int sshwire_add_u32(struct buf *b, uint32_t v)
{
	uint8_t p[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v };

	return buf_add(b, p, sizeof p);
}

int sshwire_add_string(struct buf *b, const void *data, size_t len)
{
	int rc;

	if (len > UINT32_MAX)
		return -EFBIG;
	rc = buf_reserve(b, len + 4);
	if (!rc)
		rc = sshwire_add_u32(b, (uint32_t)len);
	return rc ? rc : buf_add(b, data, len);
}

int sshwire_add_text(struct buf *b, const char *text)
{
	return sshwire_add_string(b, text, strlen(text));
}

int sshwire_add_mpint(struct buf *b, const uint8_t *number, size_t len)
{
	bool pad;
	int rc;

	for (; len && !*number; len--)
		number++;
	pad = len && *number & 0x80;  /* else the number would be negative */
	rc = buf_reserve(b, len + 5);
	if (!rc)
		rc = sshwire_add_u32(b, (uint32_t)(len + pad));
	if (!rc && pad)
		rc = buf_addc(b, '\0');
	return rc ? rc : buf_add(b, number, len);
}

bool sshwire_blob_type(const void *blob, size_t len, char *out, size_t size)
{
	struct sshwire w;
	char type[WIRE_TYPE_MAX];
	size_t n;

	sshwire_init(&w, blob, len);
	if (!sshwire_text(&w, type, sizeof type) || !w.left)
		return false;
	n = strlen(type);
	for (size_t i = 0; i < n; i++)
		if (type[i] <= ' ' || type[i] > '~' || type[i] == ',')
			return false;
	if (!n || n >= size)
		return false;
	memcpy(out, type, n + 1);
	return true;
}

int sshwire_add_key(struct buf *b, const void *blob, size_t len)
{
	char type[WIRE_TYPE_MAX];
	int rc = sshwire_blob_type(blob, len, type, sizeof type) ? buf_addf(b, "%s ", type) : -EINVAL;

	return rc ? rc : buf_add_base64(b, blob, len);
}

void sshwire_fingerprint(const void *blob, size_t len, char *out)
{
	unsigned char hash[32];
	unsigned char text[48];

	out[0] = '\0';
	if (EVP_Digest(blob, len, hash, NULL, EVP_sha256(), NULL) != 1)
		return;
	EVP_EncodeBlock(text, hash, sizeof hash);
	memcpy(out, "SHA256:", 7);
	memcpy(out + 7, text, 43);  /* drop the '=' of padding, as ssh-keygen does */
	out[50] = '\0';
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int sshwire_base64(const char *text, size_t len, uint8_t **out, size_t *out_len)
{
	size_t pad = len && text[len - 1] == '=' ? 1 + (len > 1 && text[len - 2] == '=') : 0;
	size_t n = 0;
	uint32_t v = 0;
	uint8_t *p;

	if (len % 4)
		return -EINVAL;
	p = malloc(len / 4 * 3 + 1);
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < len - pad; i++) {
		int d = digit_value(text[i]);

		if (d < 0) {
			free(p);
			return -EINVAL;
		}
		v = v << 6 | (uint32_t)d;
		if (i % 4 == 3) {
			p[n++] = (uint8_t)(v >> 16);
			p[n++] = (uint8_t)(v >> 8);
			p[n++] = (uint8_t)v;
		}
	}
	if (pad == 1) {
		p[n++] = (uint8_t)(v >> 10);
		p[n++] = (uint8_t)(v >> 2);
	} else if (pad == 2) {
		p[n++] = (uint8_t)(v >> 4);
	}
	*out = p;
	*out_len = n;
	return 0;
}
