/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod extend: the same nodes for longer. Each reservation whole or not at all; one that could
 * not be extended is a failure that names what would fit, never an empty list.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/trade/purchase.h"
#include "cli/trade/quote.h"
#include "cli/frame/retype.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/wish.h"
#include "market/when.h"

enum { BODY_MAX = 65536, SEVERAL_MAX = 256, DECIDE_MS = 60000 };

extern const struct command cmd_extend;

/* One reservation. */
struct extension {
	struct reservation reservation;
	const struct reservation_part *part;
	const struct sku *sku;
	struct wish wish;
	struct quote quote;
	struct purchase purchase;
	struct buf match;
	int status;          /* what became of it; -1: nothing yet */
	char message[600];
};

struct extending {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct wish wish;
	struct skus skus;
	struct extension *list;
	size_t count;
	int64_t left;        /* of the most that all may cost: what the quotes leave of it */
	bool ours, explain;
};

static const struct column columns[] = {
	{ "reservation", COLUMN_ID, "its name" },
	{ "result", 0, "extended, or failed" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "how many" },
	{ "from", 0, "the end that it had" },
	{ "end", 0, "the end that it has" },
	{ "price", COLUMN_RIGHT, "paid, in dollars per GPU-hour (per node-hour with --per node)" },
	{ "total", COLUMN_RIGHT, "paid in all, in dollars" },
	{ "order", COLUMN_WIDE, "the order's id" },
	{ "message", COLUMN_WIDE, "why, where it failed" },
	{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the total in millionths of a dollar" },
	{ "replayed", COLUMN_RAW | COLUMN_HIDDEN, "an earlier command had done it" },
	{ 0 },
};

/* ---- What it would be -------------------------------------------------------------------- */

/* From the end that it has. */
static int extend_read_window(struct extending *x, struct extension *e)
{
	char at[32];
	struct window_words words = { at, option_given(x->o, "end") ? option_text(x->o, "end") : NULL,
		option_given(x->o, "duration") ? option_text(x->o, "duration") : NULL,
		option_given(x->o, "round") ? option_text(x->o, "round") : NULL };
	const char *field = NULL;
	struct fail f = { 0 };

	snprintf(at, sizeof at, "@%" PRId64, part_end(e->part));
	if (window_parse(&words, wish_now(&x->wish), &e->wish.window, &field, &f))
		return print_fail_field(x->np, STATUS_USAGE, field, NULL, "%s", f.text);
	return 0;
}

static int extend_find_part(struct extending *x, struct extension *e, const char *typed)
{
	const struct sku *wanted = NULL;
	int rc = 0;

	if (option_given(x->o, "type"))
		rc = skus_find(x->np, &x->skus, option_text(x->o, "type"), &wanted);
	if (rc)
		return rc;
	e->part = reservation_part(&e->reservation, wanted ? wanted->id : NULL);
	if (!e->part && e->reservation.count > 1)
		return print_fail_field(x->np, STATUS_USAGE, "--type", "say which by '--type'",
			"cannot extend '%.60s': it has nodes of %zu types", typed, e->reservation.count);
	if (!e->part || part_end(e->part) <= wish_now(&x->wish))
		return print_fail(x->np, STATUS_CONFLICT, "'nanopod buy' buys new ones",
			"cannot extend '%.60s': it is over, and its nodes are gone", typed);
	if (part_end(e->part) == MODEL_NEVER)
		return print_fail(x->np, STATUS_CONFLICT, NULL, "cannot extend '%.60s': it has no end", typed);
	e->sku = skus_by_id(&x->skus, e->part->sku);
	if (!e->sku)
		return print_fail(x->np, STATUS_FAILURE, NULL,
			"cannot extend '%.60s': its type '%s' is not known any more", typed, e->part->sku);
	return 0;
}

static int put_extend(struct extension *e, bool dry, int64_t price, int64_t max_total, struct buf *body)
{
	struct model_extend ask = { .sku = e->part->sku,
		.end = e->wish.window.end,
		.price = price,
		.max_total = max_total,
		.dry_run = dry };

	return wire_put_extend(body, &ask);
}

/* Without -p the price is the market's now, and what was shown is the most that is paid. */
static int extend_ask_quote(struct extending *x, struct extension *e)
{
	int64_t price = option_given(x->o, "price") ? e->wish.limit
		: quote_any_price(e->wish.nodes, window_minutes(&e->wish.window));
	struct model_order_new order = { .pool = e->reservation.id, .sku = e->part->sku, .nodes = e->wish.nodes,
		.start = e->wish.window.start, .end = e->wish.window.end, .price = price };
	char path[128];
	struct buf body;
	int rc;

	if (!x->ours) {
		rc = quote_ask(x->m, &order, e->sku, &e->quote);
	} else {
		buf_init(&body, BODY_MAX);
		if (put_extend(e, true, price, 0, &body))
			command_nomem();
		snprintf(path, sizeof path, "/np/v1/pools/%s/extend", e->reservation.id);
		rc = market_send(x->m, "POST", path, &body, NULL);
		buf_release(&body);
		rc = rc ? rc : quote_take(x->m, &e->quote);
	}
	if (!rc && e->quote.fills && !option_given(x->o, "price"))
		e->wish.limit = e->quote.price;
	return rc;
}

/* ---- Why not ----------------------------------------------------------------------------- */

/* Where no change of the command would do. */
static const char *extend_instead(int reason)
{
	if (reason == REASON_PRICE_TOO_LOW)
		return "with '--dry-run' and without '-p' it shows what it costs";
	return reason == REASON_FUNDS ? "'nanopod balance' shows what there is" : "'nanopod buy' buys other nodes";
}

/* "its hosts are sold from 18:00" where the market says until when they are free. */
static void why_not(struct extending *x, struct extension *e)
{
	char when[WHEN_TEXT];
	struct buf hint;
	const char *end = NULL;

	for (size_t i = 0; i < e->quote.alternative_count; i++)
		if (strcmp(e->quote.alternatives[i].kind, "end") == 0)
			end = when_local(e->quote.alternatives[i].end, when);
	buf_init(&hint, BODY_MAX);
	e->quote.start = e->wish.window.start;
	e->quote.end = e->wish.window.end;
	quote_hint(&e->quote, &cmd_extend, x->o, (char *[]){ e->reservation.name, NULL },
		wish_gpus(&e->wish, e->sku), &hint);
	snprintf(e->message, sizeof e->message, "%s%s",
		end && e->quote.reason == REASON_HOSTS_SOLD ? "its hosts are sold from " : e->quote.message,
		end && e->quote.reason == REASON_HOSTS_SOLD ? end : "");
	e->status = print_fail(x->np,
		(enum status)reason_row(e->quote.reason ? e->quote.reason : REASON_HOSTS_SOLD)->status,
		hint.len ? buf_text(&hint) : extend_instead(e->quote.reason), "cannot extend '%s': %s",
		e->reservation.name, e->message);
	buf_release(&hint);
}

/* ---- The plan ---------------------------------------------------------------------------- */

/* Not failed, and not begun before. */
static bool is_new(const struct extension *e)
{
	return e->status < 0 && e->quote.nodes && !e->purchase.resumed;
}

static int sum_costs(struct extending *x, int64_t *sum, int64_t *worst)
{
	int64_t most;

	*sum = *worst = 0;
	for (size_t i = 0; i < x->count; i++) {
		struct extension *e = &x->list[i];

		if (e->status >= 0 || e->purchase.resumed)
			continue;
		if (!option_given(x->o, "price"))
			most = e->quote.cost;
		else if (money_cost(e->wish.limit, e->wish.nodes, window_minutes(&e->wish.window), &most))
			return print_fail_field(x->np, STATUS_USAGE, "--price", NULL,
				"cannot extend that: the sum is too large to be counted");
		if (money_add(*sum, e->quote.cost, sum) || money_add(*worst, most, worst))
			return print_fail_field(x->np, STATUS_USAGE, "--price", NULL,
				"cannot extend that: the sum is too large to be counted");
	}
	return 0;
}

static void extend_show_plan(struct extending *x, int64_t sum, int64_t worst)
{
	char window[WINDOW_TEXT], now[PLAN_RATE], limit[PLAN_RATE] = "", a[MONEY_TEXT], c[MONEY_TEXT];
	struct model_balance balance;
	size_t count = 0;
	int64_t burn = 0;
	struct plan p;

	for (size_t i = 0; i < x->count; i++)
		count += is_new(&x->list[i]);
	plan_init(&p, "Extend %zu reservation%s", count, count == 1 ? "" : "s");
	for (size_t i = 0; i < x->count; i++) {
		struct extension *e = &x->list[i];
		unsigned gpus = wish_gpus(&e->wish, e->sku);

		if (!is_new(e))
			continue;
		burn += plan_burn(quote_average(&e->quote), e->quote.nodes);
		plan_add(&p, e->reservation.name, "%" PRId64 " node%s of %s, %s", e->wish.nodes,
			e->wish.nodes == 1 ? "" : "s", e->sku->alias ? e->sku->alias : e->sku->id,
			window_show(&e->wish.window, window));
		plan_add(&p, "", "%s at %s", money_text(e->quote.cost, a),
			plan_rate(quote_average(&e->quote), gpus, now));
		plan_rate(e->wish.limit, gpus, limit);
	}
	if (option_given(x->o, "price") && *limit)
		plan_add(&p, "limit", "%s", limit);
	if (worst == sum)
		plan_add(&p, "total", "%s, and not more", money_text(sum, a));
	else
		plan_add(&p, "total", "%s now, %s at worst", money_text(sum, a), money_text(worst, c));
	plan_add(&p, "burn", "%s an hour while it runs", money_text(burn, a));
	if (x->ours && x->m->about.policy.release_bps > 0)
		plan_add(&p, "refund",
			"'nanopod release' gives back %d.%02d %% of what is paid for time that has not begun",
			(int)(x->m->about.policy.release_bps / 100), (int)(x->m->about.policy.release_bps % 100));
	else
		plan_add(&p, "refund", "none for time that is not used; it can be sold again: 'nanopod sell'");
	if (market_get(x->m, x->ours ? "/np/v1/balance" : "/v1/balances") == 0
	    && wire_balance(x->m->doc, WIRE_WHOLE, &balance, &x->m->fail) == 0 && balance.available != MODEL_NONE)
		plan_add(&p, "balance", "%s after it; %s now", money_text(balance.available - sum, a),
			money_text(balance.available, c));
	plan_show(x->np, &p);
	plan_release(&p);
}

/* ---- Doing it ---------------------------------------------------------------------------- */

static int extend_post(struct extending *x, struct extension *e)
{
	struct purchase *p = &e->purchase;
	const char *known = purchase_kept(p, "order");
	struct model_order_new order = { .sku = e->part->sku, .nodes = e->wish.nodes, .start = e->wish.window.start,
		.end = e->wish.window.end, .price = e->wish.limit };
	int64_t most = !option_given(x->o, "price") ? e->quote.cost : x->wish.max_total ? e->quote.cost + x->left : 0;
	char path[128];
	struct buf body;
	int rc;

	if (known || !x->ours)
		return purchase_order(p, &order);
	buf_init(&body, BODY_MAX);
	if (put_extend(e, false, e->wish.limit, most, &body))
		command_nomem();
	snprintf(path, sizeof path, "/np/v1/pools/%s/extend", e->reservation.id);
	rc = purchase_post(p, "order", path, &body);
	buf_release(&body);
	rc = rc ? rc : placed_take(x->m, &p->order);
	return rc ? rc : purchase_keep(p, "order", p->order.id);
}

static int extend_begin(struct extending *x, struct extension *e)
{
	struct buf command;
	int rc;

	if (e->purchase.intent || x->explain)
		return 0;
	buf_init(&command, BODY_MAX);
	retype(&cmd_extend, x->o, NULL, &command);
	rc = purchase_begin(&e->purchase, buf_text(&e->match), buf_text(&command), wish_now(&x->wish));
	buf_release(&command);
	rc = rc ? rc : purchase_keep(&e->purchase, "name", e->reservation.name);
	rc = rc ? rc : purchase_keep(&e->purchase, "into", e->reservation.id);
	return rc ? rc : purchase_keep(&e->purchase, "pool", e->reservation.id);
}

/* True: its answer is not known, and the same command must be typed again. */
static bool extend_carry_out(struct extending *x, struct extension *e)
{
	struct purchase *p = &e->purchase;
	int number = 0, rc = extend_post(x, e);

	if (rc == MARKET_EXPLAINED) {
		e->status = STATUS_OK;
		return false;
	}
	if (!rc && !placed_decided(&p->order)) {
		rc = placed_wait(x->m, &p->order, wish_wait(x->o, DECIDE_MS), &number);
		if (rc > 0)
			rc = fail_set(&x->m->fail, rc == 2 ? CLIENT_STOPPED : CLIENT_LOST,
				"order '%s' is placed and not decided yet", p->order.id);
	}
	if (!rc && placed_filled(&p->order)) {
		x->left -= p->resumed ? 0 : p->order.total - e->quote.cost;
		e->status = STATUS_OK;
		return false;
	}
	if (!rc) {
		e->quote.alternative_count = 0;
		if (extend_ask_quote(x, e))
			e->quote.message[0] = '\0';
		e->quote.reason = p->order.reason ? p->order.reason
			: e->quote.reason         ? e->quote.reason
						  : REASON_HOSTS_SOLD;
		snprintf(e->quote.message, sizeof e->quote.message, "%s", reason_row(e->quote.reason)->text);
		why_not(x, e);
		return false;
	}
	snprintf(e->message, sizeof e->message, "%s", x->m->fail.text);
	if (purchase_nothing_done(p, rc)) {
		e->status = market_fail(x->m, "cannot extend '%s'", e->reservation.name);
		return false;
	}
	e->status = print_fail(x->np,
		(enum status)(rc <= CLIENT_BASE + 100 || rc <= REASON_BASE ? client_status(rc) : STATUS_FAILURE),
		"type the same command again: it goes on from here, and buys nothing twice",
		"cannot tell whether '%s' was extended: %s", e->reservation.name, x->m->fail.text);
	return true;
}

static int extend_print(struct extending *x)
{
	char r[6][CELL_TEXT];
	struct rows *rows;
	int rc = 0;

	if (x->explain)
		return 0;
	rows = rows_new(x->np, x->o, columns, &rc);
	for (size_t i = 0; rows && i < x->count; i++) {
		struct extension *e = &x->list[i];
		const struct placed *p = &e->purchase.order;
		bool good = e->status == STATUS_OK;

		rows_add(rows,
			(const char *[]){ e->reservation.name, good ? "extended" : "failed",
				cell_int(good ? p->filled_nodes : 0, r[0]),
				cell_time(x->np,
					e->part ? p->filled_start && good ? p->filled_start : part_end(e->part) : 0,
					r[1]),
				good ? cell_time(x->np, p->filled_end, r[2]) : NULL,
				good && e->sku ? cell_price(p->average, wish_gpus(&e->wish, e->sku), r[3]) : NULL,
				good ? cell_money(x->np, p->total, r[4]) : NULL, *p->id ? p->id : NULL,
				good ? NULL : e->message, good ? cell_int(p->total, r[5]) : NULL,
				e->purchase.replayed ? "true" : "false" });
	}
	return rows ? rows_end(rows) : rc;
}

/* ---- All of it --------------------------------------------------------------------------- */

static int extend_prepare(struct extending *x, struct extension *e, const char *typed)
{
	int rc = reservation_find(x->m, typed, &e->reservation);

	e->wish = x->wish;
	e->status = -1;
	purchase_init(&e->purchase, x->m);
	rc = rc ? rc : extend_find_part(x, e, typed);
	if (rc)
		return rc;
	e->wish.nodes = part_nodes_at(e->part, part_end(e->part) - 1);
	if (purchase_match(x->m, x->o, "extend", e->reservation.id, &e->match))
		return market_fail(x->m, "cannot tell who extends");
	if (!option_given(x->o, "new") && !option_given(x->o, "dry-run") && !x->explain &&
		purchase_find_order(&e->purchase, buf_text(&e->match)))
		return print_fail(x->np, STATUS_FAILURE, NULL, "%s", x->m->fail.text);
	rc = wish_price(x->np, x->o, e->sku, &e->wish);
	if (rc)
		return rc;
	if (e->purchase.intent) {
		print_note(x->np, "goes on with extending '%s', which this command began before", typed);
		return 0;
	}
	rc = extend_read_window(x, e);
	if (!rc && extend_ask_quote(x, e))
		return market_fail(x->m, "cannot extend '%s'", typed);
	if (!rc && !e->quote.fills)
		why_not(x, e);
	return rc;
}

static bool any_open(const struct extending *x)
{
	for (size_t i = 0; i < x->count; i++)
		if (x->list[i].status < 0)
			return true;
	return false;
}

static int extend_agree(struct extending *x)
{
	char a[MONEY_TEXT], c[MONEY_TEXT];
	int64_t sum, worst;
	int rc = sum_costs(x, &sum, &worst);

	if (rc)
		return rc;
	x->left = x->wish.max_total ? x->wish.max_total - sum : 0;
	extend_show_plan(x, sum,
		x->ours && x->wish.max_total && x->left >= 0 && x->wish.max_total < worst ? x->wish.max_total : worst);
	if (x->wish.max_total && (x->ours ? sum : worst) > x->wish.max_total)
		return print_fail_field(x->np, STATUS_FUNDS, x->wish.max_where, NULL,
			"cannot extend that: it costs %s, and '%s' is %s", money_text(x->ours ? sum : worst, a),
			x->wish.max_where, money_text(x->wish.max_total, c));
	if (option_given(x->o, "dry-run") || x->explain || sum == 0)
		return 0;
	return plan_agree(x->np, x->o, "Extend?");
}

static int extend_overall(const struct extending *x)
{
	int worst = STATUS_OK;
	size_t good = 0;

	for (size_t i = 0; i < x->count; i++) {
		good += x->list[i].status == STATUS_OK;
		if (x->list[i].status > 0)
			worst = x->list[i].status;
	}
	return good && good < x->count ? STATUS_PARTLY : worst;
}

/* What was remembered goes only when all answers are known: the same command repeats all of them. */
static int extend_do_all(struct extending *x)
{
	bool unknown = false;
	int rc = 0;

	for (size_t i = 0; !rc && i < x->count; i++)
		rc = x->list[i].status < 0 ? extend_begin(x, &x->list[i]) : 0;
	if (rc) {
		for (size_t i = 0; i < x->count; i++)
			if (!x->list[i].purchase.resumed)
				purchase_end(&x->list[i].purchase);
		return print_fail(x->np, STATUS_FAILURE, NULL, "%s", x->m->fail.text);
	}
	x->m->explain = x->explain;
	for (size_t i = 0; i < x->count; i++) {
		struct extension *e = &x->list[i];

		if (e->status >= 0)
			continue;
		if (unknown && x->m->fail.code == CLIENT_STOPPED) {
			e->status = STATUS_INT;
			snprintf(e->message, sizeof e->message, "not begun");
			continue;
		}
		unknown |= extend_carry_out(x, e);
		if (e->status == STATUS_OK && e->purchase.resumed)
			print_note(x->np, "replayed: '%s' was extended before", e->reservation.name);
	}
	rc = print_finish(x->np, extend_print(x));
	for (size_t i = 0; i < x->count && !unknown && !rc; i++)
		purchase_end(&x->list[i].purchase);
	return rc ? rc : extend_overall(x);
}

static int extend_go(struct extending *x)
{
	char **words = option_argv(x->o);
	int rc = market_sign_in(x->np, x->o, 0, &x->m);

	if (rc)
		return rc;
	x->explain = x->m->explain;
	x->m->explain = false;
	rc = wish_market(x->m, &x->wish);
	if (rc < 0)
		return market_fail(x->m, "cannot extend '%.60s'", words[0]);
	x->ours = rc == 1;
	rc = skus_load(x->m, &x->skus);
	for (size_t i = 0; !rc && i < x->count; i++)
		rc = extend_prepare(x, &x->list[i], words[i]);
	if (rc)
		return rc;
	if (any_open(x))
		rc = extend_agree(x);
	if (rc)
		return rc;
	if (!any_open(x) || option_given(x->o, "dry-run"))
		return any_open(x) ? extend_overall(x) : (rc = extend_print(x)) ? rc : extend_overall(x);
	return extend_do_all(x);
}

static int extend_check_line(struct extending *x)
{
	struct window_words words = { NULL, option_given(x->o, "end") ? option_text(x->o, "end") : NULL,
		option_given(x->o, "duration") ? option_text(x->o, "duration") : NULL,
		option_given(x->o, "round") ? option_text(x->o, "round") : NULL };
	const char *field = NULL;
	struct fail f = { 0 };
	struct window w;
	int rc = wish_read(x->np, x->o, WISH_PRICE | WISH_SPENDS, &x->wish);

	if (!rc && window_parse(&words, (int64_t)time(NULL), &w, &field, &f))
		rc = print_fail_field(x->np, STATUS_USAGE, field, NULL, "%s", f.text);
	rc = rc ? rc : wish_check_wait(x->np, x->o);
	for (int i = 0; !rc && i < option_argc(x->o); i++)
		for (int k = 0; !rc && k < i; k++)
			if (strcmp(option_argv(x->o)[i], option_argv(x->o)[k]) == 0)
				rc = print_fail(x->np, STATUS_USAGE, NULL, "cannot extend '%.60s' twice at once",
					option_argv(x->o)[i]);
	return rc ? rc : plan_can_ask(x->np, x->o);
}

static int extend_command(struct nanopod *np, const struct options *o)
{
	struct extending x = { .np = np, .o = o, .count = (size_t)option_argc(o) };
	int rc;

	x.list = calloc(x.count, sizeof *x.list);
	if (!x.list || signals_begin())
		command_nomem();
	for (size_t i = 0; i < x.count; i++)
		buf_init(&x.list[i].match, BODY_MAX);
	rc = extend_check_line(&x);
	if (!rc && rows_check(np, o, columns, &rc))
		rc = extend_go(&x);
	for (size_t i = 0; i < x.count; i++) {
		purchase_release(&x.list[i].purchase);
		reservation_release(&x.list[i].reservation);
		buf_release(&x.list[i].match);
	}
	free(x.list);
	skus_release(&x.skus);
	market_sign_out(x.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "duration", 'd', OPTION_STRING, "DURATION", .help = "how much longer: 90m, 24h, 1d12h" },
	{ "end", 'e', OPTION_STRING, "TIME", .help = "until when, instead of a duration" },
	{ "round", 0, OPTION_ENUM, .values = "no|up|down",
		.help = "what is not on whole minutes is refused, or made so", .complete = COMPLETE_VALUES },
	{ "price", 'p', OPTION_STRING, "DOLLARS",
		.help = "the most to pay, in dollars per GPU-hour; not typed: what the plan shows" },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node", .help = "what the hour of a price is of",
		.complete = COMPLETE_VALUES },
	{ "max-total", 0, OPTION_STRING, "DOLLARS", .help = "the most that all of it may cost" },
	{ "type", 't', OPTION_STRING, "TYPE", .help = "of a reservation with several types: which",
		.complete = COMPLETE_TYPE },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is printed all the same" },
	{ "dry-run", 0, OPTION_FLAG, .help = "the full check and the price; nothing is bought" },
	{ "wait", 0, OPTION_OPTIONAL, "DURATION",
		.help = "how long to wait for a market that decides later; not typed: 1m" },
	{ "no-wait", 0, OPTION_FLAG, .help = "end as soon as the order is placed" },
	{ "new", 0, OPTION_FLAG, .help = "begin another one, where this command began one that is not finished" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod extend r-7f3a2c -d 12h", "twelve hours more, for what the plan shows" },
	{ "nanopod extend r-7f3a2c train -d 1d -p 2.10 -y", "two of them, each whole or not at all" },
	{ "nanopod extend train -e 'tomorrow 18:00' --dry-run", "what would it cost" },
	{ 0 },
};

const struct command cmd_extend = {
	.name = "extend",
	.args = "RESERVATION...",
	.summary = "keep nodes for longer",
	.examples = examples,
	.description = "The same nodes go on, with their names and ids. All nodes of a reservation are extended or "
		       "none. Where that cannot "
		       "be, the exit status is 6, and what would fit is shown; with several reservations each one's "
		       "result is printed, and the exit "
		       "status is 10 where only some were extended.\n\n"
		       "Type the same command again after a crash or a lost connection: nothing is extended twice.",
	.positional = "RESERVATION  name or id: 'nanopod reservations' lists them",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.min_args = 1,
	.max_args = SEVERAL_MAX,
	.complete_first = COMPLETE_RESERVATION,
	.complete_rest = COMPLETE_RESERVATION,
	.run = extend_command,
};
