/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod alerts: what is wrong, or soon will be, with what an account has, and what the market could not judge. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/trade/market_link.h"

enum { PAGES_MOST = 1000, NOTE_BYTES = 2000 };

static const char *const severities[] = { "critical", "warning", "info" };

static const struct column columns[] = {
	{ "severity", COLUMN_STATE, "critical, warning or info" },
	{ "rule", COLUMN_MINOR, "which rule tells it" },
	{ "kind", 0, "what it is about: account, reservation, machine, host or node" },
	{ "name", COLUMN_ID, "its name" },
	{ "account", COLUMN_WIDE, "whose it is" },
	{ "since", 0, "since when; empty: not known" },
	{ "text", COLUMN_TEXT | COLUMN_UNDER, "what is wrong, in a sentence" },
	{ "next", COLUMN_TEXT | COLUMN_UNDER, "what to type next" },
	{ "id", COLUMN_WIDE, "id of what it is about" },
	{ "value", COLUMN_RAW | COLUMN_HIDDEN, "what was measured, of the worst part" },
	{ "threshold", COLUMN_RAW | COLUMN_HIDDEN, "from which value on the rule tells it" },
	{ "unit", COLUMN_HIDDEN, "of both" },
	{ "for_seconds", COLUMN_RAW | COLUMN_HIDDEN, "for how long it has to be so" },
	{ 0 },
};

enum { COLUMNS = sizeof columns / sizeof *columns };

struct alerts {
	struct doc **docs; /* the rows are in them */
	size_t doc_count;
	struct model_alert *list;
	size_t count;
	struct model_alerts_of of;
};

static void alerts_release(struct alerts *a)
{
	for (size_t i = 0; i < a->doc_count; i++)
		doc_free(a->docs[i]);
	free(a->docs);
	free(a->list);
}

/* ---- Asking ---------------------------------------------------------------------------- */

static int severity_rank(const char *word)
{
	int i = 0;

	while (i < 3 && strcmp(severities[i], word) != 0)
		i++;
	return i;
}

/* The most severe first, of those the oldest. */
static int alerts_order(const void *a, const void *b)
{
	const struct model_alert *x = a, *y = b;
	int rank = severity_rank(x->severity) - severity_rank(y->severity);

	if (rank)
		return rank;
	if (x->since != y->since)
		return !x->since ? 1 : !y->since ? -1 : x->since < y->since ? -1 : 1;
	rank = strcmp(x->name ? x->name : x->id, y->name ? y->name : y->id);
	return rank ? rank : strcmp(x->rule, y->rule);
}

static void alerts_sum(struct model_alerts_of *sum, const struct model_alerts_of *of)
{
	sum->accounts += of->accounts;
	sum->machines += of->machines;
	sum->hosts += of->hosts;
	sum->nodes += of->nodes;
	sum->unknown.unheard += of->unknown.unheard;
	sum->unknown.machines += of->unknown.machines;
	sum->unknown.machine_gpus += of->unknown.machine_gpus;
	sum->unknown.hosts += of->unknown.hosts;
	sum->unknown.nodes += of->unknown.nodes;
	sum->unknown.node_gpus += of->unknown.node_gpus;
}

/* Takes the document. least: the rank of the least severe that is wanted. */
static int alerts_take(struct alerts *a, struct doc *d, int least, struct fail *f)
{
	struct model_alerts_of of;
	size_t count = doc_count(d);
	int rc = wire_alerts_of(d, &of, f);

	a->docs = reallocarray(a->docs, a->doc_count + 1, sizeof *a->docs);
	a->list = reallocarray(a->list, a->count + count + 1, sizeof *a->list);
	if (!a->docs || !a->list)
		command_nomem();
	a->docs[a->doc_count++] = d;
	if (!rc)
		alerts_sum(&a->of, &of);
	for (size_t i = 0; i < count && !rc; i++) {
		rc = wire_alert(d, (long)i, &a->list[a->count], f);
		a->count += !rc && severity_rank(a->list[a->count].severity) <= least;
	}
	return rc;
}

static int alerts_ask(struct market_link *m, int least, struct alerts *a)
{
	const char *cursor = NULL;
	int rc = 0;

	for (int page = 0; !rc && (!page || cursor); page++) {
		struct doc *d;

		rc = page == PAGES_MOST ? fail_set(&m->fail, CLIENT_BAD_ANSWER, "the list of alerts does not end")
			: cursor        ? market_get(m, "/np/v1/alerts?starting_after=%.64s", cursor)
					: market_get(m, "/np/v1/alerts");
		rc = rc ? rc : doc_parse(buf_text(&m->answer.body), m->answer.body.len, &d, &m->fail);
		rc = rc ? rc : alerts_take(a, d, least, &m->fail);
		rc = rc ? rc : doc_next(a->docs[a->doc_count - 1], &cursor, &m->fail);
	}
	if (!rc && a->count)
		qsort(a->list, a->count, sizeof *a->list, alerts_order);
	return rc;
}

/* ---- Showing --------------------------------------------------------------------------- */

static const char *alerts_number(double v, char room[CELL_TEXT])
{
	if (!isfinite(v))
		return NULL;
	snprintf(room, CELL_TEXT, "%.10g", v);
	return room;
}

static void alerts_add(struct nanopod *np, struct rows *r, const struct model_alert *a)
{
	char since[CELL_TEXT], value[CELL_TEXT], threshold[CELL_TEXT], seconds[CELL_TEXT];

	rows_add(r,
		(const char *[]){ a->severity, a->rule, a->kind, a->name ? a->name : a->id, a->account,
			cell_time(np, a->since, since), a->text, a->next, a->id, alerts_number(a->value, value),
			alerts_number(a->threshold, threshold), a->unit, cell_int(a->seconds, seconds) });
}

