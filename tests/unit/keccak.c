/* SPDX-License-Identifier: Apache-2.0 */
/* Keccak-256 by published vectors: the empty text and "abc" of the Keccak team, and lengths around a block. */
#include <stdio.h>
#include <string.h>

#include "../lib/tap.h"
#include "base/keccak.h"

static const char *keccak_hex(const void *data, size_t len)
{
	static char text[2 * KECCAK_BYTES + 1];
	uint8_t sum[KECCAK_BYTES];

	keccak_256(data, len, sum);
	for (size_t i = 0; i < sizeof sum; i++)
		snprintf(text + 2 * i, 3, "%02x", sum[i]);
	return text;
}

int main(void)
{
	static const struct {
		size_t len;
		const char *sum;
	} rows[] = { { 135, "16570bdb055e663ea1cb57ac6f09194f4bc7b7070847971fc0b86710366dc34f" },
		{ 136, "50da8ef3747b7a7f01d08563aa11c72a2a668563fb928adc6e8d2a1ab4e36096" },
		{ 137, "01e0852c139fa337a5d3f746ab3b2d3400442195225e2f10c34702f8f37ae8d3" },
		{ 272, "96bc2208643ac0c338f0aee0c5fce6b05e3deab879d939a413e8094ab5895377" } };
	char text[272];

	memset(text, 'x', sizeof text);
	is_str(keccak_hex("", 0), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470", "no bytes");
	is_str(keccak_hex("abc", 3), "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45", "abc");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		is_str(keccak_hex(text, rows[i].len), rows[i].sum, "%zu bytes", rows[i].len);
	return done();
}
