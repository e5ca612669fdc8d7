/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod extend --auto-extend. What was bought is never remembered here: each request is made of the end and the
 * orders that the market shows, and extends from that end alone (start_at) and after these orders alone (last_order),
 * for no more than is left of the budget then. So it does no harm when it is lost, late, or sent twice, whoever else
 * extends the reservation, and gives that back.
 */
#include "cli/cmd/extend_auto_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/signals.h"
#include "market/when.h"

enum {
	LOOK_MS = 15000, /* a release is noticed, a refused extension repeated after this */
	TEST_MS = 300,   /* the same beside a clock that a test moves */
	DRAW_MS = 1000,
};

/* What one step came to. */
enum auto_result {
	AUTO_ON,      /* goes on */
	AUTO_LONGER,  /* the reservation ends later than it did */
	AUTO_SPENT,   /* the next extension would cost more than is left */
	AUTO_ENDED,   /* the reservation has ended, or was released */
	AUTO_STOPPED, /* by a signal */
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
	char end[WHEN_TEXT], next[WHEN_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT], text[400], tail[100];
	int64_t now = extend_auto_now(a), due = a->ends - extend_auto_lead(a);

	if (!np->tty_err || np->errors_json)
		return;
	snprintf(text, sizeof text, "%s ends %s, extension %s", a->e.reservation.name, when_relative(a->ends, now, end),
		due > now ? when_relative(due, now, next) : "due");
	snprintf(tail, sizeof tail, ", %s of %s spent", deal_about(extend_auto_spent(a), spent),
		deal_about(a->budget, budget));
	progress_line(np, text, tail);
	a->line = true;
}

/* Says it where it is new, and waits before the next try. */
static enum auto_result auto_trouble(struct auto_extend *a, int status, const char *what, const char *why)
{
	char text[sizeof a->trouble];

	a->retry_ms = clock_ms() + (a->d->args.clock.stands ? TEST_MS : LOOK_MS);
	if (!what)
		return AUTO_ON;
	snprintf(text, sizeof text, "%s: %.300s", what, why);
	a->status = status;
	if (strcmp(text, a->trouble) == 0)
		return AUTO_ON;
	snprintf(a->trouble, sizeof a->trouble, "%s", text);
	auto_hide(a);
	print_warn(a->d->np, "%s; trying again", text);
	return AUTO_ON;
}

/* After a request that brought no answer of the market. */
static enum auto_result auto_away(struct auto_extend *a, int rc, const char *what)
{
	const struct market_link *m = a->d->m;
	char why[400], hint[200];

	if (rc == CLIENT_STOPPED)
		return signals_rest(0, &a->number) ? AUTO_STOPPED : AUTO_ON;
	if (m->answer.status && !m->answer.ours)
		snprintf(why, sizeof why, "something on the way to it answered %d", m->answer.status);
	else if ((rc == REASON_UNAUTHENTICATED || rc == REASON_TOKEN_EXPIRED) && m->token_where)
		snprintf(why, sizeof why, "it rejected the token from %.80s: %.100s; %.120s", m->token_where,
			m->fail.text, market_hint(m, hint, sizeof hint));
	else
		snprintf(why, sizeof why, "%.300s", m->fail.text);
	return auto_trouble(a, client_status(rc), what, why);
}

static void auto_well(struct auto_extend *a)
{
	a->trouble[0] = '\0';
	a->status = 0;
	a->retry_ms = 0;
	a->away = false;
}

/* ---- What the market shows --------------------------------------------------------------- */

struct paid {
	const char *sku;
	int64_t sum, from, end;
	int64_t cost, minutes; /* of orders that reach beyond `from`: others bought other time */
	char order[64];        /* the one that reaches until end */
	char last[64];         /* the newest one; the market lists that first */
};

static int auto_add_order(void *arg, struct doc *d, long at, struct fail *f)
{
	struct paid *p = arg;
	struct model_order o;
	struct order_status s;
	int rc = wire_order(d, at, &o, f);

	if (!rc && !*p->last)
		snprintf(p->last, sizeof p->last, "%s", o.id);
	if (rc || o.sell || !o.sku.id || strcmp(o.sku.id, p->sku) != 0)
		return rc;
	if (o.filled_total == MODEL_NONE || money_add(p->sum, o.filled_total, &p->sum))
		return fail_set(f, -EPROTO, "an order does not say what it cost");
	order_status_copy(&s, &o);
	if (s.filled_end > p->from && s.filled_end <= p->end) {
		p->minutes += s.filled_minutes;
		p->cost += o.filled_total; /* a part of the sum */
	}
	if (s.filled_end == p->end && !*p->order)
		snprintf(p->order, sizeof p->order, "%s", s.id);
	return 0;
}

