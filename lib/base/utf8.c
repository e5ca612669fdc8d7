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

	return c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : len;
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
	} wide[] = {
		{ 0x1100, 0x115f },
		{ 0x2e80, 0xa4cf },
		{ 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f },
		{ 0xff00, 0xff60 },
		{ 0xffe0, 0xffe6 },
		{ 0x1f300, 0x1faff },
		{ 0x20000, 0x3fffd },
	};

	if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f))
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
