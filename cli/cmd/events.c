/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod events: prints what happened to the account, as sentences or as data. With -f it follows: after a lost
 * connection it asks for what comes after the last printed line, so no line is missing and none comes twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/nodes/node.h"
#include "cli/trade/market_link.h"
#include "cli/trade/rows_list.h"
#include "cli/frame/print.h"
#include "cli/frame/retype.h"
#include "cli/frame/signals.h"
#include "market/money.h"
#include "market/when.h"

/* ---- Names for ids ------------------------------------------------------------------------ */

struct event_name {
	char id[64], name[256];
};

/* What the market's ids are called: asked over a link of its own, as the other one holds the stream of events. */
struct event_names {
	struct market_link *m;
	struct event_name *list;
	size_t count;
	bool loaded;
};

static void event_names_add(struct event_names *n, const char *id, const char *name)
{
	struct event_name one; /* the name may be one of the list, which moves */

	if (!id || !name || !*name)
		return;
	snprintf(one.id, sizeof one.id, "%s", id);
	snprintf(one.name, sizeof one.name, "%s", name);
	n->list = reallocarray(n->list, n->count + 1, sizeof *n->list);
	if (!n->list)
		command_nomem();
	n->list[n->count++] = one;
}

static int event_names_order(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_order o;
	int rc = wire_order(d, at, &o, f);

	if (!rc)
		event_names_add(arg, o.id, o.pool.name);
	return rc;
}

static int event_names_instance(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_instance i;
	int rc = wire_instance(d, at, &i, f);

	if (!rc)
		event_names_add(arg, i.id, i.name);
	return rc;
}

static int event_names_lease(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_lease l;
	int rc = wire_lease(d, at, &l, f);

	if (!rc)
		event_names_add(arg, l.id, l.pool.name);
	return rc;
}

static const char *event_names_known(const struct event_names *n, const char *id)
{
	for (size_t i = n->count; i-- > 0;)
		if (strcmp(n->list[i].id, id) == 0)
			return n->list[i].name;
	return NULL;
}

/* What a list does not have any more, or not yet. */
static void event_names_ask(struct event_names *n, const char *what, const char *id)
{
	struct market_link *m = n->m;

	if (strcmp(what, "order") == 0 && market_get(m, "/v2/orders/%s", id) == 0)
		event_names_order(n, m->doc, WIRE_WHOLE, &m->fail);
	else if (strcmp(what, "instance") == 0 && market_get(m, "/v2/instances/%s", id) == 0)
		event_names_instance(n, m->doc, WIRE_WHOLE, &m->fail);
	else if (strcmp(what, "contract") == 0)
		market_each(m, "/np/v1/leases?limit=200", event_names_lease, n);
	if (!event_names_known(n, id))
		event_names_add(n, id, id);
}

/* The name for this member of an event ("order"), else its id; NULL: the event has no such member. */
static const char *event_names_of(struct event_names *n, const struct doc *d, const char *what)
{
	const char *id = doc_text(d, what);

	if (!id || !n->m)
		return id;
	if (!n->loaded) {
		market_each(n->m, "/v2/orders?limit=200", event_names_order, n);
		market_each(n->m, "/v2/instances?limit=200", event_names_instance, n);
		market_each(n->m, "/np/v1/leases?limit=200", event_names_lease, n);
		n->loaded = true;
	}
	if (!event_names_known(n, id))
		event_names_ask(n, what, id);
	return event_names_known(n, id);
}

/* ---- Sentences ------------------------------------------------------------------------------ */

/*
 * %o: the order's reservation; %c: the lease's, in quotes; %n: the node; %h, %p, %a: ids of host, procurement, agent;
 * %g, %l, %v: names of grant, plan, volume; $: money.
 */