/*
 * What all orders of the reservation cost, those that reached `end` included. Asked for after the end: an order that
 * comes between the two makes the sum larger, and the request from the older end void. over: nothing is bought on it.
 */
static int auto_sum(struct auto_extend *a, int64_t end, bool over, struct paid *p)
{
	char path[160];
	int rc;

	*p = (struct paid){ .sku = a->e.sku->id, .from = a->ends, .end = end };
	snprintf(path, sizeof path, "/v2/orders?limit=200&side=buy&pool=%s", a->e.reservation.id);
	rc = market_each(a->d->m, path, auto_add_order, p);
	if (rc || p->sum >= a->paid + a->bought)
		return rc;
	if (!over)
		return fail_set(&a->d->m->fail, CLIENT_BAD_ANSWER, "it shows fewer orders than it did before");
	a->lost = true; /* a market of an older backup shows them never again */
	p->sum = a->paid + a->bought;
	return 0;
}

static void auto_add_row(struct auto_extend *a, const struct paid *p, int64_t end)
{
	const struct deal_order *e = &a->e;
	int64_t cost = p->sum - a->paid;
	char r[6][CELL_TEXT];

	rows_add(a->rows,
		(const char *[]){ e->reservation.name, "extended", cell_int(e->args.nodes, r[0]),
			cell_time(a->d->np, a->ends, r[1]), cell_time(a->d->np, end, r[2]),
			cell_price(p->minutes ? p->cost / p->minutes : 0, order_args_gpus(&e->args, e->sku), r[3]),
			cell_money(a->d->np, cost, r[4]), *p->order ? p->order : NULL, NULL, cell_int(cost, r[5]),
			"false" });
}

/* The reservation ends later than it did, whoever did it: it counts. */
static enum auto_result auto_take(struct auto_extend *a, const struct paid *p, int64_t end, int64_t behind)
{
	char when[WHEN_TEXT], before[WHEN_TEXT], cost[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];

	money_text(p->sum - a->paid, cost);
	when_local(a->ends, extend_auto_now(a), before);
	auto_add_row(a, p, end);
	buf_clear(&a->body);
	a->bought = 0;
	a->paid = p->sum;
	a->ends = end;
	a->count++;
	auto_well(a);
	auto_hide(a);
	when_local(end, extend_auto_now(a), when);
	money_text(extend_auto_spent(a), spent);
	money_text(a->budget, budget);
	if (behind)
		print_warn(a->d->np,
			"%" PRId64
			" node%s of '%s' still end%s at %s, and --auto-extend cannot reach %s; the others end at %s: "
			"%s, %s of %s spent",
			behind, behind == 1 ? "" : "s", a->e.reservation.name, behind == 1 ? "s" : "", before,
			behind == 1 ? "it" : "them", when, cost, spent, budget);
	else
		print_note(a->d->np, "'%s' now ends at %s: %s, %s of %s spent", a->e.reservation.name, when, cost,
			spent, budget);
	return AUTO_LONGER;
}

static bool auto_shorter(const struct auto_extend *a)
{
	return extend_auto_now(a) < (a->sure > a->ends ? a->sure : a->ends);
}

/* It has ended, or somebody took its end. */
static enum auto_result auto_over(struct auto_extend *a, int64_t end, const struct paid *p)
{
	int64_t now = extend_auto_now(a);

	a->shorter = auto_shorter(a);
	a->ends = end ? end : now;
	a->count += p->sum > a->paid;
	a->paid = p->sum;
	buf_clear(&a->body);
	return AUTO_ENDED;
}

static void auto_answers(struct auto_extend *a)
{
	if (!a->away)
		return;
	auto_hide(a);
	print_note(a->d->np, "the market answers again");
	auto_well(a);
}

static enum auto_result auto_same(struct auto_extend *a, int64_t behind)
{
	if (behind) {
		auto_hide(a);
		extend_auto_warn_behind(a, behind);
	}
	return AUTO_ON;
}

