/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod buy: a plan, a yes, an order, nodes. What happens to a purchase that is cut off is in cli/trade/purchase.h. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/cmd/bought.h"
#include "cli/trade/buying.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/trade/purchase.h"
#include "cli/trade/quote.h"
#include "cli/frame/retype.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/trade/cloudinit.h"
#include "cli/trade/wish.h"

enum { MATCH_MAX = 64 << 10, FRESH_MS = 10000, DECIDE_MS = 60000, WAIT_MS = 5 * 60 * 1000 };

enum { STOP_HERE = -1 }; /* all is well and there is nothing to do */

extern const struct command cmd_buy;

/* ---- What was typed -------------------------------------------------------------------- */

static int check_names(struct buying *b)
{
	static const char *const options[] = { "name", "into" };
	struct fail f = { 0 };

	if (option_given(b->o, "name") && option_given(b->o, "into"))
		return print_fail_field(b->np, STATUS_USAGE, "--name", NULL,
			"cannot use '--name' and '--into' together: what is bought into a reservation has its name");
	for (size_t i = 0; i < 2; i++)
		if (option_given(b->o, options[i]) && reservation_check_name(option_text(b->o, options[i]), &f))
			return print_fail_field(b->np, STATUS_USAGE, options[i], NULL, "cannot use '--%s': %s",
				options[i], f.text);
	return 0;
}

static int buy_read_keys(struct buying *b)
{
	const char *files[64];
	struct fail f = { 0 };
	size_t count = 0;

	if (option_given(b->o, "no-instances"))
		return 0;
	while (count < sizeof files / sizeof *files && option_at(b->o, "ssh-key", count)) {
		files[count] = option_at(b->o, "ssh-key", count);
		count++;
	}
	if (userdata_make(b->np->settings, files, count, &b->userdata, &b->keys, &f))
		return print_fail_field(b->np, STATUS_USAGE, "--ssh-key", NULL, "%s", f.text);
	return 0;
}

static int buy_read_line(struct buying *b)
{
	int rc = wish_read(b->np, b->o, WISH_WINDOW | WISH_PRICE | WISH_NEEDS_PRICE | WISH_SPENDS | WISH_NODES,
		&b->wish);

	if (!rc && !option_given(b->o, "type"))
		rc = print_fail_field(b->np, STATUS_USAGE, "--type", "'nanopod types' lists them",
			"cannot buy without a type: it is missing; type one such as '-t h100'");
	rc = rc ? rc : wish_check_wait(b->np, b->o);
	rc = rc ? rc : check_names(b);
	if (!rc && !rows_check(b->np, b->o, bought_columns, &rc))
		return rc ? rc : STOP_HERE;
	rc = rc ? rc : plan_can_ask(b->np, b->o);
	return rc ? rc : buy_read_keys(b);
}

/* ---- What the market says beforehand ---------------------------------------------------- */

static int buy_meet(struct buying *b)
{
	int rc = market_sign_in(b->np, b->o, 0, &b->m);

	if (rc)
		return rc;
	b->explain = b->m->explain;
	b->m->explain = false;
	rc = wish_market(b->m, &b->wish);
	if (rc < 0)
		return market_fail(b->m, "cannot buy");
	b->ours = rc == 1;
	if (!b->ours && option_given(b->o, "interruptible"))
		return print_fail_field(b->np, STATUS_USAGE, "--interruptible", NULL,
			"cannot use '--interruptible': this market does not have it");
	if (purchase_match(b->m, b->o, "buy", "", &b->match))
		return market_fail(b->m, "cannot tell who buys");
	retype(&cmd_buy, b->o, NULL, &b->command);
	rc = wish_window(b->np, b->o, wish_now(&b->wish), &b->wish);
	rc = rc ? rc : skus_load(b->m, &b->skus);
	rc = rc ? rc : skus_find(b->np, &b->skus, option_text(b->o, "type"), &b->sku);
	rc = rc ? rc : wish_price(b->np, b->o, b->sku, &b->wish);
	if (!rc && option_given(b->o, "into"))
		rc = reservation_find(b->m, option_text(b->o, "into"), &b->into);
	return rc;
}

