/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod sell: part of a reservation goes back into the book, at a price. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "cli/frame/cell.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/trade/purchase.h"
#include "cli/frame/remember.h"
#include "cli/frame/retype.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/wish.h"
#include "market/when.h"

enum { BODY_MAX = 65536, DECIDE_MS = 60000 };

extern const struct command cmd_sell;

struct selling {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct wish wish;
	struct skus skus;
	const struct sku *sku;
	struct reservation reservation;
	const struct reservation_part *part;
	struct purchase purchase;
	bool ours, explain;
};

static const struct column columns[] = {
	{ "order", COLUMN_ID, "its id" },
	{ "status", 0, "of the order" },
	{ "reservation", 0, "what it is sold from" },
	{ "type", COLUMN_WIDE, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "how many are offered" },
	{ "sold", COLUMN_RAW | COLUMN_RIGHT, "how many were sold already" },
	{ "start", 0, "from when" },
	{ "end", 0, "until when" },
	{ "price", COLUMN_RIGHT, "asked, in dollars per GPU-hour (per node-hour with --per node)" },
	{ "total", COLUMN_RIGHT, "what it was sold for, before the fee" },
	{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in millionths of a dollar" },
	{ "replayed", COLUMN_RAW | COLUMN_HIDDEN, "an earlier command had placed it" },
	{ 0 },
};

/* ---- Which window ------------------------------------------------------------------------- */

/* --last 6h: the last of it, and not less because less is left. */
static int sell_find_last(struct selling *s, int64_t first, int64_t end)
{
	char asked[WHEN_TEXT], left[WHEN_TEXT];
	int64_t seconds, start;

	when_duration(option_text(s->o, "last"), &seconds, NULL);
	start = end - seconds / WINDOW_STEP * WINDOW_STEP;
	if (start < first && end > first)
		return print_fail_field(s->np, STATUS_CONFLICT, "--last",
			"without '--last' all that is left is offered", "cannot sell the last %s of '%s': %s is left",
			when_span(seconds, asked), s->reservation.name, when_span(end - first, left));
	s->wish.window = (struct window){ .start = start, .end = end };
	return 0;
}

/* Without any: all that is left. */
static int find_window(struct selling *s)
{
	char at[32];
	struct window_words words = { option_given(s->o, "start") ? option_text(s->o, "start") : NULL,
		option_given(s->o, "end") ? option_text(s->o, "end") : NULL,
		option_given(s->o, "duration") ? option_text(s->o, "duration") : NULL,
		option_given(s->o, "round") ? option_text(s->o, "round") : NULL };
	int64_t end = part_end(s->part), now = wish_now(&s->wish), first = window_first(now);
	const char *field = NULL;
	struct fail f = { 0 };

	if (option_given(s->o, "last"))
		return sell_find_last(s, first, end);
	if (!words.end && !words.duration) {
		snprintf(at, sizeof at, "@%" PRId64, end);
		words.end = at;
		if (!words.start && part_start(s->part) > first) {
			s->wish.window = (struct window){ .start = part_start(s->part), .end = end };
			return 0;
		}
	}
	if (window_parse(&words, now, &s->wish.window, &field, &f))
		return print_fail_field(s->np, STATUS_USAGE, field, NULL, "%s", f.text);
	return 0;
}

static int check_owned(struct selling *s)
{
	int64_t least = part_least(s->part, s->wish.window.start, s->wish.window.end);
	char window[WINDOW_TEXT];

	if (s->wish.window.end <= s->wish.window.start || least <= 0)
		return print_fail(s->np, STATUS_CONFLICT, "'nanopod show' says what it has",
			"cannot sell that of '%s': it does not have nodes all through that window",
			s->reservation.name);
	s->wish.nodes = option_given(s->o, "nodes") ? option_int(s->o, "nodes") : least;
	if (s->wish.nodes > least)
		return print_fail_field(s->np, STATUS_CONFLICT, "--nodes", NULL,
			"cannot sell %" PRId64 " nodes of '%s': it has %" PRId64 " in %s", s->wish.nodes,
			s->reservation.name, least, window_show(&s->wish.window, window));
	return 0;
}

static int sell_find_part(struct selling *s)
{
	const struct sku *wanted = NULL;
	int rc = skus_load(s->m, &s->skus);

	if (!rc && option_given(s->o, "type"))
		rc = skus_find(s->np, &s->skus, option_text(s->o, "type"), &wanted);
	if (rc)
		return rc;
	s->part = reservation_part(&s->reservation, wanted ? wanted->id : NULL);
	if (!s->part && s->reservation.count > 1)
		return print_fail_field(s->np, STATUS_USAGE, "--type", "say which by '--type'",
			"cannot sell of '%s': it has nodes of %zu types", s->reservation.name, s->reservation.count);
	if (!s->part || part_end(s->part) <= wish_now(&s->wish))
		return print_fail(s->np, STATUS_CONFLICT, NULL,
			"cannot sell of '%s': it is over, there is nothing left of it", s->reservation.name);
	s->sku = skus_by_id(&s->skus, s->part->sku);
	if (!s->sku)
		return print_fail(s->np, STATUS_FAILURE, NULL, "cannot sell of '%s': its type '%s' is not known",
			s->reservation.name, s->part->sku);
	return 0;
}

/* ---- The plan and the order ---------------------------------------------------------------- */

static int sell_show_plan(struct selling *s)
{
	int64_t least = 0, fee = 0, bps = s->ours ? s->m->about.policy.fee_bps : 0;
	char window[WINDOW_TEXT], rate[PLAN_RATE], a[MONEY_TEXT], c[MONEY_TEXT];
	struct plan p;

	if (money_cost(s->wish.limit, s->wish.nodes, window_minutes(&s->wish.window), &least))
		return print_fail_field(s->np, STATUS_USAGE, "--price", NULL,
			"cannot sell that: the sum is too large to be counted");
	fee = least / 10000 * bps + (least % 10000 * bps + 9999) / 10000;
	plan_init(&p, "Sell %" PRId64 " node%s of '%s'", s->wish.nodes, s->wish.nodes == 1 ? "" : "s",
		s->reservation.name);
	plan_add(&p, "window", "%s", window_show(&s->wish.window, window));
	plan_add(&p, "price", "%s at least%s", plan_rate(s->wish.limit, wish_gpus(&s->wish, s->sku), rate),
		option_given(s->o, "whole") ? ", all of it to one buyer or none" : ", in parts too");
	plan_add(&p, "total", "%s where all of it is sold%s%s", money_text(least, a), bps ? ", less a fee of " : "",
		bps ? money_text(fee, c) : "");
	plan_add(&p, "nodes", "what is sold stops running on it when its time comes; until then all goes on");
	plan_add(&p, "refund", "none: what nobody buys stays yours%s",
		option_given(s->o, "no-standing") ? "" : ", and 'nanopod cancel' withdraws it");
	plan_show(s->np, &p);
	plan_release(&p);
	return 0;
}

static int sell_print(struct selling *s, int status)
{
	const struct placed *d = &s->purchase.order;
	char r[7][CELL_TEXT];
	struct rows *rows;
	int rc;

	remember_one(REMEMBER_ORDERS, s->m->url, d->id, d->status_text);
	rows = rows_new(s->np, s->o, columns, &rc);
	if (!rows)
		return rc;
	rows_add(rows,
		(const char *[]){ d->id, d->status_text, s->reservation.name,
			s->sku->alias ? s->sku->alias : s->sku->id, cell_int(d->nodes, r[0]),
			cell_int(d->filled_nodes, r[1]), cell_time(s->np, d->start, r[2]),
			cell_time(s->np, d->end, r[3]), cell_price(d->limit, wish_gpus(&s->wish, s->sku), r[4]),
			cell_money(s->np, d->total, r[5]), cell_int(d->total, r[6]),
			s->purchase.replayed ? "true" : "false" });
	rc = rows_end(rows);
	return rc ? rc : status;
}

static int sell_failed(struct selling *s, int rc)
{
	if (purchase_nothing_done(&s->purchase, rc)) {
		purchase_end(&s->purchase);
		return market_fail(s->m, "cannot sell %" PRId64 " node%s of '%s'", s->wish.nodes,
			s->wish.nodes == 1 ? "" : "s", s->reservation.name);
	}
	return print_fail(s->np, (enum status)(rc == -EPROTO || rc > REASON_END ? STATUS_FAILURE : client_status(rc)),
		"type the same command again: it goes on from here, and sells nothing twice",
		"cannot tell whether the order to sell of '%s' was placed: %s", s->reservation.name, s->m->fail.text);
}

static int sell_place(struct selling *s)
{
	struct model_order_new order = { .sku = s->sku->id,
		.sell = true,
		.standing = !option_given(s->o, "no-standing"),
		.partial = !option_given(s->o, "whole"),
		.nodes = s->wish.nodes,
		.start = s->wish.window.start,
		.end = s->wish.window.end,
		.price = s->wish.limit };
	struct purchase *p = &s->purchase;
	int number = 0, rc;

	s->m->explain = s->explain;
	rc = purchase_order(p, &order);
	if (s->explain)
		return rc ? market_fail(s->m, "cannot sell") : STATUS_OK;
	if (rc)
		return sell_failed(s, rc);
	if (p->resumed)
		print_note(s->np, "replayed: order '%s' was placed before", p->order.id);
	if (p->order.status == MODEL_ORDER_PENDING)
		rc = placed_wait(s->m, &p->order, option_given(s->o, "no-wait") ? 0 : DECIDE_MS, &number);
	if (rc == 2)
		return print_fail(s->np, number == SIGTERM ? STATUS_TERM : STATUS_INT,
			"'nanopod show' with that id says what becomes of it", "order '%s' is placed: interrupted",
			p->order.id);
	if (option_given(s->o, "wait") && !placed_decided(&p->order))
		rc = placed_wait(s->m, &p->order, wish_wait(s->o, 0), &number);
	if (placed_decided(&p->order) && !p->order.filled_minutes) {
		purchase_end(p);
		return print_fail(s->np, STATUS_CAPACITY, "without '--no-standing' it waits in the book for a buyer",
			"nothing of '%s' was sold: %s", s->reservation.name,
			reason_row(p->order.reason ? p->order.reason : REASON_NO_BUYER)->text);
	}
	if (!placed_decided(&p->order))
		print_note(s->np,
			"order '%s' waits in the book: 'nanopod show %s' says what became of it, 'nanopod cancel %s' "
			"withdraws it",
			p->order.id, p->order.id, p->order.id);
	return purchase_told(p,
		sell_print(s,
			option_given(s->o, "wait") && rc == 1 ? STATUS_WAITING
				: rc == 2                     ? STATUS_INT
							      : STATUS_OK));
}

static int sell_begin(struct selling *s, const char *match)
{
	struct purchase *p = &s->purchase;
	struct buf command;
	int rc;

	buf_init(&command, BODY_MAX);
	retype(&cmd_sell, s->o, NULL, &command);
	rc = purchase_begin(p, match, buf_text(&command), wish_now(&s->wish));
	buf_release(&command);
	rc = rc ? rc : purchase_keep(p, "name", s->reservation.name);
	rc = rc ? rc : purchase_keep(p, "into", s->reservation.id);
	rc = rc ? rc : purchase_keep(p, "pool", s->reservation.id);
	if (!rc)
		return 0;
	purchase_end(p);
	return print_fail(s->np, STATUS_FAILURE, NULL, "%s", s->m->fail.text);
}

static int sell_trade(struct selling *s)
{
	struct buf match;
	int rc = 0;

	buf_init(&match, BODY_MAX);
	purchase_init(&s->purchase, s->m);
	if (purchase_match(s->m, s->o, "sell", s->reservation.id, &match))
		rc = market_fail(s->m, "cannot tell who sells");
	if (!rc && !s->explain && !option_given(s->o, "new") && !option_given(s->o, "dry-run")
	    && purchase_find_order(&s->purchase, buf_text(&match)))
		rc = print_fail(s->np, STATUS_FAILURE, NULL, "%s", s->m->fail.text);
	if (!rc && !s->purchase.intent) {
		rc = find_window(s);
		rc = rc ? rc : check_owned(s);
		rc = rc ? rc : sell_show_plan(s);
		if (!rc && option_given(s->o, "dry-run"))
			goto out;
		rc = rc || s->explain ? rc : plan_agree(s->np, s->o, "Sell it?");
		if (!rc && window_move(&s->wish.window, wish_now(&s->wish)))
			rc = check_owned(s);
		s->m->explain = s->explain;
		rc = rc ? rc : sell_begin(s, buf_text(&match));
	} else if (!rc) {
		print_note(s->np, "goes on with the sale of '%s' that this command began before", s->reservation.name);
	}
	rc = rc ? rc : sell_place(s);
out:
	purchase_release(&s->purchase);
	buf_release(&match);
	return rc;
}

static int sell_go(struct selling *s)
{
	int rc = market_sign_in(s->np, s->o, 0, &s->m);

	if (rc)
		return rc;
	s->explain = s->m->explain;
	s->m->explain = false;
	rc = wish_market(s->m, &s->wish);
	if (rc < 0)
		return market_fail(s->m, "cannot sell of '%.60s'", option_argv(s->o)[0]);
	s->ours = rc == 1;
	rc = reservation_find(s->m, option_argv(s->o)[0], &s->reservation);
	rc = rc ? rc : sell_find_part(s);
	rc = rc ? rc : wish_price(s->np, s->o, s->sku, &s->wish);
	return rc ? rc : sell_trade(s);
}

static int sell_check_line(struct nanopod *np, const struct options *o, struct wish *w)
{
	struct window_words words = { option_given(o, "start") ? option_text(o, "start") : NULL,
		option_given(o, "end") ? option_text(o, "end") : NULL,
		option_given(o, "duration") ? option_text(o, "duration") : "1h",
		option_given(o, "round") ? option_text(o, "round") : NULL };
	const char *field = NULL;
	struct fail f = { 0 };
	struct window window;
	int64_t seconds;
	int rc = wish_read(np, o, WISH_PRICE | WISH_NEEDS_PRICE, w);

	if (rc)
		return rc;
	if (option_given(o, "last") && (words.start || words.end || option_given(o, "duration")))
		return print_fail_field(np, STATUS_USAGE, "--last", NULL,
			"cannot use '--last' with a start, an end or a duration");
	if (option_given(o, "last") && when_duration(option_text(o, "last"), &seconds, &f))
		return print_fail_field(np, STATUS_USAGE, "--last", NULL, "cannot use '--last': %s", f.text);
	if (option_given(o, "last") && seconds % WINDOW_STEP)
		return print_fail_field(np, STATUS_USAGE, "--last", NULL,
			"cannot use '--last': it is not a whole number of minutes");
	if (words.end && !option_given(o, "duration"))
		words.duration = NULL;
	if (window_parse(&words, (int64_t)time(NULL), &window, &field, &f))
		return print_fail_field(np, STATUS_USAGE, field, NULL, "%s", f.text);
	rc = wish_check_wait(np, o);
	return rc ? rc : plan_can_ask(np, o);
}

static int sell_command(struct nanopod *np, const struct options *o)
{
	struct selling s = { .np = np, .o = o };
	int rc;

	if (signals_begin())
		command_nomem();
	rc = sell_check_line(np, o, &s.wish);
	if (!rc && rows_check(np, o, columns, &rc))
		rc = sell_go(&s);
	reservation_release(&s.reservation);
	skus_release(&s.skus);
	market_sign_out(s.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "nodes", 'n', OPTION_INT, "N", .min = 1, .max = 1024,
		.help = "how many nodes; not typed: all that it has all through the window" },
	{ "last", 0, OPTION_STRING, "DURATION", .help = "the last of it: 6h" },
	{ "start", 's', OPTION_STRING, "TIME",
		.help = "from when: now, +3h, 18:00, 'tomorrow 09:00', ISO 8601, @unix" },
	{ "end", 'e', OPTION_STRING, "TIME", .help = "until when; not typed: its end" },
	{ "duration", 'd', OPTION_STRING, "DURATION", .help = "how long, instead of an end" },
	{ "round", 0, OPTION_ENUM, .values = "no|up|down",
		.help = "what is not on whole minutes is refused, or made so", .complete = COMPLETE_VALUES },
	{ "price", 'p', OPTION_STRING, "DOLLARS", .help = "the least to take, in dollars per GPU-hour" },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node", .help = "what the hour of a price is of",
		.complete = COMPLETE_VALUES },
	{ "type", 't', OPTION_STRING, "TYPE", .help = "of a reservation with several types: which",
		.complete = COMPLETE_TYPE },
	{ "whole", 0, OPTION_FLAG, .help = "all of it to one buyer, or none" },
	{ "no-standing", 0, OPTION_FLAG, .help = "sell to who waits for it now; it does not stay in the book" },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is printed all the same" },
	{ "dry-run", 0, OPTION_FLAG, .help = "the plan only" },
	{ "wait", 0, OPTION_OPTIONAL, "DURATION", .help = "wait until it is sold, 5m without a value" },
	{ "no-wait", 0, OPTION_FLAG, .help = "end as soon as the order is placed" },
	{ "new", 0, OPTION_FLAG, .help = "begin another one, where this command began one that is not finished" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod sell r-7f3a2c --last 6h -p 1.80", "the last six hours of it" },
	{ "nanopod sell r-7f3a2c -n 1 -p 1.80 -y", "one node, from now to its end" },
	{ "nanopod sell r-7f3a2c -s 18:00 -d 4h -p 1.90 --whole", "an evening, to one buyer" },
	{ 0 },
};

const struct command cmd_sell = {
	.name = "sell",
	.args = "RESERVATION",
	.summary = "offer part of a reservation to others",
	.examples = examples,
	.description = "Puts an order into the book, which stays there until somebody buys or its time is over. It "
		       "prints the order's id. "
		       "Nodes run on until what was sold begins.",
	.positional = "RESERVATION  name or id: 'nanopod reservations' lists them",
	.options = options,
	.formats = "name|table|wide|json|jsonl|csv",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_RESERVATION,
	.run = sell_command,
};
