/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod buy, in the stages of cli/trade/deal.h: what was typed, a quote, a plan and a yes, a purchase, nodes.
 * The same command continues a purchase that was cut off.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/cmd/buy_plan.h"
#include "cli/cmd/buy_result.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/trade/cloudinit.h"

enum { FRESH_MS = 10000, WAIT_MS = 5 * 60 * 1000 };

enum { STOP_HERE = -1 }; /* the command has done what it was asked, with status 0 */

extern const struct command cmd_buy;

/* ---- What was typed -------------------------------------------------------------------- */

static int check_names(struct buy *b)
{
	static const char *const options[] = { "name", "into" };
	struct fail f = { 0 };

	if (option_given(b->d.o, "name") && option_given(b->d.o, "into"))
		return print_fail_field(b->d.np, STATUS_USAGE, "--name", NULL,
			"cannot use '--name' and '--into' together: '--into' adds nodes to a reservation that has a "
			"name");
	for (size_t i = 0; i < 2; i++)
		if (option_given(b->d.o, options[i]) && reservation_check_name(option_text(b->d.o, options[i]), &f))
			return print_fail_field(b->d.np, STATUS_USAGE, options[i], NULL, "cannot use '--%s': %s",
				options[i], f.text);
	return 0;
}

static int buy_read_keys(struct buy *b)
{
	const char *files[64];
	struct fail f = { 0 };
	size_t count = 0;

	if (option_given(b->d.o, "no-instances"))
		return 0;
	while (count < sizeof files / sizeof *files && option_at(b->d.o, "ssh-key", count)) {
		files[count] = option_at(b->d.o, "ssh-key", count);
		count++;
	}
	if (userdata_make(b->d.np->settings, files, count, &b->userdata, &b->keys, &b->key_files, &f))
		return print_fail_field(b->d.np, STATUS_USAGE, "--ssh-key", NULL, "%s", f.text);
	return 0;
}

static int buy_read_line(struct buy *b)
{
	unsigned flags = ORDER_ARGS_WINDOW | ORDER_ARGS_PRICE | ORDER_ARGS_NEEDS_PRICE | ORDER_ARGS_SPENDS |
		ORDER_ARGS_NODES;
	int rc = order_args_read(b->d.np, b->d.o, flags, &b->d.args);

	if (!rc && !option_given(b->d.o, "type"))
		rc = print_fail_field(b->d.np, STATUS_USAGE, "--type", "'nanopod types' lists them",
			"--type is required, e.g. -t h100");
	rc = rc ? rc : order_args_check_wait(b->d.np, b->d.o);
	rc = rc ? rc : check_names(b);
	if (!rc && !rows_check(b->d.np, b->d.o, buy_result_columns, &rc))
		return rc ? rc : STOP_HERE;
	rc = rc ? rc : plan_can_ask(b->d.np, b->d.o);
	return rc ? rc : buy_read_keys(b);
}

/* ---- The order and its quote -------------------------------------------------------------- */

/* The order, as far as the command line and the market's list of types make it. */
static int buy_make_order(struct buy *b)
{
	struct deal_order *e = &b->order;
	int rc = deal_open(&b->d, "cannot buy");

	if (rc)
		return rc;
	e->args = b->d.args;
	if (!b->d.ours && option_given(b->d.o, "interruptible"))
		return print_fail_field(b->d.np, STATUS_USAGE, "--interruptible", NULL,
			"cannot use '--interruptible': this market does not have it");
	if (!b->d.ours && option_given(b->d.o, "unverified"))
		return print_fail_field(b->d.np, STATUS_USAGE, "--unverified", NULL,
			"cannot use '--unverified': this market does not have it");
	rc = order_args_window(b->d.np, b->d.o, market_clock_now(&e->args.clock), &e->args);
	rc = rc ? rc : skus_find(b->d.np, &b->d.skus, option_text(b->d.o, "type"), &e->sku);
	rc = rc ? rc : order_args_price(b->d.np, b->d.o, e->sku, &e->args);
	if (!rc && option_given(b->d.o, "into"))
		rc = reservation_find(b->d.m, option_text(b->d.o, "into"), &e->reservation);
	return rc;
}

