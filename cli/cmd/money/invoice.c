/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod invoice: what the market charged an account for a month that is over, from the ledger, as one total. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
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

enum { INVOICE_BYTES = 64 << 20, PAGE_COLUMNS = 80, TEXT_LEAST = 12, LABEL = 12 };

#define INVOICE_PAID "Paid from the account's balance when it was booked."

/* In the order in which they are shown. */
enum invoice_kind {
	INVOICE_USAGE,
	INVOICE_FORFEIT,
	INVOICE_GRANTED,
	INVOICE_SPONSORED,
	INVOICE_PLAN,
	INVOICE_INCLUDED,
	INVOICE_FEE,
	INVOICE_REFUND,
	INVOICE_STORAGE,
	INVOICE_KINDS
};

static const struct {
	const char *kind, *text;
} invoice_kinds[INVOICE_KINDS] = {
	{ "usage", "Node time" },
	{ "forfeit", "Released, not refunded" },
	{ "granted", "Node time that grants paid" },
	{ "sponsored", "Paid for others, by grants" },
	{ "plan", "Fee of the plan" },
	{ "included", "Node time that the plan paid" },
	{ "fee", "Market's fee on sales" },
	{ "refund", "Refund" },
	{ "storage", "Volume" },
};

struct invoice_line {
	enum invoice_kind kind;
	struct paper_line of;
	int64_t amount, seconds;
	int64_t granted; /* of a line that says what grants paid: it is no part of the amount */
};

struct invoice {
	struct paper paper;
	struct invoice_line *list;
	size_t count, cap;
	int64_t total, sums[INVOICE_KINDS];
};

/* ---- Lines -------------------------------------------------------------------------------- */

/* The row's line and what it costs. False: it charges nothing. */
static bool invoice_reads(const struct model_report_row *row, struct invoice_line *e)
{
	*e = (struct invoice_line){ .kind = INVOICE_KINDS };
	if (strcmp(row->kind, "usage") == 0 || strcmp(row->kind, "forfeit") == 0) {
		e->kind = *row->kind == 'u' ? INVOICE_USAGE : INVOICE_FORFEIT;
		e->amount = -row->amount;
		e->seconds = row->seconds;
	} else if (strcmp(row->kind, "granted") == 0 || strcmp(row->kind, "included") == 0) {
		e->kind = *row->kind == 'g' ? INVOICE_GRANTED : INVOICE_INCLUDED;
		e->granted = row->gross;
		e->seconds = row->seconds;
	} else if (strcmp(row->kind, "sponsored") == 0 || strcmp(row->kind, "plan") == 0) {
		e->kind = *row->kind == 's' ? INVOICE_SPONSORED : INVOICE_PLAN;
		e->amount = -row->amount;
	} else if (strcmp(row->kind, "storage") == 0) {
		e->kind = INVOICE_STORAGE;
		e->amount = -row->amount;
	} else if (strcmp(row->kind, "earning") == 0 && row->fee) {
		e->kind = INVOICE_FEE;
		e->amount = row->fee;
	} else if (strcmp(row->kind, "credit") == 0 && row->pool) {
		e->kind = INVOICE_REFUND;
		e->amount = -row->amount;
	}
	return e->kind != INVOICE_KINDS;
}

static int invoice_add(void *arg, const struct model_report_row *row, struct fail *f)
{
	struct invoice *s = arg;
	struct invoice_line made, *e = NULL;

	if (!invoice_reads(row, &made))
		return 0;
	for (size_t i = 0; i < s->count && !e && made.kind != INVOICE_REFUND; i++)
		if (s->list[i].kind == made.kind && paper_line_is(&s->list[i].of, row))
			e = &s->list[i];
	if (!e) {
		if (s->count == s->cap) {
			s->cap = s->cap ? 2 * s->cap : 64;
			s->list = reallocarray(s->list, s->cap, sizeof *s->list);
			if (!s->list)
				command_nomem();
		}
		e = &s->list[s->count++];
		*e = (struct invoice_line){ .kind = made.kind };
		paper_line_init(&e->of, row, made.kind == INVOICE_REFUND ? row->reason : NULL);
	}
	if (money_add(e->amount, made.amount, &e->amount) || money_add(e->seconds, made.seconds, &e->seconds) ||
		money_add(e->granted, made.granted, &e->granted) || money_add(s->total, made.amount, &s->total) ||
		money_add(s->sums[made.kind], made.amount, &s->sums[made.kind]))
		return fail_set(f, CLIENT_BAD_ANSWER, "the market reports more than can be counted");
	return 0;
}

