/* SPDX-License-Identifier: Apache-2.0 */
#include "base/keccak.h"

#include <string.h>

enum { KECCAK_LANES = 25, KECCAK_RATE = 136, KECCAK_ROUNDS = 24 };

static uint64_t keccak_turn(uint64_t x, unsigned by)
{
	return by ? x << by | x >> (64 - by) : x;
}

/* Bit 2^j - 1 of each round's constant comes of a shift register of 8 bits. */
static uint64_t keccak_constant(uint8_t *state)
{
	uint64_t made = 0;

	for (unsigned j = 0; j < 7; j++) {
		if (*state & 1)
			made |= UINT64_C(1) << ((1u << j) - 1);
		*state = (uint8_t)(*state << 1 ^ (*state & 0x80 ? 0x71 : 0));
	}
	return made;
}

static void keccak_columns(uint64_t a[KECCAK_LANES])
{
	uint64_t sums[5], d;

	for (unsigned x = 0; x < 5; x++)
		sums[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
	for (unsigned x = 0; x < 5; x++) {
		d = sums[(x + 4) % 5] ^ keccak_turn(sums[(x + 1) % 5], 1);
		for (unsigned y = 0; y < 25; y += 5)
			a[x + y] ^= d;
	}
}

/* Each lane is turned by the next triangular number and goes where the next one comes from. */
static void keccak_lanes(uint64_t a[KECCAK_LANES])
{
	uint64_t moved = a[1], next;
	unsigned x = 1, y = 0, by = 0, was;

	for (unsigned t = 1; t <= KECCAK_ROUNDS; t++) {
		by = (by + t) % 64;
		was = x;
		x = y;
		y = (2 * was + 3 * y) % 5;
		next = a[x + 5 * y];
		a[x + 5 * y] = keccak_turn(moved, by);
		moved = next;
	}
}

static void keccak_rows(uint64_t a[KECCAK_LANES])
{
	for (unsigned y = 0; y < 25; y += 5) {
		uint64_t row[5];

		memcpy(row, a + y, sizeof row);
		for (unsigned x = 0; x < 5; x++)
			a[x + y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
	}
}

static void keccak_mix(uint64_t a[KECCAK_LANES])
{
	uint8_t state = 1;

	for (int round = 0; round < KECCAK_ROUNDS; round++) {
		keccak_columns(a);
		keccak_lanes(a);
		keccak_rows(a);
		a[0] ^= keccak_constant(&state);
	}
}

static void keccak_put(uint64_t a[KECCAK_LANES], size_t at, uint8_t byte)
{
	a[at / 8] ^= (uint64_t)byte << at % 8 * 8;
}

void keccak_256(const void *data, size_t len, uint8_t out[KECCAK_BYTES])
{
	uint64_t a[KECCAK_LANES] = { 0 };
	const uint8_t *p = data;
	size_t at = 0;

	for (; len--; p++) {
		keccak_put(a, at, *p);
		if (++at == KECCAK_RATE) {
			keccak_mix(a);
			at = 0;
		}
	}
	keccak_put(a, at, 0x01);
	keccak_put(a, KECCAK_RATE - 1, 0x80);
	keccak_mix(a);
	for (size_t i = 0; i < KECCAK_BYTES; i++)
		out[i] = (uint8_t)(a[i / 8] >> i % 8 * 8);
}
