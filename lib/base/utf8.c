/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_len(const char *text, size_t left)
{
	static const struct {
		unsigned char lead, low, high;
	} narrower[] = {
		{ 0xe0, 0xa0, 0xbf },
		{ 0xed, 0x80, 0x9f },
		{ 0xf0, 0x90, 0xbf },
		{ 0xf4, 0x80, 0x8f },
	};
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	if (len < 2)
		return len;
	for (size_t i = 0; i < sizeof narrower / sizeof *narrower; i++) {
		if (s[0] == narrower[i].lead) {
			low = narrower[i].low;
			high = narrower[i].high;
		}
	}
	if (len > left || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

bool utf8_valid(const char *text, size_t len)
{
	size_t n = 1;

	for (size_t i = 0; i < len && n; i += n)
		n = (unsigned char)text[i] < 0x80 ? 1 : utf8_len(text + i, len - i);
	return n != 0;
}

static uint32_t utf8_decode(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = len == 1 ? s[0] : s[0] & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

size_t utf8_printable(const char *s, size_t left)
{
	size_t len = utf8_len(s, left);
	uint32_t c = len ? utf8_decode(s, len) : 0;

	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)
		? 0
		: len;
}

void utf8_clean(char *text)
{
	size_t n, left = strlen(text);

	for (; left; text += n, left -= n) {
		n = utf8_printable(text, left);
		if (n)
			continue;
		*text = '?';
		n = 1;
	}
}

/* Only the blocks that terminals agree on. */
static size_t utf8_cells(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} none[] = {
		{ 0x300, 0x36f },
		{ 0x483, 0x489 },
		{ 0x591, 0x5bd },
		{ 0x610, 0x61a },
		{ 0x64b, 0x65f },
		{ 0xe31, 0xe31 },
		{ 0xe34, 0xe3a },
		{ 0xe47, 0xe4e },
		{ 0x1ab0, 0x1aff },
		{ 0x1dc0, 0x1dff },
		{ 0x200b, 0x200f },
		{ 0x2060, 0x2064 },
		{ 0x20d0, 0x20ff },
		{ 0xfe00, 0xfe0f },
		{ 0xfe20, 0xfe2f },
		{ 0xfeff, 0xfeff },
		{ 0xe0100, 0xe01ef },
	}, wide[] = {
		{ 0x1100, 0x115f },
		{ 0x231a, 0x231b },
		{ 0x23e9, 0x23ec },
		{ 0x2614, 0x2615 },
		{ 0x2648, 0x2653 },
		{ 0x26aa, 0x26ab },
		{ 0x2705, 0x2705 },
		{ 0x2728, 0x2728 },
		{ 0x274c, 0x274c },
		{ 0x2753, 0x2755 },
		{ 0x2795, 0x2797 },
		{ 0x2b1b, 0x2b1c },
		{ 0x2b50, 0x2b50 },
		{ 0x2b55, 0x2b55 },
		{ 0x2e80, 0xa4cf },
		{ 0xa960, 0xa97c },
		{ 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f },
		{ 0xff00, 0xff60 },
		{ 0xffe0, 0xffe6 },
		{ 0x1f300, 0x1faff },
		{ 0x20000, 0x3fffd },
	};

	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		if (c >= none[i].first && c <= none[i].last)
			return 0;
	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
		if (c >= wide[i].first && c <= wide[i].last)
			return 2;
	return 1;
}

size_t utf8_width(const char *s, size_t len)
{
	size_t sum = 0;

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = utf8_len(s + i, len - i);
		sum += n ? utf8_cells(utf8_decode(s + i, n)) : 1;
	}
	return sum;
}