static int buy_ask_quote(struct buy *b)
{
	struct deal_order *e = &b->order;
	struct model_order_new order;
	char nodes[DEAL_NODES];

	window_move(&e->args.window, market_clock_now(&e->args.clock));
	order = buy_order(b);
	if (quote_ask(b->d.m, &order, e->sku, &e->quote))
		return market_fail(b->d.m, "cannot buy %s of '%s'", deal_nodes(e->args.nodes, nodes), buy_type(b));
	deal_read_balance(&b->d);
	return 0;
}

static int buy_not_filled(struct buy *b)
{
	const struct deal_order *e = &b->order;
	unsigned gpus = order_args_gpus(&e->args, e->sku);
	char rate[PLAN_RATE], nodes[DEAL_NODES];
	const char *otherwise = e->quote.reason == REASON_PRICE_TOO_LOW ? "'nanopod price' shows what it costs now"
									: NULL;
	struct buf hint;
	int rc;

	buf_init(&hint, DEAL_TEXT_MAX);
	quote_hint(&e->quote, &cmd_buy, b->d.o, NULL, gpus, &hint);
	rc = print_fail(b->d.np, (enum status)reason_row(e->quote.reason)->status,
		hint.len ? buf_text(&hint) : otherwise, "cannot buy %s of '%s' at %s: %s",
		deal_nodes(e->args.nodes, nodes), buy_type(b), plan_rate(e->args.limit, gpus, rate), e->quote.message);
	buf_release(&hint);
	return rc;
}

/* A standing order may be placed where the quote says that nothing fills now. */
static bool may_go_on(const struct buy *b)
{
	bool capacity = b->order.quote.reason == REASON_NO_CAPACITY || b->order.quote.reason == REASON_PRICE_TOO_LOW;

	return b->order.quote.fills || (capacity && option_given(b->d.o, "standing"));
}

/* ---- Agreement -------------------------------------------------------------------------- */

/* Asks again where the plan changed while the person decided: nobody buys what was not shown. */
static int buy_agree(struct buy *b)
{
	struct deal_order *e = &b->order;
	int64_t shown_ms, cost, start, now;
	char was[MONEY_TEXT], is[MONEY_TEXT];
	int rc;

	for (;;) {
		buy_show_plan(b);
		shown_ms = clock_ms();
		cost = e->quote.known ? e->quote.cost : INT64_MAX;
		start = e->args.window.start;
		if (option_given(b->d.o, "dry-run") || b->d.explain)
			return 0;
		rc = plan_agree(b->d.np, b->d.o, "Buy it?");
		if (rc)
			return rc;
		now = market_clock_now(&e->args.clock);
		if (clock_ms() - shown_ms < FRESH_MS && window_first(now) <= start)
			return 0;
		if (window_past(&e->args.window, now) && !e->args.window.now)
			return print_fail_field(b->d.np, STATUS_USAGE, "--start", NULL,
				"cannot buy that any more: its start has passed");
		rc = buy_ask_quote(b);
		rc = rc ? rc : !may_go_on(b) ? buy_not_filled(b) : buy_check_money(b);
		if (rc)
			return rc;
		/* The person agreed to this price; only the window moved along with the clock. */
		if (e->quote.known && e->quote.cost <= cost) {
			if (e->args.window.start != start) {
				print_note(b->d.np, "the start moved to the next minute while you decided");
				buy_show_plan(b);
			}
			return 0;
		}
		if (e->quote.known && cost != INT64_MAX)
			print_warn(b->d.np, "the price changed while you decided: it was %s and is %s",
				money_text(cost, was), money_text(e->quote.cost, is));
		if (option_given(b->d.o, "yes"))
			return 0; /* -y agrees to any price up to the limit */
	}
}

/* ---- Carrying it out --------------------------------------------------------------------------- */

/* "r-" and six characters of the random id of the purchase. */
static void choose_name(struct buy *b, char *room, size_t size)
{
	const struct resume_file *file = b->order.purchase.file;
	char key[RESUME_FILE_KEY] = "np-000000";

	if (option_given(b->d.o, "name"))
		snprintf(room, size, "%s", option_text(b->d.o, "name"));
	else
		snprintf(room, size, "r-%.6s", (file ? resume_file_key(file, "", key) : key) + 3);
}

