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
#include "cli/cmd/buy/buy_name.h"
#include "cli/cmd/buy/buy_plan.h"
#include "cli/cmd/buy/buy_result.h"
#include "cli/cmd/buy/buy_stack.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/alerts/announcements.h"
#include "cli/trade/ensured.h"
#include "cli/trade/guide.h"

enum { FRESH_MS = 10000, WAIT_MS = 5 * 60 * 1000 };

extern const struct command cmd_buy;

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

/* Why it cannot be bought: that nothing is on sale counts before what it may cost. 0, or an exit status. */
static int buy_judge(struct buy *b)
{
	bool sold_out = b->order.quote.reason == REASON_NO_CAPACITY || b->order.quote.reason == REASON_PRICE_TOO_LOW;
	/* A standing order may be placed where the quote says that nothing fills now. */
	bool fills = b->order.quote.fills || (sold_out && option_given(b->d.o, "standing"));
	int rc = !fills && sold_out ? 0 : buy_check_money(b);

	return rc ? rc : fills ? 0 : buy_not_filled(b);
}

/* ---- Agreement -------------------------------------------------------------------------- */

/* Is the price still what the person agreed to? Says why, where it is not. */
static bool buy_same_price(struct buy *b, const struct quote *before)
{
	const struct quote *q = &b->order.quote;
	char was[MONEY_TEXT], is[MONEY_TEXT];

	if (q->known == before->known && (!q->known || q->cost <= before->cost))
		return true;
	if (q->known && before->known)
		print_warn(b->d.np, "the price changed while you decided: it was %s and is %s",
			money_text(before->cost, was), money_text(q->cost, is));
	else
		print_warn(b->d.np, "the market changed while you decided: %s",
			q->fills ? "now it fills at once" : "now nothing fills at once");
	return false;
}

/* Asks again where the plan changed while the person decided: nobody buys what was not shown. */
static int buy_agree(struct buy *b)
{
	struct deal_order *e = &b->order;
	int64_t shown_ms, start, now;
	struct quote before;
	int rc;

	for (;;) {
		buy_show_plan(b);
		shown_ms = clock_ms();
		before = e->quote;
		start = e->args.window.start;
		if (option_given(b->d.o, "dry-run") || b->d.explain)
			return 0;
		rc = plan_agree(b->d.np, b->d.o, b->cluster ? "Buy and install it?" : "Buy it?");
		if (rc)
			return rc;
		now = market_clock_now(&e->args.clock);
		if (clock_ms() - shown_ms < FRESH_MS && window_first(now) <= start)
			return 0;
		if (window_past(&e->args.window, now) && !e->args.window.now)
			return print_fail_field(b->d.np, STATUS_USAGE, "--start", NULL,
				"cannot buy that any more: its start has passed");
		rc = buy_ask_quote(b);
		rc = rc ? rc : buy_judge(b);
		if (rc)
			return rc;
		if (e->args.window.start != start)
			print_note(b->d.np, "the start moved to the next minute while you decided");
		if (buy_same_price(b, &before)) {
			if (e->args.window.start != start)
				buy_show_plan(b);
			return 0;
		}
		if (option_given(b->d.o, "yes"))
			return 0; /* -y agrees to any price up to the limit */
	}
}

/* ---- Carrying it out --------------------------------------------------------------------------- */

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
		buy_name_choose(option_text(b->d.o, "name"), p, name, sizeof name);
		rc = purchase_keep(p, "name", name);
	}
	if (!rc && option_given(b->d.o, "node-name"))
		rc = purchase_keep(p, "node-name", option_text(b->d.o, "node-name"));
	if (!rc && b->userdata)
		rc = purchase_keep(p, "userdata", b->userdata);
	rc = rc ? rc : keep_number(p, "start", b->order.args.window.start);
	/* Kept last: deal_find_unfinished() forgets a purchase without it. */
	return rc ? rc : keep_number(p, "end", b->order.args.window.end);
}

