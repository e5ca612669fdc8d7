/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod statement: a month of one account, from the balance before it to the balance after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/money/paper.h"
#include "cli/cmd/money/sheet.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/wrap.h"
#include "cli/trade/market_clock.h"
#include "market/money.h"
#include "market/when.h"

enum { STATEMENT_BYTES = 64 << 20, PLAIN_COLUMNS = 80, NARROW_COLUMNS = 60, LABEL_COLUMNS = 17, STATUS_TEXT = 100 };

/* In the order in which a day shows them. */
static const struct statement_kind {
	const char *kind, *entry, *sum;
} kinds[] = {
	{ "credit", "Credit", "Credits" },
	{ "refund", "Refund", "Refunds" },
	{ "debit", "Taken back", "Taken back" },
	{ "earning", "Earned", "Earned by selling" },
	{ "usage", "Node time", "Node time" },
	{ "forfeit", "Released, not refunded", "Not refunded" },
	{ "sponsored", "Paid for others, by grants", "Paid for others" },
	{ "storage", "Volume", "Volumes" },
	{ "plan", "Fee of the plan", "Plan" },
	{ "plan_sold", "Plan sold", "Plans sold" },
	{ "payout", "Paid out", "Paid out" },
};

enum { KINDS = sizeof kinds / sizeof *kinds, KIND_CREDIT = 0, KIND_REFUND = 1, KIND_EARNING = 3 };

struct entry_line {
	int64_t at, amount, fee, seconds; /* fee: what the market kept of what buyers paid; not in the amount */
	size_t kind;
	struct paper_line of;
	size_t place;                /* as it came */
};

struct statement {
	struct paper paper;
	int64_t now;
	struct model_report_books books;
	struct entry_line *list;
	size_t count, cap;
	int64_t opening, closing, fees, sums[KINDS];
	struct sheet *page; /* for --pdf */
};

static int statement_add(void *arg, const struct model_report_row *row, struct fail *f)
{
	struct statement *s = arg;
	struct entry_line *e = NULL;
	size_t kind = 0;

	if (strcmp(row->kind, "refund") == 0)
		return 0; /* of time that is paid ahead: it changes no balance, as that is a part of it */
	while (kind < KINDS && strcmp(kinds[kind].kind, row->kind) != 0)
		kind++;
	if (kind == KINDS)
		return 0;
	if (kind == KIND_CREDIT && row->pool)
		kind = KIND_REFUND;
	for (size_t i = s->count; !e && (row->type || row->volume) && i-- > 0 && s->list[i].at == row->at;)
		if (s->list[i].kind == kind && paper_line_is(&s->list[i].of, row))
			e = &s->list[i];
	if (!e) {
		if (s->count == s->cap) {
			s->cap = s->cap ? 2 * s->cap : 64;
			s->list = reallocarray(s->list, s->cap, sizeof *s->list);
			if (!s->list)
				command_nomem();
		}
		e = &s->list[s->count];
		*e = (struct entry_line){ .at = row->at, .kind = kind, .place = s->count++ };
		paper_line_init(&e->of, row, row->reason);
	}
	if (money_add(e->amount, row->amount, &e->amount) || money_add(e->seconds, row->seconds, &e->seconds) ||
		money_add(e->fee, row->fee, &e->fee) || money_add(s->fees, row->fee, &s->fees) ||
		money_add(s->sums[kind], row->amount, &s->sums[kind]))
		return fail_set(f, CLIENT_BAD_ANSWER, "the market reports more than can be counted");
	return 0;
}

