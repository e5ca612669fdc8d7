/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin overview: a market on one screen: who spends, what is sold, what it earns, who is silent. */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd/admin/admin.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "market/money.h"
#include "market/when.h"

enum { OVERVIEW_BYTES = 8 << 20, OVERVIEW_LABEL = 10, COUNT_MS = 20000, PERCENT_TEXT = 8 };

/* ---- Figures ---------------------------------------------------------------------------- */

enum figure_kind { FIGURE_COUNT, FIGURE_SECONDS, FIGURE_MONEY };

/* In the order of programs' output; figures of a section follow each other. */
static const struct figure {
	const char *section, *name;
	enum figure_kind kind;
	size_t at;
} figures[] = {
	{ "accounts", "total", FIGURE_COUNT, offsetof(struct model_overview, accounts.total) },
	{ "accounts", "buying", FIGURE_COUNT, offsetof(struct model_overview, accounts.buying) },
	{ "accounts", "selling", FIGURE_COUNT, offsetof(struct model_overview, accounts.selling) },
	{ "accounts", "suspended", FIGURE_COUNT, offsetof(struct model_overview, accounts.suspended) },
	{ "hosts", "up", FIGURE_COUNT, offsetof(struct model_overview, hosts.up) },
	{ "hosts", "draining", FIGURE_COUNT, offsetof(struct model_overview, hosts.draining) },
	{ "hosts", "down", FIGURE_COUNT, offsetof(struct model_overview, hosts.down) },
	{ "hosts", "silent", FIGURE_COUNT, offsetof(struct model_overview, hosts.silent) },
	{ "machines", "up", FIGURE_COUNT, offsetof(struct model_overview, machines.up) },
	{ "machines", "silent", FIGURE_COUNT, offsetof(struct model_overview, machines.silent) },
	{ "machines", "joined", FIGURE_COUNT, offsetof(struct model_overview, machines.joined) },
	{ "nodes", "running", FIGURE_COUNT, offsetof(struct model_overview, nodes.running) },
	{ "nodes", "starting", FIGURE_COUNT, offsetof(struct model_overview, nodes.starting) },
	{ "nodes", "pending", FIGURE_COUNT, offsetof(struct model_overview, nodes.pending) },
	{ "nodes", "longest_start_seconds", FIGURE_SECONDS, offsetof(struct model_overview, nodes.longest) },
	{ "orders", "buy", FIGURE_COUNT, offsetof(struct model_overview, orders.buy) },
	{ "orders", "sell", FIGURE_COUNT, offsetof(struct model_overview, orders.sell) },
	{ "money", "available", FIGURE_MONEY, offsetof(struct model_overview, money.available) },
	{ "money", "held", FIGURE_MONEY, offsetof(struct model_overview, money.held) },
	{ "money", "escrow", FIGURE_MONEY, offsetof(struct model_overview, money.escrow) },
	{ "money", "running_per_hour", FIGURE_MONEY, offsetof(struct model_overview, money.hourly) },
	{ "today", "turnover", FIGURE_MONEY, offsetof(struct model_overview, today.turnover) },
	{ "today", "fees", FIGURE_MONEY, offsetof(struct model_overview, today.fees) },
	{ "today", "credited", FIGURE_MONEY, offsetof(struct model_overview, today.credited) },
	{ "today", "node_seconds", FIGURE_SECONDS, offsetof(struct model_overview, today.seconds) },
	{ "month", "turnover", FIGURE_MONEY, offsetof(struct model_overview, month.turnover) },
	{ "month", "fees", FIGURE_MONEY, offsetof(struct model_overview, month.fees) },
	{ "month", "credited", FIGURE_MONEY, offsetof(struct model_overview, month.credited) },
	{ "month", "node_seconds", FIGURE_SECONDS, offsetof(struct model_overview, month.seconds) },
};

enum { FIGURES = sizeof figures / sizeof *figures };

static int64_t figure_value(const struct model_overview *v, const struct figure *f)
{
	int64_t value;

	memcpy(&value, (const char *)v + f->at, sizeof value);
	return value;
}

