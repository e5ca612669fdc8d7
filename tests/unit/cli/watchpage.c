/* SPDX-License-Identifier: Apache-2.0 */
/* The views of `nanopod run --watch`, at several sizes. */
#include "cli/remote/watchpage.h"

#include <string.h>

#include "../../lib/tap.h"
#include "base/buf.h"

#define TEXT(literal) ((char[]){ literal })

static char *names[] = { TEXT("n1"), TEXT("n2"), TEXT("n3"), TEXT("n4"), TEXT("n5") };

/* The first round: all answer. Then two hosts say more, one fails, and one is not reached. */
static struct watch_block blocks_before[] = {
	{ .names = TEXT("n[1-5]"), .text = TEXT("load 1\n"), .state = OUTCOME_EXIT, .first = 0, .count = 5 },
};
static struct watch_block blocks[] = {
	{ .names = TEXT("n[1-2]"), .text = TEXT("load 1\n"), .state = OUTCOME_EXIT, .first = 0, .count = 2 },
	{ .names = TEXT("n3"), .text = TEXT("load 2\nmore\n"), .state = OUTCOME_EXIT, .first = 2, .count = 1 },
	{ .names = TEXT("n4"),
		.text = TEXT("load 1\n"),
		.end = TEXT("exit status 1"),
		.state = OUTCOME_EXIT,
		.first = 3,
		.count = 1 },
	{ .names = TEXT("n5"),
		.text = TEXT(""),
		.end = TEXT("no connection"),
		.state = OUTCOME_ERROR,
		.first = 4,
		.count = 1 },
};
static size_t of_before[] = { 0, 0, 0, 0, 0 }, of[] = { 0, 0, 1, 2, 3 };
static const struct watch_round none,
	round_before = {
		.blocks = blocks_before,
		.count = 1,
		.ok = 5,
		.hosts = names,
		.host_count = 5,
		.of = of_before,
		.time = "12:00:00",
	},
	round_last = {
		.blocks = blocks,
		.count = 4,
		.ok = 3,
		.failed = 2,
		.hosts = names,
		.host_count = 5,
		.of = of,
		.time = "12:00:02",
	};
static struct watch_page page = {
	.command = "uptime",
	.every = "2 s",
	.last = &round_last,
	.before = &round_before,
};

/* The lines without colours; blanks at the end of a line are cut off. */
static const char *text_of(struct buf *b, size_t columns, size_t height)
{
	struct page l;
	size_t lines = 0, line = 0;

	buf_clear(b);
	watchpage_make(&page, columns, height, &l);
	for (size_t i = 0; i < l.count; i++) {
		buf_adds(b, l.pieces[i].text);
		if (!l.pieces[i].ends)
			continue;
		ok(print_width(b->data + line) <= columns, "line %zu fits %zu columns", lines, columns);
		while (b->len > line && b->data[b->len - 1] == ' ')
			buf_cut(b, b->len - 1);
		buf_addc(b, '\n');
		line = b->len;
		lines++;
	}
	if (height)
		ok(lines == height, "it has %zu lines", height);
	page_release(&l);
	return buf_text(b);
}

static void test_groups(struct buf *b)
{
	page.view = WATCH_GROUPS;
	is_str(text_of(b, 39, 12),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\n\n"
		"  n[1-2]: load 1\n  n3:\n*   load 2\n*   more\n* n4: exit status 1: load 1\n* n5: no connection\n\n\n"
		"s sum g groups 1 host | split d diff q\n",
		"groups");
	has_str(text_of(b, 79, 7), "  n3:\n", "too few lines");
	has_str(text_of(b, 79, 7), " and 4 more lines\ns summary  g groups  1 one host  | split  d diff  q quit\n",
		"the last one says so");
	is_str(text_of(b, SIZE_MAX, 0),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\n\n"
		"  n[1-2]: load 1\n  n3:\n*   load 2\n*   more\n* n4: exit status 1: load 1\n* n5: no connection\n",
		"all of it, without keys");
}

static void test_summary(struct buf *b)
{
	page.view = WATCH_SUMMARY;
	is_str(text_of(b, 39, 13),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\n\n"
		"  ok               3  n[1-3]\n  failed           1  n4\n  no answer        1  n5\n"
		"  answers          4\n* changed          3\n\n  exit status 1 (1): n4\n  no connection (1): n5\n\n"
		"s sum g groups 1 host | split d diff q\n",
		"summary");
	page.before = &none;
	lacks_str(text_of(b, 39, 13), "changed", "in the first round nothing has changed");
	page.before = &round_before;
}

static void test_host(struct buf *b)
{
	page.view = WATCH_HOST;
	page.at = 2;
	is_str(text_of(b, 39, 8),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\nhost 3 of 5  n next  p previous\n"
		"  n3:\n*   load 2\n*   more\n\ns sum g groups 1 host | split d diff q\n",
		"one host");
	page.at = 3;
	is_str(text_of(b, 39, 7),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\nhost 4 of 5  n next  p previous\n"
		"* n4: exit status 1\n    load 1\n\ns sum g groups 1 host | split d diff q\n",
		"that fails now and says the same");
	page.at = 9;
	text_of(b, 39, 7);
	page.at = 0;
}

static void test_split(struct buf *b)
{
	page.view = WATCH_SPLIT;
	page.at = 0;
	is_str(text_of(b, 39, 16),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\nhosts 1-2 of 5  n next  p previous\n"
		"n1                 | n2\n  load 1           |   load 1\n\n"
		"n3                 | * n4\n                   | * exit status 1\n"
		"* load 2           |   load 1\n* more             |\n\n"
		"* n5\n* no connection\n\n\ns sum g groups 1 host | split d diff q\n",
		"two beside each other at 40 columns");
	page.at = 2;
	is_str(text_of(b, 79, 8),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\nhosts 3-5 of 5  n next  p previous\n"
		"n3                       | * n4                     | * n5\n"
		"                         | * exit status 1          | * no connection\n"
		"* load 2                 |   load 1                 |\n* more                   |                     "
		"     |\n"
		"s summary  g groups  1 one host  | split  d diff  q quit\n",
		"three at 80, the last ones");
	ok(watchpage_panes(119, 64) == 4 && watchpage_panes(119, 3) == 3 && watchpage_panes(10, 3) == 1, "panes");
	page.at = 0;
}

static void test_diff(struct buf *b)
{
	page.view = WATCH_DIFF;
	is_str(text_of(b, 39, 12),
		"uptime\n12:00:02  3 ok, 2 failed, every 2 s\n\n  n[1-2]: the largest group\n"
		"  n3:\n  - load 1\n  + load 2\n  + more\n  n4: exit status 1, the same output\n  n5: no connection\n"
		"  - load 1\ns sum g groups 1 host | split d diff q\n",
		"differences");
	has_str(text_of(b, 39, 7), " and 2 more groups\ns sum", "groups without room");
	page.last = &round_before;
	has_str(text_of(b, 39, 7), "\n  n[1-5]: all answer the same\n", "one group");
	page.last = &round_last;
}

int main(void)
{
	struct buf b;

	plan_none;
	buf_init(&b, 1 << 20);
	test_groups(&b);
	test_summary(&b);
	test_host(&b);
	test_split(&b);
	test_diff(&b);
	page.command = "for i in 1 2\ndo true; done";
	page.view = WATCH_GROUPS;
	ok(strncmp(text_of(&b, 39, 7), "for i in 1 2\n12:00:02", 21) == 0, "a command of several lines takes one");
	buf_release(&b);
	return done();
}
