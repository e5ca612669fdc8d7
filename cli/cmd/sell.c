/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod sell, in the stages of cli/trade/deal.h: part of a reservation goes back into the book, at a price. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/deal.h"
#include "market/when.h"

extern const struct command cmd_sell;

struct sell {
	struct deal d;
	struct deal_order order;
};

static const struct column columns[] = {
	{ "order", COLUMN_ID, "its id" },
	{ "status", COLUMN_STATE, "of the order" },
	{ "reservation", 0, "the reservation it sells from" },
	{ "type", COLUMN_WIDE, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes offered" },
	{ "sold", COLUMN_RAW | COLUMN_RIGHT, "number of nodes sold so far" },
	{ "start", 0, "start of the window" },
	{ "end", 0, "end of the window" },
	{ "price", COLUMN_RIGHT, "asked, in dollars per GPU-hour (per node-hour without GPUs or with --per node)" },
	{ "total", COLUMN_RIGHT, "received before the fee, in dollars" },
	{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in millionths of a dollar" },
	{ "replayed", COLUMN_RAW | COLUMN_HIDDEN, "an earlier command placed it" },
	{ 0 },
};

/* ---- Which window ------------------------------------------------------------------------- */

/* --last 6h means all six hours: where less is left, that is an error. */
static int sell_find_last(struct sell *s, int64_t first, int64_t end)
{
	char asked[WHEN_TEXT], left[WHEN_TEXT];
	int64_t seconds, start;

	when_duration(option_text(s->d.o, "last"), &seconds, NULL);
	start = end - seconds / WINDOW_STEP * WINDOW_STEP;
	if (start < first && end > first)
		return print_fail_field(s->d.np, STATUS_CONFLICT, "--last",
			"without '--last' the order offers all that is left",
			"cannot sell the last %s of '%s': only %s is left", when_span(seconds, asked),
			s->order.reservation.name, when_span(end - first, left));
	s->order.args.window = (struct window){ .start = start, .end = end };
	return 0;
}

/* Without any of the options: all that is left. */
static int find_window(struct sell *s)
{
	const struct options *o = s->d.o;
	const struct reservation_part *part = s->order.part;
	struct window *w = &s->order.args.window;
	char at[32];
	struct window_words words = { option_given(o, "start") ? option_text(o, "start") : NULL,
		option_given(o, "end") ? option_text(o, "end") : NULL,
		option_given(o, "duration") ? option_text(o, "duration") : NULL,
		option_given(o, "round") ? option_text(o, "round") : NULL };
	int64_t end = part_end(part), now = market_clock_now(&s->d.args.clock), first = window_first(now);
	const char *field = NULL;
	struct fail f = { 0 };

	if (option_given(o, "last"))
		return sell_find_last(s, first, end);
	if (!words.end && !words.duration) {
		snprintf(at, sizeof at, "@%" PRId64, end);
		words.end = at;
		if (!words.start && part_start(part) > first) {
			*w = (struct window){ .start = part_start(part), .end = end };
			return 0;
		}
	}
	if (window_parse(&words, now, w, &field, &f))
		return print_fail_field(s->d.np, STATUS_USAGE, field, NULL, "%s", f.text);
	return 0;
}

static int check_owned(struct sell *s)
{
	struct deal_order *e = &s->order;
	int64_t least = part_least(e->part, e->args.window.start, e->args.window.end);
	char window[WINDOW_TEXT], nodes[DEAL_NODES];

	if (e->args.window.end <= e->args.window.start || least <= 0)
		return print_fail(s->d.np, STATUS_CONFLICT, "'nanopod show' lists what it has",
			"cannot sell that of '%s': it has no nodes all through that window", e->reservation.name);
	e->args.nodes = option_given(s->d.o, "nodes") ? option_int(s->d.o, "nodes") : least;
	if (e->args.nodes > least)
		return print_fail_field(s->d.np, STATUS_CONFLICT, "--nodes", NULL,
			"cannot sell %s of '%s': it has %" PRId64 " in %s", deal_nodes(e->args.nodes, nodes),
			e->reservation.name, least,
			window_show(&e->args.window, market_clock_now(&e->args.clock), window));
	return 0;
}

/* ---- The plan and the order ---------------------------------------------------------------- */

static int sell_show_plan(struct sell *s)
{
	const struct order_args *args = &s->order.args;
	const char *name = s->order.reservation.name;
	int64_t least = 0, fee = 0, bps = s->d.ours ? s->d.m->about.policy.fee_bps : 0;
	char window[WINDOW_TEXT], rate[PLAN_RATE], a[MONEY_TEXT], c[MONEY_TEXT], nodes[DEAL_NODES], when[WHEN_TEXT];
	struct plan p;

	if (money_cost(args->limit, args->nodes, window_minutes(&args->window), &least))
		return deal_too_large(&s->d, "cannot sell that");
	fee = least / 10000 * bps + (least % 10000 * bps + 9999) / 10000;
	plan_init(&p, "Sell %s of '%s'", deal_nodes(args->nodes, nodes), name);
	plan_add(&p, "window", "%s", window_show(&args->window, market_clock_now(&args->clock), window));
	plan_add(&p, "price", "at least %s%s", plan_rate(args->limit, order_args_gpus(args, s->order.sku), rate),
		option_given(s->d.o, "whole") ? ", all of it to one buyer or none" : ", in parts too");
	plan_add(&p, "total", "%s if all of it is sold%s%s", deal_about(least, a), bps ? ", less a fee of " : "",
		bps ? deal_about(fee, c) : "");
	when_local(args->window.start, market_clock_now(&args->clock), when);
	if (option_given(s->d.o, "whole"))
		plan_add(&p, "nodes", "Nodes you sell stop at %s and run until then", when);
	else
		plan_add(&p, "nodes", "Nodes you sell run until their sold time begins, %s at the earliest", when);
	plan_add(&p, "refund", "none: what nobody buys stays yours%s",
		option_given(s->d.o, "no-standing") ? "" : ", and 'nanopod cancel' withdraws the order");
	plan_show(s->d.np, &p);
	plan_release(&p);
	return 0;
}

static int sell_print(struct sell *s, int status)
{
	const struct order_status *d = &s->order.purchase.order;
	const struct sku *sku = s->order.sku;
	char r[7][CELL_TEXT];
	struct rows *rows;
	int rc;

	remember_one(REMEMBER_ORDERS, s->d.m->url, d->id, d->status_text);
	rows = rows_new(s->d.np, s->d.o, columns, &rc);
	if (!rows)
		return rc;
	rows_add(rows,
		(const char *[]){ d->id, order_status_cell(s->d.np, d), s->order.reservation.name,
			sku->alias ? sku->alias : sku->id, cell_int(d->nodes, r[0]), cell_int(d->filled_nodes, r[1]),
			cell_time(s->d.np, d->start, r[2]), cell_time(s->d.np, d->end, r[3]),
			cell_price(d->limit, order_args_gpus(&s->order.args, sku), r[4]),
			cell_money(s->d.np, d->total, r[5]), cell_int(d->total, r[6]),
			s->order.purchase.replayed ? "true" : "false" });
	rc = rows_end(rows);
	return rc ? rc : status;
}

static int sell_failed(struct sell *s, int rc)
{
	char nodes[DEAL_NODES];

	if (purchase_nothing_done(&s->order.purchase, rc)) {
		purchase_end(&s->order.purchase);
		return market_fail(s->d.m, "cannot sell %s of '%s'", deal_nodes(s->order.args.nodes, nodes),
			s->order.reservation.name);
	}
	return print_fail(s->d.np, purchase_status(rc),
		"run the same command again; it continues from here and sells nothing twice",
		"cannot tell whether the order to sell '%s' was placed: %s", s->order.reservation.name,
		s->d.m->fail.text);
}

/* waited: as order_status_wait() returned it. */
static int sell_placed(struct sell *s, int waited)
{
	struct purchase *p = &s->order.purchase;
	bool decided = order_status_decided(&p->order);
	int status = STATUS_OK;

	if (decided && !p->order.filled_minutes) {
		purchase_end(p);
		return print_fail(s->d.np, STATUS_CAPACITY,
			"without '--no-standing' the order waits in the book for a buyer",
			"nothing of '%s' was sold: %s", s->order.reservation.name,
			reason_row(p->order.reason ? p->order.reason : REASON_NO_BUYER)->text);
	}
	if (!decided)
		print_note(s->d.np,
			"order '%s' waits in the book: 'nanopod show %s' shows what became of it, 'nanopod cancel %s' "
			"withdraws it",
			p->order.id, p->order.id, p->order.id);
	if (waited == 2)
		status = STATUS_INT;
	else if (waited == 1 && option_given(s->d.o, "wait"))
		status = STATUS_WAITING;
	return purchase_told(p, sell_print(s, status));
}

static int sell_carry_out(struct sell *s)
{
	const struct order_args *args = &s->order.args;
	struct model_order_new order = { .sku = s->order.sku->id,
		.sell = true,
		.standing = !option_given(s->d.o, "no-standing"),
		.partial = !option_given(s->d.o, "whole"),
		.nodes = args->nodes,
		.start = args->window.start,
		.end = args->window.end,
		.price = args->limit };
	struct purchase *p = &s->order.purchase;
	int number = 0, rc = purchase_order(p, &order);

	if (s->d.explain)
		return rc ? market_fail(s->d.m, "cannot sell") : STATUS_OK;
	if (rc)
		return sell_failed(s, rc);
	if (p->resumed)
		print_note(s->d.np, "replayed: order '%s' was placed before", p->order.id);
	if (p->order.status == MODEL_ORDER_PENDING)
		rc = order_status_wait(s->d.m, &p->order, option_given(s->d.o, "no-wait") ? 0 : DEAL_DECIDE_MS,
			&number);
	if (rc == 2)
		return print_fail(s->d.np, number == SIGTERM ? STATUS_TERM : STATUS_INT,
			"'nanopod show' with that id shows what became of it", "order '%s' is placed: interrupted",
			p->order.id);
	if (option_given(s->d.o, "wait") && !order_status_decided(&p->order))
		rc = order_status_wait(s->d.m, &p->order, order_args_wait(s->d.o, 0), &number);
	return sell_placed(s, rc);
}

static int sell_fresh(struct sell *s)
{
	struct order_args *args = &s->order.args;
	int rc = find_window(s);

	rc = rc ? rc : check_owned(s);
	rc = rc ? rc : sell_show_plan(s);
	rc = rc ? rc : plan_agree(s->d.np, s->d.o, "Sell it?");
	if (!rc && window_move(&args->window, market_clock_now(&args->clock)))
		rc = check_owned(s);
	if (rc)
		return rc;
	if (deal_begin(&s->d, &s->order)) {
		purchase_end(&s->order.purchase);
		return print_fail(s->d.np, STATUS_FAILURE, NULL, "%s", s->d.m->fail.text);
	}
	return sell_carry_out(s);
}

static int sell_go(struct sell *s)
{
	struct deal_order *e = &s->order;
	char cannot[96];
	int rc;

	snprintf(cannot, sizeof cannot, "cannot sell '%.60s'", option_argv(s->d.o)[0]);
	rc = deal_open(&s->d, cannot);
	rc = rc ? rc : reservation_find(s->d.m, option_argv(s->d.o)[0], &e->reservation);
	rc = rc ? rc : plan_can_ask(s->d.np, s->d.o);
	e->args = s->d.args;
	rc = rc ? rc : deal_find_part(&s->d, e, cannot, NULL);
	rc = rc ? rc : order_args_price(s->d.np, s->d.o, e->sku, &e->args);
	rc = rc ? rc : deal_find_unfinished(&s->d, e, e->reservation.id, "order.body");
	if (rc)
		return rc;
	if (!e->purchase.resumed)
		return sell_fresh(s);
	print_note(s->d.np, "continues the unfinished sale of '%s' by this command", e->reservation.name);
	return sell_carry_out(s);
}

static int sell_check_line(struct sell *s)
{
	struct nanopod *np = s->d.np;
	const struct options *o = s->d.o;
	struct window_words words = { option_given(o, "start") ? option_text(o, "start") : NULL,
		option_given(o, "end") ? option_text(o, "end") : NULL,
		option_given(o, "duration") ? option_text(o, "duration") : "1h",
		option_given(o, "round") ? option_text(o, "round") : NULL };
	const char *field = NULL;
	struct fail f = { 0 };
	struct window window;
	int64_t seconds;
	int rc = order_args_read(np, o, ORDER_ARGS_PRICE | ORDER_ARGS_NEEDS_PRICE, &s->d.args);

	if (rc)
		return rc;
	if (option_given(o, "last") && (words.start || words.end || option_given(o, "duration")))
		return print_fail_field(np, STATUS_USAGE, "--last", NULL,
			"cannot use '--last' with '--start', '--end' or '--duration'");
	if (option_given(o, "last") && when_duration(option_text(o, "last"), &seconds, &f))
		return print_fail_field(np, STATUS_USAGE, "--last", NULL, "cannot use '--last': %s", f.text);
	if (option_given(o, "last") && seconds % WINDOW_STEP)
		return print_fail_field(np, STATUS_USAGE, "--last", NULL,
			"cannot use '--last': it is not a whole number of minutes");
	if (words.end && !option_given(o, "duration"))
		words.duration = NULL;
	if (window_parse(&words, 0, &window, &field, &f))
		return print_fail_field(np, STATUS_USAGE, field, NULL, "%s", f.text);
	rc = order_args_check_wait(np, o);
	return rc;
}

static int sell_command(struct nanopod *np, const struct options *o)
{
	struct sell s;
	int rc;

	deal_init(&s.d, np, o, &cmd_sell);
	deal_order_init(&s.order);
	if (signals_begin())
		command_nomem();
	rc = sell_check_line(&s);
	if (!rc && rows_check(np, o, columns, &rc))
		rc = sell_go(&s);
	deal_order_release(&s.order);
	deal_release(&s.d);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "nodes", 'n', OPTION_INT, "N", .min = 1, .max = 1024,
		.help = "number of nodes; default: all that it has through the whole window" },
	{ "last", 0, OPTION_STRING, "DURATION", .help = "the last part of it, e.g. 6h" },
	{ "start", 's', OPTION_STRING, "TIME",
		.help = "start: now, +3h, 18:00, 'tomorrow 09:00', ISO 8601, @unix; default: now" },
	{ "end", 'e', OPTION_STRING, "TIME", .help = "end; default: the end of the reservation" },
	{ "duration", 'd', OPTION_STRING, "DURATION", .help = "how long, instead of an end" },
	{ "round", 0, OPTION_ENUM, .values = "no|up|down",
		.help = "round a time that is not a whole minute; default: no, which refuses it",
		.complete = COMPLETE_VALUES },
	{ "price", 'p', OPTION_STRING, "DOLLARS",
		.help = "the lowest price to accept, in dollars per GPU-hour (node-hour without GPUs); required" },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node",
		.help = "unit of prices: the hour of a GPU or of a node", .complete = COMPLETE_VALUES },
	{ "type", 't', OPTION_STRING, "TYPE", .help = "which type, if the reservation has several",
		.complete = COMPLETE_TYPE },
	{ "whole", 0, OPTION_FLAG, .help = "sell all of it to one buyer, or nothing" },
	{ "no-standing", 0, OPTION_FLAG, .help = "sell only to buyers who wait now; nothing stays in the book" },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still shown" },
	{ "dry-run", 0, OPTION_FLAG, .help = "show the plan only" },
	{ "wait", 0, OPTION_OPTIONAL, "DURATION", .help = "wait until it is sold, up to 5m without a value" },
	{ "no-wait", 0, OPTION_FLAG, .help = "do not wait for the placed order" },
	{ "new", 0, OPTION_FLAG, .help = "start another sale, even if this command left one unfinished" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod sell r-7f3a2c --last 6h -p 1.80", "the last six hours" },
	{ "nanopod sell r-7f3a2c -n 1 -p 1.80 -y", "one node, from now to the end" },
	{ "nanopod sell r-7f3a2c -s 18:00 -d 4h -p 1.90 --whole", "an evening, to one buyer" },
	{ 0 },
};

const struct command cmd_sell = {
	.name = "sell",
	.args = "RESERVATION",
	.summary = "sell part of a reservation",
	.examples = examples,
	.description = "Puts an order into the book, where it stays until somebody buys it or its time has passed. "
		       "Prints the id of the order. Nodes keep running until their sold time begins.",
	.positional = "RESERVATION  name or id; 'nanopod reservations' lists them",
	.options = options,
	.formats = "name|table|wide|json|jsonl|csv|yaml",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_RESERVATION,
	.run = sell_command,
};
