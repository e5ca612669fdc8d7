/* SPDX-License-Identifier: Apache-2.0 */
#include "market/ident.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LETTERS = 13, BITS = 5 };

/* No i, l, o, u, which are easily misread. */
static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

static const struct {
	const char *prefix, *legacy;
} kinds[] = {
#define IDENT_ROW(name, prefix, legacy) { prefix, legacy },
	IDENTS(IDENT_ROW)
#undef IDENT_ROW
};

/* Differs by kind, so that the first order and the first pool look different. From the prefix: rows may move. */
static uint64_t ident_tweak(enum ident kind)
{
	uint64_t n = 0;

	for (const char *p = kinds[kind].prefix; *p; p++)
		n = n << 8 | (unsigned char)*p;
	return n * 0x9e3779b97f4a7c15u;
}

/* Mixes reversibly: odd factors have inverses modulo 2^64, and repeating a shifted xor undoes it. */
static uint64_t ident_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t ident_unmix(uint64_t x)
{
	x ^= x >> 31 ^ x >> 62;
	x *= 0x319642b2d24d8ec3u;
	x ^= x >> 27 ^ x >> 54;
	x *= 0x96de1b173f119089u;
	return x ^ x >> 30 ^ x >> 60;
}

const char *ident_text(enum ident kind, uint64_t id, char room[IDENT_TEXT])
{
	uint64_t x = ident_mix(id ^ ident_tweak(kind));
	size_t n = (size_t)snprintf(room, IDENT_TEXT, "%s_", kinds[kind].prefix);

	for (size_t i = LETTERS; i-- > 0; x >>= BITS)
		room[n + i] = alphabet[x & 31];
	room[n + LETTERS] = '\0';
	return room;
}

/* What follows "prefix_", or NULL. */
static const char *ident_after(const char *prefix, const char *text)
{
	size_t len = prefix ? strlen(prefix) : 0;

	return len && strncmp(text, prefix, len) == 0 && text[len] == '_' ? text + len + 1 : NULL;
}

static const char *letters_of(enum ident kind, const char *text)
{
	const char *letters = ident_after(kinds[kind].prefix, text);

	return letters ? letters : ident_after(kinds[kind].legacy, text);
}

bool ident_parse(enum ident kind, const char *text, uint64_t *id)
{
	const char *letters = letters_of(kind, text);
	uint64_t x = 0;

	if (!letters || strlen(letters) != LETTERS)
		return false;
	for (size_t i = 0; i < LETTERS; i++) {
		const char *at = strchr(alphabet, letters[i]);

		if (!at || x >> (64 - BITS)) /* 65 bits in 13 letters: the first has four */
			return false;
		x = x << BITS | (uint64_t)(at - alphabet);
	}
	x = ident_unmix(x) ^ ident_tweak(kind);
	if (!x) /* 0 means "none" inside the market: nobody may name it */
		return false;
	*id = x;
	return true;
}

bool ident_looks(enum ident kind, const char *text)
{
	return letters_of(kind, text) != NULL;
}
