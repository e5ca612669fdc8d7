/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod events: prints what happened to the account as JSON Lines. With -f it follows: after a lost connection
 * it asks for what comes after the last printed line, so no line is missing and none comes twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/trade/market_link.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "market/when.h"

enum { WAIT_S = 30, PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 15000, QUIET_MS = 90000 };

struct follow {
	struct market_link *m;
	uint64_t seq;          /* of the last line that was printed */
	long left;             /* lines that may still come; -1: any */
	bool forever, lost;
	int64_t pause_ms;
};

/* The line as it came, plus its time as RFC 3339 beside the market's seconds. */
static void events_put_line(FILE *out, const char *line, size_t len, const struct doc *d, int64_t at)
{
	const char *end = line + len;
	char room[WHEN_TEXT];

	while (end > line && end[-1] != '}')
		end--;
	print_safe(out, line, end > line ? (size_t)(end - line) - 1 : 0);
	if (at && !doc_text(d, "time"))
		fprintf(out, ",\"time\":\"%s\"", when_iso(at, room));
	fputs("}\n", out);
}

/* 0: continue; 1: the end; or a negative code. */
static int events_take_line(struct follow *s, const char *line, size_t len)
{
	struct market_link *m = s->m;
	struct model_event e;
	struct doc *d = NULL;
	int rc;

	if (!len)
		return 0;
	rc = doc_parse(line, len, &d, &m->fail);
	rc = rc ? rc : wire_event(d, WIRE_WHOLE, &e, &m->fail);
	if (!rc && e.seq > s->seq) { /* else it was printed already */
		s->seq = e.seq;
		events_put_line(m->np->out, line, len, d, e.at);
		if (s->left > 0)
			s->left--;
	}
	doc_free(d);
	return rc ? rc : s->left == 0;
}

/* Reads one answer to its end. 0: all of it, *count lines; 1: enough; or a negative code. */
static int read_answer(struct follow *s, size_t *count)
{
	struct market_link *m = s->m;
	const char *line;
	size_t len;
	int rc;

	*count = 0;
	for (;;) {
		rc = client_stream_line(m->client, &line, &len, QUIET_MS, &m->fail);
		if (market_only_resized(rc))
			continue;
		if (rc == -EAGAIN)
			rc = fail_set(&m->fail, CLIENT_LOST, "'%.200s' went silent", m->url);
		if (rc != 1)
			break;
		++*count;
		rc = events_take_line(s, line, len);
		if (rc)
			break;
	}
	fflush(m->np->out);
	return rc;
}

static int events_ask(struct follow *s, size_t *count)
{
	struct market_link *m = s->m;
	char path[200];
	const struct client_call q = { .method = "GET", .path = path, .accept = "application/x-ndjson" };
	int rc;

	snprintf(path, sizeof path, "/np/v1/events?since_seq=%" PRIu64 "&limit=1000%s", s->seq,
		s->forever ? "&wait=30" : "");
	m->fail = (struct fail){ 0 };
	if (m->explain)
		return market_call(m, &q);
	do
		rc = client_stream_open(m->client, &q, &m->answer, &m->fail);
	while (market_only_resized(rc));
	if (!rc && s->lost) {
		print_note(m->np, "reconnected; nothing was missed");
		s->lost = false;
	}
	rc = rc ? rc : read_answer(s, count);
	client_stream_close(m->client);
	return rc;
}

static bool events_may_pass(const struct follow *s, int rc)
{
	return rc == CLIENT_LOST || rc == CLIENT_UNREACHABLE || rc == REASON_UNAVAILABLE || rc == REASON_RATE ||
		(rc == REASON_INTERNAL && s->m->answer.status >= 500);
}

/* 0, or CLIENT_STOPPED. */
static int pause_a_while(struct follow *s)
{
	struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };
	int64_t until, left;

	if (!s->lost)
		print_note(s->m->np, "%s; trying again", s->m->fail.text);
	s->lost = true;
	s->pause_ms = !s->pause_ms ? PAUSE_FIRST_MS : s->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : s->pause_ms * 2;
	until = clock_ms() + s->pause_ms;
	while ((left = until - clock_ms()) > 0)
		if (poll(&fd, fd.fd >= 0, (int)left) > 0 && !market_only_resized(CLIENT_STOPPED))
			return fail_set(&s->m->fail, CLIENT_STOPPED, "interrupted");
	return 0;
}

static int events_follow(struct follow *s)
{
	size_t count = 0;
	int rc;

	for (;;) {
		rc = events_ask(s, &count);
		if (ferror(s->m->np->out) || rc == 1)
			return 0;
		if (rc == 0)
			s->pause_ms = 0;
		if (rc == 0 && !count && !s->forever)
			return 0;
		if (rc && !(s->forever && events_may_pass(s, rc)))
			return rc;
		if (rc && pause_a_while(s))
			return CLIENT_STOPPED;
	}
}

static int events_command(struct nanopod *np, const struct options *o)
{
	struct follow s = { .forever = option_given(o, "follow"),
		.left = option_given(o, "limit") ? option_int(o, "limit") : -1 };
	int rc, number;

	s.seq = (uint64_t)option_int(o, "since-seq");
	rc = market_sign_in(np, o, 0, &s.m);
	rc = rc ? rc : market_need_ours(s.m, "events");
	if (!rc) {
		int failed = events_follow(&s);

		if (failed == CLIENT_STOPPED) {
			number = signals_next();
			print_note(np, "'nanopod events -f --since-seq %" PRIu64 "' continues from here", s.seq);
			rc = number == SIGTERM ? STATUS_TERM : STATUS_INT;
		} else if (failed) {
			rc = market_fail(s.m, "cannot show the events");
		}
	}
	market_sign_out(s.m);
	return rc;
}

static const struct option options[] = {
	{ "follow", 'f', OPTION_FLAG, .help = "follow, also over lost connections" },
	{ "since-seq", 0, OPTION_INT, "N", .fallback = "0", .min = 0, .max = LONG_MAX,
		.help = "print only events after this seq" },
	{ "limit", 0, OPTION_INT, "N", .min = 1, .max = 1000000000, .help = "stop after N events" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod events", "everything that happened to the account" },
	{ "nanopod events -f --since-seq 4194304", "continue where another run stopped" },
	{ "nanopod events -f | jq -c 'select(.type==\"order.filled\")'", "purchases as they happen" },
	{ 0 },
};

const struct command cmd_events = {
	.name = "events",
	.args = "",
	.summary = "print and follow what happens to the account",
	.examples = examples,
	.description = "Prints one JSON object per line, oldest first, each with 'seq', 'type', 'at' (Unix seconds) "
		       "and 'time' (the same as RFC 3339 in UTC). A second run with --since-seq and the last seq of "
		       "the first one continues without a gap or an event twice. With -f it reconnects after a lost "
		       "connection and continues where it was; Ctrl-C ends it and tells how to continue.",
	.options = options,
	.formats = "jsonl|yaml",
	.flags = COMMAND_MORE | COMMAND_MARKET,
	.run = events_command,
};