/* ---- For people ------------------------------------------------------------------------- */

/* Rounded down: 100 % is all of it. "-": nothing is sold or on sale. */
static const char *overview_share(int64_t sold, int64_t on_sale, char room[PERCENT_TEXT])
{
	double share = sold + on_sale > 0 ? 100.0 * (double)sold / (double)(sold + on_sale) : 0;

	if (sold + on_sale <= 0)
		return NULL;
	if (sold && share < 1)
		return "<1%";
	snprintf(room, PERCENT_TEXT, "%d%%", (int)share);
	return room;
}

/* ", 3 suspended"; nothing where there are none. */
static void overview_also(struct buf *b, int64_t n, const char *what)
{
	if (n && buf_addf(b, ", %" PRId64 " %s", n, what))
		command_nomem();
}

static void overview_line(struct nanopod *np, const char *label, struct buf *b)
{
	print_labelled(np, np->out, label, OVERVIEW_LABEL, buf_text(b));
	buf_clear(b);
}

static void overview_period(struct nanopod *np, const char *label, const struct model_overview_period *p, struct buf *b)
{
	char turnover[MONEY_TEXT], fees[MONEY_TEXT], credited[MONEY_TEXT];

	if (p->turnover == MODEL_NONE)
		buf_adds(b, "not known yet: the market still reads its ledger; ask again");
	else
		buf_addf(b, "%s turnover, %s fees, %s credited, %.1f node-hours", money_text(p->turnover, turnover),
			money_text(p->fees, fees), money_text(p->credited, credited), (double)p->seconds / 3600);
	overview_line(np, label, b);
}

static void overview_things(struct nanopod *np, const struct model_overview *v, struct buf *b)
{
	char span[WHEN_TEXT];

	buf_addf(b, "%" PRId64 ": %" PRId64 " buying, %" PRId64 " selling", v->accounts.total, v->accounts.buying,
		v->accounts.selling);
	overview_also(b, v->accounts.suspended, "suspended");
	overview_line(np, "Accounts", b);
	buf_addf(b, "%" PRId64 " up", v->hosts.up);
	if (v->hosts.draining)
		buf_addf(b, " (%" PRId64 " draining)", v->hosts.draining);
	overview_also(b, v->hosts.down, "down");
	overview_also(b, v->hosts.silent, "silent");
	overview_line(np, "Hosts", b);
	buf_addf(b, "%" PRId64 " up", v->machines.up);
	overview_also(b, v->machines.silent, "silent");
	overview_also(b, v->machines.joined, "never connected");
	overview_line(np, "Machines", b);
	buf_addf(b, "%" PRId64 " running", v->nodes.running);
	overview_also(b, v->nodes.starting, "starting");
	if (v->nodes.starting)
		buf_addf(b, " (up to %s)", when_span(v->nodes.longest, span));
	overview_also(b, v->nodes.pending, "pending without a host");
	overview_line(np, "Nodes", b);
	buf_addf(b, "%" PRId64 " open to buy, %" PRId64 " to sell", v->orders.buy, v->orders.sell);
	overview_line(np, "Orders", b);
}

static void overview_money(struct nanopod *np, const struct model_overview *v, struct buf *b)
{
	char available[MONEY_TEXT], held[MONEY_TEXT], escrow[MONEY_TEXT], hourly[MONEY_TEXT];

	buf_addf(b, "%s available, %s held for orders, %s in escrow", money_text(v->money.available, available),
		money_text(v->money.held, held), money_text(v->money.escrow, escrow));
	overview_line(np, "Balances", b);
	buf_addf(b, "%s an hour", money_text(v->money.hourly, hourly));
	overview_line(np, "Running", b);
	overview_period(np, "Today", &v->today, b);
	overview_period(np, "This month", &v->month, b);
}

