/* SPDX-License-Identifier: Apache-2.0 */
/* lib/base/base64.c: what is base64 and what is not, and the bytes. */
#include "base/base64.h"

#include <errno.h>
#include <stdlib.h>

#include "../lib/tap.h"

int main(void)
{
	static const char *const bad[] = { "A", "AA", "AAA", "AA=", "A===", "====", "AA=A", "=AAA", "AAA=AAAA", "AA A",
		"AA\nA", "AAA-", "AAA_", " AAAA", "AAAA\n" };
	static const struct {
		const char *text;
		int64_t size;
	} good[] = { { "", 0 }, { "AA==", 1 }, { "AAA=", 2 }, { "+/+/", 3 } };
	unsigned char room[256], back[256];
	struct buf b;

	plan_none;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		buf_init(&b, 100);
		is_int(base64_size(bad[i]), -1, "'%s' is not base64", bad[i]);
		is_int(base64_read(bad[i], room, sizeof room), -1, "and is not read");
		is_int(base64_take(bad[i], strlen(bad[i]), &b), -EINVAL, "nor taken");
		is_int(b.len, 0, "and nothing was added");
		buf_release(&b);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		is_int(base64_size(good[i].text), good[i].size, "'%s' stands for %d bytes", good[i].text,
			(int)good[i].size);
	for (size_t i = 0; i < sizeof room; i++)
		room[i] = (unsigned char)(i * 7);
	for (size_t len = 0; len < sizeof room; len++) {
		struct buf text;

		buf_init(&text, 1000);
		buf_init(&b, len);
		buf_add_base64(&text, room, len);
		if (base64_read(buf_text(&text), back, len) || memcmp(back, room, len) ||
			base64_take(buf_text(&text), text.len, &b) || b.len != len ||
			(len && memcmp(b.data, room, len)) || (len && !base64_read(buf_text(&text), back, len - 1)))
			ok(false, "%zu bytes come back", len);
		buf_release(&text);
		buf_release(&b);
	}
	ok(true, "0 to 255 bytes come back, and fit exactly");
	buf_init(&b, 2);
	is_int(base64_take("AAAA", 4, &b), -EFBIG, "a ceiling is kept");
	buf_release(&b);
	buf_init(&b, 100);
	is_int(base64_take("AAAA!", 4, &b), 0, "len ends the text");
	is_int(base64_take("AA\0A", 4, &b), -EINVAL, "a NUL is no letter");
	buf_release(&b);
	return done();
}