/* ", 3 nodes"; nothing where there are none. */
static void alerts_count(struct buf *b, int64_t n, const char *what)
{
	if (n > 0)
		buf_addf(b, "%s%" PRId64 " %s%s", b->len ? ", " : "", n, what, n > 1 ? "s" : "");
}

/* What nothing is wrong with: what was judged in full, and nothing else. */
static void alerts_note_none(struct nanopod *np, const struct alerts *a, const char *severity)
{
	const struct model_alerts_of *of = &a->of;
	int64_t machines = of->machines - of->unknown.machines - of->unknown.machine_gpus;
	struct buf b;

	buf_init(&b, NOTE_BYTES);
	alerts_count(&b, of->nodes - of->unknown.nodes - of->unknown.node_gpus, "node");
	alerts_count(&b, machines > of->unknown.unheard ? machines - of->unknown.unheard : 0, "machine");
	alerts_count(&b, of->hosts - of->unknown.hosts, "host");
	if (of->accounts)
		buf_addf(&b, "%s%s", b.len ? " and " : "", of->accounts > 1 ? "all balances" : "the balance");
	if (severity_rank(severity) < 2)
		print_note(np, "no alert is %s%s", severity, severity_rank(severity) ? " or worse" : "");
	else if (b.len)
		print_note(np, "nothing is wrong with %s", buf_text(&b));
	else
		print_note(np, "no alerts");
	buf_release(&b);
}

/* Said in every format: a list of alerts that is short may be one of things that nobody looked at. */
static void alerts_note_unknown(struct nanopod *np, int64_t n, const char *one, const char *many)
{
	if (n <= 0)
		return;
	if (np->errors_json)
		print_warn(np, "%" PRId64 " %s", n, n > 1 ? many : one);
	else
		print_note(np, "%" PRId64 " %s", n, n > 1 ? many : one);
}

static void alerts_notes(struct nanopod *np, const struct alerts *a, const char *severity, bool none)
{
	const struct model_alerts_of *of = &a->of;

	if (none)
		alerts_note_none(np, a, severity);
	alerts_note_unknown(np, of->unknown.nodes, "node sends no samples: its GPUs and use are not judged",
		"nodes send no samples: their GPUs and use are not judged");
	alerts_note_unknown(np, of->unknown.node_gpus, "node sends no samples of its GPUs: they are not judged",
		"nodes send no samples of their GPUs: these are not judged");
	alerts_note_unknown(np, of->unknown.machines,
		"machine sends no samples: its memory, disk and GPUs are not judged",
		"machines send no samples: their memory, disks and GPUs are not judged");
	alerts_note_unknown(np, of->unknown.machine_gpus, "machine sends no samples of its GPUs: they are not judged",
		"machines send no samples of their GPUs: these are not judged");
	alerts_note_unknown(np, of->unknown.unheard,
		"machine has not called since the market started: whether it is silent is not known yet",
		"machines have not called since the market started: whether they are silent is not known yet");
	alerts_note_unknown(np, of->unknown.hosts, "host has no agent: the market knows only what its owner says",
		"hosts have no agent: the market knows only what their owner says");
}

static int alerts_show(struct market_link *m, const struct options *o, const struct alerts *a)
{
	struct nanopod *np = m->np;
	struct column shown[COLUMNS];
	struct rows *r;
	bool none;
	int rc;

	memcpy(shown, columns, sizeof columns);
	if (m->socket && !np->account) /* the operator, of all */
		shown[4].flags = COLUMN_MINOR;
	r = rows_new(np, o, shown, &rc);
	if (!r)
		return rc;
	for (size_t i = 0; i < a->count; i++)
		alerts_add(np, r, &a->list[i]);
	none = rows_none(r);
	rc = rows_end(r);
	if (!rc && !option_given(o, "quiet"))
		alerts_notes(np, a, option_text(o, "severity"), none);
	return rc;
}

/* ---- The command ----------------------------------------------------------------------- */

static int alerts_command(struct nanopod *np, const struct options *o)
{
	struct alerts a = { .count = 0 };
	struct market_link *m;
	int rc;

	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	rc = market_need_ours(m, "alerts");
	if (!rc && alerts_ask(m, severity_rank(option_text(o, "severity")), &a))
		rc = market_fail(m, "cannot list alerts");
	else if (!rc)
		rc = alerts_show(m, o, &a);
	market_sign_out(m);
	if (!rc && a.count && option_given(o, "fail"))
		rc = STATUS_CHECK;
	alerts_release(&a);
	return rc;
}

static const struct option options[] = {
	{ "severity", 's', OPTION_ENUM, "LEVEL", .fallback = "info", .values = "critical|warning|info",
		.help = "minimum severity", .complete = COMPLETE_VALUES },
	{ "fail", 0, OPTION_FLAG, .help = "exit with 11 if there is any such alert" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod alerts", "show what is wrong, or soon will be, the most severe first" },
	{ "nanopod alerts --severity critical --fail -q", "for cron and CI: names, and 11 if there are any" },
	{ "nanopod alerts -o jsonl | jq -r .next", "what to type next about each" },
	{ 0 },
};

const struct command cmd_alerts = {
	.name = "alerts",
	.args = "",
	.summary = "show what is wrong, or soon will be",
	.examples = examples,
	.description = "The market looks at your nodes, balance and leases, and at your machines and hosts if you rent "
		       "them out: silence, heat, throttling, errors of GPU memory, memory and disks that are nearly "
		       "full, nodes that idle while you pay for them, leases that end soon, a balance that does not "
		       "pay for a day more.\n\n"
		       "It asks anew each time and stores nothing. What it could not judge it counts below the list: "
		       "no alert about a node that sends no samples does not mean that the node is well.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = alerts_command,
};
