/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod extend --auto-extend. Each extension is a purchase like any other: on disk before it leaves, repeated with
 * its key after a crash. The market refuses what would cost more than is left of the budget; cli/trade/spending.h
 * keeps what was spent.
 */
#include "cli/cmd/extend_auto_plan.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/retype.h"
#include "cli/frame/signals.h"
#include "market/when.h"

enum {
	LOOK_MS = 15000, /* a release is noticed, a refused extension repeated after this */
	TEST_MS = 300,   /* the same beside a clock that a test moves */
	DRAW_MS = 1000,
};

/* What one step came to. */
enum auto_result {
	AUTO_ON, /* goes on */
	AUTO_BOUGHT,
	AUTO_SPENT,   /* the next extension would cost more than is left */
	AUTO_ENDED,   /* the reservation has ended, or was released */
	AUTO_STOPPED, /* by a signal */
	AUTO_FAILED,  /* said why; status is set */
};

/* ---- What is said ------------------------------------------------------------------------ */

static void auto_hide(struct auto_extend *a)
{
	if (a->line)
		fputs("\r\033[K", a->d->np->err);
	fflush(a->d->np->err);
	a->line = false;
}

static void auto_draw(struct auto_extend *a)
{
	struct nanopod *np = a->d->np;
	char end[WHEN_TEXT], next[WHEN_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];
	int64_t now = extend_auto_now(a), due = a->ends - extend_auto_lead(a);

	if (!np->tty_err || np->errors_json)
		return;
	fprintf(np->err, "\r%s%s ends %s, extension %s, %s of %s spent%s\033[K", print_color(np, np->err, COLOR_DIM),
		a->e.reservation.name, when_relative(a->ends, now, end),
		due > now ? when_relative(due, now, next) : "due", deal_about(a->spent.micros, spent),
		deal_about(a->budget, budget), print_color(np, np->err, COLOR_NONE));
	fflush(np->err);
	a->line = true;
}

/* Says it where it is new, and waits before the next try. what NULL: the market refuses. */
static enum auto_result auto_trouble(struct auto_extend *a, int status, const char *what, const char *why)
{
	char text[sizeof a->trouble], end[WHEN_TEXT];

	if (what)
		snprintf(text, sizeof text, "%s: %.300s", what, why);
	else
		snprintf(text, sizeof text, "cannot extend '%.60s' now: %.300s", a->e.reservation.name, why);
	a->retry_ms = clock_ms() + (a->d->args.clock.stands ? TEST_MS : LOOK_MS);
	a->status = status;
	if (strcmp(text, a->trouble) == 0)
		return AUTO_ON;
	snprintf(a->trouble, sizeof a->trouble, "%s", text);
	auto_hide(a);
	print_note(a->d->np, "%s; trying again until it ends at %s", text, when_local(a->ends, end));
	return AUTO_ON;
}

/* After a request failed. A market that is away for a while is waited for. */
static enum auto_result auto_away(struct auto_extend *a, int rc)
{
	if (rc == CLIENT_STOPPED)
		return signals_rest(0, &a->number) ? AUTO_STOPPED : AUTO_ON;
	if (client_retryable(rc) || rc == REASON_INTERNAL)
		return auto_trouble(a, client_status(rc), "the market cannot be asked", a->d->m->fail.text);
	auto_hide(a);
	a->status = market_fail(a->d->m, "cannot extend '%.60s'", a->e.reservation.name);
	return AUTO_FAILED;
}

static void auto_well(struct auto_extend *a)
{
	a->trouble[0] = '\0';
	a->status = 0;
}

/* ---- One extension ------------------------------------------------------------------------ */

static int auto_ask(struct auto_extend *a, bool dry, struct buf *body)
{
	struct deal_order *e = &a->e;
	int64_t any = quote_any_price(e->args.nodes, a->step / 60);
	struct model_extend ask = { .sku = e->part->sku,
		.end = a->ends + a->step,
		.price = a->limited ? e->args.limit : any,
		.max_total = dry ? 0 : extend_auto_left(a),
		.dry_run = dry };

	buf_init(body, DEAL_TEXT_MAX);
	return wire_put_extend(body, &ask);
}