/* Looks at the clock, the reservation and, where its end is another one, its orders. */
static enum auto_result auto_look(struct auto_extend *a)
{
	struct market_link *m = a->d->m;
	const struct reservation_part *part;
	struct reservation r = { 0 };
	struct paid p = { .sum = a->paid };
	int64_t end, behind;
	int rc = market_clock_again(m, &a->d->args.clock);
	bool over, gone = false;

	rc = rc ? rc : reservation_look(m, a->e.reservation.id, &r);
	if (rc == 1) { /* any server on the way can say that there is no such thing */
		gone = m->answer.ours;
		rc = gone ? 0 : m->fail.code;
	}
	part = reservation_part(&r, a->e.sku->id);
	end = part ? part_end(part) : 0;
	rc = rc || end >= a->ends ? rc : market_clock_again(m, &a->d->args.clock); /* it may have passed since */
	over = end < a->ends || end < a->sure || end <= extend_auto_now(a);
	if (!rc && !gone && (over || end > a->ends))
		rc = auto_sum(a, end, end <= extend_auto_now(a), &p);
	if (!rc && !gone && over && auto_shorter(a))
		rc = extend_auto_taken_back(a, &gone);
	a->lost |= gone;
	if (rc || over) {
		reservation_release(&r);
		a->away |= rc && rc != CLIENT_STOPPED;
		return rc ? auto_away(a, rc, "the market cannot be asked") : auto_over(a, end, &p);
	}
	auto_answers(a);
	behind = extend_auto_behind(a, part, end);
	reservation_release(&a->e.reservation);
	a->e.reservation = r;
	a->e.part = part;
	a->e.args.nodes = part_nodes_at(part, end - 1);
	return end > a->ends ? auto_take(a, &p, end, behind) : auto_same(a, behind);
}

/* ---- One extension ------------------------------------------------------------------------ */

static int auto_post(struct auto_extend *a, bool dry)
{
	struct deal_order *e = &a->e;
	struct model_extend ask = { .sku = e->part->sku,
		.start = a->ends,
		.last_order = dry || !*a->last ? NULL : a->last,
		.end = a->ends + a->step,
		.price = e->args.limit,
		.max_total = dry ? 0 : extend_auto_left(a),
		.dry_run = dry };
	struct buf body;
	char path[128];
	int rc;

	snprintf(path, sizeof path, "/np/v1/pools/%s/extend", e->reservation.id);
	/* Two requests from what the market shows now are one, even where this command was killed between them. */
	if (!a->body.len)
		snprintf(a->key, sizeof a->key, "np-extend-%s-%s-%" PRId64 "-%" PRId64, e->reservation.id, e->part->sku,
			a->ends, a->paid);
	buf_init(&body, DEAL_TEXT_MAX);
	if ((dry || !a->body.len) && wire_put_extend(dry ? &body : &a->body, &ask))
		command_nomem();
	rc = market_send(a->d->m, "POST", path, dry ? &body : &a->body, dry ? NULL : a->key);
	buf_release(&body);
	return rc;
}

static int auto_quote(struct auto_extend *a)
{
	int rc = auto_post(a, true);

	return rc ? rc : quote_take(a->d->m, &a->e.quote);
}

/* The market looked at it and refused: it is not done, and the next try begins from what it shows then. */
static enum auto_result auto_refused(struct auto_extend *a, int rc)
{
	char what[96];

	buf_clear(&a->body);
	if (rc == REASON_OVER_MAX_TOTAL)
		return AUTO_SPENT;
	if (rc == REASON_NOT_OWNED || rc == REASON_WRONG_STATE) /* it ended since the last look: the next one says so */
		return auto_trouble(a, 0, NULL, NULL);
	snprintf(what, sizeof what, "cannot extend '%.60s' now", a->e.reservation.name);
	return auto_trouble(a, reason_row(rc)->status, what, a->d->m->fail.text);
}

/* A request that was not answered goes out again as it was, with its key, so the market does it once. */
static enum auto_result auto_buy(struct auto_extend *a)
{
	struct market_link *m = a->d->m;
	struct order_status order;
	struct paid p;
	int rc = a->body.len ? 0 : auto_sum(a, a->ends, false, &p);