/* By day, kind, and as they came. */
static int entries_in_order(const void *x, const void *y)
{
	const struct entry_line *a = x, *b = y;
	int64_t day_a = a->at / 86400, day_b = b->at / 86400;

	if (day_a != day_b)
		return day_a < day_b ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Opening, closing, and whether the entries lead from one to the other: a wrong statement is not printed. */
static int statement_close(struct statement *s)
{
	struct fail *f = &s->paper.m->fail;
	int64_t reached;

	for (int i = 0; i < MODEL_BOOKS; i++)
		if (s->books.before[i] == MODEL_NONE || s->books.after[i] == MODEL_NONE ||
			money_add(s->opening, s->books.before[i], &s->opening) ||
			money_add(s->closing, s->books.after[i], &s->closing))
			return fail_set(f, CLIENT_BAD_ANSWER, "the market did not say all balances");
	reached = s->opening;
	for (size_t i = 0; i < KINDS; i++)
		if (money_add(reached, s->sums[i], &reached))
			return fail_set(f, CLIENT_BAD_ANSWER, "the market reports more than can be counted");
	if (reached != s->closing)
		return fail_set(f, CLIENT_BAD_ANSWER,
			"the entries do not lead from the opening to the closing balance; "
			"'nanopod ledger verify' checks each posting");
	if (s->count)
		qsort(s->list, s->count, sizeof *s->list, entries_in_order);
	return 0;
}

/* "Node time: train, h100, 18.0 node-hours", "Earned: h1, h100, 1.0 node-hours, fee $0.18"; free() it. */
static char *entry_text(const struct entry_line *e)
{
	char hours[64] = "", fee[MONEY_TEXT + 8] = "", room[MONEY_TEXT], *text;

	if (e->seconds)
		snprintf(hours, sizeof hours, e->seconds < 3600 ? ", %.0f node-minutes" : ", %.1f node-hours",
			(double)e->seconds / (e->seconds < 3600 ? 60 : 3600));
	if (e->fee)
		snprintf(fee, sizeof fee, ", fee %s", money_text(e->fee, room));
	if (asprintf(&text, "%s%s%s%s%s%s%s%s%s", kinds[e->kind].entry,
		    e->of.thing || e->of.type || e->of.reason ? ": " : "", e->of.thing ? e->of.thing : "",
		    e->of.thing && e->of.type ? ", " : "", e->of.type ? e->of.type : "", hours, fee,
		    e->of.reason && (e->of.thing || e->of.type) ? ", " : "", e->of.reason ? e->of.reason : "") < 0)
		command_nomem();
	return text;
}

static bool statement_final(const struct statement *s)
{
	return s->now >= s->paper.month.to;
}

/* ---- For people ------------------------------------------------------------------------- */

struct statement_page {
	FILE *out;
	const struct statement *s;
	size_t columns, text, amount; /* text: room for the entry; amount: for each amount */
	bool balance;                 /* with the balance after each entry */
};

static void statement_line(const struct statement_page *p, const char *day, const char *text, const char *amount,
	const char *balance)
{
	size_t skip, len = wrap_line(text, p->text, &skip), width;
	char *line = strndup(text, len);

	if (!line)
		command_nomem();
	fprintf(p->out, "%-10s  ", day);
	print_safe_line(p->out, line);
	width = print_width(line);
	free(line);
	fprintf(p->out, "%*s", (int)(width < p->text ? p->text - width : 0), "");
	fprintf(p->out, "  %*s", (int)p->amount, amount ? amount : p->balance ? "" : balance);
	if (p->balance)
		fprintf(p->out, "  %*s", (int)p->amount, balance);
	putc('\n', p->out);
	for (text += skip; *text; text += skip) {
		len = wrap_line(text, p->text, &skip);
		line = strndup(text, len);
		if (!line)
			command_nomem();
		fprintf(p->out, "%12s", "");
		print_safe_line(p->out, line);
		putc('\n', p->out);
		free(line);
	}
}

static void statement_label(const struct statement *s, const char *label, const char *text)
{
	if (s->page)
		sheet_pair(s->page, label, text);
	else
		print_labelled(s->paper.np, s->paper.np->out, label, LABEL_COLUMNS, text);
}

/* Of a month that goes on; else NULL. */
static const char *statement_status(const struct statement *s, char text[STATUS_TEXT])
{
	char when[WHEN_TEXT];

	snprintf(text, STATUS_TEXT, "not over: entries until %s", when_iso(s->now, when));
	return statement_final(s) ? NULL : text;
}

static void statement_head(const struct statement *s)
{
	char text[STATUS_TEXT];

	paper_head(&s->paper, "Statement", LABEL_COLUMNS);
	if (statement_status(s, text))
		statement_label(s, "Status", text);
	putc('\n', s->paper.np->out);
}

/* The widest amount that is printed. */
static size_t statement_amounts(const struct statement *s)
{
	int64_t balance = s->opening;
	char room[MONEY_TEXT];
	size_t most = strlen(money_text(balance, room));

	for (size_t i = 0; i < s->count; i++) {
		size_t len = strlen(money_text(s->list[i].amount, room));

		most = len > most ? len : most;
		balance += s->list[i].amount; /* statement_close() has added them up */
		len = strlen(money_text(balance, room));
		most = len > most ? len : most;
	}
	return most > strlen("BALANCE") ? most : strlen("BALANCE");
}

static void statement_entries(const struct statement *s, struct statement_page *p)
{
	char day[PERIOD_TEXT], amount[MONEY_TEXT], balance[MONEY_TEXT];
	int64_t sum = s->opening;

	fputs(print_color(s->paper.np, p->out, COLOR_BOLD), p->out);
	statement_line(p, "DATE", "ENTRY", "AMOUNT", "BALANCE");
	fputs(print_color(s->paper.np, p->out, COLOR_NONE), p->out);
	statement_line(p, period_day(s->paper.month.from, day), "Opening balance", NULL, money_text(sum, balance));
	for (size_t i = 0; i < s->count; i++) {
		char *text = entry_text(&s->list[i]);

		sum += s->list[i].amount;
		statement_line(p, period_day(s->list[i].at, day), text, money_text(s->list[i].amount, amount),
			money_text(sum, balance));
		free(text);
	}
	statement_line(p, period_day(statement_final(s) ? s->paper.month.to - 1 : s->now, day), "Closing balance", NULL,
		money_text(s->closing, balance));
}

static void statement_sums(const struct statement *s)
{
	static const char *const books[MODEL_BOOKS] = { "available", "held for orders and payouts",
		"paid for time ahead" };
	char text[200] = "", room[MONEY_TEXT], fees[MONEY_TEXT];

	for (size_t i = 0; i < KINDS; i++)
		if (s->sums[i] && i == KIND_EARNING && s->fees) {
			snprintf(text, sizeof text, "%s, after fees of %s", money_text(s->sums[i], room),
				money_text(s->fees, fees));
			statement_label(s, kinds[i].sum, text);
		} else if (s->sums[i])
			statement_label(s, kinds[i].sum, money_text(s->sums[i], room));
	*text = '\0';
	for (int i = 0; i < MODEL_BOOKS; i++)
		if (s->books.after[i] || i == 0)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %s", *text ? ", " : "",
				money_text(s->books.after[i], room), books[i]);
	statement_label(s, "Closing balance", text);
}