static int invoice_compare(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int invoice_order(const void *x, const void *y)
{
	const struct invoice_line *a = x, *b = y;
	int rc = a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : invoice_compare(a->of.thing, b->of.thing);

	rc = rc ? rc : invoice_compare(a->of.type, b->of.type);
	return rc ? rc : invoice_compare(a->of.reason, b->of.reason);
}

/* "Node time: train, h100"; free() it. */
static char *invoice_text(const struct invoice_line *e)
{
	const char *parts[] = { e->of.thing, e->of.type, e->of.reason, NULL };
	char granted[MONEY_TEXT];
	struct buf text;
	bool first = true;

	buf_init(&text, INVOICE_BYTES);
	buf_adds(&text, invoice_kinds[e->kind].text);
	if (e->granted)
		parts[3] = money_text(e->granted, granted);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i] || !*parts[i])
			continue;
		buf_addf(&text, "%s%s", first ? ": " : ", ", parts[i]);
		first = false;
	}
	return buf_steal(&text);
}

static const char *invoice_hours(const struct invoice_line *e, char room[CELL_TEXT])
{
	*room = '\0';
	if (e->seconds)
		snprintf(room, CELL_TEXT, "%.1f", (double)e->seconds / 3600);
	return room;
}

/* ---- For people ----------------------------------------------------------------------------- */

/* hours, amount: their widths. */
static void invoice_line(const struct invoice *s, const char *text, const char *hours, const char *amount,
	const size_t width[3])
{
	FILE *out = s->paper.np->out;
	size_t skip, len = wrap_line(text, width[0], &skip), cells;
	char *line = strndup(text, len);

	if (!line)
		command_nomem();
	print_safe_line(out, line);
	cells = print_width(line);
	free(line);
	fprintf(out, "%*s  %*s  %*s\n", (int)(cells < width[0] ? width[0] - cells : 0), "", (int)width[1], hours,
		(int)width[2], amount);
	for (text += skip; *text; text += skip) {
		len = wrap_line(text, width[0] - 2, &skip);
		line = strndup(text, len);
		if (!line)
			command_nomem();
		fputs("  ", out);
		print_safe_line(out, line);
		putc('\n', out);
		free(line);
	}
}

static void invoice_head(const struct invoice *s)
{
	char day[PERIOD_TEXT];

	paper_head(&s->paper, "Invoice", LABEL);
	print_labelled(s->paper.np, s->paper.np->out, "Date", LABEL, period_day(s->paper.month.to, day));
	putc('\n', s->paper.np->out);
}

static int invoice_table(const struct invoice *s)
{
	size_t columns = s->paper.np->tty_out ? print_columns(s->paper.np->out) : PAGE_COLUMNS, width[3] = { 0, 5, 6 };
	char hours[CELL_TEXT], amount[MONEY_TEXT];

	columns = columns < PAGE_COLUMNS ? columns : PAGE_COLUMNS;
	for (size_t i = 0; i <= s->count; i++) {
		size_t wide = strlen(money_text(i < s->count ? s->list[i].amount : s->total, amount));

		width[2] = wide > width[2] ? wide : width[2];
		wide = i < s->count ? strlen(invoice_hours(&s->list[i], hours)) : 0;
		width[1] = wide > width[1] ? wide : width[1];
	}
	width[0] = columns > width[1] + width[2] + 4 + TEXT_LEAST ? columns - width[1] - width[2] - 4 : TEXT_LEAST;
	invoice_head(s);
	fputs(print_color(s->paper.np, s->paper.np->out, COLOR_BOLD), s->paper.np->out);
	invoice_line(s, "ITEM", "HOURS", "AMOUNT", width);
	fputs(print_color(s->paper.np, s->paper.np->out, COLOR_NONE), s->paper.np->out);
	for (size_t i = 0; i < s->count; i++) {
		char *text = invoice_text(&s->list[i]);

		invoice_line(s, text ? text : "", invoice_hours(&s->list[i], hours),
			money_text(s->list[i].amount, amount), width);
		free(text);
	}
	invoice_line(s, "Total", "", money_text(s->total, amount), width);
	putc('\n', s->paper.np->out);
	print_fill(s->paper.np->out, INVOICE_PAID, 0, (unsigned)columns);
	return STATUS_OK;
}