	if (rc)
		return auto_away(a, rc, "the market cannot be asked");
	if (!a->body.len) {
		a->paid = p.sum;
		memcpy(a->last, p.last, sizeof a->last);
		if (extend_auto_left(a) <= 0)
			return AUTO_SPENT;
	}
	rc = auto_post(a, false);
	if (m->answer.ours && (m->answer.status == 402 || m->answer.status == 409 || m->answer.status == 422))
		return auto_refused(a, rc);
	rc = rc ? rc : order_status_take(m, &order);
	if (!rc && order.filled_end <= a->ends)
		rc = fail_set(&m->fail, CLIENT_BAD_ANSWER, "it answered with another order");
	if (rc)
		return auto_away(a, rc, "the market did not confirm an extension");
	a->sure = order.filled_end;
	a->bought = order.total;
	return AUTO_LONGER;
}

/* ---- Again and again ---------------------------------------------------------------------- */

/* Right after an extension: may the next one still be paid? Then there is time to act. */
static enum auto_result auto_look_ahead(struct auto_extend *a)
{
	const struct quote *q = &a->e.quote;

	if (extend_auto_left(a) <= 0)
		return AUTO_SPENT;
	return !auto_quote(a) && q->known && q->cost > extend_auto_left(a) ? AUTO_SPENT : AUTO_ON;
}

static enum auto_result auto_rest(struct auto_extend *a)
{
	int64_t due = (a->ends - extend_auto_lead(a) - extend_auto_now(a)) * 1000, now = clock_ms(), until, left;

	until = due > 0 ? now + due : a->retry_ms;
	until = a->d->args.clock.stands ? now + TEST_MS : until < now + LOOK_MS ? until : now + LOOK_MS;
	do {
		auto_draw(a);
		left = until - clock_ms();
		if (signals_rest(left < 0 ? 0 : left < DRAW_MS ? left : DRAW_MS, &a->number))
			return AUTO_STOPPED;
	} while (clock_ms() < until);
	return AUTO_ON;
}

static enum auto_result auto_loop(struct auto_extend *a)
{
	enum auto_result result;

	for (;;) {
		result = auto_look(a);
		if (result == AUTO_LONGER)
			result = auto_look_ahead(a);
		if (result == AUTO_ON && !a->away && clock_ms() >= a->retry_ms &&
			extend_auto_now(a) >= a->ends - extend_auto_lead(a))
			result = auto_buy(a);
		if (result == AUTO_ON)
			result = auto_rest(a);
		if (result != AUTO_ON && result != AUTO_LONGER)
			return result;
	}
}

/* ---- The end ------------------------------------------------------------------------------- */