static int buy_ask_quote(struct buying *b)
{
	struct model_order_new order = buying_order(b);
	struct model_balance balance;

	window_move(&b->wish.window, wish_now(&b->wish));
	order.start = b->wish.window.start;
	order.end = b->wish.window.end;
	if (quote_ask(b->m, &order, b->sku, &b->quote))
		return market_fail(b->m, "cannot buy %" PRId64 " of '%s'", b->wish.nodes, buying_type(b));
	b->available = MODEL_NONE;
	if (market_get(b->m, b->ours ? "/np/v1/balance" : "/v1/balances") == 0
	    && wire_balance(b->m->doc, WIRE_WHOLE, &balance, &b->m->fail) == 0)
		b->available = balance.available;
	return 0;
}

static int not_filled(struct buying *b)
{
	bool dear = b->quote.reason == REASON_PRICE_TOO_LOW;
	char rate[PLAN_RATE];
	struct buf hint;
	int rc;

	buf_init(&hint, MATCH_MAX);
	quote_hint(&b->quote, &cmd_buy, b->o, NULL, wish_gpus(&b->wish, b->sku), &hint);
	rc = print_fail(b->np, (enum status)reason_row(b->quote.reason)->status,
		hint.len       ? buf_text(&hint)
			: dear ? "'nanopod price' shows what it costs now"
			       : NULL,
		"cannot buy %" PRId64 " node%s of '%s' at %s: %s", b->wish.nodes, b->wish.nodes == 1 ? "" : "s",
		buying_type(b), plan_rate(b->wish.limit, wish_gpus(&b->wish, b->sku), rate), b->quote.message);
	buf_release(&hint);
	return rc;
}

/* It would rest, or fill in part: those the quote cannot promise and the order need not. */
static bool may_go_on(const struct buying *b)
{
	bool capacity = b->quote.reason == REASON_NO_CAPACITY || b->quote.reason == REASON_PRICE_TOO_LOW;

	return b->quote.fills || (capacity && option_given(b->o, "standing"));
}

/* ---- The yes ---------------------------------------------------------------------------- */

/*
 * Shown, asked, and asked again where time or others changed what was shown meanwhile: nothing is
 * bought that was not stated.
 */
static int buy_agree(struct buying *b)
{
	int64_t shown_ms, cost, start;
	char a[MONEY_TEXT], c[MONEY_TEXT];
	int rc;

	for (;;) {
		buying_show(b);
		shown_ms = clock_ms();
		cost = b->quote.known ? b->quote.cost : INT64_MAX;
		start = b->wish.window.start;
		if (option_given(b->o, "dry-run") || b->explain)
			return 0;
		rc = plan_agree(b->np, b->o, "Buy it?");
		if (rc)
			return rc;
		if (clock_ms() - shown_ms < FRESH_MS && window_first(wish_now(&b->wish)) <= start)
			return 0;
		if (window_past(&b->wish.window, wish_now(&b->wish)) && !b->wish.window.now)
			return print_fail_field(b->np, STATUS_USAGE, "--start", NULL,
				"cannot buy that any more: its start is past");
		rc = buy_ask_quote(b);
		rc = rc ? rc : !may_go_on(b) ? not_filled(b) : buying_check_money(b);
		if (rc)
			return rc;
		/* The same price in a window that moved along with the clock is what was agreed to. */
		if (b->quote.known && b->quote.cost <= cost) {
			if (b->wish.window.start != start)
				buying_show(b);
			return 0;
		}
		if (b->quote.known && cost != INT64_MAX)
			print_warn(b->np, "the price moved while you decided: it was %s and is %s", money_text(cost, a),
				money_text(b->quote.cost, c));
		if (option_given(b->o, "yes"))
			return 0; /* within the limit, which was stated */
	}
}

/* ---- Doing it --------------------------------------------------------------------------- */

/* "r-" and six of the letters that the intent's own random name has. */
static void choose_name(struct buying *b)
{
	char key[INTENT_KEY] = "np-000000";

	if (b->into.id)
		snprintf(b->name, sizeof b->name, "%s", b->into.name);
	else if (option_given(b->o, "name"))
		snprintf(b->name, sizeof b->name, "%s", option_text(b->o, "name"));
	else
		snprintf(b->name, sizeof b->name, "r-%.6s",
			(b->purchase.intent ? intent_key(b->purchase.intent, "", key) : key) + 3);
}