static int keep_number(struct purchase *p, const char *name, int64_t n)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRId64, n);
	return purchase_keep(p, name, text);
}

/* What the same command needs to continue after it was cut off. */
static int buy_begin(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	char name[256];
	int rc = deal_begin(&b->d, &b->order);

	if (!rc && p->own_pool) {
		choose_name(b, name, sizeof name);
		rc = purchase_keep(p, "name", name);
	}
	if (!rc && b->userdata)
		rc = purchase_keep(p, "userdata", b->userdata);
	rc = rc ? rc : keep_number(p, "start", b->order.args.window.start);
	/* Kept last: deal_find_unfinished() forgets a purchase without it. */
	return rc ? rc : keep_number(p, "end", b->order.args.window.end);
}

static int64_t kept_number(const struct purchase *p, const char *name)
{
	const char *text = purchase_kept(p, name);
	long n = 0;

	return text && str_to_long(text, 0, LONG_MAX, &n) == 0 ? n : 0;
}

/* The purchase keeps the window that was agreed to. */
static void buy_resume(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	struct window *w = &b->order.args.window;
	char window[WINDOW_TEXT];

	w->start = kept_number(p, "start");
	w->end = kept_number(p, "end");
	w->now = false;
	print_note(b->d.np, "continues the unfinished purchase of this command: '%s', %s; '--new' starts another one",
		p->name, window_show(w, window));
	buy_show_resumed(b);
}

/*
 * True where the window of an unfinished purchase has begun and its order cannot exist: none was sent, or
 * its pool is gone and a late order cannot reach it. The purchase is forgotten.
 */
static bool is_stale(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	struct window kept = { .start = kept_number(p, "start"), .end = kept_number(p, "end") };

	if (purchase_kept(p, "order") || !window_past(&kept, market_clock_now(&b->order.args.clock)))
		return false;
	if (p->own_pool && !*p->pool && purchase_kept(p, "pool.body") && purchase_pool(p))
		return false;
	if (p->own_pool && *p->pool && !purchase_undo_pool(p))
		return false;
	if (!p->own_pool && purchase_kept(p, "order.body"))
		return false;
	print_note(b->d.np, "starts over: the window of the unfinished purchase '%s' has begun, and nothing was bought",
		p->name);
	purchase_end(p);
	purchase_release(p);
	return true;
}

static int buy_print(struct buy *b, int status)
{
	return buy_result_print(b->d.np, b->d.o, &b->order.purchase, b->order.sku,
		order_args_gpus(&b->order.args, b->order.sku), status);
}

/* The hint with the command as it was typed; valid until the next call. */
static const char *buy_hint(struct buy *b, const char *fmt)
{
	const char *gap = strstr(fmt, "%s");

	buf_clear(&b->hint);
	if (buf_add(&b->hint, fmt, (size_t)(gap - fmt)) || buf_adds(&b->hint, buf_text(&b->d.line)) ||
		buf_adds(&b->hint, gap + 2))
		command_nomem();
	return buf_text(&b->hint);
}

/* No answer came. The purchase stays on disk, and the same command finds out. */
static int cut_off(struct buy *b, int rc)
{
	const char *again = buy_hint(b,
		"run the same command again; it continues from here and buys nothing twice: '%s'");
	struct purchase *p = &b->order.purchase;
	int number = rc == CLIENT_STOPPED ? signals_next() : 0;
	enum status stopped = number == SIGTERM ? STATUS_TERM : STATUS_INT;
	enum status status = rc == CLIENT_STOPPED ? stopped : purchase_status(rc);

	if (p->order.id[0])
		return print_fail(b->d.np, status, again, "cannot finish '%s': order '%s' is placed, but then: %s",
			p->name, p->order.id, b->d.m->fail.text);
	return print_fail(b->d.np, status, again, "cannot tell whether the order for '%s' was placed: %s", p->name,
		b->d.m->fail.text);
}