static const struct column overview_type_columns[] = {
	{ "type", COLUMN_ID, NULL },
	{ "hosts", COLUMN_RIGHT | COLUMN_MINOR, NULL },
	{ "up", COLUMN_RIGHT | COLUMN_MINOR, NULL },
	{ "sold", COLUMN_RIGHT, NULL },
	{ "on_sale", COLUMN_RIGHT, NULL },
	{ "sold_now", COLUMN_RIGHT, NULL },
	{ "next_24h", COLUMN_RIGHT, NULL },
	{ "next_7d", COLUMN_RIGHT, NULL },
	{ 0 },
};

static int overview_types(struct nanopod *np, const struct options *o, const struct model_overview *v)
{
	int rc;
	struct rows *r = v->type_count ? rows_new(np, o, overview_type_columns, &rc) : NULL;

	if (!r)
		return v->type_count ? rc : 0;
	putc('\n', np->out);
	for (size_t i = 0; i < v->type_count; i++) {
		const struct model_overview_type *t = &v->types[i];
		char hosts[CELL_TEXT], up[CELL_TEXT], sold[CELL_TEXT], on_sale[CELL_TEXT], now[PERCENT_TEXT],
			day[PERCENT_TEXT], week[PERCENT_TEXT];

		rows_add(r,
			(const char *[]){ t->type, cell_int(t->hosts, hosts), cell_int(t->up, up),
				cell_int(t->sold, sold), cell_int(t->on_sale, on_sale),
				overview_share(t->sold, t->on_sale, now),
				overview_share(t->day_sold, t->day_on_sale, day),
				overview_share(t->week_sold, t->week_on_sale, week) });
	}
	return rows_end(r);
}

static const struct column overview_away_columns[] = {
	{ "away", COLUMN_ID, NULL },
	{ "state", COLUMN_STATE, NULL },
	{ "account", COLUMN_MINOR, NULL },
	{ "since", 0, NULL },
	{ "hosts", COLUMN_RIGHT | COLUMN_MINOR, NULL },
	{ "sold", COLUMN_RIGHT, NULL },
	{ "reason", COLUMN_TEXT | COLUMN_UNDER, NULL },
	{ 0 },
};

static bool overview_machine(const struct model_overview_away *a)
{
	return strcmp(a->kind, "machine") == 0;
}

static int overview_away(struct nanopod *np, const struct options *o, const struct model_overview *v)
{
	int rc;
	struct rows *r = v->away_count ? rows_new(np, o, overview_away_columns, &rc) : NULL;

	if (!r)
		return v->away_count ? rc : 0;
	putc('\n', np->out);
	for (size_t i = 0; i < v->away_count; i++) {
		const struct model_overview_away *a = &v->away[i];
		char since[CELL_TEXT], hosts[CELL_TEXT], sold[CELL_TEXT];

		rows_add(r,
			(const char *[]){ a->name ? a->name : a->id, overview_machine(a) ? "silent" : "down",
				a->account, cell_time(np, a->since, since), cell_int(a->hosts, hosts),
				cell_int(a->sold, sold), a->reason });
	}
	rc = rows_end(r);
	if (!rc && v->away_total > (int64_t)v->away_count)
		fprintf(np->out, "and %" PRId64 " more\n", v->away_total - (int64_t)v->away_count);
	return rc;
}

static int overview_screen(struct market_link *m, const struct options *o, const struct model_overview *v)
{
	struct nanopod *np = m->np;
	char when[WHEN_TEXT];
	struct buf b;
	int rc;

	buf_init(&b, OVERVIEW_BYTES);
	buf_addf(&b, "%s, %s", m->about.name ? m->about.name : m->url, when_local(v->now, v->now, when));
	overview_line(np, "Market", &b);
	overview_things(np, v, &b);
	overview_money(np, v, &b);
	buf_release(&b);
	rc = overview_types(np, o, v);
	return rc ? rc : overview_away(np, o, v);
}

/* ---- For programs ----------------------------------------------------------------------- */

static const struct column overview_columns[] = {
	{ "figure", COLUMN_ID, "its name: section.name, for types section.type.name" },
	{ "value", COLUMN_RIGHT, "a number, or dollars; none: not known yet" },
	{ 0 },
};