static int auto_told(struct auto_extend *a, enum auto_result result)
{
	struct nanopod *np = a->d->np;
	const char *name = a->e.reservation.name;
	char paid[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT], end[WHEN_TEXT], sum[200];
	struct buf hint;
	int rc = 0;

	auto_hide(a);
	snprintf(sum, sizeof sum, "%zu extension%s for %s, %s of %s spent in total", a->count, a->count == 1 ? "" : "s",
		money_text(extend_auto_spent(a) - a->begun_with, paid), money_text(extend_auto_spent(a), spent),
		money_text(a->budget, budget));
	when_local(a->ends, extend_auto_now(a), end);
	buf_init(&hint, DEAL_TEXT_MAX);
	if (result == AUTO_SPENT)
		print_note(np, "the budget is used up, '%s' ends at %s: %s; %s", name, end, sum,
			extend_auto_more(a, &hint));
	else if (result == AUTO_STOPPED)
		rc = print_fail(np, a->number == SIGTERM ? STATUS_TERM : STATUS_INT,
			"the same command continues, and counts what was spent", "interrupted; '%s' ends at %s%s: %s",
			name, end, a->body.len || a->bought ? ", unless its last request extended it" : "", sum);
	else if (a->shorter && a->lost)
		rc = print_fail(np, STATUS_CAPACITY, "'nanopod buy' buys other nodes",
			"stops, as '%s' now ends at %s, earlier than it did: taken back by its host or its market: %s",
			name, end, sum);
	else if (a->shorter)
		print_note(np, "stops, as '%s' now ends at %s, earlier than it did: released, sold, or taken back: %s",
			name, end, sum);
	else if (a->status)
		rc = print_fail(np, (enum status)a->status, "'nanopod buy' buys other nodes", "'%s' has ended: %s: %s",
			name, a->trouble, sum);
	else
		print_note(np, "'%s' has ended: %s; 'nanopod buy' buys other nodes", name, sum);
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

	if (!extend_auto_priced(a))
		a->e.args.limit = quote_any_price(a->e.args.nodes, a->step / 60);
	if (auto_quote(a))
		return market_fail(a->d->m, "cannot extend '%.60s'", a->e.reservation.name);
	if (!extend_auto_priced(a))
		a->e.args.limit = q->price;
	if (!extend_auto_priced(a) && !q->known)
		return print_fail(a->d->np, (enum status)reason_row(q->reason ? q->reason : REASON_HOSTS_SOLD)->status,
			"with '-p' it goes on trying until the reservation ends", "cannot extend '%.60s' now: %s",
			a->e.reservation.name, q->message);
	buf_init(&hint, DEAL_TEXT_MAX);
	if (extend_auto_left(a) <= 0 || (q->known && q->cost > extend_auto_left(a))) {
		char cost[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];

		rc = print_fail_field(a->d->np, STATUS_FUNDS, "--auto-extend", extend_auto_more(a, &hint),
			"cannot extend '%.60s': it costs %s, and %s of %s is spent already", a->e.reservation.name,
			q->known ? money_text(q->cost, cost) : "something", money_text(extend_auto_spent(a), spent),
			money_text(a->budget, budget));
	}
	buf_release(&hint);
	return rc;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static int auto_find(struct auto_extend *a)
{
	struct deal_order *e = &a->e;
	char cannot[96];
	int rc = reservation_find(a->d->m, option_argv(a->d->o)[0], &e->reservation);

	rc = rc ? rc : plan_can_ask(a->d->np, a->d->o);
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
	return order_args_price(a->d->np, a->d->o, e->sku, &e->args);
}

/* Since when it counts, and what was spent since then. */
static int auto_recall(struct auto_extend *a)
{
	bool hold = !option_given(a->d->o, "dry-run") && !a->d->explain;
	struct market_link *m = a->d->m;
	struct paid p;
	struct buf key;
	int rc;

	buf_init(&key, DEAL_TEXT_MAX);
	if (buf_addf(&key, "%s %s %s %s", m->url, m->who.account_id ? m->who.account_id : "", a->e.reservation.id,
		    a->e.sku->id))
		command_nomem();
	rc = spending_open(&a->since, buf_text(&key), hold, &m->fail);
	buf_release(&key);
	if (rc)
		return print_fail(a->d->np, rc == -EBUSY ? STATUS_CONFLICT : STATUS_FAILURE,
			rc == -EBUSY ? "let it run, or stop it with Ctrl-C" : NULL, "cannot extend '%.60s': %s",
			a->e.reservation.name, m->fail.text);
	a->paid = a->since.before;
	if (auto_sum(a, a->ends, false, &p))
		return market_fail(m, "cannot extend '%.60s'", a->e.reservation.name);
	a->paid = p.sum;
	a->begun_with = extend_auto_spent(a);
	return 0;
}

static int auto_go(struct auto_extend *a)
{
	const struct options *o = a->d->o;
	int rc = extend_auto_check_procurements(a);

	rc = rc ? rc : auto_recall(a);
	rc = rc ? rc : auto_first_quote(a);
	rc = rc ? rc : extend_auto_check_cap(a);
	if (rc)
		return rc;
	extend_auto_show(a);
	if (option_given(o, "dry-run"))
		return 0;
	a->d->m->explain = a->d->explain;
	if (a->d->explain)
		return auto_post(a, false) == MARKET_EXPLAINED ? 0 : STATUS_FAILURE;
	rc = plan_agree(a->d->np, o, "Extend it again and again?");
	if (!rc && spending_begin(&a->since, a->paid, &a->d->m->fail))
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
	spending_init(&a.since);
	buf_init(&a.body, DEAL_TEXT_MAX);
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
	spending_close(&a.since);
	buf_release(&a.body);
	deal_order_release(&a.e);
	return rc;
}

int extend_auto_check(struct deal *d)
{
	const struct options *o = d->o;
	static const char *const others[] = { "end", "max-total", "wait", "no-wait", "new" };
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