static int keep_number(struct purchase *p, const char *name, int64_t n)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRId64, n);
	return purchase_keep(p, name, text);
}

/* Before the first request: what the next command needs to go on with it. */
static int buy_begin(struct buying *b)
{
	struct purchase *p = &b->purchase;
	int rc = purchase_begin(p, buf_text(&b->match), buf_text(&b->command), wish_now(&b->wish));

	p->own_pool = !b->into.id;
	if (rc)
		return rc;
	choose_name(b);
	rc = purchase_keep(p, "name", b->name);
	if (!rc && b->into.id)
		rc = purchase_keep(p, "into", b->into.id);
	if (!rc && b->into.id)
		rc = purchase_keep(p, "pool", b->into.id);
	if (!rc && b->userdata)
		rc = purchase_keep(p, "userdata", b->userdata);
	/* Last: what has no window is begun afresh. */
	rc = rc ? rc : keep_number(p, "start", b->wish.window.start);
	return rc ? rc : keep_number(p, "end", b->wish.window.end);
}

static int64_t kept_number(const struct purchase *p, const char *name)
{
	const char *text = purchase_kept(p, name);
	long n = 0;

	return text && str_to_long(text, 0, LONG_MAX, &n) == 0 ? n : 0;
}

/* The same command began one: its window counts. */
static void buy_resume(struct buying *b)
{
	struct purchase *p = &b->purchase;
	char window[WINDOW_TEXT];

	b->wish.window.start = kept_number(p, "start");
	b->wish.window.end = kept_number(p, "end");
	b->wish.window.now = false;
	print_note(b->np,
		"goes on with the purchase that this command began before: '%s', %s; '--new' would begin another one",
		p->name, window_show(&b->wish.window, window));
}

/*
 * Its window has begun and no order is known: what was never sent, or cannot arrive any more as its
 * pool is gone, is forgotten. True: begin afresh.
 */
static bool is_stale(struct buying *b)
{
	struct purchase *p = &b->purchase;

	if (purchase_kept(p, "order") || !window_past(&b->wish.window, wish_now(&b->wish)))
		return false;
	if (p->own_pool && !*p->pool && purchase_kept(p, "pool.body") && purchase_pool(p))
		return false;
	if (p->own_pool && *p->pool && !purchase_undo_pool(p))
		return false;
	if (!p->own_pool && purchase_kept(p, "order.body"))
		return false;
	purchase_end(p);
	purchase_release(p);
	print_note(b->np, "its window has begun and nothing was bought for it: it is begun afresh");
	return true;
}

static int buy_done(struct buying *b, int status)
{
	return bought_print(b->np, b->o, &b->purchase, b->sku, wish_gpus(&b->wish, b->sku), status);
}

/* With the command as it was typed; lasts until the next one. */
static const char *buy_hint(struct buying *b, const char *fmt)
{
	const char *gap = strstr(fmt, "%s");

	buf_clear(&b->hint);
	if (buf_add(&b->hint, fmt, (size_t)(gap - fmt)) || buf_adds(&b->hint, buf_text(&b->command)) ||
		buf_adds(&b->hint, gap + 2))
		command_nomem();
	return buf_text(&b->hint);
}

/* It stays on disk: the same command finds out and goes on. */
static int cut_off(struct buying *b, int rc)
{
	const char *again = buy_hint(b,
		"type the same command again: it goes on from here, and buys nothing twice: '%s'");
	struct purchase *p = &b->purchase;
	int number = rc == CLIENT_STOPPED ? signals_next() : 0;
	enum status status = rc == CLIENT_STOPPED ? number == SIGTERM ? STATUS_TERM : STATUS_INT
		: rc > REASON_END && rc != -EPROTO ? STATUS_FAILURE : (enum status)client_status(rc);

	if (p->order.id[0])
		return print_fail(b->np, status, again, "cannot finish '%s': order '%s' is placed, and then: %s",
			p->name, p->order.id, b->m->fail.text);
	return print_fail(b->np, status, again, "cannot tell whether the order for '%s' was placed: %s", p->name,
		b->m->fail.text);
}