static void overview_add_type(struct rows *r, const struct model_overview_type *t)
{
	const struct {
		const char *name;
		int64_t value;
	} of[] = {
		{ "hosts", t->hosts },
		{ "hosts_up", t->up },
		{ "sold", t->sold },
		{ "on_sale", t->on_sale },
		{ "day_sold_seconds", t->day_sold },
		{ "day_on_sale_seconds", t->day_on_sale },
		{ "week_sold_seconds", t->week_sold },
		{ "week_on_sale_seconds", t->week_on_sale },
	};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		char name[300], value[CELL_TEXT];

		snprintf(name, sizeof name, "types.%.200s.%s", t->type, of[i].name);
		rows_add(r, (const char *[]){ name, cell_int(of[i].value, value) });
	}
}

static void overview_fill(struct nanopod *np, struct rows *r, const struct model_overview *v)
{
	char name[100], value[CELL_TEXT];

	for (size_t i = 0; i < FIGURES; i++) {
		int64_t n = figure_value(v, &figures[i]);

		snprintf(name, sizeof name, "%s.%s", figures[i].section, figures[i].name);
		rows_add(r,
			(const char *[]){ name,
				figures[i].kind == FIGURE_MONEY ? cell_money(np, n, value) : cell_int(n, value) });
	}
	for (size_t i = 0; i < v->type_count; i++)
		overview_add_type(r, &v->types[i]);
	rows_add(r, (const char *[]){ "away.total", cell_int(v->away_total, value) });
}

static int overview_rows(struct nanopod *np, const struct options *o, const struct model_overview *v)
{
	int rc;
	struct rows *r = rows_new(np, o, overview_columns, &rc);

	if (!r)
		return rc;
	overview_fill(np, r, v);
	return rows_end(r);
}

static void overview_json_figure(struct json *j, const struct figure *f, int64_t value)
{
	char room[MONEY_TEXT], key[64];

	if (f->kind != FIGURE_MONEY) {
		json_int(j, f->name, value);
		return;
	}
	json_text(j, f->name, money_wire(value, room));
	snprintf(key, sizeof key, "%s_micros", f->name);
	json_int(j, key, value);
}

static void overview_json_figures(struct json *j, const struct model_overview *v)
{
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *f = &figures[i];
		int64_t value = figure_value(v, f);
		bool begins = i == 0 || strcmp(f->section, figures[i - 1].section) != 0;
		bool ends = i + 1 == FIGURES || strcmp(f->section, figures[i + 1].section) != 0;

		if (value == MODEL_NONE) { /* so are all of its section */
			if (begins)
				json_nothing(j, f->section);
			continue;
		}
		if (begins)
			json_begin_object(j, f->section);
		overview_json_figure(j, f, value);
		if (ends)
			json_end(j);
	}
}

static void overview_json_types(struct json *j, const struct model_overview *v)
{
	json_begin_array(j, "types");
	for (size_t i = 0; i < v->type_count; i++) {
		const struct model_overview_type *t = &v->types[i];

		json_begin_object(j, NULL);
		json_text(j, "type", t->type);
		json_int(j, "gpus", t->gpus);
		json_int(j, "hosts", t->hosts);
		json_int(j, "hosts_up", t->up);
		json_int(j, "sold", t->sold);
		json_int(j, "on_sale", t->on_sale);
		json_int(j, "day_sold_seconds", t->day_sold);
		json_int(j, "day_on_sale_seconds", t->day_on_sale);
		json_int(j, "week_sold_seconds", t->week_sold);
		json_int(j, "week_on_sale_seconds", t->week_on_sale);
		json_end(j);
	}
	json_end(j);
}

static void overview_json_away(struct json *j, const struct model_overview *v)
{
	char when[WHEN_TEXT];

	json_begin_array(j, "away");
	for (size_t i = 0; i < v->away_count; i++) {
		const struct model_overview_away *a = &v->away[i];

		json_begin_object(j, NULL);
		json_text(j, "kind", a->kind);
		json_text(j, "id", a->id);
		json_text(j, "name", a->name);
		json_text(j, "state", overview_machine(a) ? "silent" : "down");
		json_text(j, "account", a->account);
		json_text(j, "since", a->since ? when_iso(a->since, when) : NULL);
		json_int(j, "hosts", a->hosts);
		json_int(j, "sold", a->sold);
		json_text(j, "reason", a->reason);
		json_end(j);
	}
	json_end(j);
	json_int(j, "away_total", v->away_total);
}