static int buy_step_failed(struct buy *b, int rc)
{
	struct purchase *p = &b->order.purchase;
	char nodes[DEAL_NODES];

	if (!purchase_nothing_done(p, rc))
		return cut_off(b, rc);
	purchase_undo_pool(p);
	purchase_end(p);
	return market_fail(b->d.m, "cannot buy %s of '%s'", deal_nodes(b->order.args.nodes, nodes), buy_type(b));
}

/* The market decided the order and filled nothing of it: says why, and which command would fill. */
static int buy_unfilled(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	struct quote *q = &b->order.quote;
	bool cancelled = p->order.standing && p->order.status == MODEL_ORDER_CANCELLED && !p->order.reason;
	int reason = p->order.reason;

	purchase_undo_pool(p);
	purchase_end(p);
	if (cancelled)
		return print_fail(b->d.np, STATUS_CAPACITY, "run the same command again to place a new order",
			"nothing was bought: order '%s' was cancelled", p->order.id);
	q->alternative_count = 0;
	if (buy_ask_quote(b) == 0 && !q->fills)
		reason = reason ? reason : q->reason;
	q->reason = reason ? reason : REASON_NO_CAPACITY;
	snprintf(q->message, sizeof q->message, "order '%s' was not filled: %s", p->order.id,
		reason_row(q->reason)->text);
	return buy_not_filled(b);
}

static int buy_nodes(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	const char *image = option_given(b->d.o, "image") ? option_text(b->d.o, "image") : NULL;
	char made[80] = "none of its nodes";
	int rc = option_given(b->d.o, "no-instances") ? 0 : purchase_nodes(p, image);

	if (!rc)
		return 0;
	if (p->node_count)
		snprintf(made, sizeof made, "only %zu of its %s nodes", p->node_count, purchase_kept(p, "nodes"));
	print_fail(b->d.np, STATUS_PARTLY, "run the same command again to start the rest",
		"'%s' is bought and paid, but %s could be started: %s", p->name, made, b->d.m->fail.text);
	buy_print(b, STATUS_PARTLY);
	return STATUS_PARTLY;
}

/* how: as order_status_wait() returns it. */
static int waited_out(struct buy *b, int how, int number)
{
	struct purchase *p = &b->order.purchase;
	enum status stopped = number == SIGTERM ? STATUS_TERM : STATUS_INT;
	bool unasked = p->order.standing && !b->d.np->tty_err && !option_given(b->d.o, "wait");

	if (how == 1 && option_given(b->d.o, "no-wait")) {
		print_note(b->d.np,
			"order '%s' is placed and not filled yet; run the same command again to continue: '%s'; "
			"'nanopod cancel %s' cancels it",
			p->order.id, buf_text(&b->d.line), p->order.id);
		return buy_print(b, STATUS_OK);
	}
	buy_print(b, STATUS_WAITING);
	return print_fail(b->d.np, how == 1 ? STATUS_WAITING : stopped,
		buy_hint(b,
			"run the same command again to wait for it: '%s'; 'nanopod cancel' with that id cancels it"),
		"order '%s' is placed and not filled yet: %s", p->order.id,
		how != 1          ? "interrupted"
			: unasked ? "it waits in the book"
				  : "timed out");
}

static int buy_settle(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	const struct window *w = &b->order.args.window;
	int64_t unasked = p->order.standing ? 0 : DEAL_DECIDE_MS;
	int64_t patience = order_args_wait(b->d.o, b->d.np->tty_err ? WAIT_MS : unasked);
	bool whole;
	int number = 0, rc = order_status_wait(b->d.m, &p->order, patience, &number);

	if (rc < 0)
		return cut_off(b, rc);
	if (rc)
		return waited_out(b, rc, number);
	if (!p->order.filled_minutes && !p->order.filled_nodes)
		return buy_unfilled(b);
	if (p->order.start && (p->order.start != w->start || p->order.end != w->end))
		print_warn(b->d.np, "the window that you bought is not the one that you asked for: time has passed");
	whole = order_status_filled(&p->order);
	rc = buy_nodes(b);
	if (rc)
		return rc;
	rc = buy_result_wait(p, order_args_wait(b->d.o, b->d.np->tty_err ? WAIT_MS : 0),
		market_clock_now(&b->order.args.clock));
	return purchase_told(p, buy_print(b, rc ? rc : whole ? STATUS_OK : STATUS_PARTLY));
}

