/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares what a receiver counted in the period under way with the ledger, by account, tier and metric: events, units,
 * money. The receiver rounds money to cents, once for each group of a charge.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/meter/meter.h"
#include "market/money.h"
#include "market/when.h"

enum { METER_CHECK_PAGE = 1000, METER_CENT = 10000 };

/* What the ledger says of one account, tier and metric. */
struct meter_sum {
	char *account, *name, *tier, *metric;
	int64_t events, units, micros;
	bool asked;
};

struct meter_sums {
	struct meter_sum *list;
	size_t count, room;
	int64_t unsent; /* events behind the cursor */
};

static const struct column meter_columns[] = {
	{ "account", COLUMN_ID, "whose usage" },
	{ "tier", 0, "reserved, spot, storage or plan" },
	{ "metric", 0, "what is counted" },
	{ "state", COLUMN_STATE, "same, or differs" },
	{ "events", COLUMN_RIGHT, "of the ledger that were accepted" },
	{ "counted", COLUMN_RIGHT, "events that the receiver counted" },
	{ "units", COLUMN_RIGHT, "GPU-seconds, node-minutes or micro-dollars of the ledger" },
	{ "counted_units", COLUMN_RIGHT, "the same as the receiver counted it" },
	{ "amount", COLUMN_RIGHT, "money of the ledger" },
	{ "amount_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "counted_amount", COLUMN_RIGHT, "the same as the receiver counted it, in cents" },
	{ 0 },
};

/* ---- The ledger -------------------------------------------------------------------------- */

static struct meter_sum *meter_sum_of(struct meter_sums *s, const struct model_usage *u)
{
	struct meter_sum *x;

	for (size_t i = s->count; i-- > 0;) {
		x = &s->list[i];
		if (strcmp(x->account, u->account) == 0 && strcmp(x->tier, u->tier) == 0 &&
			strcmp(x->metric, u->metric) == 0)
			return x;
	}
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->list = reallocarray(s->list, s->room, sizeof *s->list);
		if (!s->list)
			command_nomem();
	}
	x = &s->list[s->count++];
	*x = (struct meter_sum){ .account = strdup(u->account),
		.name = strdup(u->account_name ? u->account_name : u->account),
		.tier = strdup(u->tier),
		.metric = strdup(u->metric) };
	if (!x->account || !x->name || !x->tier || !x->metric)
		command_nomem();
	return x;
}

static void meter_sums_release(struct meter_sums *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].account);
		free(s->list[i].name);
		free(s->list[i].tier);
		free(s->list[i].metric);
	}
	free(s->list);
}

static void meter_sums_add(struct meter_sums *s, const struct meter *x, const struct model_usage *u)
{
	struct meter_sum *sum;

	if (!meter_book_has(&x->book, u->id)) {
		s->unsent++;
		return;
	}
	sum = meter_sum_of(s, u);
	sum->events++;
	sum->units += strcmp(u->metric, "gpu_active_time") == 0 ? u->gpu_seconds : u->sku ? u->node_minutes : u->amount;
	sum->micros += u->amount;
}

/* 0 or a negative code in m->fail. */
static int meter_sums_read(struct meter *x, struct meter_sums *s)
{
	char after[METER_CURSOR] = "";
	const char *next = "";
	int rc = 0;

	while (!rc && next) {
		struct model_usage *list = NULL;
		size_t count = 0;

		rc = meter_page(x, after, METER_CHECK_PAGE, &list, &count);
		for (size_t i = 0; !rc && i < count; i++)
			meter_sums_add(s, x, &list[i]);
		free(list);
		rc = rc ? rc : doc_next(x->m->doc, &next, &x->m->fail);
		if (!rc && next)
			snprintf(after, sizeof after, "%s", next);
	}
	return rc;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

/* A decimal that is a whole number. -1: it is none. */
static int64_t meter_whole(const char *text)
{
	char *end;
	int64_t n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || n < 0)
		return -1;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0");
	return *end ? -1 : n;
}

static bool meter_same(const struct meter_sum *s, const struct model_metered *c)
{
	int64_t off, groups;

	if (!c)
		return s->events == 0;
	off = s->micros - c->cents * METER_CENT;
	groups = c->groups > 0 ? c->groups : 1;
	return c->events == s->events && meter_whole(c->units) == s->units &&
		2 * (off < 0 ? -off : off) <= groups * METER_CENT;
}