static int auto_quote(struct auto_extend *a)
{
	char path[128];
	struct buf body;
	int rc;

	if (auto_ask(a, true, &body))
		command_nomem();
	snprintf(path, sizeof path, "/np/v1/pools/%s/extend", a->e.reservation.id);
	rc = market_send(a->d->m, "POST", path, &body, NULL);
	buf_release(&body);
	return rc ? rc : quote_take(a->d->m, &a->e.quote);
}

static void auto_add_row(struct auto_extend *a)
{
	const struct deal_order *e = &a->e;
	const struct order_status *p = &e->purchase.order;
	struct nanopod *np = a->d->np;
	char r[6][CELL_TEXT];

	rows_add(a->rows,
		(const char *[]){ e->reservation.name, "extended", cell_int(p->filled_nodes, r[0]),
			cell_time(np, p->filled_start, r[1]), cell_time(np, p->filled_end, r[2]),
			e->sku ? cell_price(p->average, order_args_gpus(&e->args, e->sku), r[3]) : NULL,
			cell_money(np, p->total, r[4]), p->id, NULL, cell_int(p->total, r[5]),
			e->purchase.replayed ? "true" : "false" });
}

/* It filled: counts it before the purchase is forgotten. */
static enum auto_result auto_count(struct auto_extend *a)
{
	struct purchase *p = &a->e.purchase;
	char end[WHEN_TEXT], cost[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];

	auto_hide(a);
	if (spending_add(&a->spent, p->order.id, p->order.total, &a->d->m->fail)) {
		a->status = print_fail(a->d->np, STATUS_FAILURE, "run the same command again; it buys nothing twice",
			"extended '%.60s', but %s", a->e.reservation.name, a->d->m->fail.text);
		return AUTO_FAILED;
	}
	a->count++;
	a->ends = p->order.filled_end > a->ends ? p->order.filled_end : a->ends;
	auto_well(a);
	auto_add_row(a);
	print_note(a->d->np, "%s'%s' now ends at %s: %s, %s of %s spent", p->replayed ? "replayed: " : "",
		a->e.reservation.name, when_local(p->order.filled_end, end), money_text(p->order.total, cost),
		money_text(a->spent.micros, spent), money_text(a->budget, budget));
	purchase_end(p);
	return AUTO_BOUGHT;
}

/* Sends what is on disk, or looks at the order that came of it. */
static int auto_send(struct auto_extend *a, const struct buf *body)
{
	struct purchase *p = &a->e.purchase;
	char path[128];
	int rc;

	if (purchase_kept(p, "order"))
		return order_status_look(a->d->m, purchase_kept(p, "order"), &p->order);
	snprintf(path, sizeof path, "/np/v1/pools/%s/extend", a->e.reservation.id);
	rc = purchase_post(p, "order", path, body);
	rc = rc ? rc : order_status_take(a->d->m, &p->order);
	return rc ? rc : purchase_keep(p, "order", p->order.id);
}

/* Until it is known what became of the purchase in hand, the next one is not begun. */
static enum auto_result auto_settle(struct auto_extend *a, const struct buf *body)
{
	struct purchase *p = &a->e.purchase;
	int rc = auto_send(a, body);

	if (!rc && !order_status_decided(&p->order))
		rc = order_status_wait(a->d->m, &p->order, DEAL_DECIDE_MS, &a->number);
	if (rc == 2)
		return AUTO_STOPPED;
	if (rc == 1)
		return auto_trouble(a, STATUS_WAITING, "the market has not decided yet", p->order.id);
	if (rc == MARKET_EXPLAINED)
		return AUTO_ENDED;
	if (!rc && order_status_filled(&p->order))
		return auto_count(a);
	if (!rc || purchase_nothing_done(p, rc)) {
		int reason = rc ? rc : p->order.reason ? p->order.reason : REASON_HOSTS_SOLD;

		purchase_end(p);
		if (reason > REASON_BASE && reason < REASON_END)
			return auto_trouble(a, reason_row(reason)->status, NULL,
				rc ? a->d->m->fail.text : reason_row(reason)->text);
	}
	return rc ? auto_away(a, rc) : AUTO_ON;
}

