/* SPDX-License-Identifier: Apache-2.0 */
/* Only OpenSSL's deprecated SHA-1 functions can store an unfinished hash in 20 bytes. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "pssh/known/hosthash.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/pssh_types.h"
#include "pssh/keys/sshwire.h"

enum { BLOCK = SHA_CBLOCK, SIZE = SHA_DIGEST_LENGTH, WORDS = SIZE / 4 };

static void hosthash_sha1(const uint32_t *from, const uint8_t *block, uint32_t *to)
{
	SHA_CTX c = { .h0 = from[0], .h1 = from[1], .h2 = from[2], .h3 = from[3], .h4 = from[4] };

	SHA1_Transform(&c, block);
	to[0] = c.h0;
	to[1] = c.h1;
	to[2] = c.h2;
	to[3] = c.h3;
	to[4] = c.h4;
}

static void put_word(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t get_word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void set_salt(struct hosthash *h, const uint8_t *salt)
{
	static const uint32_t start[WORDS] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	uint8_t block[BLOCK];

	for (int i = 0; i < BLOCK; i++)
		block[i] = (uint8_t)((i < SIZE ? salt[i] : 0) ^ 0x36);
	hosthash_sha1(start, block, h->inner);
	for (int i = 0; i < BLOCK; i++)
		block[i] ^= 0x36 ^ 0x5c;
	hosthash_sha1(start, block, h->outer);
}

bool hosthash_name(const char *name, struct hosthash_name *out)
{
	size_t len = strlen(name), count = (len + 9 + BLOCK - 1) / BLOCK;
	uint8_t *p = out->blocks[0];

	if (count > HOSTHASH_BLOCKS)
		return false;
	memset(p, 0, count * BLOCK);
	memcpy(p, name, len);
	p[len] = 0x80;
	put_word(p + count * BLOCK - 4, (uint32_t)(BLOCK + len) * 8);
	out->count = count;
	return true;
}

static void hosthash_digest(const struct hosthash *h, const struct hosthash_name *name, uint32_t *out)
{
	uint8_t last[BLOCK] = { 0 };

	memcpy(out, h->inner, sizeof h->inner);
	for (size_t i = 0; i < name->count; i++)
		hosthash_sha1(out, name->blocks[i], out);
	for (int i = 0; i < WORDS; i++)
		put_word(last + 4 * i, out[i]);
	last[SIZE] = 0x80;
	put_word(last + BLOCK - 4, (BLOCK + SIZE) * 8);
	hosthash_sha1(h->outer, last, out);
}

bool hosthash_is(const struct hosthash *h, const struct hosthash_name *name)
{
	uint32_t got[WORDS];

	hosthash_digest(h, name, got);
	return memcmp(got, h->want, sizeof got) == 0;
}

bool hosthash_parse(const char *text, size_t len, struct hosthash *out)
{
	const char *bar = len > 3 ? memchr(text + 3, '|', len - 3) : NULL;
	uint8_t *salt = NULL, *hash = NULL;
	size_t salt_len = 0, hash_len = 0;
	bool good;

	if (!bar || memcmp(text, "|1|", 3) != 0)
		return false;
	good = sshwire_base64(text + 3, (size_t)(bar - text) - 3, &salt, &salt_len) == 0 &&
		sshwire_base64(bar + 1, len - (size_t)(bar + 1 - text), &hash, &hash_len) == 0 &&
		salt_len == SIZE && hash_len == SIZE;
	if (good) {
		set_salt(out, salt);
		for (int i = 0; i < WORDS; i++)
			out->want[i] = get_word(hash + 4 * i);
	}
	free(salt);
	free(hash);
	return good;
}

int hosthash_add(struct buf *b, const char *name)
{
	uint8_t salt[SIZE], hash[SIZE];
	uint32_t words[WORDS];
	struct hosthash_name padded;
	struct hosthash h;

	if (!hosthash_name(name, &padded))
		return PSSH_EINVAL;
	if (RAND_bytes(salt, sizeof salt) != 1)
		return PSSH_ELOCAL;
	set_salt(&h, salt);
	hosthash_digest(&h, &padded, words);
	for (int i = 0; i < WORDS; i++)
		put_word(hash + 4 * i, words[i]);
	return buf_adds(b, "|1|") || buf_add_base64(b, salt, SIZE) || buf_addc(b, '|') ||
		buf_add_base64(b, hash, SIZE) ? PSSH_ENOMEM : 0;
}