static const struct event_text {
	const char *type, *text;
} event_texts[] = {
	{ "order.placed", "order for '%o' placed" },
	{ "order.filled", "order for '%o' filled for $" },
	{ "order.closed", "order for '%o' closed: %s" },
	{ "capacity.sold", "time of '%o' sold" },
	{ "capacity.released", "time of %c released, $ refunded" },
	{ "capacity.interrupted", "the market takes nodes of %c away" },
	{ "lease.ended", "time of %c ended" },
	{ "lease.settled", "$ earned for time that was used" },
	{ "lease.refunded", "$ refunded for %c" },
	{ "lease.shortened", "%c ends early: its host goes out of service; $ refunded" },
	{ "account.credited", "$ credited" },
	{ "account.state", "the account is %s" },
	{ "account.dunning", "debt: the account is %s" },
	{ "instance.created", "node %n created" },
	{ "instance.status", "node %n is %s" },
	{ "host.state", "host %h is %s" },
	{ "host.drain", "host %h is %s" },
	{ "host.verified", "host %h: proof %s" },
	{ "procurement.status", "procurement %p: %s" },
	{ "agent.state", "agent %a %s" },
	{ "order.priced", "order for '%o' costs $ per node-hour now" },
	{ "announcement", "the operator says" },
	{ "announcement.ended", "an announcement of the operator ended" },
	{ "grant.made", "grant '%g' pays up to $ of what you buy" },
	{ "grant.ended", "grant '%g' ended; it paid $" },
	{ "plan.paid", "plan '%l': $ paid" },
	{ "plan.next", "plan '%l' begins with the next month and costs $" },
	{ "plan.cancelled", "plan '%l' cancelled; it ends with the month" },
	{ "plan.ended", "plan '%l' ended" },
	{ "plan.lapsed", "plan '%l' ended, its fee of $ was not paid: %s" },
	{ "volume.state", "volume '%v': %s" },
	{ "volume.paid", "volume '%v': $ paid" },
	{ "payout", "payout of $: %s" },
	{ "host.floor", "host %h is never on sale below $ per node-hour" },
};

/* Status, state or reason, in our words; a reason stands beside the status. */
static void event_put_word(FILE *out, const struct doc *d)
{
	const char *status = doc_text(d, "status"), *state = doc_text(d, "state"), *reason = doc_text(d, "reason");
	const char *word = status ? status : state ? state : reason ? reason : "unchanged";

	if (strcmp(word, "awaiting_allocation") == 0)
		word = node_word(MODEL_INSTANCE_AWAITING, word);
	else if (strcmp(word, "terminated") == 0)
		word = node_word(MODEL_INSTANCE_TERMINATED, word);
	print_safe_line(out, word);
	if (reason && reason != word) {
		fputs(", ", out);
		print_safe_line(out, reason);
	}
}

static void event_put_money(FILE *out, const struct doc *d)
{
	char room[MONEY_TEXT];
	const char *amount = doc_text(d, "amount_dollars"), *price = doc_text(d, "price_dollars_per_node_hour");
	const char *text = amount ? amount : price;
	int64_t micros = 0;

	if (text && money_parse_wire(text, true, &micros) == 0 && micros < 0)
		micros = -micros; /* the sentence says that it was taken back */
	fputs(money_text(micros, room), out);
}

static void event_put_part(FILE *out, const struct doc *d, struct event_names *n, char part)
{
	static const struct {
		char letter;
		const char *member;
	} members[] = { { 'o', "order" }, { 'c', "contract" }, { 'n', "instance" }, { 'h', "host" },
		{ 'p', "procurement" }, { 'a', "agent" } };
	const char *name = NULL;

	if (part == 's') {
		event_put_word(out, d);
		return;
	}
	if (part == 'g' || part == 'l')
		name = doc_text(d, part == 'g' ? "grant_name" : "plan_name");
	if (part == 'v' && !(name = doc_text(d, "volume_name")))
		name = doc_text(d, "volume"); /* it is deleted */
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (members[i].letter == part)
			name = event_names_of(n, d, members[i].member);
	/* A release makes leases of its own, which no list has and no other event names. */
	if (part == 'c' && name) {
		bool known = !n->m || strcmp(name, doc_text(d, "contract")) != 0;

		fputs(known ? "'" : "a reservation", out);
		print_safe_line(out, known ? name : "");
		fputs(known ? "'" : "", out);
		return;
	}
	/* Who rents a host hears of the lease in its place. */
	if (!name && part == 'h' && (name = event_names_of(n, d, "contract")))
		fputs("of ", out);
	print_safe_line(out, name ? name : "unknown");
}