/* False where it is not bought now, with *result. */
static bool auto_may(struct auto_extend *a, enum auto_result *result)
{
	const struct quote *q = &a->e.quote;
	char when[WHEN_TEXT], why[sizeof q->message];

	*result = AUTO_SPENT;
	if (q->known && q->cost > extend_auto_left(a))
		return false;
	if (q->fills)
		return true;
	snprintf(why, sizeof why, "%s", q->message);
	for (size_t i = 0; i < q->alternative_count && q->reason == REASON_HOSTS_SOLD; i++)
		if (strcmp(q->alternatives[i].kind, "end") == 0)
			snprintf(why, sizeof why, "its hosts are sold from %s",
				when_local(q->alternatives[i].end, when));
	*result = auto_trouble(a, reason_row(q->reason ? q->reason : REASON_HOSTS_SOLD)->status, NULL, why);
	return false;
}

static enum auto_result auto_buy(struct auto_extend *a)
{
	struct deal_order *e = &a->e;
	struct buf body;
	enum auto_result result;
	int rc = auto_quote(a);

	if (rc)
		return auto_away(a, rc);
	if (!auto_may(a, &result))
		return result;
	purchase_release(&e->purchase);
	purchase_init(&e->purchase, a->d->m);
	if (deal_begin(a->d, e)) {
		purchase_end(&e->purchase);
		a->status = print_fail(a->d->np, STATUS_FAILURE, NULL, "%s", a->d->m->fail.text);
		return AUTO_FAILED;
	}
	if (auto_ask(a, false, &body))
		command_nomem();
	result = auto_settle(a, &body);
	buf_release(&body);
	return result;
}

/* ---- The reservation ---------------------------------------------------------------------- */

/* Looks at the clock and the reservation. */
static enum auto_result auto_look(struct auto_extend *a)
{
	struct reservation r = { 0 };
	const struct reservation_part *part;
	int rc = market_clock_again(a->d->m, &a->d->args.clock);

	rc = rc ? rc : reservation_look(a->d->m, a->e.reservation.id, &r);
	if (rc == 1)
		return AUTO_ENDED;
	if (rc)
		return extend_auto_now(a) >= a->ends && rc != CLIENT_STOPPED ? AUTO_ENDED : auto_away(a, rc);
	if (a->status == STATUS_UNREACHABLE) {
		auto_hide(a);
		print_note(a->d->np, "the market answers again");
		auto_well(a);
		a->retry_ms = 0;
	}
	part = reservation_part(&r, a->e.sku->id);
	/* Who gives time back does not want it to be bought again. */
	a->shorter = part ? part_end(part) < a->ends : extend_auto_now(a) < a->ends;
	if (part && (a->shorter || part_end(part) > extend_auto_now(a))) {
		reservation_release(&a->e.reservation);
		a->e.reservation = r;
		a->e.part = part;
		a->ends = part_end(part);
		a->e.args.nodes = part_nodes_at(part, a->ends - 1);
		return a->shorter ? AUTO_ENDED : AUTO_ON;
	}
	reservation_release(&r);
	return AUTO_ENDED;
}

static int64_t auto_pause(const struct auto_extend *a)
{
	int64_t left = (a->ends - extend_auto_lead(a) - extend_auto_now(a)) * 1000, tries = a->retry_ms - clock_ms();

	if (a->d->args.clock.stands)
		return TEST_MS;
	left = left > 0 ? left : tries;
	return left < 0 ? 0 : left < LOOK_MS ? left : LOOK_MS;
}

static enum auto_result auto_rest(struct auto_extend *a)
{
	int64_t until = clock_ms() + auto_pause(a), left;

	do {
		auto_draw(a);
		left = until - clock_ms();
		if (signals_rest(left < 0 ? 0 : left < DRAW_MS ? left : DRAW_MS, &a->number))
			return AUTO_STOPPED;
	} while (clock_ms() < until);
	return AUTO_ON;
}

static enum auto_result auto_step(struct auto_extend *a)
{
	enum auto_result result;

