/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod alerts: what is wrong, or soon will be, with what an account has, and what the market could not judge. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alerts/alertlist.h"
#include "cli/alerts/alertrules.h"
#include "cli/alerts/alertwatch.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/trade/market_link.h"
#include "cli/trade/rows_list.h"

enum { NOTE_BYTES = 2000, EVERY_LEAST_MS = 100 };

static const struct column columns[] = {
	{ "severity", COLUMN_STATE, "critical, warning or info" },
	{ "rule", COLUMN_MINOR, "which rule tells it" },
	{ "kind", 0, "what it is about: account, reservation, machine, host, node, announcement, payment or volume" },
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
	if (alerts_rank(severity) < 2)
		print_note(np, "no alert is %s%s", severity, alerts_rank(severity) ? " or worse" : "");
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
	if ((m->socket && !np->account) || option_given(o, "all-accounts")) /* the operator, of all */
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

/* Thresholds and durations, before anything is asked. */
static int alerts_check_rules(struct nanopod *np)
{
	struct buf ignored;
	struct fail f;
	int rc;

	buf_init(&ignored, NOTE_BYTES);
	rc = alertrules_query(np->settings, &ignored, &f);
	buf_release(&ignored);
	return rc ? print_fail(np, STATUS_USAGE, NULL, "%s", f.text) : 0;
}

/* Options that only make sense together. */
static int alerts_check(struct nanopod *np, const struct options *o)
{
	static const char *const alone[] = { "watch", "every", "secret-file", "state" };
	static const char *const not_rules[] = { "to", "severity", "silence", "fail" };
	const char *silence;

	for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
		if (option_given(o, alone[i]) && !option_given(o, "to"))
			return print_fail_field(np, STATUS_USAGE, "--to", "e.g. --to mail:ops@example.org",
				"--%s needs --to", alone[i]);
	if (option_given(o, "to") && option_given(o, "fail"))
		return print_fail_field(np, STATUS_USAGE, "--fail", NULL, "--fail and --to exclude each other");
	if (option_ms(o, "every") < EVERY_LEAST_MS)
		return print_fail_field(np, STATUS_USAGE, "--every", NULL, "--every is %dms at least", EVERY_LEAST_MS);
	for (size_t i = 0; (silence = option_at(o, "silence", i)); i++)
		if (!strcspn(silence, ":") || strcspn(silence, ":") > 63)
			return print_fail_field(np, STATUS_USAGE, "--silence", "e.g. --silence node_idle:train-*",
				"'%.60s' names no rule", silence);
	for (size_t i = 0; i < sizeof not_rules / sizeof *not_rules; i++)
		if (option_given(o, "rules") && option_given(o, not_rules[i]))
			return print_fail_field(np, STATUS_USAGE, "--rules", NULL,
				"--rules and --%s exclude each other", not_rules[i]);
	return alerts_check_rules(np);
}

/* Takes silenced ones out. How many they were. */
static size_t alerts_silence(struct alerts *a, const struct options *o)
{
	size_t kept = 0, count = a->count;

	for (size_t i = 0; i < count; i++)
		if (!alerts_silenced(o, &a->list[i]))
			a->list[kept++] = a->list[i];
	a->count = kept;
	return count - kept;
}

static int alerts_command(struct nanopod *np, const struct options *o)
{
	struct alerts a = { .count = 0 };
	struct market_link *m;
	size_t silenced = 0;
	int rc = alerts_check(np, o);

	rc = rc ? rc : rows_all_accounts(np, o);
	if (rc)
		return rc;
	if (option_given(o, "to"))
		return alert_watch(np, o);
	if (option_given(o, "rules"))
		return alertrules_list(np, o);
	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	rc = market_need_ours(m, "alerts");
	if (!rc && alerts_ask(m, alerts_rank(option_text(o, "severity")), &a))
		rc = market_fail(m, "cannot list alerts");
	else if (!rc) {
		silenced = alerts_silence(&a, o);
		rc = alerts_show(m, o, &a);
	}
	if (!rc && silenced && !option_given(o, "quiet"))
		print_note(np, "%zu silenced", silenced);
	market_sign_out(m);
	if (!rc && a.count && option_given(o, "fail"))
		rc = STATUS_CHECK;
	alerts_release(&a);
	return rc;
}

#define DELIVERY "Delivery"

static const struct option options[] = {
	{ "severity", 's', OPTION_ENUM, "LEVEL", .fallback = "info", .values = "critical|warning|info",
		.help = "minimum severity", .complete = COMPLETE_VALUES },
	{ "fail", 0, OPTION_FLAG, .help = "exit with 11 if there is any such alert" },
	{ "silence", 0, OPTION_LIST, "RULE[:THING]",
		.help = "leave out a rule, or it for a name or id; both may have * and ?; repeatable" },
	{ "threshold", 0, OPTION_LIST, "RULE=VALUE", .setting = "alert-threshold",
		.help = "from which value on a rule tells: node_gpu_hot=80, machine_disk=95%, lease_ends=2h; "
			"repeatable" },
	{ "for", 0, OPTION_LIST, "RULE=DURATION", .setting = "alert-for",
		.help = "for how long it has to be so; none: tell at once; repeatable" },
	{ "rules", 0, OPTION_FLAG, .help = "list the rules, with their thresholds and durations as set" },
	{ "to", 0, OPTION_LIST, "RECEIVER", .section = DELIVERY,
		.help = "tell what began and what ended instead of listing it: https://…, mail:ADDRESS, "
			"alertmanager:URL, or @FILE that has one of them; repeatable" },
	{ "watch", 0, OPTION_FLAG, .help = "go on until a signal", .section = DELIVERY },
	{ "every", 0, OPTION_DURATION, "DURATION", .fallback = "30s", .help = "from one look to the next",
		.section = DELIVERY },
	{ "secret-file", 0, OPTION_STRING, "FILE", .complete = COMPLETE_FILE, .section = DELIVERY,
		.help = "what signs webhooks; default: NANOPOD_ALERT_SECRET" },
	{ "state", 0, OPTION_STRING, "FILE", .complete = COMPLETE_FILE, .section = DELIVERY,
		.help = "what was told to whom; default: a file in ~/.local/state/nanopod/alerts for each market, "
			"profile and account" },
	{ "all-accounts", 0, OPTION_FLAG, .help = "of all accounts, for the operator with a token of scope admin" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod alerts", "show what is wrong, or soon will be, the most severe first" },
	{ "nanopod alerts --severity critical --fail -q", "for cron and CI: names, and 11 if there are any" },
	{ "nanopod alerts -o jsonl | jq -r .next", "what to type next about each" },
	{ "nanopod alerts --watch --to mail:ops@example.org --silence node_idle", "mail what begins and what ends" },
	{ "nanopod alerts --threshold '*_gpu_hot=80' --for '*_gpu_hot=1m'", "hear of heat earlier" },
	{ 0 },
};

const struct command cmd_alerts = {
	.name = "alerts",
	.args = "",
	.summary = "show what is wrong, or soon will be",
	.examples = examples,
	.description =
		"The market looks at your nodes, balance and leases, and at your machines and hosts if you rent "
		"them out: silence, heat, throttling, errors of GPU memory, memory and disks that are nearly "
		"full, nodes that idle while you pay for them, leases that end soon, a balance that does not "
		"pay for a day more.\n\n"
		"The market judges anew each time and stores nothing. What it could not judge it counts below the "
		"list: "
		"no alert about a node that sends no samples does not mean that the node is well.\n\n"
		"With --to it delivers instead: each alert that begins and each that ends is an event with an id, "
		"told to every receiver in order and until it accepts, also after a crash: once at least, so a "
		"receiver should know ids again.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = alerts_command,
};