static int buy_step_failed(struct buying *b, int rc)
{
	struct purchase *p = &b->purchase;

	if (!purchase_nothing_done(p, rc))
		return cut_off(b, rc);
	purchase_undo_pool(p);
	purchase_end(p);
	return market_fail(b->m, "cannot buy %" PRId64 " node%s of '%s'", b->wish.nodes, b->wish.nodes == 1 ? "" : "s",
		buying_type(b));
}

/* The order is over and nothing filled: why, and what would. */
static int buy_unfilled(struct buying *b)
{
	struct purchase *p = &b->purchase;
	bool cancelled = p->order.standing && p->order.status == MODEL_ORDER_CANCELLED && !p->order.reason;
	int reason = p->order.reason;

	if (cancelled) {
		purchase_undo_pool(p);
		purchase_end(p);
		return print_fail(b->np, STATUS_CAPACITY, "the same command again begins anew",
			"nothing was bought: order '%s' was cancelled", p->order.id);
	}
	purchase_undo_pool(p);
	purchase_end(p);
	b->quote.alternative_count = 0;
	if (buy_ask_quote(b) == 0 && !b->quote.fills)
		reason = reason ? reason : b->quote.reason;
	b->quote.reason = reason ? reason : REASON_NO_CAPACITY;
	snprintf(b->quote.message, sizeof b->quote.message, "order '%s' was not filled: %s", p->order.id,
		reason_row(b->quote.reason)->text);
	return not_filled(b);
}

static int buy_nodes(struct buying *b)
{
	struct purchase *p = &b->purchase;
	const char *image = option_given(b->o, "image") ? option_text(b->o, "image") : NULL;
	char made[80] = "none of its nodes";
	int rc = option_given(b->o, "no-instances") ? 0 : purchase_nodes(p, image);

	if (!rc)
		return 0;
	if (p->node_count)
		snprintf(made, sizeof made, "only %zu of its %s nodes", p->node_count, purchase_kept(p, "nodes"));
	print_fail(b->np, STATUS_PARTLY, "type the same command again to start the rest",
		"'%s' is bought and paid, but %s could be started: %s", p->name, made, b->m->fail.text);
	buy_done(b, STATUS_PARTLY);
	return STATUS_PARTLY;
}

static int waited_out(struct buying *b, int how, int number)
{
	struct purchase *p = &b->purchase;

	if (how == 1 && option_given(b->o, "no-wait")) {
		print_note(b->np,
			"order '%s' is placed and not filled yet; the same command again goes on with it: '%s'; "
			"'nanopod cancel %s' ends it",
			p->order.id, buf_text(&b->command), p->order.id);
		return buy_done(b, STATUS_OK);
	}
	buy_done(b, STATUS_WAITING);
	return print_fail(b->np,
		how == 1                    ? STATUS_WAITING
			: number == SIGTERM ? STATUS_TERM
					    : STATUS_INT,
		buy_hint(b, "the same command again goes on waiting: '%s'; 'nanopod cancel' with that id ends it"),
		"order '%s' is placed and not filled yet: %s", p->order.id,
		how == 1 ? "the time to wait is over" : "interrupted");
}

static int buy_settle(struct buying *b)
{
	struct purchase *p = &b->purchase;
	int64_t patience = wish_wait(b->o, b->np->tty_err ? WAIT_MS : p->order.standing ? 0 : DECIDE_MS);
	bool whole;
	int number = 0, rc = placed_wait(b->m, &p->order, patience, &number);

	if (rc < 0)
		return cut_off(b, rc);
	if (rc)
		return waited_out(b, rc, number);
	if (!p->order.filled_minutes && !p->order.filled_nodes)
		return buy_unfilled(b);
	if (p->order.start && (p->order.start != b->wish.window.start || p->order.end != b->wish.window.end))
		print_warn(b->np, "the window that was bought is not the one that was asked for: time had passed");
	whole = placed_filled(&p->order);
	rc = buy_nodes(b);
	if (rc)
		return rc;
	rc = bought_wait(p, wish_wait(b->o, b->np->tty_err ? WAIT_MS : 0), wish_now(&b->wish));
	return purchase_told(p, buy_done(b, rc ? rc : whole ? STATUS_OK : STATUS_PARTLY));
}

