/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod extend, in the stages of cli/trade/deal.h: the same nodes for longer. Those of a reservation that end
 * together are one order, which is filled in full or not at all; where that fails, the error names what would fit.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/extend/extend_auto.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/reshape.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/deal.h"
#include "market/when.h"

enum { SEVERAL_MAX = 256, ENDS_MAX = 8 }; /* reservations in one command; ends of the nodes of each */

extern const struct command cmd_extend;

struct extension {
	struct deal_order order;
	int64_t end;       /* of its nodes now */
	int status;        /* exit status; -1: not known yet */
	char message[600]; /* why it failed */
};

struct extend {
	struct deal d;
	struct extension *list; /* at most ENDS_MAX for each reservation that was typed */
	size_t count;
	int64_t left; /* of --max-total, after what the quotes cost */
};

static const struct column columns[] = {
	{ "reservation", COLUMN_ID, "its name" },
	{ "result", COLUMN_STATE, "extended or failed" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes" },
	{ "from", 0, "the end before" },
	{ "end", 0, "the end now" },
	{ "price", COLUMN_RIGHT, "paid, in dollars per GPU-hour (per node-hour without GPUs or with --per node)" },
	{ "total", COLUMN_RIGHT, "paid in total, in dollars" },
	{ "order", COLUMN_WIDE, "the order's id" },
	{ "message", COLUMN_WIDE | COLUMN_TEXT, "why it failed" },
	{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the total in millionths of a dollar" },
	{ "replayed", COLUMN_RAW | COLUMN_HIDDEN, "an earlier command did it" },
	{ 0 },
};

static const char *cannot_extend(const char *name, char room[96])
{
	snprintf(room, 96, "cannot extend '%.60s'", name);
	return room;
}

/* ---- The order --------------------------------------------------------------------------- */

/* The extension begins where its nodes end. */
static int extend_read_window(struct extend *x, struct extension *e)
{
	const struct options *o = x->d.o;
	char at[32];
	struct window_words words = { at, option_given(o, "end") ? option_text(o, "end") : NULL,
		option_given(o, "duration") ? option_text(o, "duration") : NULL,
		option_given(o, "round") ? option_text(o, "round") : NULL };
	const char *field = NULL;
	struct fail f = { 0 };

	snprintf(at, sizeof at, "@%" PRId64, e->end);
	if (window_parse(&words, market_clock_now(&x->d.args.clock), &e->order.args.window, &field, &f))
		return print_fail_field(x->d.np, STATUS_USAGE, field, NULL, "%s", f.text);
	return 0;
}

/* ---- Why not ----------------------------------------------------------------------------- */

/* For reasons that no change of the command line cures. */
static const char *extend_instead(int reason)
{
	if (reason == REASON_PRICE_TOO_LOW)
		return "'--dry-run' without '-p' shows what it costs";
	if (reason == REASON_OVER_CAP)
		return "'nanopod whoami -o wide' shows what you may spend";
	return reason == REASON_FUNDS ? "'nanopod balance' shows your money" : "'nanopod buy' buys other nodes";
}

static void why_not(struct extend *x, struct extension *e)
{
	struct quote *q = &e->order.quote;
	const struct window *w = &e->order.args.window;
	char when[WHEN_TEXT];
	struct buf hint;
	const char *end = NULL;

	for (size_t i = 0; i < q->alternative_count && q->reason == REASON_HOSTS_SOLD; i++)
		if (strcmp(q->alternatives[i].kind, "end") == 0)
			end = when_local(q->alternatives[i].end, command_now(x->d.np), when);
	buf_init(&hint, DEAL_TEXT_MAX);
	q->start = w->start;
	q->end = w->end;
	quote_hint(q, &cmd_extend, x->d.o, (char *[]){ e->order.reservation.name, NULL },
		order_args_gpus(&e->order.args, e->order.sku), &hint);
	snprintf(e->message, sizeof e->message, "%s%s", end ? "its hosts are sold from " : q->message, end ? end : "");
	e->status = print_fail(x->d.np, (enum status)reason_row(q->reason ? q->reason : REASON_HOSTS_SOLD)->status,
		hint.len ? buf_text(&hint) : extend_instead(q->reason), "cannot extend '%s': %s",
		e->order.reservation.name, e->message);
	buf_release(&hint);
}

/* ---- The plan ---------------------------------------------------------------------------- */

/* The plan shows those that have a quote: not failed, and not begun by an earlier command. */
static bool is_new(const struct extension *e)
{
	return e->status < 0 && e->order.quote.nodes && !e->order.purchase.resumed;
}

static size_t extend_new(const struct extend *x)
{
	size_t count = 0;

	for (size_t i = 0; i < x->count; i++)
		count += is_new(&x->list[i]);
	return count;
}

/* most: what they may cost at the limit. */
static int sum_costs(struct extend *x, int64_t *sum, int64_t *most)
{
	*sum = *most = 0;
	for (size_t i = 0; i < x->count; i++) {
		const struct deal_order *e = &x->list[i].order;
		int64_t one = e->quote.cost, minutes = window_minutes(&e->args.window);

		if (x->list[i].status >= 0 || e->purchase.resumed)
			continue;
		if ((option_given(x->d.o, "price") && money_cost(e->args.limit, e->args.nodes, minutes, &one)) ||
			money_add(*sum, e->quote.cost, sum) || money_add(*most, one, most))
			return deal_too_large(&x->d, "cannot extend that");
	}
	return 0;
}

static void extend_show_plan(struct extend *x, int64_t sum, int64_t most)
{
	char window[WINDOW_TEXT], now[PLAN_RATE], limit[PLAN_RATE] = "", cost[MONEY_TEXT], nodes[DEAL_NODES];
	char policy[QUOTE_POLICY];
	size_t count = extend_new(x);
	bool granted = false;
	int64_t burn = 0;
	struct plan p;

	plan_init(&p, "Extend %zu reservation%s", count, count == 1 ? "" : "s");
	for (size_t i = 0; i < x->count; i++) {
		const struct deal_order *e = &x->list[i].order;
		unsigned gpus = order_args_gpus(&e->args, e->sku);

		if (!is_new(&x->list[i]))
			continue;
		burn += plan_burn(quote_own(&e->quote), e->quote.nodes);
		granted = granted || e->quote.granted;
		plan_add(&p, e->reservation.name, "%s of %s, %s", deal_nodes(e->args.nodes, nodes),
			e->sku->alias ? e->sku->alias : e->sku->id,
			window_show(&e->args.window, command_now(x->d.np), window));
		plan_add(&p, "", "%s at %s", money_text(e->quote.cost, cost),
			plan_rate(quote_average(&e->quote), gpus, now));
		if (*quote_policy(&e->quote, false, policy))
			plan_add(&p, "", "%s", policy);
		plan_rate(e->args.limit, gpus, limit);
	}
	if (option_given(x->d.o, "price") && *limit)
		plan_add(&p, "limit", "%s", limit);
	deal_plan_total(&p, sum, most);
	deal_plan_burn(&p, burn);
	deal_plan_refund(&x->d, &p, false, granted);
	deal_read_balance(&x->d);
	deal_plan_balance(&x->d, &p, sum, most);
	plan_show(x->d.np, &p);
	plan_release(&p);
}

static int extend_agree(struct extend *x)
{
	int64_t max = x->d.args.max_total, sum, most, counts;
	char cost_text[MONEY_TEXT], max_text[MONEY_TEXT];
	int rc = sum_costs(x, &sum, &most);

	if (rc)
		return rc;
	x->left = max ? max - sum : 0;
	if (!extend_new(x))
		return 0; /* all of them were agreed on before */
	/* Our market never takes more than --max-total; another one may take what the limit allows. */
	extend_show_plan(x, sum, x->d.ours && max && x->left >= 0 && max < most ? max : most);
	counts = x->d.ours ? sum : most;
	if (max && counts > max)
		return print_fail_field(x->d.np, STATUS_FUNDS, x->d.args.max_where, NULL,
			"cannot extend that: it costs %s, and '%s' is %s", money_text(counts, cost_text),
			x->d.args.max_where, money_text(max, max_text));
	if (option_given(x->d.o, "dry-run") || x->d.explain || sum == 0)
		return 0;
	return plan_agree(x->d.np, x->d.o, "Extend?");
}

/* ---- Carrying it out ---------------------------------------------------------------------------- */

static void extend_refused(struct extend *x, struct extension *e)
{
	struct quote *q = &e->order.quote;
	int reason = e->order.purchase.order.reason;

	q->alternative_count = 0;
	if (extension_ask_quote(&x->d, &e->order))
		q->message[0] = '\0';
	reason = reason ? reason : q->reason;
	q->reason = reason ? reason : REASON_HOSTS_SOLD;
	snprintf(q->message, sizeof q->message, "%s", reason_row(q->reason)->text);
	why_not(x, e);
}

/* True: no answer came, so that the same command must be run again. */
static bool extend_carry_out(struct extend *x, struct extension *e)
{
	struct purchase *p = &e->order.purchase;
	int number = 0, rc = extension_post(&x->d, &e->order, x->left);

	if (rc == MARKET_EXPLAINED) {
		e->status = STATUS_OK;
		return false;
	}
	if (!rc && !order_status_decided(&p->order)) {
		rc = order_status_wait(x->d.m, &p->order, order_args_wait(x->d.o, DEAL_DECIDE_MS), &number);
		if (rc > 0)
			rc = fail_set(&x->d.m->fail, rc == 2 ? CLIENT_STOPPED : CLIENT_LOST,
				"order '%s' is placed and not decided yet", p->order.id);
	}
	if (!rc && order_status_filled(&p->order)) {
		x->left -= p->resumed ? 0 : p->order.total - e->order.quote.cost;
		e->status = STATUS_OK;
		return false;
	}
	if (!rc) {
		extend_refused(x, e);
		return false;
	}
	snprintf(e->message, sizeof e->message, "%s", x->d.m->fail.text);
	if (purchase_nothing_done(p, rc)) {
		e->status = market_fail(x->d.m, "cannot extend '%s'", e->order.reservation.name);
		return false;
	}
	e->status = print_fail(x->d.np, purchase_status(rc),
		"run the same command again; it continues from here and buys nothing twice",
		"cannot tell whether '%s' was extended: %s", e->order.reservation.name, x->d.m->fail.text);
	return true;
}

static void extend_add_row(struct extend *x, struct rows *rows, const struct extension *e)
{
	const struct deal_order *d = &e->order;
	const struct order_status *p = &d->purchase.order;
	bool good = e->status == STATUS_OK;
	char r[6][CELL_TEXT];

	rows_add(rows,
		(const char *[]){ d->reservation.name, good ? "extended" : "failed",
			cell_int(good ? p->filled_nodes : 0, r[0]),
			cell_time(x->d.np, p->filled_start && good ? p->filled_start : e->end, r[1]),
			good ? cell_time(x->d.np, p->filled_end, r[2]) : NULL,
			good && d->sku ? cell_price(p->average, order_args_gpus(&d->args, d->sku), r[3]) : NULL,
			good ? cell_money(x->d.np, p->total, r[4]) : NULL, *p->id ? p->id : NULL,
			good ? NULL : e->message, good ? cell_int(p->total, r[5]) : NULL,
			d->purchase.replayed ? "true" : "false" });
}

static int extend_print(struct extend *x)
{
	struct rows *rows;
	int rc = 0;

	if (x->d.explain)
		return 0;
	rows = rows_new(x->d.np, x->d.o, columns, &rc);
	for (size_t i = 0; rows && i < x->count; i++)
		extend_add_row(x, rows, &x->list[i]);
	return rows ? rows_end(rows) : rc;
}

/* ---- All of it --------------------------------------------------------------------------- */

static void extend_swap(struct extension *a, struct extension *b)
{
	struct extension kept = *a;

	*a = *b;
	*b = kept;
}

static int extend_price(struct extend *x, struct extension *e, const char *cannot)
{
	struct deal_order *d = &e->order;
	int rc = order_args_price(x->d.np, x->d.o, d->sku, &d->args);

	if (rc || d->purchase.resumed)
		return rc;
	rc = extend_read_window(x, e);
	if (!rc && extension_ask_quote(&x->d, d))
		return market_fail(x->d.m, "%s", cannot);
	if (!rc && !d->quote.fills)
		why_not(x, e);
	return rc;
}

/* Ends are counted from the last: so an order keeps its number while those before it are extended. */
static int extend_find_unfinished(struct extend *x, struct extension *e, size_t number)
{
	char subject[96];

	snprintf(subject, sizeof subject, "%.64s%s%.0zu", e->order.reservation.id, number ? "#" : "", number);
	return deal_find_unfinished(&x->d, &e->order, subject, "order.body");
}

static bool extend_reaches(const struct extend *x, int64_t end)
{
	struct fail f;
	int64_t to;

	return !option_given(x->d.o, "end") ||
		when_start(option_text(x->d.o, "end"), market_clock_now(&x->d.args.clock), &to, &f) || to > end;
}

/* One for each time at which some of its nodes end; after a command that was cut off, those that it began. */
static int extend_prepare(struct extend *x, const char *typed)
{
	struct extension *all = &x->list[x->count];
	struct part_end_at ends[ENDS_MAX] = { { 0, 0 } };
	char cannot[96];
	int rc = reservation_find(x->d.m, typed, &all->order.reservation);
	size_t count, begun = 0;

	rc = rc ? rc : plan_can_ask(x->d.np, x->d.o); /* after the name: a wrong one is told first */
	cannot_extend(typed, cannot);
	all->order.args = x->d.args;
	rc = rc ? rc : deal_find_part(&x->d, &all->order, cannot, "'nanopod buy' buys new nodes");
	if (rc)
		return rc;
	if (part_end(all->order.part) == MODEL_NEVER)
		return print_fail(x->d.np, STATUS_CONFLICT, NULL, "%s: it has no end", cannot);
	count = part_ends(all->order.part, market_clock_now(&x->d.args.clock), ends, ENDS_MAX);
	if (count > ENDS_MAX)
		return print_fail(x->d.np, STATUS_CONFLICT, "'nanopod buy --into' buys other nodes",
			"%s: its nodes end at %zu different times", cannot, count);
	for (size_t i = 0; !rc && i < ENDS_MAX; i++) {
		struct deal_order *d = &all[i].order;

		if (i)
			reservation_clone(&d->reservation, &all->order.reservation);
		d->args = x->d.args;
		d->part = &d->reservation.parts[all->order.part - all->order.reservation.parts];
		d->sku = all->order.sku;
		d->args.nodes = ends[i].nodes;
		all[i].end = ends[i].at;
		all[i].status = -1;
		rc = extend_find_unfinished(x, &all[i], i);
		begun += d->purchase.resumed;
	}
	if (begun)
		print_note(x->d.np, "continues the unfinished extension of '%s' by this command", typed);
	for (size_t i = 0; !rc && i < ENDS_MAX; i++) {
		if (begun ? !all[i].order.purchase.resumed : i >= count || !extend_reaches(x, ends[i].at))
			continue;
		extend_swap(&x->list[x->count], &all[i]);
		rc = extend_price(x, &x->list[x->count++], cannot);
	}
	/* The next reservation begins in the slots that are left. */
	for (struct extension *left = &x->list[x->count]; left < all + ENDS_MAX; left++) {
		deal_order_release(&left->order);
		deal_order_init(&left->order);
	}
	return rc;
}

static bool any_open(const struct extend *x)
{
	for (size_t i = 0; i < x->count; i++)
		if (x->list[i].status < 0)
			return true;
	return false;
}

static int extend_overall(const struct extend *x)
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

/* All of them are on disk before the first is sent, with their bodies: the same command sends them as they are. */
static int extend_begin(struct extend *x)
{
	bool alone = extend_new(x) == 1;
	int rc = 0;

	x->d.m->explain = x->d.explain;
	for (size_t i = 0; !rc && i < x->count; i++)
		if (x->list[i].status < 0 && !x->list[i].order.purchase.resumed) {
			rc = deal_begin(&x->d, &x->list[i].order);
			rc = rc || alone || x->d.explain ? rc : extension_keep(&x->d, &x->list[i].order);
		}
	if (!rc)
		return 0;
	for (size_t i = 0; i < x->count; i++)
		if (!x->list[i].order.purchase.resumed)
			purchase_end(&x->list[i].order.purchase);
	return print_fail(x->d.np, STATUS_FAILURE, NULL, "%s", x->d.m->fail.text);
}

/* The files go only when all answers are known, as the same command repeats all of its orders. */
static int extend_do_all(struct extend *x)
{
	bool unknown = false;
	int rc = extend_begin(x);

	if (rc)
		return rc;
	for (size_t i = 0; i < x->count; i++) {
		struct extension *e = &x->list[i];

		if (e->status >= 0)
			continue;
		if (unknown && x->d.m->fail.code == CLIENT_STOPPED) {
			e->status = STATUS_INT;
			snprintf(e->message, sizeof e->message, "not begun");
			continue;
		}
		unknown |= extend_carry_out(x, e);
		if (e->status == STATUS_OK && e->order.purchase.resumed)
			print_note(x->d.np, "replayed: '%s' was extended before", e->order.reservation.name);
	}
	rc = reshape_finish(x->d.np, extend_print(x));
	for (size_t i = 0; i < x->count && !unknown && !rc; i++)
		purchase_end(&x->list[i].order.purchase);
	return rc ? rc : extend_overall(x);
}

static int extend_go(struct extend *x)
{
	char **words = option_argv(x->d.o), cannot[96];
	int rc = deal_open(&x->d, cannot_extend(words[0], cannot));

	for (int i = 0; !rc && i < option_argc(x->d.o); i++)
		rc = extend_prepare(x, words[i]);
	if (rc)
		return rc;
	if (!any_open(x))
		return (rc = extend_print(x)) ? rc : extend_overall(x);
	rc = extend_agree(x);
	if (rc || option_given(x->d.o, "dry-run"))
		return rc ? rc : extend_overall(x);
	return extend_do_all(x);
}

/* What can be refused without the network. The real window needs the reservation's end. */
static int extend_check_line(struct extend *x)
{
	const struct options *o = x->d.o;
	struct window_words words = { NULL, option_given(o, "end") ? option_text(o, "end") : NULL,
		option_given(o, "duration") ? option_text(o, "duration") : NULL,
		option_given(o, "round") ? option_text(o, "round") : NULL };
	const char *field = NULL;
	struct fail f = { 0 };
	struct window w;
	int rc = order_args_read(x->d.np, o, ORDER_ARGS_PRICE | ORDER_ARGS_SPENDS, &x->d.args);

	if (!rc && window_parse(&words, 0, &w, &field, &f))
		rc = print_fail_field(x->d.np, STATUS_USAGE, field, NULL, "%s", f.text);
	rc = rc ? rc : order_args_check_wait(x->d.np, o);
	if (!rc && option_given(o, "auto-extend")) {
		x->d.args.window = w;
		rc = extend_auto_check(&x->d);
	}
	for (int i = 0; !rc && i < option_argc(o); i++)
		for (int k = 0; !rc && k < i; k++)
			if (strcmp(option_argv(o)[i], option_argv(o)[k]) == 0)
				rc = print_fail(x->d.np, STATUS_USAGE, NULL,
					"cannot extend '%.60s' twice: it is named twice", option_argv(o)[i]);
	return rc;
}

static int extend_command(struct nanopod *np, const struct options *o)
{
	size_t room = (size_t)option_argc(o) * ENDS_MAX;
	struct extend x = { .count = 0 };
	int rc;

	deal_init(&x.d, np, o, &cmd_extend);
	x.list = calloc(room, sizeof *x.list);
	if (!x.list || signals_begin())
		command_nomem();
	for (size_t i = 0; i < room; i++)
		deal_order_init(&x.list[i].order);
	rc = extend_check_line(&x);
	if (!rc && rows_check(np, o, columns, &rc))
		rc = option_given(o, "auto-extend") ? extend_auto(&x.d, columns) : extend_go(&x);
	for (size_t i = 0; i < room; i++)
		deal_order_release(&x.list[i].order);
	free(x.list);
	deal_release(&x.d);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "duration", 'd', OPTION_STRING, "DURATION",
		.help = "how much longer: 90m, 24h, 1d12h; this or --end is required" },
	{ "end", 'e', OPTION_STRING, "TIME", .help = "new end, instead of a duration" },
	{ "round", 0, OPTION_ENUM, .values = "no|up|down",
		.help = "round a time that is not a whole minute; default: no, which refuses it",
		.complete = COMPLETE_VALUES },
	{ "price", 'p', OPTION_STRING, "DOLLARS",
		.help = "limit: the most to pay, in dollars per GPU-hour (node-hour without GPUs); default: the price "
			"that the plan shows" },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node",
		.help = "unit of prices: the hour of a GPU or of a node", .complete = COMPLETE_VALUES },
	{ "max-total", 0, OPTION_STRING, "DOLLARS", .help = "the most that it may cost in total" },
	{ "auto-extend", 0, OPTION_STRING, "DOLLARS",
		.help = "stay, and extend by -d shortly before each end; the most that this may cost in total" },
	{ "type", 't', OPTION_STRING, "TYPE", .help = "which type, if the reservation has several",
		.complete = COMPLETE_TYPE },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still shown" },
	{ "dry-run", 0, OPTION_FLAG, .help = "check everything and show the price; buy nothing" },
	{ "wait", 0, OPTION_OPTIONAL, "DURATION",
		.help = "how long to wait for a market that decides later; default: 1m" },
	{ "no-wait", 0, OPTION_FLAG, .help = "do not wait for the placed order" },
	{ "new", 0, OPTION_FLAG, .help = "start another extension, even if this command left one unfinished" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod extend r-7f3a2c -d 12h", "twelve hours more, at the price that the plan shows" },
	{ "nanopod extend r-7f3a2c train -d 1d -p 2.10 -y", "two reservations, each in full or not at all" },
	{ "nanopod extend train -e 'tomorrow 18:00' --dry-run", "show what it would cost" },
	{ "nanopod extend train -d 1h --auto-extend 20", "hour by hour, for up to $20 in total" },
	{ 0 },
};

const struct command cmd_extend = {
	.name = "extend",
	.args = "RESERVATION...",
	.summary = "keep nodes for longer",
	.examples = examples,
	.description =
		"The same nodes keep running, with their names and ids. Those that end at different times "
		"are longer by -d each; the market extends all that end together or none. If it cannot, the exit "
		"status is 6, and the error shows what would fit. "
		"With several reservations the command prints the result of each, and the exit status is 10 if "
		"only some were extended.\n\n"
		"After a crash or a lost connection run the same command again: nothing is extended twice.\n\n"
		"With --auto-extend the command stays and extends one reservation by -d, 5 minutes before each "
		"end of its nodes (half of -d where that is less), until each next extension would cost more than is "
		"left of the budget (exit status 0), the reservation has ended, or Ctrl-C. Nodes whose time was "
		"released or sold are not extended. All that is bought for the reservation counts from the first "
		"such command on, and the same command continues the count. If the market is away or cannot extend, "
		"it tries again until the end.",
	.positional = "RESERVATION  name or id; 'nanopod reservations' lists them",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_ROWS | COMMAND_MARKET,
	.min_args = 1,
	.max_args = SEVERAL_MAX,
	.complete_first = COMPLETE_RESERVATION,
	.complete_rest = COMPLETE_RESERVATION,
	.run = extend_command,
};