static int buy_print(struct buy *b, int status)
{
	return buy_result_print(b->d.np, b->d.o, &b->order.purchase, b->order.sku,
		order_args_gpus(&b->order.args, b->order.sku), market_clock_now(&b->order.args.clock), status);
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
	int rc = option_given(b->d.o, "no-instances") ? 0
						      : purchase_nodes(p, image, market_clock_now(&b->d.args.clock));

	if (!rc)
		return 0;
	if (p->node_count)
		snprintf(made, sizeof made, "only %zu of its %s nodes", p->node_count, purchase_kept(p, "nodes"));
	print_fail(b->d.np, STATUS_PARTLY, "run the same command again to start the rest",
		"'%s' is bought and paid, but %s could be started: %s", p->name, made, b->d.m->fail.text);
	buy_print(b, STATUS_PARTLY);
	return STATUS_PARTLY;
}

/* A standing order waits in the book, so the command does not, unless --wait says so. */
static bool buy_stands(const struct buy *b)
{
	return b->order.purchase.order.standing && !option_given(b->d.o, "wait");
}

/* how: as order_status_wait() returns it. */
static int waited_out(struct buy *b, int how, int number)
{
	struct purchase *p = &b->order.purchase;
	enum status stopped = number == SIGTERM ? STATUS_TERM : STATUS_INT;

	if (how == 1 && (option_given(b->d.o, "no-wait") || buy_stands(b))) {
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
		"order '%s' is placed and not filled yet: %s", p->order.id, how == 1 ? "timed out" : "interrupted");
}

static int64_t buy_patience(const struct buy *b)
{
	return order_args_wait(b->d.o, b->cluster ? BUY_STACK_WAIT_MS : b->d.np->tty_err ? WAIT_MS : 0);
}

static int buy_settle(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	const struct window *w = &b->order.args.window;
	int64_t patience = order_args_wait(b->d.o, buy_stands(b) ? 0 : b->d.np->tty_err ? WAIT_MS : DEAL_DECIDE_MS);
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
	patience = buy_patience(b);
	rc = buy_result_wait(p, patience, market_clock_now(&b->order.args.clock));
	rc = buy_print(b, rc ? rc : whole ? STATUS_OK : STATUS_PARTLY);
	if (b->cluster)
		rc = buy_stack_install(b, p->pool, p->name, p->order.filled_start, patience, rc);
	/* Without its cluster it is unfinished, and the same command continues. */
	return b->cluster && !b->installed ? rc : purchase_told(p, rc);
}

/* --ensure: prints the reservation that is there already. ENSURED_BUY: there is none; BUY_STOP: printed. */
static int buy_ensure(struct buy *b, const char *name)
{
	int64_t now, wait_ms = buy_patience(b);
	struct reservation r;
	int rc = ensured_find(&b->d, &b->order, name, &r), waited = 0;

	if (rc)
		return rc;
	now = market_clock_now(&b->order.args.clock);
	if (!option_given(b->d.o, "no-instances") && !option_given(b->d.o, "dry-run") && !b->d.explain)
		waited = buy_result_wait_have(b->d.m, &r, wait_ms, now);
	rc = buy_result_print_have(b->d.np, b->d.o, &r, b->order.sku, market_clock_now(&b->order.args.clock));
	rc = rc ? rc : waited;
	if (b->cluster && !option_given(b->d.o, "dry-run") && !b->d.explain)
		rc = buy_stack_install(b, r.id, r.name, part_begins(&r.parts[0], now), wait_ms, rc);
	reservation_release(&r);
	return rc ? rc : BUY_STOP;
}

/* Another command took the name in the same moment. */
static int buy_overtaken(struct buy *b)
{
	const char *name = option_text(b->d.o, "name");
	int rc;

	purchase_end(&b->order.purchase);
	rc = buy_ensure(b, name);
	if (rc == ENSURED_BUY)
		return print_fail(b->d.np, STATUS_CONFLICT, "run the same command again",
			"cannot buy '%s': another command was buying it and gave up", name);
	return rc;
}

