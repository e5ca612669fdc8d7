/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod price: what nodes cost now and why: the offers they would come from. It buys nothing. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/trade/quote.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/order_args.h"

enum { TEXT_MAX = 1 << 16 };

extern const struct command cmd_buy;

struct pricing {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct order_args args;
	struct skus skus;
	struct rows *rows;
	size_t shown, filled;
	int first_reason;
	bool side; /* types side by side, for an hour, a day and a week */
};

static const struct column columns[] = {
	{ "type", COLUMN_ID, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes" },
	{ "start", 0, "start" },
	{ "end", 0, "end" },
	{ "price", COLUMN_RIGHT,
		"average price, in dollars per GPU-hour (per node-hour without GPUs or with --per node)" },
	{ "limit", COLUMN_RIGHT, "the lowest -p that buys it: the price of the dearest offer" },
	{ "total", COLUMN_RIGHT, "in total, in dollars" },
	{ "fills", COLUMN_RAW, "true if it can be bought now" },
	{ "why", COLUMN_TEXT, "why it cannot be bought" },
	{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the total in millionths of a dollar" },
	{ "limit_micros_per_node_hour", COLUMN_RAW | COLUMN_HIDDEN,
		"the limit in millionths of a dollar per node-hour" },
	{ "gpus", COLUMN_RAW | COLUMN_HIDDEN, "GPUs of a node" },
	{ "granted_micros", COLUMN_RAW | COLUMN_HIDDEN, "what a grant pays besides the total" },
	{ "grant", COLUMN_HIDDEN, "its name" },
	{ "policy", COLUMN_HIDDEN, "the rule of the market's policy that decided" },
	{ "policy_reason", COLUMN_TEXT | COLUMN_HIDDEN, "what it says" },
	{ "offers", COLUMN_RAW | COLUMN_HIDDEN, "offers for the whole window, cheapest first" },
	{ 0 },
};

/* Without a time: types side by side. */
static const struct column side_columns[] = {
	{ "type", COLUMN_ID, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes" },
	{ "gpus", COLUMN_RAW | COLUMN_RIGHT, "GPUs of a node" },
	{ "price", COLUMN_RIGHT, "price of the next hour, in dollars per GPU-hour (per node-hour without GPUs)" },
	{ "total_1h", COLUMN_RIGHT, "for an hour from now, in dollars; nothing where it cannot be bought now" },
	{ "total_1d", COLUMN_RIGHT, "for a day" },
	{ "total_1w", COLUMN_RIGHT, "for a week" },
	{ "total_1h_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in millionths of a dollar" },
	{ "total_1d_micros", COLUMN_RAW | COLUMN_HIDDEN, "for a day" },
	{ "total_1w_micros", COLUMN_RAW | COLUMN_HIDDEN, "for a week" },
	{ 0 },
};

static void offers_json(const struct quote_book *book, struct buf *out)
{
	struct json j = json_to(out);
	char text[MONEY_TEXT];

	json_begin_array(&j, NULL);
	for (size_t i = 0; i < book->count; i++) {
		json_begin_object(&j, NULL);
		json_text(&j, "price_dollars_per_node_hour", price_wire(book->levels[i].price, text));
		json_int(&j, "price_micros_per_node_hour", book->levels[i].price * 60);
		json_int(&j, "nodes", book->levels[i].nodes);
		json_end(&j);
	}
	json_end(&j);
	if (j.error)
		command_nomem();
}

static void price_add_row(struct pricing *p, const struct sku *sku, const struct quote *q,
	const struct quote_book *book)
{
	unsigned gpus = order_args_gpus(&p->args, sku);
	char rooms[10][CELL_TEXT];
	struct buf offers;

	buf_init(&offers, TEXT_MAX);
	offers_json(book, &offers);
	rows_add(p->rows,
		(const char *[]){ sku->alias ? sku->alias : sku->id,
			cell_int(q->known ? q->nodes : p->args.nodes, rooms[0]),
			cell_time(p->np, p->args.window.start, rooms[1]),
			cell_time(p->np, p->args.window.end, rooms[2]), cell_price(quote_average(q), gpus, rooms[3]),
			q->known ? cell_price(q->price, gpus, rooms[4]) : NULL,
			q->known ? cell_money(p->np, q->cost, rooms[5]) : NULL, q->fills ? "true" : "false",
			q->fills ? NULL : q->message, q->known ? cell_int(q->cost, rooms[6]) : NULL,
			q->known ? cell_int(q->price * 60, rooms[7]) : NULL, cell_int(sku->gpus, rooms[8]),
			q->known ? cell_int(q->granted, rooms[9]) : NULL, *q->grant ? q->grant : NULL,
			*q->rule ? q->rule : NULL, *q->why ? q->why : NULL, buf_text(&offers) });
	buf_release(&offers);
}

/* "  total     $14.40", continued below itself where the terminal is narrow. */
static void put_said(struct pricing *p, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void put_said(struct pricing *p, const char *label, const char *fmt, ...)
{
	enum { PRICE_INDENT = 12 };
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		command_nomem();
	va_end(args);
	fprintf(p->np->out, "  %-8s  ", label);
	print_rest(p->np, p->np->out, text, PRICE_INDENT, PRICE_INDENT);
	free(text);
}

/* The cheapest offers, and how many of the wanted nodes each would give. */
static void put_offers(struct pricing *p, const struct sku *sku, const struct quote_book *book)
{
	int64_t want = p->args.nodes;
	char rate[PLAN_RATE], share[32];

	if (!book->count)
		put_said(p, "offers", "none for the whole window");
	for (size_t i = 0; i < book->count; i++) {
		int64_t n = book->levels[i].nodes < want ? book->levels[i].nodes : want > 0 ? want : 0;

		snprintf(share, sizeof share, n ? ", you get %" PRId64 : "", n);
		put_said(p, i ? "" : "offers", "%4" PRId64 " node%s at %s%s", book->levels[i].nodes,
			book->levels[i].nodes == 1 ? " " : "s",
			plan_rate(book->levels[i].price, order_args_gpus(&p->args, sku), rate), share);
		want -= n;
	}
	if (book->more)
		put_said(p, "", "and dearer ones");
}

static void put_sheet(struct pricing *p, const struct sku *sku, const struct quote *q, const struct quote_book *book)
{
	unsigned gpus = order_args_gpus(&p->args, sku);
	char window[WINDOW_TEXT], a[PLAN_RATE], b[PLAN_RATE], total[MONEY_TEXT], contract[SKU_CONTRACT];
	char policy[QUOTE_POLICY];
	FILE *out = p->np->out;

	fprintf(out, "%s%s%" PRId64 " node%s of ", p->shown ? "\n" : "", print_color(p->np, out, COLOR_BOLD),
		p->args.nodes, p->args.nodes == 1 ? "" : "s");
	print_safe_line(out, sku->alias ? sku->alias : sku->id);
	if (sku->gpus)
		fprintf(out, ", %u GPU%s each", sku->gpus, sku->gpus == 1 ? "" : "s");
	fprintf(out, "%s\n", print_color(p->np, out, COLOR_NONE));
	if (*sku_contract(sku, contract))
		put_said(p, "each", "%s", contract);
	put_said(p, "window", "%s", window_show(&p->args.window, command_now(p->np), window));
	if (q->known) {
		put_said(p, "total", "%s%s", money_text(q->cost, total),
			q->firm ? "" : ", computed from the order book");
		put_said(p, "price", "%s%s%s", plan_rate(quote_average(q), gpus, a), gpus ? ", " : "",
			gpus ? plan_rate(quote_average(q), 0, b) : "");
		put_said(p, "limit", "-p %s would buy it", quote_limit_text(q->price, gpus, total));
		if (*quote_policy(q, false, policy))
			put_said(p, "policy", "%s", policy);
	} else {
		put_said(p, "total", "%s%s", q->fills ? "not known: " : "not available now: ", q->message);
	}
	put_offers(p, sku, book);
}

/* The price holds even if the account cannot pay it. */
static bool price_holds(const struct quote *q)
{
	return q->known && (q->fills || quote_only_money(q->reason));
}

static int price_side(struct pricing *p, const struct sku *sku)
{
	static const int64_t seconds[3] = { 3600, 86400, 7 * 86400 };
	char cells[9][CELL_TEXT];
	const char *total[3], *micros[3], *hourly = NULL;

	for (size_t i = 0; i < 3; i++) {
		struct model_order_new order = { .sku = sku->id,
			.unverified = option_given(p->o, "unverified"),
			.nodes = p->args.nodes,
			.start = p->args.window.start,
			.end = p->args.window.start + seconds[i],
			.price = quote_any_price(p->args.nodes, seconds[i] / WINDOW_STEP) };
		struct quote q;
		bool holds;

		if (quote_ask(p->m, &order, sku, &q))
			return market_fail(p->m, "cannot price '%s'", sku->alias ? sku->alias : sku->id);
		holds = price_holds(&q);
		total[i] = holds ? cell_money(p->np, q.cost, cells[i]) : NULL;
		micros[i] = holds ? cell_int(q.cost, cells[3 + i]) : NULL;
		if (holds && i == 0)
			hourly = cell_price(quote_average(&q), order_args_gpus(&p->args, sku), cells[6]);
		p->filled += holds;
		if (!holds && !p->first_reason)
			p->first_reason = q.reason ? q.reason : REASON_NO_CAPACITY;
	}
	rows_add(p->rows,
		(const char *[]){ sku->alias ? sku->alias : sku->id, cell_int(p->args.nodes, cells[7]),
			cell_int(sku->gpus, cells[8]), hourly, total[0], total[1], total[2], micros[0], micros[1],
			micros[2] });
	p->shown++;
	return 0;
}

static int price_one(struct pricing *p, const struct sku *sku)
{
	int64_t minutes = window_minutes(&p->args.window);
	struct model_order_new order = { .sku = sku->id,
		.unverified = option_given(p->o, "unverified"),
		.nodes = p->args.nodes,
		.start = p->args.window.start,
		.end = p->args.window.end,
		.price = quote_any_price(p->args.nodes, minutes) };
	struct quote_book book;
	struct quote q;
	int rc;

	if (p->side)
		return price_side(p, sku);
	if (quote_ask(p->m, &order, sku, &q))
		return market_fail(p->m, "cannot price '%s'", sku->alias ? sku->alias : sku->id);
	rc = quote_book(p->m, sku, order.start, order.end, &book);
	/* A market that hides its book still gave an estimate. */
	if (rc && rc != REASON_NOT_FOUND && rc != REASON_FORBIDDEN && rc != REASON_NOT_IMPLEMENTED)
		return market_fail(p->m, "cannot list the offers of '%s'", sku->alias ? sku->alias : sku->id);
	q.fills = q.fills || price_holds(&q);
	if (p->rows)
		price_add_row(p, sku, &q, &book);
	else
		put_sheet(p, sku, &q, &book);
	p->shown++;
	p->filled += q.fills;
	if (!q.fills && !p->first_reason) {
		struct buf hint;

		p->first_reason = q.reason ? q.reason : REASON_NO_CAPACITY;
		buf_init(&hint, TEXT_MAX);
		quote_hint(&q, p->np->commands ? command_find(p->np, "price") : &cmd_buy, p->o, NULL,
			order_args_gpus(&p->args, sku), &hint);
		if (hint.len)
			print_note(p->np, "%s", buf_text(&hint));
		buf_release(&hint);
	}
	return 0;
}

/* All types that fit; only the exact one where the typed name is the whole name of one. */
static int price_all(struct pricing *p)
{
	const char *typed = option_given(p->o, "type") ? option_text(p->o, "type") : NULL;
	const struct sku *one;
	size_t fits = 0;
	int rc = 0;

	for (size_t i = 0; i < p->skus.count; i++)
		fits += !typed || sku_fits(&p->skus.list[i], typed);
	if (fits == 0 && typed)
		return skus_find(p->np, &p->skus, typed, &one);
	for (size_t i = 0; !rc && i < p->skus.count; i++) {
		const struct sku *sku = &p->skus.list[i];

		if (typed && (strcmp(sku->id, typed) == 0 || (sku->alias && strcmp(sku->alias, typed) == 0)))
			return price_one(p, sku);
	}
	for (size_t i = 0; !rc && i < p->skus.count; i++)
		if (!typed || sku_fits(&p->skus.list[i], typed))
			rc = price_one(p, &p->skus.list[i]);
	return rc;
}

/* The window, or the start alone. */
static int price_window(struct pricing *p, int64_t now)
{
	struct window_words words = { option_text(p->o, "start"), NULL, "1h", option_text(p->o, "round") };
	const char *field = NULL;
	struct fail f = { 0 };

	if (!p->side)
		return order_args_window(p->np, p->o, now, &p->args);
	if (window_parse(&words, now, &p->args.window, &field, &f))
		return print_fail_field(p->np, STATUS_USAGE, field, NULL, "%s", f.text);
	return 0;
}

static int price_ask(struct pricing *p)
{
	int rc = market_sign_in(p->np, p->o, 0, &p->m);
	bool explain;

	if (rc)
		return rc;
	if (market_clock_read(p->m, &p->args.clock) < 0)
		return market_fail(p->m, "cannot show prices");
	rc = price_window(p, market_clock_now(&p->args.clock));
	/* Loads the types even with --explain, as the requests depend on them. */
	explain = p->m->explain;
	p->m->explain = false;
	rc = rc ? rc : skus_load(p->m, &p->skus);
	p->m->explain = explain;
	if (rc)
		return rc;
	if (p->side ||
		!(p->np->format == FORMAT_TABLE && !option_given(p->o, "fields") && !option_given(p->o, "quiet"))) {
		p->rows = rows_new(p->np, p->o, p->side ? side_columns : columns, &rc);
		if (!p->rows)
			return rc;
	}
	rc = price_all(p);
	if (p->rows && !rc && !explain)
		rows_end(p->rows);
	else
		rows_drop(p->rows);
	if (!rc && p->shown && !p->filled)
		rc = reason_row(p->first_reason)->status;
	return rc;
}

static int price_command(struct nanopod *np, const struct options *o)
{
	struct pricing p = { .np = np, .o = o };
	int rc;

	if (signals_begin())
		command_nomem();
	p.side = !option_given(o, "duration") && !option_given(o, "end");
	rc = order_args_read(np, o, ORDER_ARGS_NODES, &p.args);
	rc = rc ? rc : price_window(&p, 0);
	p.args.per_node = strcmp(option_text(o, "per"), "node") == 0;
	if (!rc && rows_check(np, o, p.side ? side_columns : columns, &rc))
		rc = price_ask(&p);
	skus_release(&p.skus);
	market_sign_out(p.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "type", 't', OPTION_STRING, "TYPE", .help = "type of node, or the beginning of several; default: all",
		.complete = COMPLETE_TYPE },
	{ "nodes", 'n', OPTION_INT, "N", .fallback = "1", .min = 1, .max = 1024, .help = "number of nodes" },
	{ "duration", 'd', OPTION_STRING, "DURATION",
		.help = "how long: 90m, 24h, 1d12h, 2w; default: an hour, a day and a week side by side" },
	{ "start", 's', OPTION_STRING, "TIME",
		.help = "start: now, +3h, 18:00, 'tomorrow 09:00', ISO 8601, @unix; default: now" },
	{ "end", 'e', OPTION_STRING, "TIME", .help = "end, instead of a duration" },
	{ "round", 0, OPTION_ENUM, .values = "no|up|down",
		.help = "round a time that is not a whole minute; default: no, which refuses it",
		.complete = COMPLETE_VALUES },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node",
		.help = "unit of prices: the hour of a GPU or of a node", .complete = COMPLETE_VALUES },
	{ "unverified", 0, OPTION_FLAG, .help = "count hosts without a valid proof, too, where the type asks for one" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod price", "all types side by side, for an hour, a day and a week" },
	{ "nanopod price -t h100 -n 2 -d 24h", "two nodes for a day from now" },
	{ "nanopod price -d 4h -s 'tomorrow 09:00' -o wide", "all types, tomorrow morning" },
	{ "nanopod price -t h100 -d 1h -o json", "for a script: exact amounts and all offers" },
	{ 0 },
};

const struct command cmd_price = {
	.name = "price",
	.args = "",
	.summary = "show what nodes cost now, and why",
	.examples = examples,
	.description =
		"Without a time it shows types side by side: what an hour, a day and a week from now cost. With "
		"one it shows the total, the price, the limit that would buy it, and the offers it would come from. "
		"The exit status is 6 if none of it can be bought now.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.run = price_command,
};