	/* An answer that was lost is asked for again, even where the reservation has ended meanwhile. */
	if (a->e.purchase.file && clock_ms() >= a->retry_ms) {
		result = auto_settle(a, NULL);
		return result == AUTO_ON && a->e.purchase.file && extend_auto_now(a) >= a->ends ? AUTO_ENDED : result;
	}
	result = auto_look(a);
	if (result != AUTO_ON || a->e.purchase.file || clock_ms() < a->retry_ms ||
		extend_auto_now(a) < a->ends - extend_auto_lead(a))
		return result;
	return auto_buy(a);
}

/* Right after an extension: may the next one still be paid? Then there is time to act. */
static enum auto_result auto_look_ahead(struct auto_extend *a)
{
	const struct quote *q = &a->e.quote;

	if (extend_auto_left(a) <= 0)
		return AUTO_SPENT;
	return !auto_quote(a) && q->known && q->cost > extend_auto_left(a) ? AUTO_SPENT : AUTO_ON;
}

static enum auto_result auto_loop(struct auto_extend *a)
{
	enum auto_result result;

	for (;;) {
		result = auto_step(a);
		if (result == AUTO_BOUGHT)
			result = auto_look_ahead(a);
		if (result == AUTO_ON)
			result = auto_rest(a);
		if (result != AUTO_ON)
			return result;
	}
}

/* ---- The end ------------------------------------------------------------------------------- */

/* The same command with a budget that has room for as much again. */
static const char *auto_more(const struct auto_extend *a, struct buf *out)
{
	char budget[MONEY_TEXT];
	int64_t more = a->budget;
	size_t n;

	if (money_add(more, a->spent.micros > a->budget ? a->spent.micros : a->budget, &more))
		more = a->budget;
	money_wire(more, budget);
	for (n = strlen(budget); n && budget[n - 1] == '0'; n--)
		budget[n - 1] = '\0';
	if (n && budget[n - 1] == '.')
		budget[n - 1] = '\0';
	buf_adds(out, "'");
	retype(a->d->command, a->d->o, (struct retype_change[]){ { "auto-extend", budget }, { 0 } }, out);
	buf_adds(out, "' extends it further");
	return buf_text(out);
}

static int auto_told(struct auto_extend *a, enum auto_result result)
{
	struct nanopod *np = a->d->np;
	const char *name = a->e.reservation.name;
	char paid[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT], end[WHEN_TEXT], sum[200];
	struct buf hint;
	int rc = 0;

	auto_hide(a);
	snprintf(sum, sizeof sum, "%zu extension%s for %s, %s of %s spent in total", a->count, a->count == 1 ? "" : "s",
		money_text(a->spent.micros - a->begun_with, paid), money_text(a->spent.micros, spent),
		money_text(a->budget, budget));
	when_local(a->ends, end);
	buf_init(&hint, DEAL_TEXT_MAX);
	if (result == AUTO_SPENT)
		print_note(np, "the budget is used up, '%s' ends at %s: %s; %s", name, end, sum, auto_more(a, &hint));
	else if (result == AUTO_STOPPED)
		rc = print_fail(np, a->number == SIGTERM ? STATUS_TERM : STATUS_INT,
			"the same command continues, and counts what was spent", "interrupted; '%s' ends at %s: %s",
			name, end, sum);
	else if (result == AUTO_ENDED && a->shorter)
		print_note(np, "stops, as '%s' was released or sold from %s on: %s", name, end, sum);
	else if (result == AUTO_ENDED && a->status)
		rc = print_fail(np, (enum status)a->status, "'nanopod buy' buys other nodes", "'%s' has ended: %s: %s",
			name, a->trouble, sum);
	else if (result == AUTO_ENDED && !a->d->explain)
		print_note(np, "'%s' has ended: %s; 'nanopod buy' buys other nodes", name, sum);
	else
		rc = a->status;
	if (result == AUTO_ENDED && !a->shorter && !a->e.purchase.file && !a->d->explain)
		spending_forget(&a->spent);
	buf_release(&hint);
	return rc;
}

/* ---- Before it begins --------------------------------------------------------------------- */

