/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blowfish starts from the first 1042 words of the fraction of pi. This file computes them (Machin:
 * pi = 16 atan(1/5) - 4 atan(1/239), some 50 ms) instead of listing them: that is less to read,
 * cannot be mistyped, and costs little beside bcrypt itself, which is slow on purpose.
 */
#include "pssh/keys/bcrypt.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/pssh_types.h"

enum {
	P_WORDS = 18, S_WORDS = 4 * 256, WORDS = P_WORDS + S_WORDS,
	FIXED = WORDS + 3,     /* one word for the whole part, two for what rounding loses */
	SHA512_SIZE = 64, BLOCK = 32, OUT_MAX = 1024,
};

struct blowfish {
	uint32_t words[WORDS];  /* the subkeys, then the four boxes */
};

struct work {
	struct blowfish start, now;
	uint32_t sum[FIXED], power[FIXED], term[FIXED];
};

/* to = from / by; the words before *first are zero and stay so. */
static void bcrypt_divide(uint32_t *to, const uint32_t *from, uint32_t by, size_t first)
{
	uint64_t rest = 0;

	for (size_t i = first; i < FIXED; i++) {
		rest = rest << 32 | from[i];
		to[i] = (uint32_t)(rest / by);
		rest %= by;
	}
}

static void bcrypt_accumulate(uint32_t *sum, const uint32_t *term, size_t first, int minus)
{
	int64_t carry = 0;

	for (size_t i = FIXED; i-- > 0 && (i >= first || carry);) {
		int64_t v = (int64_t)sum[i] + carry;

		if (i >= first)
			v += minus ? -(int64_t)term[i] : (int64_t)term[i];
		sum[i] = (uint32_t)v;
		carry = v >> 32;
	}
}

/* sum += factor * atan(1/x), alternating from `minus` on. */
static void add_arctan(struct work *w, uint32_t factor, uint32_t x, int minus)
{
	size_t first = 0;

	memset(w->power, 0, sizeof w->power);
	w->power[0] = factor;
	bcrypt_divide(w->power, w->power, x, 0);
	for (uint32_t n = 1; first < FIXED; n += 2, minus = !minus) {
		bcrypt_divide(w->term, w->power, n, first);
		bcrypt_accumulate(w->sum, w->term, first, minus);
		bcrypt_divide(w->power, w->power, x * x, first);
		while (first < FIXED && !w->power[first])
			first++;
	}
}

static void start_state(struct work *w)
{
	memset(w->sum, 0, sizeof w->sum);
	add_arctan(w, 16, 5, 0);
	add_arctan(w, 4, 239, 1);
	memcpy(w->start.words, w->sum + 1, sizeof w->start.words);
}

static inline uint32_t bcrypt_boxes(const uint32_t *s, uint32_t v)
{
	return ((s[v >> 24] + s[256 + (v >> 16 & 255)]) ^ s[512 + (v >> 8 & 255)]) + s[768 + (v & 255)];
}

static void bcrypt_encipher(const struct blowfish *b, uint32_t *left, uint32_t *right)
{
	const uint32_t *p = b->words, *s = b->words + P_WORDS;
	uint32_t l = *left, r = *right;

	for (int i = 0; i < 16; i += 2) {
		l ^= p[i];
		r ^= bcrypt_boxes(s, l) ^ p[i + 1];
		l ^= bcrypt_boxes(s, r);
	}
	*left = r ^ p[17];
	*right = l ^ p[16];
}

/* The next word of a hash; after the last one comes the first. */
static uint32_t bcrypt_next_word(const uint32_t *words, unsigned *at)
{
	return words[(*at)++ % (SHA512_SIZE / 4)];
}

/* Mixes key, and salt unless it is NULL, into the state. */
static void bcrypt_expand(struct blowfish *b, const uint32_t *key, const uint32_t *salt)
{
	uint32_t l = 0, r = 0;
	unsigned at = 0;

	for (int i = 0; i < P_WORDS; i++)
		b->words[i] ^= bcrypt_next_word(key, &at);
	at = 0;
	for (int i = 0; i < WORDS; i += 2) {
		if (salt) {
			l ^= bcrypt_next_word(salt, &at);
			r ^= bcrypt_next_word(salt, &at);
		}
		bcrypt_encipher(b, &l, &r);
		b->words[i] = l;
		b->words[i + 1] = r;
	}
}