static void meter_row(struct meter *x, struct rows *r, const struct meter_sum *s, const struct model_metered *c,
	size_t *differ)
{
	char events[CELL_TEXT], counted[CELL_TEXT], units[CELL_TEXT], amount[CELL_TEXT], micros[CELL_TEXT],
		cents[CELL_TEXT];
	bool same = meter_same(s, c);

	*differ += !same;
	rows_add(r,
		(const char *[]){ s->name, s->tier, s->metric, same ? "same" : "differs", cell_int(s->events, events),
			cell_int(c ? c->events : 0, counted), cell_int(s->units, units), c ? c->units : "0",
			cell_money(x->np, s->micros, amount), cell_micros(s->micros, micros),
			cell_money(x->np, c ? c->cents * METER_CENT : 0, cents) });
}

/* All metrics of one account and tier; what the receiver counted and the ledger lacks, too. */
static void meter_compare(struct meter *x, struct rows *r, struct meter_sums *s, size_t at,
	const struct meter_counted *c, size_t *differ)
{
	const char *account = s->list[at].account, *tier = s->list[at].tier;
	bool *used = calloc(c->count + 1, sizeof *used);

	if (!used)
		command_nomem();
	for (size_t i = at; i < s->count; i++) {
		struct meter_sum *sum = &s->list[i];
		const struct model_metered *found = NULL;

		if (strcmp(sum->account, account) != 0 || strcmp(sum->tier, tier) != 0)
			continue;
		sum->asked = true;
		for (size_t k = 0; k < c->count; k++)
			if (strcmp(c->list[k].metric, sum->metric) == 0) {
				found = &c->list[k];
				used[k] = true;
			}
		meter_row(x, r, sum, found, differ);
	}
	for (size_t k = 0; k < c->count; k++) {
		struct meter_sum none = s->list[at];

		none.metric = (char *)c->list[k].metric;
		none.events = none.units = none.micros = 0;
		if (!used[k] && (c->list[k].events || c->list[k].cents))
			meter_row(x, r, &none, &c->list[k], differ);
	}
	free(used);
}

/* The first second of the month, in UTC. */
static int64_t meter_month(int64_t now)
{
	time_t at = (time_t)now;
	struct tm t;

	gmtime_r(&at, &t);
	return now - now % 86400 - (int64_t)(t.tm_mday - 1) * 86400;
}

static int meter_compare_all(struct meter *x, struct meter_sums *s, struct rows *r, size_t *differ)
{
	struct fail f;

	for (size_t i = 0; i < s->count; i++) {
		struct meter_counted c;

		if (s->list[i].asked)
			continue;
		if (x->way.calls->counted(&x->way, s->list[i].account, s->list[i].tier, &c, &f))
			return print_fail(x->np, STATUS_UNREACHABLE, NULL, "%s: %s", x->way.label, f.text);
		meter_compare(x, r, s, i, &c, differ);
	}
	return 0;
}

int meter_check(struct meter *x)
{
	struct meter_sums s = { .count = 0 };
	size_t differ = 0;
	struct rows *r;
	int rc = 0;

	if (!x->m)
		return print_fail_field(x->np, STATUS_USAGE, "--from-file", NULL,
			"meter check compares with the ledger: leave out --from-file");
	if (!x->m->explain && !x->way.calls->counted)
		return print_fail_field(x->np, STATUS_USAGE, "--to", NULL, "'%s' cannot be asked what it counted",
			x->way.label);
	x->from = x->from ? x->from : meter_month(command_now(x->np));
	if (meter_sums_read(x, &s)) {
		meter_sums_release(&s);
		return market_fail(x->m, "cannot read the ledger");
	}
	r = rows_new(x->np, x->o, meter_columns, &rc);
	if (r) {
		rc = meter_compare_all(x, &s, r, &differ);
		rc = rows_end(r) || rc ? rc : 0;
	}
	if (!rc && s.unsent)
		print_note(x->np, "%" PRId64 " events are not sent yet", s.unsent);
	if (!rc && differ)
		rc = print_fail(x->np, STATUS_CHECK, NULL, "%zu of them differ%s from the ledger", differ,
			differ == 1 ? "s" : "");
	meter_sums_release(&s);
	return rc;
}