static int buy_carry_out(struct buying *b)
{
	struct model_order_new order = buying_order(b);
	int rc;

	b->m->explain = b->explain;
	rc = purchase_pool(&b->purchase);
	rc = rc ? rc : purchase_order(&b->purchase, &order);
	if (rc)
		return buy_step_failed(b, rc);
	if (b->explain) {
		purchase_nodes(&b->purchase, option_given(b->o, "image") ? option_text(b->o, "image") : NULL);
		return STATUS_OK;
	}
	if (b->purchase.resumed)
		print_note(b->np, "replayed: order '%s' was placed before", b->purchase.order.id);
	return buy_settle(b);
}

/* ---- All of it --------------------------------------------------------------------------- */

/* What would fail only when it is paid. */
static int check_first(struct buying *b)
{
	const char *name = option_given(b->o, "name") ? option_text(b->o, "name") : NULL;
	struct reservation r;
	int rc = name ? reservation_look(b->m, name, &r) : 1;

	if (rc == 0) {
		reservation_release(&r);
		return print_fail_field(b->np, STATUS_CONFLICT, "--name",
			"'--into' buys into it, another '--name' makes another one",
			"cannot buy as '%s': there is a reservation '%s' already", name, name);
	}
	if (rc < 0)
		return market_fail(b->m, "cannot look for '%s'", name);
	if (!option_given(b->o, "no-instances")
	    && purchase_check_image(&b->purchase, option_given(b->o, "image") ? option_text(b->o, "image") : NULL))
		return market_fail(b->m, "cannot start nodes, so nothing is bought");
	return 0;
}

static int buy_fresh(struct buying *b)
{
	int rc = check_first(b);

	rc = rc ? rc : buy_ask_quote(b);
	rc = rc ? rc : buying_check_money(b);
	if (!rc && !may_go_on(b))
		rc = not_filled(b);
	rc = rc ? rc : buy_agree(b);
	if (rc || option_given(b->o, "dry-run"))
		return rc ? rc : bought_print_quote(b->np, b->o, &b->quote, b->sku, wish_gpus(&b->wish, b->sku));
	b->m->explain = b->explain;
	rc = buy_begin(b);
	if (rc) {
		purchase_end(&b->purchase);
		return print_fail(b->np, STATUS_FAILURE, NULL, "%s", b->m->fail.text);
	}
	return buy_carry_out(b);
}

static int buy_go(struct buying *b)
{
	int rc = 0;

	if (!option_given(b->o, "new") && !option_given(b->o, "dry-run") && !b->explain)
		rc = purchase_find(&b->purchase, buf_text(&b->match));
	if (rc)
		return print_fail(b->np, STATUS_FAILURE, NULL, "%s", b->m->fail.text);
	/* Cut off before anything was sent: its window was not written down yet. */
	if (b->purchase.intent && !purchase_kept(&b->purchase, "end")) {
		purchase_end(&b->purchase);
		purchase_init(&b->purchase, b->m);
	}
	if (!b->purchase.intent)
		return buy_fresh(b);
	buy_resume(b);
	if (!is_stale(b)) {
		buying_show_resumed(b);
		return buy_carry_out(b);
	}
	rc = wish_window(b->np, b->o, wish_now(&b->wish), &b->wish);
	return rc ? rc : buy_fresh(b);
}

static int buy_command(struct nanopod *np, const struct options *o)
{
	struct buying b = { .np = np, .o = o, .available = MODEL_NONE };
	int rc;

	buf_init(&b.match, MATCH_MAX);
	buf_init(&b.command, MATCH_MAX);
	buf_init(&b.hint, MATCH_MAX);
	if (signals_begin())
		command_nomem();
	rc = buy_read_line(&b);
	rc = rc ? rc : buy_meet(&b);
	if (!rc) {
		purchase_init(&b.purchase, b.m);
		rc = buy_go(&b);
		purchase_release(&b.purchase);
	}
	reservation_release(&b.into);
	skus_release(&b.skus);
	market_sign_out(b.m);
	signals_end();
	buf_release(&b.match);
	buf_release(&b.command);
	buf_release(&b.hint);
	free(b.userdata);
	return rc == STOP_HERE ? STATUS_OK : rc;
}