static int overview_json(struct market_link *m, const struct model_overview *v)
{
	char when[WHEN_TEXT];
	struct buf text;
	struct json j;

	buf_init(&text, OVERVIEW_BYTES);
	j = json_to(&text);
	json_begin_object(&j, NULL);
	json_text(&j, "market", m->about.name);
	json_text(&j, "time", when_iso(v->now, when));
	overview_json_figures(&j, v);
	overview_json_types(&j, v);
	overview_json_away(&j, v);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(m->np->out, "%s\n", buf_text(&text));
	buf_release(&text);
	return STATUS_OK;
}

/* ---- The action ------------------------------------------------------------------------- */

/* A market that starts counts this month's settlements once, a piece for each question. 0 or a negative code. */
static int overview_ask(struct market_link *m, struct model_overview *v)
{
	int64_t until = clock_ms() + COUNT_MS;
	int rc;

	do {
		rc = market_get(m, "/np/v1/overview");
		rc = rc ? rc : wire_overview(m->doc, v, &m->fail);
	} while (!rc && !v->counted && clock_ms() < until);
	return rc;
}

static int overview_show(struct market_link *m, const struct options *o, const struct model_overview *v, bool rows)
{
	return m->np->format == FORMAT_JSON && !rows ? overview_json(m, v)
		: cell_for_people(m->np) && !rows    ? overview_screen(m, o, v)
						     : overview_rows(m->np, o, v);
}

/* Between two looks: a terminal is cleared, elsewhere an empty line parts what people read. */
static void overview_part(struct nanopod *np, bool first)
{
	if (np->tty_out)
		fputs("\033[H\033[J", np->out);
	else if (!first && cell_for_people(np))
		fputc('\n', np->out);
}

/* Until a signal: on a terminal it is drawn again, elsewhere each look follows the one before. */
static int overview_watch(struct market_link *m, const struct options *o, bool rows)
{
	int number = 0, rc, status = 0;
	bool told = false, first = true;
	struct rows *csv = m->np->format == FORMAT_CSV ? rows_new(m->np, o, overview_columns, &status) : NULL;

	while (!status && !ferror(m->np->out)) {
		struct model_overview v;

		rc = overview_ask(m, &v);
		if (rc && !client_retryable(rc) && rc != CLIENT_STOPPED) {
			rows_drop(csv);
			return market_fail(m, "cannot show the market");
		}
		if (rc && rc != CLIENT_STOPPED && !told)
			print_warn(m->np, "cannot ask the market: %s; trying again", m->fail.text);
		told = rc != 0;
		if (!rc && csv) { /* one list: its header comes once */
			overview_fill(m->np, csv, &v);
		} else if (!rc) {
			overview_part(m->np, first);
			status = overview_show(m, o, &v, rows);
			first = false;
		}
		fflush(m->np->out);
		if (!status && signals_rest(option_ms(o, "every"), &number))
			status = number == SIGTERM ? STATUS_TERM : STATUS_INT;
	}
	rows_drop(csv);
	return status;
}

int admin_overview(struct nanopod *np, const struct options *o, char **words)
{
	bool rows = option_given(o, "fields") || option_given(o, "quiet");
	struct model_overview v;
	struct market_link *m;
	int rc;

	(void)words;
	if (!rows_check(np, o, overview_columns, &rc))
		return rc;
	rc = admin_begin(np, o, &m);
	if (rc)
		return rc;
	if (option_given(o, "watch") && !m->explain)
		rc = overview_watch(m, o, rows);
	else
		rc = overview_ask(m, &v) ? market_fail(m, "cannot show the market") : overview_show(m, o, &v, rows);
	market_sign_out(m);
	return rc;
}
