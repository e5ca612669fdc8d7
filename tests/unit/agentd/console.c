/* SPDX-License-Identifier: Apache-2.0 */
/* A console's lines: in order, none twice, none lost, wherever the agent stops; and a flood that fills no disk. */
#include "../../lib/tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "agentd/console.h"

static char path[128];

static void put(const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) != 0)
		exit(99);
}

static void puts_to(const char *text)
{
	put(text, strlen(text));
}

/* All lines as "NUMBER:TEXT|", as a market that checks numbers would keep them. */
static void ship(struct console_at *at, bool ended, bool forgets, struct buf *out, int64_t *known)
{
	struct console_at after;
	bool moved;

	while (console_look(path, at, &moved)) {
		json_t *body = NULL, *line;
		int64_t first;
		size_t n;

		if (console_lines(path, at, ended, 1, &body, &after) != 0 || !body)
			return;
		first = json_integer_value(json_object_get(body, "first"));
		json_array_foreach(json_object_get(body, "lines"), n, line) {
			const char *data = json_string_value(json_object_get(line, "data"));

			if (first + (int64_t)n <= *known)
				continue;
			*known = first + (int64_t)n;
			buf_addf(out, "%lld:", (long long)*known);
			base64_take(data, strlen(data), out);
			buf_addc(out, '|');
		}
		json_decref(body);
		if (forgets)
			return; /* the answer was lost */
		*at = after;
	}
}

static void plain(void)
{
	struct console_at at = { .next = 1 };
	int64_t known = 0, freed = 0;
	struct buf out;

	buf_init(&out, 1 << 20);
	puts_to("one\r\ntwo\nthr");
	ship(&at, false, false, &out, &known);
	is_str(buf_text(&out), "1:one|2:two|", "whole lines, without their ends");
	puts_to("ee\n\nfour\nlast");
	ship(&at, false, true, &out, &known);
	ship(&at, false, false, &out, &known);
	is_str(buf_text(&out), "1:one|2:two|3:three|4:|5:four|",
		"sent again after a lost answer: the same lines, none twice");
	console_note(path, "its lease is over\nsoon");
	ship(&at, false, false, &out, &known);
	is_str(buf_text(&out), "1:one|2:two|3:three|4:|5:four|6:last|7:[nanopod] its lease is over|8:[nanopod] soon|",
		"the agent's own lines begin new ones");
	puts_to("no end");
	ship(&at, false, false, &out, &known);
	is_int(known, 8, "half a line waits");
	ship(&at, true, false, &out, &known);
	is_int(known, 9, "until there will be no more");
	unlink(path);
	puts_to("anew\n");
	ship(&at, false, false, &out, &known);
	has_str(buf_text(&out), "10:anew|", "a file that was made anew goes on with the next number");
	ok(!console_free(path, &at, &freed) && !freed, "little is not worth a hole");
	buf_release(&out);
	unlink(path);
}

static void long_lines(void)
{
	struct console_at at = { .next = 1 };
	static char many[10000];
	int64_t known = 0;
	struct buf out;

	buf_init(&out, 1 << 20);
	memset(many, 'x', sizeof many);
	put(many, sizeof many);
	ship(&at, false, false, &out, &known);
	is_int(known, 2, "a line without end is several");
	puts_to("\n");
	ship(&at, false, false, &out, &known);
	is_int(known, 3, "and then its rest");
	buf_release(&out);
	unlink(path);
}

static void flood(void)
{
	struct console_at at = { .next = 1 };
	int64_t known = 0, freed = 0, lines = 0;
	struct stat st;
	struct buf out, text;
	bool moved;

	buf_init(&out, 8 << 20);
	buf_init(&text, 16 << 20);
	for (lines = 0; text.len < 6 << 20; lines++)
		buf_addf(&text, "line %lld of a node that writes and writes\n", (long long)lines);
	put(text.data, text.len);
	ok(console_look(path, &at, &moved) && moved && at.left_lines > 0, "a backlog is passed over");
	ship(&at, false, false, &out, &known);
	has_str(buf_text(&out), "1:[nanopod] ", "it is said first");
	has_str(buf_text(&out), "lines (", "with how many");
	ok(known > 1000 && known < lines, "and the newest lines come (%lld)", (long long)known);
	is_int(at.left_bytes, 0, "said once");
	ok(!console_free(path, &at, &freed) || at.offset == 0, "the disk is given back");
	stat(path, &st);
	ok(st.st_blocks * 512 < 1 << 20, "%lld KiB are left of 6 MiB", (long long)st.st_blocks / 2);
	puts_to("after\n");
	buf_clear(&out);
	ship(&at, false, false, &out, &known);
	has_str(buf_text(&out), ":after|", "and it goes on");
	buf_release(&out);
	buf_release(&text);
	unlink(path);
}

/* Interrupted at any time, from any saved position: the market has the same lines in the end. */
static void restarts(void)
{
	struct console_at at = { .next = 1 }, kept = at;
	struct buf out, want;
	int64_t known = 0;
	unsigned r = 12345;

	buf_init(&out, 1 << 20);
	buf_init(&want, 1 << 20);
	for (int i = 1; i <= 400; i++) {
		char line[64];

		snprintf(line, sizeof line, "%d-%u", i, r % 1000);
		buf_addf(&want, "%d:%s|", i, line);
		puts_to(line);
		r = r * 1103515245u + 12345u;
		if (r >> 16 & 1)
			ship(&at, false, r >> 17 & 1, &out, &known);
		puts_to("\n");
		if (r >> 18 & 1)
			ship(&at, false, r >> 19 & 1, &out, &known);
		if ((r >> 20 & 3) == 0)
			kept = at;
		if ((r >> 22 & 3) == 0)
			at = kept;
	}
	ship(&at, false, false, &out, &known);
	is_str(buf_text(&out), buf_text(&want), "400 lines over a hundred restarts");
	buf_release(&out);
	buf_release(&want);
	unlink(path);
}

/* It comes from the market, and is counted on from. */
static void expected(void)
{
	struct console_at at = { .next = 7 };

	ok(console_expected(&at, 12) && at.next == 12, "the market expects another line");
	ok(!console_expected(&at, 0) && !console_expected(&at, INT64_MIN), "there is no line before the first");
	ok(!console_expected(&at, INT64_MAX), "nobody writes so many");
	is_int(at.next, 12, "it stays where it was");
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof path, "%.60s/nanopod-console.%ld", tmp ? tmp : "/tmp", (long)getpid());
	unlink(path);
	plain();
	long_lines();
	flood();
	restarts();
	expected();
	unlink(path);
	return done();
}