static void to_words(uint32_t *words, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++, bytes += 4)
		words[i] = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void hash_block(struct work *w, const uint8_t *pass_hash, const uint8_t *salt_hash, uint8_t *out)
{
	uint32_t pass[SHA512_SIZE / 4], salt[SHA512_SIZE / 4], text[BLOCK / 4];

	to_words(pass, pass_hash, SHA512_SIZE / 4);
	to_words(salt, salt_hash, SHA512_SIZE / 4);
	to_words(text, (const uint8_t *)"OxychromaticBlowfishSwatDynamite", BLOCK / 4);
	w->now = w->start;
	bcrypt_expand(&w->now, pass, salt);
	for (int i = 0; i < 64; i++) {
		bcrypt_expand(&w->now, salt, NULL);
		bcrypt_expand(&w->now, pass, NULL);
	}
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < BLOCK / 4; j += 2)
			bcrypt_encipher(&w->now, &text[j], &text[j + 1]);
	for (int i = 0; i < BLOCK; i++)
		out[i] = (uint8_t)(text[i / 4] >> 8 * (i % 4));
	OPENSSL_cleanse(pass, sizeof pass);
	OPENSSL_cleanse(text, sizeof text);
}

static int bcrypt_sha512(const void *data, size_t len, uint8_t *out)
{
	return EVP_Digest(data, len, out, NULL, EVP_sha512(), NULL) == 1 ? 0 : PSSH_ENOMEM;
}

/* The xor of all rounds of block `count`; salted is the salt with room for the count after it. */
static int one_block(struct work *w, const uint8_t *pass_hash, uint8_t *salted, size_t salt_len, uint32_t count,
	unsigned rounds, const atomic_bool *stop, uint8_t *out)
{
	uint8_t salt_hash[SHA512_SIZE], part[BLOCK];
	int rc;

	for (int i = 0; i < 4; i++)
		salted[salt_len + (size_t)i] = (uint8_t)(count >> (24 - 8 * i));
	rc = bcrypt_sha512(salted, salt_len + 4, salt_hash);
	if (!rc)
		hash_block(w, pass_hash, salt_hash, part);
	memcpy(out, part, rc ? 0 : BLOCK);
	for (unsigned r = 1; !rc && r < rounds; r++) {
		rc = stop && atomic_load(stop) ? PSSH_ECANCEL : bcrypt_sha512(part, BLOCK, salt_hash);
		if (rc)
			break;
		hash_block(w, pass_hash, salt_hash, part);
		for (int i = 0; i < BLOCK; i++)
			out[i] ^= part[i];
	}
	OPENSSL_cleanse(part, sizeof part);
	return rc;
}

int bcrypt_pbkdf(const void *pass, size_t pass_len, const uint8_t *salt, size_t salt_len, unsigned rounds,
	const atomic_bool *stop, uint8_t *out, size_t out_len)
{
	size_t stride = (out_len + BLOCK - 1) / BLOCK;
	uint8_t pass_hash[SHA512_SIZE], block[BLOCK], *salted = NULL;
	struct work *w = NULL;
	int rc = PSSH_ENOMEM;

	if (!rounds || !pass_len || !salt_len || !out_len || out_len > OUT_MAX || salt_len > 1 << 20)
		return PSSH_EINVAL;
	w = malloc(sizeof *w);
	salted = malloc(salt_len + 4);
	if (!w || !salted || bcrypt_sha512(pass, pass_len, pass_hash) != 0)
		goto out;
	memcpy(salted, salt, salt_len);
	start_state(w);
	rc = 0;
	for (size_t c = 0; !rc && c < stride; c++) {
		rc = one_block(w, pass_hash, salted, salt_len, (uint32_t)c + 1, rounds, stop, block);
		/* Blocks do not follow each other: byte i of a block goes to place c + i * stride. */
		for (size_t i = 0; !rc && c + i * stride < out_len; i++)
			out[c + i * stride] = block[i];
	}
out:
	OPENSSL_cleanse(pass_hash, sizeof pass_hash);
	OPENSSL_cleanse(block, sizeof block);
	if (w)
		OPENSSL_cleanse(w, sizeof *w);
	free(w);
	free(salted);
	return rc;
}
