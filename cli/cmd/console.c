/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod console: prints a node's console, from its boot on, as the market keeps it: also where SSH does not
 * work, and after the node ended. With -f it follows; no line is missing, none comes twice.
 */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/nodes/console_read.h"
#include "cli/frame/json.h"
#include "cli/trade/market_link.h"
#include "cli/nodes/node.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "market/when.h"

enum { LOOK_MS = 1000, PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 15000, PIECE_MAX = 2 << 20, MICROS = 1000000 };

struct console {
	struct nanopod *np;
	struct market_link *m;
	char id[64], name[300];
	uint64_t seq;          /* of the last piece that was printed */
	bool follow, lines, lost, broken;
	int64_t pause_ms;
};

/* ---- Which node ------------------------------------------------------------------------ */

static int console_find(struct console *c, const char *typed)
{
	struct nodes *n;
	const struct node *one;
	int rc = nodes_load(c->m, NULL, true, &n);

	if (rc)
		return market_fail(c->m, "cannot look for '%.100s'", typed);
	one = nodes_find(n, typed);
	if (one) {
		snprintf(c->id, sizeof c->id, "%s", one->id);
		snprintf(c->name, sizeof c->name, "%s", one->name);
	}
	nodes_free(n);
	return one ? 0
		   : print_fail(c->np, STATUS_NOTFOUND, "'nanopod nodes --all' lists your nodes",
			     "you have no node '%.100s'", typed);
}

/* ---- Its console ----------------------------------------------------------------------- */

static void console_put_json(struct console *c, const struct model_log *l)
{
	struct json j;
	struct buf b;

	buf_init(&b, PIECE_MAX);
	j = json_to(&b);
	json_begin_object(&j, NULL);
	json_int(&j, "seq", (int64_t)l->seq);
	json_text(&j, "type", "console");
	json_text(&j, "node", c->name);
	if (l->at > 0) {
		char whole[WHEN_TEXT], *zone, text[WHEN_TEXT + 16];

		when_iso(l->at, whole);
		zone = strchr(whole, 'Z');
		snprintf(text, sizeof text, "%.*s.%06dZ", zone ? (int)(zone - whole) : 0, whole,
			(int)(l->micros > 0 ? l->micros % MICROS : 0));
		json_text(&j, "time", text);
	}
	json_bytes(&j, "data", l->data, l->len);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(c->np->out, "%s\n", buf_text(&b));
	buf_release(&b);
}

/* 1 ends it: nobody reads standard output any more. */
static int console_take(void *arg, const struct model_log *l)
{
	struct console *c = arg;
	struct model_log line = *l;

	c->seq = l->seq;
	if (c->lines && line.len && line.data[line.len - 1] == '\n')
		line.len--;
	if (c->np->format == FORMAT_JSONL) {
		console_put_json(c, &line);
	} else {
		while (c->np->tty_out && c->lines && line.len && line.data[line.len - 1] == '\r')
			line.len--;
		if (c->np->tty_out) /* a node's output must not control the terminal */
			print_safe(c->np->out, line.data, line.len);
		else
			fwrite(line.data, 1, line.len, c->np->out);
		if (c->lines)
			putc('\n', c->np->out);
	}
	c->broken = ferror(c->np->out) != 0;
	return c->broken;
}

static bool console_may_pass(const struct console *c, int rc)
{
	return rc == CLIENT_LOST || rc == CLIENT_UNREACHABLE || rc == REASON_UNAVAILABLE || rc == REASON_RATE ||
		(rc == REASON_INTERNAL && c->m->answer.status >= 500);
}

/* Waits. True where a signal asks to stop. */
static bool console_rest(int64_t ms)
{
	struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };
	int64_t until = clock_ms() + ms, left;

	while ((left = until - clock_ms()) > 0)
		if (poll(&fd, fd.fd >= 0, (int)left) > 0 && !market_only_resized(CLIENT_STOPPED))
			return true;
	return false;
}

/* 0: look again; 1: the end; or a negative code. */
static int cmd_console_look(struct console *c, long last)
{
	int rc = console_read(c->m, c->id, c->seq, last, console_take, c);

	fflush(c->np->out);
	if (c->broken)
		return 1;
	if (!rc && c->lost) {
		print_note(c->np, "reconnected; nothing was missed");
		c->lost = false;
		c->pause_ms = 0;
	}
	if (!rc)
		return c->follow ? 0 : 1;
	if (!c->follow || !console_may_pass(c, rc))
		return rc;
	if (!c->lost)
		print_note(c->np, "%s; trying again", c->m->fail.text);
	c->lost = true;
	c->pause_ms = !c->pause_ms ? PAUSE_FIRST_MS : c->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : c->pause_ms * 2;
	return 0;
}

static int read_console(struct console *c, long last)
{
	int rc, number;

	c->lines = market_ours(c->m) == 1;
	while ((rc = cmd_console_look(c, last)) == 0) {
		last = -1;
		if (!console_rest(c->lost ? c->pause_ms : LOOK_MS))
			continue;
		number = signals_next();
		return number == SIGTERM ? STATUS_TERM : STATUS_INT;
	}
	return rc < 0 ? market_fail(c->m, "cannot read the console of '%s'", c->name) : STATUS_OK;
}

static int console_command(struct nanopod *np, const struct options *o)
{
	struct console c = { .np = np, .follow = option_given(o, "follow") };
	const char *since = option_text(o, "since-seq");
	long last = option_given(o, "lines") ? option_int(o, "lines") : -1, seq = 0;
	int rc;

	if (since && str_to_long(since, 0, LONG_MAX, &seq))
		return print_fail_field(np, STATUS_USAGE, "--since-seq", NULL, "'%.60s' is not a number", since);
	if (since && option_given(o, "lines"))
		return print_fail_field(np, STATUS_USAGE, "--lines", NULL,
			"cannot use '--lines' and '--since-seq' together");
	c.seq = (uint64_t)seq;
	if (signals_begin())
		command_nomem();
	rc = market_sign_in(np, o, 0, &c.m);
	if (!rc && c.m->explain)
		snprintf(c.id, sizeof c.id, "INSTANCE");
	else
		rc = rc ? rc : console_find(&c, option_argv(o)[0]);
	rc = rc ? rc : read_console(&c, last);
	market_sign_out(c.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "follow", 'f', OPTION_FLAG, .help = "follow until Ctrl-C" },
	{ "lines", 'n', OPTION_INT, "N", .min = 1, .max = 2500, .help = "print only the last N pieces" },
	{ "since-seq", 0, OPTION_STRING, "N", .help = "print only what comes after this number" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod console train-0", "its boot and all output since" },
	{ "nanopod console train-0 -n 50 -f", "the last 50 pieces, then follow" },
	{ "nanopod console train-0 -o jsonl --since-seq 120", "in a script, without a line twice" },
	{ 0 },
};

const struct command cmd_console = {
	.name = "console",
	.args = "NODE",
	.summary = "print a node's boot log and console",
	.examples = examples,
	.description = "Prints boot log and console as the node's host sent them to the market: also where SSH does "
		       "not work, and after the node ended. 'nanopod logs' has them too, with the logs inside the "
		       "node.\n\nWith -o jsonl each piece has 'seq', 'time' and 'data'; '--since-seq' continues "
		       "after one.",
	.positional = "NODE  its name or id; also of one that ended",
	.options = options,
	.formats = "text|jsonl|yaml",
	.flags = COMMAND_MORE | COMMAND_MARKET,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_NODE,
	.run = console_command,
};