static void event_put_text(FILE *out, const struct doc *d, const struct model_event *e, struct event_names *n)
{
	const char *text = e->type;

	for (size_t i = 0; i < sizeof event_texts / sizeof *event_texts; i++)
		if (strcmp(event_texts[i].type, e->type) == 0)
			text = event_texts[i].text;
	if (strcmp(e->type, "account.credited") == 0 && doc_text(d, "amount_dollars") &&
		*doc_text(d, "amount_dollars") == '-')
		text = "$ taken back";
	/* Leases that are over are in no list: their order tells whose they were. */
	if (n->m && doc_text(d, "order") && doc_text(d, "contract"))
		event_names_add(n, doc_text(d, "contract"), event_names_of(n, d, "order"));
	for (; text != e->type && *text; text++) {
		if (*text == '$')
			event_put_money(out, d);
		else if (*text == '%')
			event_put_part(out, d, n, *++text);
		else
			putc(*text, out);
	}
	if (text == e->type)
		print_safe_line(out, text);
}

/* Why the operator did it, in the operator's words. */
static void event_put_why(FILE *out, const struct doc *d, const struct model_event *e)
{
	const char *why = str_starts(e->type, "account.") || strcmp(e->type, "announcement") == 0
		? doc_text(d, "message")
		: NULL;

	if (!why)
		return;
	fputs(": ", out);
	print_safe_line(out, why);
}

/* What happened, as one text; free() it. */
static char *event_sentence(const struct doc *d, const struct model_event *e, struct event_names *n)
{
	char *text = NULL;
	size_t len;
	FILE *cell = open_memstream(&text, &len);

	if (!cell)
		command_nomem();
	event_put_text(cell, d, e, n);
	event_put_why(cell, d, e);
	if (fclose(cell))
		command_nomem();
	return text;
}

static void event_put_row(FILE *out, const struct doc *d, const struct model_event *e, struct event_names *n)
{
	char *text = event_sentence(d, e, n), when[WHEN_TEXT];

	fprintf(out, "%" PRIu64 ",%s,", e->seq, e->at ? when_iso(e->at, when) : "");
	print_csv_cell(out, e->type);
	putc(',', out);
	print_csv_cell(out, text);
	putc('\n', out);
	free(text);
}

/* A line for people. Without -f it waits for the next one, to count those that say the same. */
struct event_line {
	char *text, when[WHEN_TEXT];
	size_t times;
};

static void event_line_put(struct nanopod *np, struct event_line *l)
{
	char *counted = NULL;
	size_t at = print_width(l->when) + 2;

	if (!l->text)
		return;
	if (l->times > 1 && asprintf(&counted, "%s (%zu times)", l->text, l->times) < 0)
		command_nomem();
	fprintf(np->out, "%s  ", l->when);
	print_rest(np, np->out, counted ? counted : l->text, at, at);
	free(counted);
	free(l->text);
	*l = (struct event_line){ .text = NULL };
}

static void event_line_add(struct nanopod *np, struct event_line *l, int64_t at, char *text)
{
	char when[WHEN_TEXT];

	when_local(at, command_now(np), when);
	if (l->text && (strcmp(l->when, when) != 0 || strcmp(l->text, text) != 0))
		event_line_put(np, l);
	free(l->text);
	l->text = text;
	memcpy(l->when, when, sizeof when);
	l->times++;
}

/* ---- The stream ----------------------------------------------------------------------------- */

enum { WAIT_S = 30, PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 15000, QUIET_MS = 90000 };