/* Without -p the limit is the price of now, so there has to be one. */
static int auto_first_quote(struct auto_extend *a)
{
	struct quote *q = &a->e.quote;
	struct buf hint;
	int rc = 0;

	if (auto_quote(a))
		return market_fail(a->d->m, "cannot extend '%.60s'", a->e.reservation.name);
	if (!extend_auto_priced(a))
		a->e.args.limit = q->price;
	a->limited = true;
	if (!extend_auto_priced(a) && !q->known)
		return print_fail(a->d->np, (enum status)reason_row(q->reason ? q->reason : REASON_HOSTS_SOLD)->status,
			"with '-p' it goes on trying until the reservation ends", "cannot extend '%.60s' now: %s",
			a->e.reservation.name, q->message);
	buf_init(&hint, DEAL_TEXT_MAX);
	if (extend_auto_left(a) <= 0 || (q->known && q->cost > extend_auto_left(a))) {
		char cost[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];

		rc = print_fail_field(a->d->np, STATUS_FUNDS, "--auto-extend", auto_more(a, &hint),
			"cannot extend '%.60s': it costs %s, and %s of %s is spent already", a->e.reservation.name,
			q->known ? money_text(q->cost, cost) : "something", money_text(a->spent.micros, spent),
			money_text(a->budget, budget));
	}
	buf_release(&hint);
	return rc;
}

/* spend-max counts for what one command may spend. */
static int auto_check_cap(struct auto_extend *a)
{
	char left[MONEY_TEXT], cap[MONEY_TEXT];

	if (!a->d->args.max_total || extend_auto_left(a) <= a->d->args.max_total)
		return 0;
	return print_fail_field(a->d->np, STATUS_FUNDS, a->d->args.max_where, NULL,
		"cannot extend '%.60s': it may cost %s, and '%s' is %s", a->e.reservation.name,
		money_text(extend_auto_left(a), left), a->d->args.max_where, money_text(a->d->args.max_total, cap));
}

/* ---- All of it ------------------------------------------------------------------------------ */

static int auto_find(struct auto_extend *a)
{
	struct deal_order *e = &a->e;
	char cannot[96];
	int rc = reservation_find(a->d->m, option_argv(a->d->o)[0], &e->reservation);

	snprintf(cannot, sizeof cannot, "cannot extend '%.60s'", option_argv(a->d->o)[0]);
	e->args = a->d->args;
	rc = rc ? rc : deal_find_part(a->d, e, cannot, "'nanopod buy' buys new nodes");
	if (rc)
		return rc;
	a->ends = part_end(e->part);
	if (a->ends == MODEL_NEVER)
		return print_fail(a->d->np, STATUS_CONFLICT, NULL, "%s: it has no end", cannot);
	e->args.nodes = part_nodes_at(e->part, a->ends - 1);
	if (market_whoami(a->d->m))
		return market_fail(a->d->m, "%s", cannot);
	if (buf_addf(&a->key, "%s %s %s %s", a->d->m->url, a->d->m->who.account_id ? a->d->m->who.account_id : "",
		    e->reservation.id, e->sku->id) ||
		buf_addf(&e->match, "auto-extend\n%s\n%s", a->d->m->url, buf_text(&a->key)))
		command_nomem();
	a->limited = extend_auto_priced(a);
	return order_args_price(a->d->np, a->d->o, e->sku, &e->args);
}

/* What an earlier command spent, and what it left unfinished, before anything new is shown. */
static int auto_recall(struct auto_extend *a)
{
	bool hold = !option_given(a->d->o, "dry-run") && !a->d->explain;
	struct purchase *p = &a->e.purchase;
	int rc = spending_open(&a->spent, buf_text(&a->key), hold, &a->d->m->fail);

	purchase_init(p, a->d->m);
	a->begun_with = a->spent.micros;
	if (rc)
		return print_fail(a->d->np, rc == -EBUSY ? STATUS_CONFLICT : STATUS_FAILURE,
			rc == -EBUSY ? "let it run, or stop it with Ctrl-C" : NULL, "cannot extend '%.60s': %s",
			a->e.reservation.name, a->d->m->fail.text);
	if (!hold)
		return 0;
	if (purchase_find(p, buf_text(&a->e.match), "order.body"))
		return print_fail(a->d->np, STATUS_FAILURE, NULL, "%s", a->d->m->fail.text);
	if (!p->file)
		return 0;
	print_note(a->d->np, "continues the unfinished extension of '%s'", a->e.reservation.name);
	if (auto_settle(a, NULL) != AUTO_BOUGHT && p->file)
		return print_fail(a->d->np, a->status ? (enum status)a->status : STATUS_UNREACHABLE,
			"run the same command again; it buys nothing twice", "cannot tell whether '%.60s' was extended",
			a->e.reservation.name);
	auto_well(a);
	a->retry_ms = 0;
	return auto_look(a) == AUTO_ON ? 0
				       : print_fail(a->d->np, STATUS_CONFLICT, "'nanopod buy' buys new nodes",
						 "cannot extend '%.60s': it has ended", a->e.reservation.name);
}