static int statement_table(const struct statement *s)
{
	struct statement_page p = { .out = s->paper.np->out, .s = s };

	p.columns = s->paper.np->tty_out ? print_columns(p.out) : PLAIN_COLUMNS;
	p.columns = p.columns < PLAIN_COLUMNS ? p.columns : PLAIN_COLUMNS;
	p.balance = p.columns >= NARROW_COLUMNS;
	p.amount = statement_amounts(s);
	p.text = 12 + (p.amount + 2) * (p.balance ? 2 : 1);
	p.text = p.columns > p.text + 12 ? p.columns - p.text : 12;
	statement_head(s);
	statement_entries(s, &p);
	putc('\n', p.out);
	statement_sums(s);
	return STATUS_OK;
}

/* ---- To file ---------------------------------------------------------------------------- */

static void statement_cells(const struct statement *s, int64_t at, const char *text, const char *amount,
	int64_t balance)
{
	char day[PERIOD_TEXT], after[MONEY_TEXT];

	sheet_row(s->page, (const char *[]){ period_day(at, day), text, amount, money_text(balance, after) }, balance,
		false);
}

static int statement_pdf(struct statement *s, const struct options *o)
{
	static const struct sheet_column columns[] = {
		{ .title = "Date", .width = 750 },
		{ .title = "Entry" },
		{ .title = "Amount", .width = 1050, .right = true },
		{ .title = "Balance", .width = 1100, .right = true },
		{ 0 },
	};
	char status[STATUS_TEXT], amount[MONEY_TEXT];
	int64_t sum = s->opening;
	int rc;

	s->page = sheet_new(&s->paper, "Statement", columns);
	if (statement_status(s, status))
		sheet_pair(s->page, "Status", status);
	statement_cells(s, s->paper.month.from, "Opening balance", "", sum);
	for (size_t i = 0; i < s->count; i++) {
		char *text = entry_text(&s->list[i]);

		sum += s->list[i].amount;
		statement_cells(s, s->list[i].at, text, money_text(s->list[i].amount, amount), sum);
		free(text);
	}
	statement_cells(s, statement_final(s) ? s->paper.month.to - 1 : s->now, "Closing balance", "", s->closing);
	statement_sums(s);
	rc = sheet_write(s->page, o);
	sheet_free(s->page);
	return rc;
}