struct follow {
	struct market_link *m;
	uint64_t seq;          /* of the last line that was printed */
	long left;             /* lines that may still come; -1: any */
	bool forever, lost;
	bool any; /* printed */
	struct event_names names;
	struct event_line line; /* not printed yet */
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

static void events_put(struct follow *s, const char *line, size_t len, const struct doc *d, const struct model_event *e)
{
	FILE *out = s->m->np->out;

	switch (s->m->np->format) {
	case FORMAT_CSV:
		event_put_row(out, d, e, &s->names);
		break;
	case FORMAT_NAME:
		fprintf(out, "%" PRIu64 "\n", e->seq);
		break;
	case FORMAT_JSON:
		fputs(s->any ? "," : "[", out);
		events_put_line(out, line, len, d, e->at);
		break;
	case FORMAT_JSONL:
		events_put_line(out, line, len, d, e->at);
		break;
	default:
		event_line_add(s->m->np, &s->line, e->at, event_sentence(d, e, &s->names));
		if (s->forever)
			event_line_put(s->m->np, &s->line);
	}
	s->any = true;
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
		events_put(s, line, len, d, &e);
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
	rc = market_stream_open(m, &q);
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

static void events_tell_more(struct nanopod *np, uint64_t seq)
{
	struct buf more;
	bool all = np->account && strcmp(np->account, "*") == 0;

	buf_init(&more, 4096);
	if (np->account && buf_adds(&more, all ? " --all-accounts" : " --account"))
		command_nomem();
	if (np->account && !all)
		retype_word(&more, np->account);
	print_note(np, "'nanopod events -f --since-seq %" PRIu64 "%s%s' continues from here", seq, buf_text(&more),
		np->format == FORMAT_TABLE || np->format == FORMAT_WIDE ? ""
			: np->format == FORMAT_CSV                      ? " -o csv"
			: np->format == FORMAT_NAME                     ? " -o name"
									: " -o jsonl");
	buf_release(&more);
}

static int events_command(struct nanopod *np, const struct options *o)
{
	struct follow s = { .forever = option_given(o, "follow"),
		.left = option_given(o, "limit") ? option_int(o, "limit") : -1 };
	int rc = rows_all_accounts(np, o), number;

	if (rc)
		return rc;
	if (s.forever && np->format == FORMAT_JSON)
		return print_fail_field(np, STATUS_USAGE, "--output", "'-o jsonl' prints an object per line",
			"cannot follow with '-o json': a list that never ends");
	s.seq = (uint64_t)option_int(o, "since-seq");
	rc = market_sign_in(np, o, 0, &s.m);
	rc = rc ? rc : market_need_ours(s.m, "events");
	if (!rc && np->format != FORMAT_JSON && np->format != FORMAT_JSONL && np->format != FORMAT_NAME &&
		!s.m->explain)
		rc = market_sign_in(np, o, 0, &s.names.m);
	if (!rc) {
		int failed;

		if (np->format == FORMAT_CSV && !s.m->explain)
			fputs("seq,time,type,event\n", np->out);
		failed = events_follow(&s);
		event_line_put(np, &s.line);
		if (np->format == FORMAT_JSON && !s.m->explain && (s.any || !failed))
			fputs(s.any ? "]\n" : "[]\n", np->out);
		if (failed == CLIENT_STOPPED) {
			number = signals_next();
			events_tell_more(np, s.seq);
			rc = number == SIGTERM ? STATUS_TERM : STATUS_INT;
		} else if (failed) {
			rc = market_fail(s.m, "cannot show the events");
		}
	}
	free(s.names.list);
	market_sign_out(s.names.m);
	market_sign_out(s.m);
	return rc;
}

static const struct option options[] = {
	{ "follow", 'f', OPTION_FLAG, .help = "follow, also over lost connections" },
	{ "since-seq", 0, OPTION_INT, "N", .fallback = "0", .min = 0, .max = LONG_MAX,
		.help = "print only events after this seq" },
	{ "all-accounts", 0, OPTION_FLAG, .help = "of all accounts, for the operator with a token of scope admin" },
	{ "limit", 0, OPTION_INT, "N", .min = 1, .max = 1000000000, .help = "stop after N events" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod events", "everything that happened to the account" },
	{ "nanopod events -f --since-seq 4194304 -o jsonl", "for a script: continue where another run stopped" },
	{ "nanopod events -f -o jsonl | jq -c 'select(.type==\"order.filled\")'", "purchases as they happen" },
	{ 0 },
};

const struct command cmd_events = {
	.name = "events",
	.args = "",
	.summary = "print and follow what happens to the account",
	.examples = examples,
	.description = "Prints a line for each event, oldest first, with the names of reservations and nodes.\n\n"
		       "-o json prints a list of objects, -o jsonl one object per line, each with 'seq', 'type', 'at' "
		       "(Unix seconds) "
		       "and 'time' (the same as RFC 3339 in UTC). A second run with --since-seq and the last seq of "
		       "the first one continues without a gap or an event twice. With -f it reconnects after a lost "
		       "connection and continues where it was; Ctrl-C ends it and tells how to continue.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_MARKET | COMMAND_ACCOUNT | COMMAND_STREAM,
	.run = events_command,
};
