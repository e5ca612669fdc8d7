/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that differ, against `diff -U0` and by hand. */
#include "cli/remote/diff.h"

#include "../../lib/tap.h"
#include "base/buf.h"

static int add(void *arg, enum diff_side side, size_t number, const char *line, size_t len)
{
	struct buf *b = arg;

	(void)number;
	buf_addc(b, (char)side);
	return buf_add(b, line, len);
}

static void is_diff(const char *a, const char *b, const char *want, const char *what)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	diff_lines(a, strlen(a), b, strlen(b), add, &out);
	is_str(buf_text(&out), want, "%s", what);
	buf_release(&out);
}

/* Applied to a, the walk gives b; and it deletes and adds no more lines than it must. */
struct replay {
	struct buf a, b;
	size_t edits;
};

static int apply(void *arg, enum diff_side side, size_t number, const char *line, size_t len)
{
	struct replay *r = arg;

	(void)number;
	r->edits += side != DIFF_SAME;
	if (side != DIFF_NEW)
		buf_add(&r->a, line, len);
	return side != DIFF_OLD ? buf_add(&r->b, line, len) : 0;
}

static size_t fewest(const char *a, size_t n, const char *b, size_t m)
{
	size_t t[41][41] = { 0 };

	for (size_t i = 1; i <= n; i++)
		for (size_t k = 1; k <= m; k++)
			t[i][k] = a[i - 1] == b[k - 1]      ? t[i - 1][k - 1] + 1
				: t[i - 1][k] > t[i][k - 1] ? t[i - 1][k]
							    : t[i][k - 1];
	return n + m - 2 * t[n][m];
}

static void check_random(void)
{
	unsigned seed = 3, wrong = 0;

	for (int round = 0; round < 500; round++) {
		char side[2][41], text[2][81];
		size_t n[2];
		struct replay r = { 0 };

		for (int s = 0; s < 2; s++) {
			seed = seed * 1103515245 + 12345;
			n[s] = seed / 65536 % 40;
			for (size_t i = 0; i < n[s]; i++) {
				seed = seed * 1103515245 + 12345;
				side[s][i] = (char)('a' + seed / 65536 % 3);
				text[s][2 * i] = side[s][i];
				text[s][2 * i + 1] = '\n';
			}
			text[s][2 * n[s]] = '\0';
		}
		buf_init(&r.a, 1 << 20);
		buf_init(&r.b, 1 << 20);
		diff_lines(text[0], 2 * n[0], text[1], 2 * n[1], apply, &r);
		wrong += strcmp(buf_text(&r.a), text[0]) != 0 || strcmp(buf_text(&r.b), text[1]) != 0 ||
			r.edits != fewest(side[0], n[0], side[1], n[1]);
		buf_release(&r.a);
		buf_release(&r.b);
	}
	is_int(wrong, 0, "500 random pairs: the walk leads from one to the other, and is the shortest");
}

/* Far apart: called different as a whole, in little time. */
static void check_large(void)
{
	struct replay r = { 0 };
	struct buf a, b;

	buf_init(&a, 1 << 22);
	buf_init(&b, 1 << 22);
	for (int i = 0; i < 20000; i++) {
		buf_addf(&a, "a%d\n", i);
		buf_addf(&b, "b%d\n", i);
	}
	buf_init(&r.a, 1 << 22);
	buf_init(&r.b, 1 << 22);
	is_int(diff_lines(a.data, a.len, b.data, b.len, apply, &r), 0, "20,000 different lines");
	ok(strcmp(buf_text(&r.b), b.data) == 0 && r.edits == 40000, "all of them");
	buf_release(&a);
	buf_release(&b);
	buf_release(&r.a);
	buf_release(&r.b);
}

int main(void)
{
	plan_none;
	is_diff("", "", "", "nothing");
	is_diff("a\nb\n", "a\nb\n", " a\n b\n", "the same");
	is_diff("a\nb\nc\n", "a\nx\nc\n", " a\n-b\n+x\n c\n", "a line in the middle");
	is_diff("", "a\n", "+a\n", "from nothing");
	is_diff("a\n", "", "-a\n", "to nothing");
	is_diff("a\nb", "a\nb\n", " a\n-b+b\n", "a newline at the end counts");
	check_random();
	check_large();
	return done();
}