/* ---- For a browser -------------------------------------------------------------------------- */

/* Words of others, as text and nothing else. */
static void invoice_html(struct buf *out, const char *text)
{
	char *clean = strdup(text);

	if (!clean)
		command_nomem();
	utf8_clean(clean);
	for (const char *p = clean; *p; p++) {
		if (*p == '&')
			buf_adds(out, "&amp;");
		else if (*p == '<')
			buf_adds(out, "&lt;");
		else if (*p == '>')
			buf_adds(out, "&gt;");
		else if (*p == '"')
			buf_adds(out, "&quot;");
		else
			buf_addc(out, *p);
	}
	free(clean);
}

static void invoice_html_pair(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, "<tr><th>%s</th><td>", name);
	invoice_html(out, text);
	buf_adds(out, "</td></tr>\n");
}

static void invoice_html_row(struct buf *out, const char *text, const char *hours, const char *amount)
{
	buf_adds(out, "<tr><td>");
	invoice_html(out, text);
	buf_addf(out, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n", hours, amount);
}

static void invoice_html_head(const struct invoice *s, struct buf *out)
{
	char text[200], day[PERIOD_TEXT];

	buf_adds(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Invoice ");
	invoice_html(out, s->paper.number);
	buf_adds(out,
		"</title>\n<style>\nbody { font: 11pt sans-serif; max-width: 48em; margin: 2em auto; padding: 0 1em; "
		"}\n"
		"table { border-collapse: collapse; margin-bottom: 2em; }\n"
		"th, td { text-align: left; vertical-align: top; padding: .25em 1.5em .25em 0; }\n"
		".lines { width: 100%; }\n.lines td, .lines th { border-bottom: 1px solid #bbb; }\n"
		".n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; padding-right: 0; }\n"
		"tfoot td { font-weight: bold; }\n</style>\n</head>\n<body>\n<h1>Invoice</h1>\n<table>\n");
	invoice_html_pair(out, "Number", s->paper.number);
	invoice_html_pair(out, "Market", paper_market(&s->paper));
	invoice_html_pair(out, "Account", s->paper.account);
	invoice_html_pair(out, "Account id", s->paper.account_id);
	paper_month(&s->paper, text, sizeof text);
	invoice_html_pair(out, "Month", text);
	invoice_html_pair(out, "Date", period_day(s->paper.month.to, day));
	buf_adds(out,
		"</table>\n<table class=\"lines\">\n<thead><tr><th>Item</th><th class=\"n\">Hours</th>"
		"<th class=\"n\">Amount</th></tr></thead>\n<tbody>\n");
}

static int invoice_page(const struct invoice *s)
{
	char hours[CELL_TEXT], amount[MONEY_TEXT];
	struct buf out;

	buf_init(&out, INVOICE_BYTES);
	invoice_html_head(s, &out);
	for (size_t i = 0; i < s->count; i++) {
		char *text = invoice_text(&s->list[i]);

		invoice_html_row(&out, text ? text : "", invoice_hours(&s->list[i], hours),
			money_text(s->list[i].amount, amount));
		free(text);
	}
	buf_adds(&out, "</tbody>\n<tfoot>\n");
	invoice_html_row(&out, "Total", "", money_text(s->total, amount));
	if (buf_adds(&out, "</tfoot>\n</table>\n<p>" INVOICE_PAID "</p>\n</body>\n</html>\n"))
		command_nomem();
	fputs(buf_text(&out), s->paper.np->out);
	buf_release(&out);
	return STATUS_OK;
}

/* ---- To file ---------------------------------------------------------------------------------- */

static int invoice_pdf(const struct invoice *s, const struct options *o)
{
	static const struct sheet_column columns[] = {
		{ .title = "Item" },
		{ .title = "Hours", .width = 750, .right = true },
		{ .title = "Amount", .width = 1150, .right = true },
		{ 0 },
	};
	char hours[CELL_TEXT], amount[MONEY_TEXT], day[PERIOD_TEXT];
	struct sheet *page = sheet_new(&s->paper, "Invoice", columns);
	int64_t sum = 0;
	int rc;

	sheet_pair(page, "Date", period_day(s->paper.month.to, day));
	for (size_t i = 0; i < s->count; i++) {
		char *text = invoice_text(&s->list[i]);

		sum += s->list[i].amount; /* as s->total, which was counted with care */
		sheet_row(page,
			(const char *[]){ text ? text : "", invoice_hours(&s->list[i], hours),
				money_text(s->list[i].amount, amount) },
			sum, false);
		free(text);
	}
	sheet_row(page, (const char *[]){ "Total", "", money_text(s->total, amount) }, s->total, true);
	sheet_note(page, INVOICE_PAID);
	rc = sheet_write(page, o);
	sheet_free(page);
	return rc;
}

/* ---- For programs --------------------------------------------------------------------------- */

static const struct column invoice_columns[] = {
	{ "number", COLUMN_WIDE, "of the invoice" },
	{ "kind", COLUMN_ID, "usage, forfeit, granted, sponsored, plan, included, fee, refund, storage or total" },
	{ "of", 0, "reservation, or host" },
	{ "type", 0, "type of node" },
	{ "text", COLUMN_TEXT, "the item as people read it" },
	{ "node_seconds", COLUMN_RAW | COLUMN_HIDDEN, "node time" },
	{ "node_hours", COLUMN_RIGHT, "the same in hours" },
	{ "amount", COLUMN_RIGHT, "what it costs" },
	{ "amount_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "granted_micros", COLUMN_RAW | COLUMN_HIDDEN, "what grants paid" },
	{ 0 },
};

static int invoice_rows(const struct invoice *s, const struct options *o)
{
	char seconds[CELL_TEXT], hours[CELL_TEXT], amount[CELL_TEXT], micros[CELL_TEXT], granted[CELL_TEXT];
	struct rows *r;
	int rc;

	r = rows_new(s->paper.np, o, invoice_columns, &rc);
	if (!r)
		return rc;
	for (size_t i = 0; i < s->count; i++) {
		const struct invoice_line *e = &s->list[i];
		char *text = invoice_text(e);

		rows_add(r,
			(const char *[]){ s->paper.number, invoice_kinds[e->kind].kind, e->of.thing, e->of.type, text,
				cell_int(e->seconds, seconds), invoice_hours(e, hours),
				cell_money(s->paper.np, e->amount, amount), cell_micros(e->amount, micros),
				cell_micros(e->granted, granted) });
		free(text);
	}
	rows_add(r,
		(const char *[]){ s->paper.number, "total", NULL, NULL, "Total", NULL, NULL,
			cell_money(s->paper.np, s->total, amount), cell_micros(s->total, micros), NULL });
	return rows_end(r);
}

static int invoice_json(const struct invoice *s)
{
	struct buf text;
	struct json j;

	buf_init(&text, INVOICE_BYTES);
	j = json_to(&text);
	json_begin_object(&j, NULL);
	paper_json_head(&s->paper, &j);
	json_begin_array(&j, "lines");
	for (size_t i = 0; i < s->count; i++) {
		const struct invoice_line *e = &s->list[i];

		json_begin_object(&j, NULL);
		json_text(&j, "kind", invoice_kinds[e->kind].kind);
		json_text(&j, "of", e->of.thing);
		json_text(&j, "type", e->of.type);
		json_text(&j, "reason", e->of.reason);
		json_int(&j, "node_seconds", e->seconds);
		paper_json_money(&j, "amount", e->amount);
		paper_json_money(&j, "granted", e->granted);
		json_end(&j);
	}
	json_end(&j);
	json_begin_object(&j, "sums");
	for (size_t i = 0; i < INVOICE_KINDS; i++)
		paper_json_money(&j, invoice_kinds[i].kind, s->sums[i]);
	json_end(&j);
	paper_json_money(&j, "total", s->total);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(s->paper.np->out, "%s\n", buf_text(&text));
	buf_release(&text);
	return STATUS_OK;
}

/* ---- The command ---------------------------------------------------------------------------- */

static void invoice_release(struct invoice *s)
{
	for (size_t i = 0; i < s->count; i++)
		paper_line_release(&s->list[i].of);
	free(s->list);
	paper_release(&s->paper);
}

/* What is booked in a month stays; until it is over, there is more to come. */
static int invoice_read(struct invoice *s, const struct options *o)
{
	char title[PERIOD_TEXT], day[PERIOD_TEXT], word[PERIOD_TEXT], hint[120];
	struct market_clock clock;
	struct fail why = { 0 };
	int64_t now;
	int rc;

	if (period_read_month(option_argv(o)[0], &s->paper.month, &why))
		return print_fail(s->paper.np, STATUS_USAGE, NULL, "cannot print the invoice: %s", why.text);
	rc = sheet_check(&s->paper, o, "invoice");
	if (rc)
		return rc;
	if (market_clock_read(s->paper.m, &clock) < 0)
		return market_fail(s->paper.m, "cannot print the invoice");
	now = market_clock_now(&clock);
	if (!s->paper.m->explain && now < s->paper.month.to) {
		snprintf(hint, sizeof hint, "'nanopod statement %s' shows what was booked so far",
			period_month(s->paper.month.from, word));
		return print_fail(s->paper.np, STATUS_CONFLICT, s->paper.month.from <= now ? hint : NULL,
			"cannot print the invoice: %s ends on %s", period_title(s->paper.month.from, title),
			period_day(s->paper.month.to - 1, day));
	}
	rc = paper_whose(&s->paper);
	rc = rc ? rc : account_report_read(s->paper.m, &s->paper.month, NULL, invoice_add, s);
	if (!rc && s->count)
		qsort(s->list, s->count, sizeof *s->list, invoice_order);
	return rc ? market_fail(s->paper.m, "cannot print the invoice") : 0;
}

static int invoice_command(struct nanopod *np, const struct options *o)
{
	struct invoice s = { .paper.np = np };
	bool rows; /* lines instead of a page or an object */
	int rc;

	if (!rows_check(np, o, invoice_columns, &rc))
		return rc;
	if (option_given(o, "pdf") && option_given(o, "html"))
		return print_fail(np, STATUS_USAGE, NULL, "cannot use --pdf with --html");
	rc = market_sign_in(np, o, 0, &s.paper.m);
	if (rc)
		return rc;
	rc = market_need_ours(s.paper.m, "invoice");
	rc = rc ? rc : invoice_read(&s, o);
	rows = option_given(o, "fields") || option_given(o, "quiet");
	if (!rc && !s.paper.m->explain)
		rc = option_given(o, "html")                  ? invoice_page(&s)
			: option_given(o, "pdf")              ? invoice_pdf(&s, o)
			: np->format == FORMAT_JSON && !rows  ? invoice_json(&s)
			: np->format == FORMAT_TABLE && !rows ? invoice_table(&s)
							      : invoice_rows(&s, o);
	invoice_release(&s);
	market_sign_out(s.paper.m);
	return rc;
}

static const struct option options[] = {
	{ "html", 0, OPTION_FLAG, .help = "one page for a browser or a printer" },
	SHEET_OPTION,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod invoice 2026-10", "what October 2026 cost" },
	{ "nanopod invoice 2026-10 --pdf october.pdf", "to print, to send or to file" },
	{ "nanopod invoice 2026-10 --html >october.html", "for a browser" },
	{ "nanopod invoice 2026-10 --account alice -o json", "for the operator: of a customer" },
	{ 0 },
};

const struct command cmd_invoice = {
	.name = "invoice",
	.args = "MONTH",
	.summary = "print what a month that is over cost",
	.examples = examples,
	.positional = "MONTH  such as 2026-10, in UTC; it must be over",
	.description = "An invoice has what the market charged: node time that passed, what was paid for time that was "
		       "released and not refunded, the market's fee on what the account sold, and, below zero, refunds "
		       "that the operator gave for reservations. It is of the market's ledger, as 'nanopod statement' "
		       "is, and its total agrees with that.\n\nIts number consists of the month and the account's id: "
		       "there is one for each month, none twice, and printing it again changes nothing.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.min_args = 1,
	.max_args = 1,
	.run = invoice_command,
};