static int buy_carry_out(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	struct model_order_new order = buy_order(b);
	int rc = purchase_pool(p);

	rc = rc ? rc : purchase_order(p, &order);
	if (rc)
		return buy_step_failed(b, rc);
	if (b->d.explain) {
		purchase_nodes(p, option_given(b->d.o, "image") ? option_text(b->d.o, "image") : NULL);
		return STATUS_OK;
	}
	if (p->resumed)
		print_note(b->d.np, "replayed: order '%s' was placed before", p->order.id);
	return buy_settle(b);
}

/* ---- All of it --------------------------------------------------------------------------- */

/* Finds what would otherwise fail only after the order is paid. */
static int check_first(struct buy *b)
{
	const char *name = option_given(b->d.o, "name") ? option_text(b->d.o, "name") : NULL;
	const char *image = option_given(b->d.o, "image") ? option_text(b->d.o, "image") : NULL;
	struct reservation r;
	int rc = name ? reservation_look(b->d.m, name, &r) : 1;

	if (rc == 0) {
		reservation_release(&r);
		return print_fail_field(b->d.np, STATUS_CONFLICT, "--name",
			"'--into' adds nodes to it; another '--name' makes a new reservation",
			"cannot buy as '%s': the reservation '%s' exists already", name, name);
	}
	if (rc < 0)
		return market_fail(b->d.m, "cannot look for '%s'", name);
	if (!option_given(b->d.o, "no-instances") && purchase_check_image(&b->order.purchase, image))
		return market_fail(b->d.m, "cannot start nodes, so nothing was bought");
	return 0;
}

static int buy_fresh(struct buy *b)
{
	struct deal_order *e = &b->order;
	int rc = check_first(b);

	rc = rc ? rc : buy_ask_quote(b);
	rc = rc ? rc : buy_check_money(b);
	if (!rc && !may_go_on(b))
		rc = buy_not_filled(b);
	rc = rc ? rc : buy_agree(b);
	if (rc)
		return rc;
	if (option_given(b->d.o, "dry-run"))
		return buy_result_print_quote(b->d.np, b->d.o, &e->quote, e->sku, order_args_gpus(&e->args, e->sku));
	if (buy_begin(b)) {
		purchase_end(&e->purchase);
		return print_fail(b->d.np, STATUS_FAILURE, NULL, "%s", b->d.m->fail.text);
	}
	return buy_carry_out(b);
}

static int buy_go(struct buy *b)
{
	int rc = buy_make_order(b);

	rc = rc ? rc : deal_find_unfinished(&b->d, &b->order, "", "end");
	if (rc)
		return rc;
	if (!b->order.purchase.resumed || is_stale(b))
		return buy_fresh(b);
	buy_resume(b);
	return buy_carry_out(b);
}

static int buy_command(struct nanopod *np, const struct options *o)
{
	struct buy b = { .keys = 0 };
	int rc;

	deal_init(&b.d, np, o, &cmd_buy);
	deal_order_init(&b.order);
	buf_init(&b.hint, DEAL_TEXT_MAX);
	buf_init(&b.key_files, DEAL_TEXT_MAX);
	if (signals_begin())
		command_nomem();
	rc = buy_read_line(&b);
	rc = rc ? rc : buy_go(&b);
	deal_order_release(&b.order);
	deal_release(&b.d);
	signals_end();
	buf_release(&b.hint);
	buf_release(&b.key_files);
	free(b.userdata);
	return rc == STOP_HERE ? STATUS_OK : rc;
}