static int buy_carry_out(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	struct model_order_new order = buy_order(b);
	int rc = purchase_pool(p);

	if (rc == REASON_NAME_TAKEN && option_given(b->d.o, "ensure"))
		return buy_overtaken(b);
	rc = rc ? rc : purchase_order(p, &order);
	if (rc)
		return buy_step_failed(b, rc);
	if (b->d.explain) {
		purchase_nodes(p, option_given(b->d.o, "image") ? option_text(b->d.o, "image") : NULL,
			market_clock_now(&b->d.args.clock));
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
	bool ensure = option_given(b->d.o, "ensure");
	struct reservation r;
	int rc = ensure ? buy_ensure(b, name) : name ? reservation_look(b->d.m, name, &r) : 1;

	if (ensure && rc != ENSURED_BUY)
		return rc;
	if (rc == 0) {
		reservation_release(&r);
		return print_fail_field(b->d.np, STATUS_CONFLICT, "--name",
			"'--ensure' takes it where it is what you want; '--into' adds nodes to it; another '--name' "
			"makes a new reservation",
			"cannot buy as '%s': the reservation '%s' exists already", name, name);
	}
	if (!ensure && rc < 0)
		return market_fail(b->d.m, "cannot look for '%s'", name);
	rc = name ? buy_name_free(b->d.m, name) : 0;
	if (rc)
		return rc;
	if (!option_given(b->d.o, "no-instances") && purchase_check_image(&b->order.purchase, image))
		return market_fail(b->d.m, "cannot start nodes, so nothing was bought");
	return 0;
}

/* The reservation's name, as far as it is known before the purchase; NULL. */
static const char *buy_name(const struct buy *b)
{
	return b->order.reservation.id ? b->order.reservation.name : option_text(b->d.o, "name");
}

static int buy_fresh(struct buy *b)
{
	struct deal_order *e = &b->order;
	int rc = check_first(b);

	rc = rc ? rc : buy_ask_quote(b);
	rc = rc ? rc : buy_judge(b);
	rc = rc ? rc : buy_agree(b);
	if (rc)
		return rc;
	if (option_given(b->d.o, "dry-run"))
		return buy_result_print_quote(b->d.np, b->d.o, buy_name(b), &e->quote, e->sku,
			order_args_gpus(&e->args, e->sku));
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
	if (!b->order.purchase.resumed || buy_is_stale(b))
		return buy_fresh(b);
	buy_resume(b);
	return buy_carry_out(b);
}

/* Runs the command line that the answers amount to. BUY_STOP: it was a success. */
static int buy_guided(struct buy *b)
{
	struct guide g = { .count = 0 };
	struct buf line;
	int rc = buy_read_keys(b);

	rc = rc ? rc : guide_ask(b->d.np, b->d.o, &g);
	buf_init(&line, DEAL_TEXT_MAX);
	for (int i = 0; !rc && i < g.count; i++)
		retype_word(&line, g.words[i]);
	if (!rc) {
		print_note(b->d.np, "the same without questions: 'nanopod%s'", buf_text(&line));
		rc = command_run(b->d.np, g.count, g.words);
		rc = rc ? rc : BUY_STOP;
	}
	buf_release(&line);
	guide_release(&g);
	return rc;
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
	rc = guide_wanted(np, o) ? buy_guided(&b) : buy_read_line(&b);
	rc = rc ? rc : buy_go(&b);
	if (b.d.m && (!rc || rc == BUY_STOP))
		announcements_tell(b.d.m);
	deal_order_release(&b.order);
	deal_release(&b.d);
	signals_end();
	buf_release(&b.hint);
	buf_release(&b.key_files);
	buy_stack_release(&b);
	free(b.userdata);
	return rc == BUY_STOP ? STATUS_OK : rc;
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
	{ "grant", 0, OPTION_STRING, "NAME",
		.help = "grant that pays a part where the market's policy allows it, or none; default: the oldest with "
			"money left" },
	{ "unverified", 0, OPTION_FLAG, .help = "take hosts without a valid proof, too, where the type asks for one" },
	{ "into", 0, OPTION_STRING, "RESERVATION", .help = "add the nodes to this reservation",
		.complete = COMPLETE_RESERVATION },
	{ "name", 0, OPTION_STRING, "NAME", .help = "name of the reservation; default: r- and six letters" },
	{ "node-name", 0, OPTION_STRING, "NAME",
		.help = "names of the nodes: NAME-0, NAME-1, ...; default: the reservation's" },
	{ "ensure", 0, OPTION_FLAG,
		.help = "succeed and buy nothing if the reservation of this --name has these nodes already" },
	{ "image", 0, OPTION_STRING, "IMAGE", .help = "image of the nodes; default: the market's first" },
	{ "ssh-key", 0, OPTION_LIST, "FILE", .help = "public key that may log in; repeatable; default: those in ~/.ssh",
		.complete = COMPLETE_FILE },
	{ "no-ssh-key", 0, OPTION_FLAG, .help = "buy nodes that nobody can log in to by an SSH key" },
	{ "no-instances", 0, OPTION_FLAG, .help = "buy the time, but start no nodes" },
	{ "stack", 0, OPTION_LIST, "STACK",
		.help = "make a cluster of them, as 'nanopod provision' does: slurm, k3s, ...; repeatable",
		.complete = COMPLETE_STACK },
	{ "set", 0, OPTION_LIST, "SETTING=VALUE",
		.help = "set a stack's setting, e.g. slurm.accounting=no; repeatable" },
	{ "role", 0, OPTION_LIST, "ROLE=NODES",
		.help = "give nodes a stack's role, e.g. servers=train-[0-2]; repeatable" },
	{ "skip-gate", 0, OPTION_LIST, "GATE",
		.help = "only warn about what this gate of the stacks finds; repeatable" },
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
	{ "nanopod buy", "choose from a menu, with live prices" },
	{ "nanopod buy -t h100 -n 2 -d 24h -p 2.10", "two nodes for a day from now, for up to $2.10 per GPU-hour" },
	{ "nanopod buy -t h100 -d 4h -s 'tomorrow 09:00' -p 2.10 --name train", "tomorrow morning, under a name" },
	{ "nanopod buy -t h100 -n 8 -d 12h -p 1.60 --standing --no-wait", "leave an order in the book" },
	{ "nanopod buy -t h100 -d 1h -p 2.10 --max-total 20 -y -o json", "from a script" },
	{ "nanopod buy -t h100 -n 2 -d 24h -p 2.10 --name ci --ensure -y", "buy once, however often it runs" },
	{ "nanopod buy --stack slurm -t h100 -n 4 -d 1d -p 2.10", "a Slurm cluster: one plan, one price, one wait" },
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
		"required; the plan is still shown. On a terminal and without options it asks for type, nodes, time "
		"and "
		"price, and prints the command line of your answers.\n\n"
		"The purchase is on disk before the first request leaves. After a crash, Ctrl-C or a lost connection "
		"run the same command again: it continues that purchase, says 'replayed', and buys nothing twice.\n\n"
		"An order fills in full and at once, or not at all, unless --partial or --standing says otherwise. If "
		"it does not fill, the exit status is 6, and the error shows commands that would fill.\n\n"
		"With --stack the plan also says what will be installed. The command waits until the nodes run, "
		"installs "
		"it as 'nanopod provision -r RESERVATION STACK' does, and ends with what to type next. If anything "
		"stops "
		"it, the same command continues; with --name and --ensure it may run any number of times.",
	.options = options,
	.formats = "name|table|wide|json|jsonl|csv|yaml",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.run = buy_command,
};
