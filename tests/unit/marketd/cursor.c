/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors: every kind reads its own and no other, whole, and nothing else. */
#include "marketd/api/cursor.h"

#include <errno.h>

#include "../../lib/tap.h"

static void round_trips(void)
{
	static const uint64_t ids[] = { 1, 2, 31, 32, 1ull << 20, 1ull << 63, UINT64_MAX };
	size_t count = sizeof ids / sizeof *ids, wrong = 0;

	for (int kind = 0; kind < CURSOR_KINDS; kind++)
		for (size_t i = 0; i < count; i++) {
			uint64_t words[CURSOR_WORDS] = { ids[i], ids[count - 1 - i], ids[(i + 1) % count] },
				 back[CURSOR_WORDS] = { 0 };
			char room[CURSOR_TEXT];

			cursor_text((enum cursor_kind)kind, words, room);
			if (strlen(room) >= sizeof room || cursor_parse((enum cursor_kind)kind, room, back) != 0 ||
				back[0] != words[0])
				wrong++;
			if (kind == CURSOR_ORDERS && back[1] != words[1])
				wrong++;
			if (kind == CURSOR_WINDOWS && (back[1] != words[1] || back[2] != words[2]))
				wrong++;
		}
	is_int(wrong, 0, "every kind comes back as it went");
}

static void only_their_own(void)
{
	uint64_t words[CURSOR_WORDS] = { 7, 8, 9 }, back[CURSOR_WORDS] = { 1, 2, 3 };
	char room[CURSOR_TEXT];
	unsigned taken = 0;

	for (int made = 0; made < CURSOR_KINDS; made++)
		for (int read = 0; read < CURSOR_KINDS; read++) {
			cursor_text((enum cursor_kind)made, words, room);
			if (made != read && cursor_parse((enum cursor_kind)read, room, back) == 0)
				taken++;
		}
	is_int(taken, 0, "no kind takes another's cursor");
	ok(back[0] == 1 && back[1] == 2 && back[2] == 3, "and what was given to it is left");
	has_str(cursor_text(CURSOR_ORDERS, words, room), "ordrc_", "orders have SF Compute's prefix");
	is_int(strlen(room), 6 + 26, "two words of thirteen letters");
}

static void garbage(void)
{
	static const char *const texts[] = {
		"",
		"poolc",
		"poolc_",
		"poolc_x",
		"_",
		"poolc_uuuuuuuuuuuuuuuuuuuuuuuuuu",
		"poolc_zzzzzzzzzzzzzzzzzzzzzzzzzz",
		"POOLC_0000000000001000000000000A",
		"poolc_"
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		"\xff",
	};
	uint64_t words[CURSOR_WORDS] = { 5, 6, 0 }, back[CURSOR_WORDS];
	char room[CURSOR_TEXT + 1];
	unsigned taken = 0;
	size_t len;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		taken += cursor_parse(CURSOR_POOLS, texts[i], back) == 0;
	is_int(taken, 0, "what is no cursor is refused");
	cursor_text(CURSOR_POOLS, words, room);
	len = strlen(room);
	room[len] = '0';
	room[len + 1] = '\0';
	is_int(cursor_parse(CURSOR_POOLS, room, back), -EINVAL, "one letter too many");
	room[len - 1] = '\0';
	is_int(cursor_parse(CURSOR_POOLS, room, back), -EINVAL, "one too few");
}

int main(void)
{
	plan_none;
	round_trips();
	only_their_own();
	garbage();
	return done();
}