static const struct option options[] = {
	{ "type", 't', OPTION_STRING, "TYPE", .help = "type of node: its name, id, or the beginning of it",
		.complete = COMPLETE_TYPE },
	{ "nodes", 'n', OPTION_INT, "N", .fallback = "1", .min = 1, .max = 1024, .help = "how many nodes" },
	{ "duration", 'd', OPTION_STRING, "DURATION", .help = "how long: 90m, 24h, 1d12h, 2w" },
	{ "start", 's', OPTION_STRING, "TIME",
		.help = "from when: now, +3h, 18:00, 'tomorrow 09:00', ISO 8601, @unix" },
	{ "end", 'e', OPTION_STRING, "TIME", .help = "until when, instead of a duration" },
	{ "round", 0, OPTION_ENUM, .values = "no|up|down",
		.help = "what is not on whole minutes is refused, or made so", .complete = COMPLETE_VALUES },
	{ "price", 'p', OPTION_STRING, "DOLLARS", .help = "the most to pay, in dollars per GPU-hour" },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node", .help = "what the hour of a price is of",
		.complete = COMPLETE_VALUES },
	{ "max-total", 0, OPTION_STRING, "DOLLARS", .help = "the most that all of it may cost" },
	{ "standing", 0, OPTION_FLAG, .help = "what does not fill now waits in the book; the money for it is held" },
	{ "partial", 0, OPTION_FLAG, .help = "fewer nodes or less time will do" },
	{ "interruptible", 0, OPTION_FLAG,
		.help = "may be taken away after a notice, and the rest of the money comes back" },
	{ "into", 0, OPTION_STRING, "RESERVATION", .help = "add to a reservation that is there",
		.complete = COMPLETE_RESERVATION },
	{ "name", 0, OPTION_STRING, "NAME", .help = "what the reservation is called; not typed: r- and six letters" },
	{ "image", 0, OPTION_STRING, "IMAGE", .help = "what the nodes start from; not typed: the market's first" },
	{ "ssh-key", 0, OPTION_LIST, "FILE",
		.help = "public key that may sign in; not typed: those in ~/.ssh; may be repeated",
		.complete = COMPLETE_FILE },
	{ "no-instances", 0, OPTION_FLAG, .help = "buy the time and start no nodes" },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is printed all the same" },
	{ "dry-run", 0, OPTION_FLAG, .help = "the full check and the price; nothing is bought" },
	{ "wait", 0, OPTION_OPTIONAL, "DURATION",
		.help = "wait for the order to be filled and the nodes to run, 5m without a value; so it is on a "
			"terminal" },
	{ "no-wait", 0, OPTION_FLAG, .help = "end as soon as the order is placed" },
	{ "new", 0, OPTION_FLAG, .help = "begin another purchase, where this command began one that is not finished" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod buy -t h100 -n 2 -d 24h -p 2.10", "two nodes for a day from now, for at most $2.10 per GPU-hour" },
	{ "nanopod buy -t h100 -d 4h -s 'tomorrow 09:00' -p 2.10 --name train", "tomorrow morning, under a name" },
	{ "nanopod buy -t h100 -n 8 -d 12h -p 1.60 --standing --no-wait", "leave an order in the book" },
	{ "nanopod buy -t h100 -d 1h -p 2.10 --max-total 20 -y -o json", "from a script" },
	{ "nanopod buy -t h100 -n 2 -d 24h -p 2.10 --dry-run", "what would it cost" },
	{ 0 },
};

const struct command cmd_buy = {
	.name = "buy",
	.args = "",
	.summary = "buy nodes for a time",
	.examples = examples,
	.description =
		"Shows what it will do (window, size, price, total, refund, balance) on standard error, asks, orders, "
		"and starts the "
		"nodes. Prints the reservation's name. Without a terminal '-y' is needed, and the plan is printed all "
		"the same.\n\n"
		"What is about to be bought is on disk before the first request leaves. Type the same command again "
		"after a crash, Ctrl-C "
		"or a lost connection: it goes on with the same purchase, says 'replayed', and buys nothing twice.\n\n"
		"An order fills whole and at once, or not at all, unless --partial or --standing says otherwise. Where "
		"it does not fill, the "
		"exit status is 6 and the commands that would are shown.",
	.options = options,
	.formats = "name|table|wide|json|jsonl|csv",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.run = buy_command,
};