static int auto_go(struct auto_extend *a)
{
	const struct options *o = a->d->o;
	int rc = auto_recall(a);

	/* On disk only after the agreement. */
	if (!rc && option_given(o, "new"))
		a->spent.micros = a->begun_with = 0;
	if (!rc && a->count && auto_look_ahead(a) == AUTO_SPENT)
		return auto_told(a, AUTO_SPENT);
	rc = rc ? rc : auto_first_quote(a);
	rc = rc ? rc : auto_check_cap(a);
	if (rc)
		return rc;
	extend_auto_show(a);
	if (option_given(o, "dry-run"))
		return 0;
	if (a->d->explain)
		return auto_told(a, auto_buy(a));
	rc = plan_agree(a->d->np, o, "Extend it again and again?");
	if (!rc && option_given(o, "new") && spending_reset(&a->spent, &a->d->m->fail))
		rc = print_fail(a->d->np, STATUS_FAILURE, NULL, "%s", a->d->m->fail.text);
	return rc ? rc : auto_told(a, auto_loop(a));
}

int extend_auto(struct deal *d, const struct column *columns)
{
	struct auto_extend a = { .d = d };
	struct fail f = { 0 };
	char cannot[96];
	int rc;

	deal_order_init(&a.e);
	spending_init(&a.spent);
	buf_init(&a.key, DEAL_TEXT_MAX);
	money_parse(option_text(d->o, "auto-extend"), &a.budget, &f);
	a.step = window_minutes(&d->args.window) * WINDOW_STEP;
	snprintf(cannot, sizeof cannot, "cannot extend '%.60s'", option_argv(d->o)[0]);
	rc = deal_open(d, cannot);
	rc = rc ? rc : market_need_ours(d->m, "nanopod extend --auto-extend");
	rc = rc ? rc : auto_find(&a);
	if (!rc) {
		a.rows = d->explain ? NULL : rows_new(d->np, d->o, columns, &rc);
		rc = rc ? rc : auto_go(&a);
		if (a.rows && (a.count || !rc) && !option_given(d->o, "dry-run"))
			rc = rows_end(a.rows) ? STATUS_FAILURE : rc;
		else
			rows_drop(a.rows);
	}
	spending_close(&a.spent);
	buf_release(&a.key);
	deal_order_release(&a.e);
	return rc;
}

int extend_auto_check(struct deal *d)
{
	const struct options *o = d->o;
	static const char *const others[] = { "end", "max-total", "wait", "no-wait" };
	struct fail f = { 0 };
	int64_t budget = 0;

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (option_given(o, others[i]))
			return print_fail_field(d->np, STATUS_USAGE, "--auto-extend",
				i == 0 ? "'-d' says how much longer each time" : NULL,
				"cannot use '--%s' and '--auto-extend' together", others[i]);
	if (money_parse(option_text(o, "auto-extend"), &budget, &f) == 0 && budget == 0)
		fail_set(&f, -EINVAL, "it must be more than 0");
	if (f.code)
		return print_fail_field(d->np, STATUS_USAGE, "--auto-extend", NULL, "cannot use '--auto-extend': %s",
			f.text);
	if (option_argc(o) > 1)
		return print_fail_field(d->np, STATUS_USAGE, "--auto-extend",
			"run one command for each, each with its own budget",
			"cannot use '--auto-extend' with several reservations");
	return 0;
}