static const struct option options[] = {
	{ "type", 't', OPTION_STRING, "TYPE", .help = "type of node: its name, id or the beginning of one; required",
		.complete = COMPLETE_TYPE },
	{ "nodes", 'n', OPTION_INT, "N", .fallback = "1", .min = 1, .max = 1024, .help = "number of nodes" },
	{ "duration", 'd', OPTION_STRING, "DURATION",
		.help = "how long: 90m, 24h, 1d12h, 2w; this or --end is required" },
	{ "start", 's', OPTION_STRING, "TIME",
		.help = "start: now, +3h, 18:00, 'tomorrow 09:00', ISO 8601, @unix; default: now" },
	{ "end", 'e', OPTION_STRING, "TIME", .help = "end, instead of a duration" },
	{ "round", 0, OPTION_ENUM, .values = "no|up|down",
		.help = "round a time that is not a whole minute; default: no, which refuses it",
		.complete = COMPLETE_VALUES },
	{ "price", 'p', OPTION_STRING, "DOLLARS",
		.help = "limit: the most to pay, in dollars per GPU-hour (node-hour without GPUs); required" },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node",
		.help = "unit of prices: the hour of a GPU or of a node", .complete = COMPLETE_VALUES },
	{ "max-total", 0, OPTION_STRING, "DOLLARS", .help = "the most that it may cost in total" },
	{ "standing", 0, OPTION_FLAG,
		.help = "let what does not fill now wait in the book; the market holds the money for it" },
	{ "partial", 0, OPTION_FLAG, .help = "accept fewer nodes or less time" },
	{ "interruptible", 0, OPTION_FLAG,
		.help = "the market may take the nodes away after a notice; it refunds the rest" },
	{ "unverified", 0, OPTION_FLAG, .help = "take hosts without a valid proof, too, where the type asks for one" },
	{ "into", 0, OPTION_STRING, "RESERVATION", .help = "add the nodes to this reservation",
		.complete = COMPLETE_RESERVATION },
	{ "name", 0, OPTION_STRING, "NAME", .help = "name of the reservation; default: r- and six letters" },
	{ "image", 0, OPTION_STRING, "IMAGE", .help = "image of the nodes; default: the market's first" },
	{ "ssh-key", 0, OPTION_LIST, "FILE", .help = "public key that may log in; repeatable; default: those in ~/.ssh",
		.complete = COMPLETE_FILE },
	{ "no-instances", 0, OPTION_FLAG, .help = "buy the time, but start no nodes" },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still shown" },
	{ "dry-run", 0, OPTION_FLAG, .help = "check everything and show the price; buy nothing" },
	{ "wait", 0, OPTION_OPTIONAL, "DURATION",
		.help = "wait until the order is filled and the nodes run, up to 5m without a value; default on a "
			"terminal" },
	{ "no-wait", 0, OPTION_FLAG, .help = "do not wait for the placed order" },
	{ "new", 0, OPTION_FLAG, .help = "start another purchase, even if this command left one unfinished" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod buy -t h100 -n 2 -d 24h -p 2.10", "two nodes for a day from now, for up to $2.10 per GPU-hour" },
	{ "nanopod buy -t h100 -d 4h -s 'tomorrow 09:00' -p 2.10 --name train", "tomorrow morning, under a name" },
	{ "nanopod buy -t h100 -n 8 -d 12h -p 1.60 --standing --no-wait", "leave an order in the book" },
	{ "nanopod buy -t h100 -d 1h -p 2.10 --max-total 20 -y -o json", "from a script" },
	{ "nanopod buy -t h100 -n 2 -d 24h -p 2.10 --dry-run", "show what it would cost" },
	{ 0 },
};

const struct command cmd_buy = {
	.name = "buy",
	.args = "",
	.summary = "buy nodes for a time",
	.examples = examples,
	.description =
		"Shows a plan (window, size, price, total, refund, balance) on standard error, asks, places the order "
		"and starts the nodes. Prints the name of the reservation. Without a terminal to ask on, '-y' is "
		"required; the plan is still shown.\n\n"
		"The purchase is on disk before the first request leaves. After a crash, Ctrl-C or a lost connection "
		"run the same command again: it continues that purchase, says 'replayed', and buys nothing twice.\n\n"
		"An order fills in full and at once, or not at all, unless --partial or --standing says otherwise. If "
		"it does not fill, the exit status is 6, and the error shows commands that would fill.",
	.options = options,
	.formats = "name|table|wide|json|jsonl|csv",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.run = buy_command,
};