/* ---- For programs ----------------------------------------------------------------------- */

static const struct column statement_columns[] = {
	{ "date", 0, "when, in UTC; of node time: the day" },
	{ "kind", COLUMN_ID,
		"opening, credit, refund, debit, earning, usage, forfeit, sponsored, plan, plan_sold, storage, "
		"payout or closing" },
	{ "type", 0, "type of node" },
	{ "of", 0, "reservation, or host" },
	{ "text", COLUMN_TEXT, "the entry as people read it" },
	{ "amount", COLUMN_RIGHT, "what it changed" },
	{ "amount_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "fee_micros", COLUMN_RAW | COLUMN_HIDDEN, "what the market kept of what buyers paid, in micro-dollars" },
	{ "balance", COLUMN_RIGHT, "all money of the account afterwards" },
	{ "balance_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ 0 },
};

static void statement_row(const struct statement *s, struct rows *r, int64_t at, const char *kind,
	const struct entry_line *e, const char *text, int64_t balance)
{
	char when[CELL_TEXT], amount[CELL_TEXT], micros[CELL_TEXT], fee[CELL_TEXT], after[CELL_TEXT],
		after_micros[CELL_TEXT];
	int64_t n = e ? e->amount : MODEL_NONE;

	rows_add(r,
		(const char *[]){ when_iso(at, when), kind, e ? e->of.type : NULL, e ? e->of.thing : NULL, text,
			cell_money(s->paper.np, n, amount), cell_micros(n, micros),
			cell_micros(e ? e->fee : MODEL_NONE, fee), cell_money(s->paper.np, balance, after),
			cell_micros(balance, after_micros) });
}

static int statement_rows(const struct statement *s, const struct options *o)
{
	int64_t balance = s->opening;
	struct rows *r;
	int rc;

	r = rows_new(s->paper.np, o, statement_columns, &rc);
	if (!r)
		return rc;
	statement_row(s, r, s->paper.month.from, "opening", NULL, "Opening balance", balance);
	for (size_t i = 0; i < s->count; i++) {
		char *text = entry_text(&s->list[i]);

		balance += s->list[i].amount;
		statement_row(s, r, s->list[i].at, kinds[s->list[i].kind].kind, &s->list[i], text, balance);
		free(text);
	}
	statement_row(s, r, statement_final(s) ? s->paper.month.to : s->now, "closing", NULL, "Closing balance",
		s->closing);
	return rows_end(r);
}

static void statement_json_entries(const struct statement *s, struct json *j)
{
	int64_t balance = s->opening;
	char when[WHEN_TEXT];

	json_begin_array(j, "entries");
	for (size_t i = 0; i < s->count; i++) {
		const struct entry_line *e = &s->list[i];

		balance += e->amount;
		json_begin_object(j, NULL);
		json_text(j, "date", when_iso(e->at, when));
		json_text(j, "kind", kinds[e->kind].kind);
		json_text(j, "type", e->of.type);
		json_text(j, "of", e->of.thing);
		json_text(j, "reason", e->of.reason);
		json_int(j, "seconds", e->seconds);
		paper_json_money(j, "amount", e->amount);
		paper_json_money(j, "fee", e->fee);
		paper_json_money(j, "balance", balance);
		json_end(j);
	}
	json_end(j);
}

static int statement_json(const struct statement *s)
{
	static const char *const books[MODEL_BOOKS] = { "available", "held", "escrow" };
	struct buf text;
	struct json j;

	buf_init(&text, STATEMENT_BYTES);
	j = json_to(&text);
	json_begin_object(&j, NULL);
	paper_json_head(&s->paper, &j);
	json_bool(&j, "final", statement_final(s));
	paper_json_money(&j, "opening", s->opening);
	paper_json_money(&j, "closing", s->closing);
	json_begin_object(&j, "sums");
	for (size_t i = 0; i < KINDS; i++)
		paper_json_money(&j, kinds[i].kind, s->sums[i]);
	json_end(&j);
	paper_json_money(&j, "fees", s->fees);
	for (int k = 0; k < 2; k++) {
		json_begin_object(&j, k ? "closing_books" : "opening_books");
		for (int i = 0; i < MODEL_BOOKS; i++)
			paper_json_money(&j, books[i], k ? s->books.after[i] : s->books.before[i]);
		json_end(&j);
	}
	statement_json_entries(s, &j);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(s->paper.np->out, "%s\n", buf_text(&text));
	buf_release(&text);
	return STATUS_OK;
}

/* ---- The command ------------------------------------------------------------------------ */

static void statement_release(struct statement *s)
{
	for (size_t i = 0; i < s->count; i++)
		paper_line_release(&s->list[i].of);
	free(s->list);
	paper_release(&s->paper);
}

static int statement_read(struct statement *s, const struct options *o)
{
	const char *month = option_argv(o)[0];
	struct market_clock clock;
	struct fail why = { 0 };
	struct period whole;
	int rc;

	if (market_clock_read(s->paper.m, &clock) < 0)
		return market_fail(s->paper.m, "cannot print the statement");
	s->now = market_clock_now(&clock);
	s->paper.month = period_month_of(s->now);
	if (month && period_read_month(month, &s->paper.month, &why))
		return print_fail(s->paper.np, STATUS_USAGE, NULL, "cannot print the statement: %s", why.text);
	if (s->paper.month.from > s->now)
		return print_fail(s->paper.np, STATUS_USAGE, NULL, "cannot print the statement: '%s' has not begun",
			month);
	whole = s->paper.month;
	rc = sheet_check(&s->paper, o, "statement");
	if (rc)
		return rc;
	rc = paper_whose(&s->paper);
	rc = rc ? rc : account_report_read(s->paper.m, &whole, &s->books, statement_add, s);
	rc = rc ? rc : statement_close(s);
	return rc ? market_fail(s->paper.m, "cannot print the statement") : 0;
}

static int statement_command(struct nanopod *np, const struct options *o)
{
	struct statement s = { .paper.np = np };
	bool rows; /* lines instead of a page or an object */
	int rc;

	if (!rows_check(np, o, statement_columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &s.paper.m);
	if (rc)
		return rc;
	rc = market_need_ours(s.paper.m, "statement");
	rc = rc ? rc : statement_read(&s, o);
	rows = option_given(o, "fields") || option_given(o, "quiet");
	if (!rc && !s.paper.m->explain)
		rc = option_given(o, "pdf")                   ? statement_pdf(&s, o)
			: np->format == FORMAT_JSON && !rows  ? statement_json(&s)
			: np->format == FORMAT_TABLE && !rows ? statement_table(&s)
							      : statement_rows(&s, o);
	statement_release(&s);
	market_sign_out(s.paper.m);
	return rc;
}

static const struct option options[] = {
	SHEET_OPTION,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod statement", "this month until now" },
	{ "nanopod statement 2026-10", "October 2026, to print or to file" },
	{ "nanopod statement 2026-10 --pdf october.pdf", "the same as pages" },
	{ "nanopod statement 2026-10 -o csv >october.csv", "for a spreadsheet" },
	{ "nanopod statement 2026-10 --account alice", "for the operator: of a customer" },
	{ 0 },
};

const struct command cmd_statement = {
	.name = "statement",
	.args = "[MONTH]",
	.summary = "print a month of the account: balances, entries and sums",
	.examples = examples,
	.positional = "MONTH  such as 2026-10, in UTC; default: this month",
	.description = "The balance is all money of the account: what is available, what orders hold, and what is paid "
		       "for time ahead. Entries are what changed it, from the market's ledger: node time and earnings "
		       "by day, credits one by one, with the operator's reason. A node's time is booked each hour and "
		       "at its end, so the last hour of a "
		       "month may be in the next one. nanopod checks that they lead from the "
		       "opening to the closing balance, which is the opening balance of the next month.\n\nThe number "
		       "consists of the month and the account's id, so no other statement of this market has it. A "
		       "month that is over does not change.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = 1,
	.run = statement_command,
};
