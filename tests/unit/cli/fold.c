/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs folded: same bytes, same group, in order of size. */
#include "cli/remote/fold.h"

#include <errno.h>

#include "../../lib/tap.h"
#include "base/buf.h"

static struct fold_place say(struct fold *f, const char *text)
{
	struct fold_place p = { 0 };

	fold_add(f, &p, text, strlen(text));
	return p;
}

static void is_text(struct fold_place p, const char *want, const char *what)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	ok(fold_text(p, &b) == 0 && strcmp(buf_text(&b), want) == 0, "%s", what);
	is_int((long)fold_length(p), (long)strlen(want), "%s: length", what);
	buf_release(&b);
}

static void check_equal(void)
{
	struct fold_place a, b, c, d, e, none = { 0 };
	struct fold *f;

	fold_new(1 << 20, &f);
	a = say(f, "one\ntwo\nthree\n");
	b = say(f, "one\ntwo\nthree\n");
	c = say(f, "one\ntwo\nfour\n");
	d = say(f, "one\ntwo\n");
	e = say(f, "one\ntwo\nfour\n");
	ok(fold_compare(a, b) == 0, "the same text is the same place");
	ok(fold_compare(c, e) == 0, "also on a branch");
	ok(fold_compare(a, c) != 0 && fold_compare(a, d) != 0 && fold_compare(c, d) != 0, "different texts are not");
	ok(fold_compare(a, c) == -fold_compare(c, a), "and are ordered");
	ok(fold_compare(none, say(f, "")) == 0, "nothing is nothing");
	is_text(a, "one\ntwo\nthree\n", "the first text");
	is_text(c, "one\ntwo\nfour\n", "a branch's text");
	is_text(d, "one\ntwo\n", "the beginning of another");
	fold_free(f);
}

/* The one that is behind overtakes, then differs; and bytes come in odd pieces. */
static void check_pieces(void)
{
	struct fold_place a = { 0 }, b = { 0 }, c = { 0 };
	struct fold *f;

	fold_new(1 << 20, &f);
	fold_add(f, &a, "ab", 2);
	fold_add(f, &b, "abc", 3);
	fold_add(f, &c, "abx", 3);
	fold_add(f, &a, "cd", 2);
	fold_add(f, &b, "d", 1);
	fold_add(f, &c, "y\0z", 3);
	ok(fold_compare(a, b) == 0, "in whatever pieces it came");
	is_text(a, "abcd", "who was overtaken");
	is_int((long)fold_length(c), 6, "NUL is a byte like others");
	fold_add(f, &a, "e", 1);
	ok(fold_compare(a, b) != 0, "longer is different");
	fold_free(f);
}

static void check_ceiling(void)
{
	struct fold_place a = { 0 }, b = { 0 };
	struct fold *f;
	char text[1000];

	memset(text, 'x', sizeof text);
	fold_new(1000, &f);
	is_int(fold_add(f, &a, text, sizeof text), 0, "as much as the ceiling");
	is_int(fold_add(f, &b, text, sizeof text), 0, "the same again costs nothing");
	is_int(fold_add(f, &b, "y", 1), -EFBIG, "a byte more does not fit");
	ok(fold_compare(a, b) == 0, "and nothing was added");
	fold_free(f);
}

/* Every text against a plain copy, in random pieces from few letters, so that branches branch. */
static void check_many(void)
{
	enum { TEXTS = 400, MAX = 60 };
	static char plain[TEXTS][MAX + 1];
	struct fold_place place[TEXTS] = { 0 };
	size_t len[TEXTS] = { 0 }, wrong = 0;
	unsigned seed = 7;
	struct fold *f;
	struct buf b;

	fold_new(1 << 20, &f);
	for (int step = 0; step < 20000; step++) {
		char piece[4];
		size_t t, n;

		seed = seed * 1103515245 + 12345;
		t = seed / 65536 % TEXTS;
		n = 1 + seed / 262144 % 3;
		if (len[t] + n > MAX)
			continue;
		for (size_t i = 0; i < n; i++)
			piece[i] = (char)('a' + (seed >> (10 + 2 * i)) % 2);
		memcpy(plain[t] + len[t], piece, n);
		len[t] += n;
		fold_add(f, &place[t], piece, n);
	}
	buf_init(&b, 1 << 20);
	for (int i = 0; i < TEXTS; i++) {
		buf_clear(&b);
		fold_text(place[i], &b);
		wrong += strcmp(buf_text(&b), plain[i]) != 0;
		for (int k = 0; k < TEXTS; k++)
			wrong += (fold_compare(place[i], place[k]) == 0) != (strcmp(plain[i], plain[k]) == 0);
	}
	is_int((long)wrong, 0, "%d random texts read back, and compare as they should", TEXTS);
	buf_release(&b);
	fold_free(f);
}

int main(void)
{
	plan_none;
	check_equal();
	check_pieces();
	check_ceiling();
	check_many();
	return done();
}
