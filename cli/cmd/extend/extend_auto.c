/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod extend --auto-extend. What was bought is never remembered here: each request is made of the end and the
 * orders that the market shows, and extends the nodes of that end alone (start_at) and after these orders alone
 * (last_order), for no more than is left of the budget then. So it does no harm when it is lost, late, or sent twice,
 * whoever else extends the reservation, and gives that back.
 */
#include "cli/cmd/extend/extend_auto_say.h"
#include "cli/cmd/extend/extend_auto_seen.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
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
	AUTO_LONGER,  /* some of its nodes end later than they did */
	AUTO_SPENT,   /* each next extension would cost more than is left */
	AUTO_ENDED,   /* the reservation has ended, or was released */
	AUTO_STOPPED, /* by a signal */
};

/* ---- Trouble ------------------------------------------------------------------------------ */

static void auto_later(struct auto_extend *a)
{
	a->retry_ms = clock_ms() + (a->d->args.clock.stands ? TEST_MS : LOOK_MS);
}

/* After a request that brought no answer of the market. */
static enum auto_result auto_away(struct auto_extend *a, int rc, const char *what)
{
	const struct market_link *m = a->d->m;
	char text[sizeof a->trouble], hint[200];

	if (rc == CLIENT_STOPPED)
		return signals_rest(0, &a->number) ? AUTO_STOPPED : AUTO_ON;
	if (m->answer.status && !m->answer.ours)
		snprintf(text, sizeof text, "%s: something on the way to it answered %d", what, m->answer.status);
	else if ((rc == REASON_UNAUTHENTICATED || rc == REASON_TOKEN_EXPIRED) && m->token_where)
		snprintf(text, sizeof text, "%s: it rejected the token from %.80s: %.100s; %.120s", what,
			m->token_where, m->fail.text, market_hint(m, hint, sizeof hint));
	else
		snprintf(text, sizeof text, "%s: %.300s", what, m->fail.text);
	auto_later(a);
	a->status = client_status(rc);
	extend_auto_warn(a, a->trouble, text);
	return AUTO_ON;
}

static void auto_well(struct auto_extend *a)
{
	a->trouble[0] = '\0';
	a->status = 0;
	a->retry_ms = 0;
	a->away = false;
}

/* Looks at the market and takes over what it shows. */
static enum auto_result auto_look(struct auto_extend *a)
{
	struct auto_seen s = { 0 };
	int rc = extend_auto_ask(a, &s);
	bool longer;

	if (rc) {
		extend_auto_seen_release(&s);
		a->away |= rc != CLIENT_STOPPED;
		return auto_away(a, rc, "the market cannot be asked");
	}
	longer = extend_auto_take(a, &s);
	extend_auto_seen_release(&s);
	if (a->away) {
		extend_auto_hide(a);
		print_note(a->d->np, "the market answers again");
	}
	if (a->away || longer)
		auto_well(a);
	return !a->end_count ? AUTO_ENDED : longer ? AUTO_LONGER : AUTO_ON;
}

/* ---- One extension ------------------------------------------------------------------------ */

static int auto_post(struct auto_extend *a, const struct auto_end *end, bool dry)
{
	struct deal_order *e = &a->e;
	struct model_extend ask = { .sku = e->part->sku,
		.start = end->at,
		.last_order = dry || !*a->bought.last ? NULL : a->bought.last,
		.end = end->at + a->step,
		.nodes = end->nodes,
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
			end->at, a->paid);
	buf_init(&body, DEAL_TEXT_MAX);
	if ((dry || !a->body.len) && wire_put_extend(dry ? &body : &a->body, &ask))
		command_nomem();
	if (!dry)
		a->asked = (struct part_end_at){ end->at, end->nodes };
	rc = market_send(a->d->m, "POST", path, dry ? &body : &a->body, dry ? NULL : a->key);
	buf_release(&body);
	return rc;
}

static int auto_quote(struct auto_extend *a, struct auto_end *end)
{
	struct quote *q = &a->e.quote;
	int rc = auto_post(a, end, true);

	rc = rc ? rc : quote_take(a->d->m, q);
	if (rc)
		return rc;
	end->cost = q->known ? q->cost : -1;
	end->price = q->known ? quote_average(q) : 0;
	end->spent = end->cost > extend_auto_left(a);
	return 0;
}

static bool auto_all_spent(const struct auto_extend *a)
{
	for (size_t i = 0; i < a->end_count; i++)
		if (!a->ends[i].spent)
			return false;
	return true;
}

static enum auto_result auto_end_spent(struct auto_extend *a, struct auto_end *end)
{
	end->spent = true;
	if (auto_all_spent(a))
		return AUTO_SPENT;
	extend_auto_too_dear(a, end);
	return AUTO_ON;
}

/* The market looked at it and refused: it is not done, and the next try begins from what it shows then. */
static enum auto_result auto_refused(struct auto_extend *a, struct auto_end *end, int rc)
{
	char text[sizeof end->trouble], whose[200];

	buf_clear(&a->body);
	if (rc == REASON_OVER_MAX_TOTAL)
		return auto_end_spent(a, end);
	auto_later(a);
	if (rc == REASON_NOT_OWNED || rc == REASON_WRONG_STATE) /* it ended since the last look: the next one says so */
		return AUTO_ON;
	snprintf(text, sizeof text, "cannot extend %s now: %.180s", extend_auto_whose(a, end, whose),
		a->d->m->fail.text);
	end->status = reason_row(rc)->status;
	extend_auto_warn(a, end->trouble, text);
	return AUTO_ON;
}

/* A request that was not answered goes out again as it was, with its key, so the market does it once. */
static enum auto_result auto_buy(struct auto_extend *a, struct auto_end *end)
{
	struct market_link *m = a->d->m;
	struct order_status order;
	int rc = auto_post(a, end, false);

	if (m->answer.ours && (m->answer.status == 402 || m->answer.status == 409 || m->answer.status == 422))
		return auto_refused(a, end, rc);
	rc = rc ? rc : order_status_take(m, &order);
	if (!rc && order.filled_end <= end->at)
		rc = fail_set(&m->fail, CLIENT_BAD_ANSWER, "it answered with another order");
	if (rc)
		return auto_away(a, rc, "the market did not confirm an extension");
	a->sure = order.filled_end > a->sure ? order.filled_end : a->sure;
	a->sure_total = order.total;
	return AUTO_LONGER;
}

/* ---- Again and again ---------------------------------------------------------------------- */

/* Until one was extended: then its orders are counted before the next. */
static enum auto_result auto_buy_due(struct auto_extend *a)
{
	enum auto_result result = AUTO_ON;

	if (extend_auto_left(a) <= 0)
		return AUTO_SPENT;
	for (size_t i = 0; a->fresh && result == AUTO_ON && i < a->end_count; i++)
		if (extend_auto_due(a, &a->ends[i]) && (!a->body.len || a->ends[i].at == a->asked.at))
			result = auto_buy(a, &a->ends[i]);
	return result;
}

/* Right after an extension: may the next ones still be paid? Then there is time to act. */
static enum auto_result auto_look_ahead(struct auto_extend *a)
{
	enum auto_result result = AUTO_ON;

	if (extend_auto_left(a) <= 0)
		return AUTO_SPENT;
	for (size_t i = 0; result == AUTO_ON && i < a->end_count; i++) {
		struct auto_end *end = &a->ends[i];

		if (!end->spent && !auto_quote(a, end) && end->spent)
			result = auto_end_spent(a, end);
	}
	return result;
}

/* When something is to be done for one of its ends. */
static int64_t auto_next_ms(const struct auto_extend *a, int64_t now)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < a->end_count; i++) {
		int64_t due = (a->ends[i].at - extend_auto_lead(a) - extend_auto_now(a)) * 1000,
			at = due > 0 ? now + due : a->retry_ms;

		if (!a->ends[i].spent && at < next)
			next = at;
	}
	return next;
}

static enum auto_result auto_rest(struct auto_extend *a)
{
	int64_t now = clock_ms(), next = auto_next_ms(a, now), left,
		until = a->d->args.clock.stands ? now + TEST_MS
		: next < now + LOOK_MS          ? next
						: now + LOOK_MS;

	do {
		extend_auto_draw(a);
		left = until - clock_ms();
		if (signals_rest(left < 0 ? 0 : left < DRAW_MS ? left : DRAW_MS, &a->number))
			return AUTO_STOPPED;
	} while (clock_ms() < until);
	return AUTO_ON;
}

static int auto_loop(struct auto_extend *a)
{
	for (;;) {
		enum auto_result result = auto_look(a);

		if (result == AUTO_LONGER)
			result = auto_look_ahead(a);
		if (result == AUTO_ON && !a->away && clock_ms() >= a->retry_ms)
			result = auto_buy_due(a);
		if (result == AUTO_ON)
			result = auto_rest(a);
		switch (result) {
		case AUTO_SPENT:
			return extend_auto_tell_spent(a);
		case AUTO_ENDED:
			return extend_auto_tell_ended(a);
		case AUTO_STOPPED:
			return extend_auto_tell_stopped(a);
		default:
			break;
		}
	}
}

/* ---- Before it begins --------------------------------------------------------------------- */

static int auto_too_dear(struct auto_extend *a)
{
	char cost[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];
	int64_t least = -1;
	struct buf hint;
	int rc;

	for (size_t i = 0; i < a->end_count; i++)
		if (a->ends[i].cost >= 0 && (least < 0 || a->ends[i].cost < least))
			least = a->ends[i].cost;
	buf_init(&hint, DEAL_TEXT_MAX);
	rc = print_fail_field(a->d->np, STATUS_FUNDS, "--auto-extend", extend_auto_more(a, &hint),
		"cannot extend '%.60s': it costs %s, and %s of %s is spent already", a->e.reservation.name,
		least >= 0 ? money_text(least, cost) : "something", money_text(extend_auto_spent(a), spent),
		money_text(a->budget, budget));
	buf_release(&hint);
	return rc;
}

/* Without -p the limit is the highest price of now, so there has to be one for each end. */
static int auto_first_quotes(struct auto_extend *a)
{
	const struct quote *q = &a->e.quote;
	bool priced = extend_auto_priced(a);
	int64_t limit = priced ? a->e.args.limit : 0;
	char whose[200];

	for (size_t i = 0; i < a->end_count; i++) {
		if (!priced)
			a->e.args.limit = quote_any_price(a->ends[i].nodes, a->step / 60);
		if (auto_quote(a, &a->ends[i]))
			return market_fail(a->d->m, "cannot extend '%.60s'", a->e.reservation.name);
		if (!priced && !q->known)
			return print_fail(a->d->np,
				(enum status)reason_row(q->reason ? q->reason : REASON_HOSTS_SOLD)->status,
				"with '-p' it goes on trying until the reservation ends", "cannot extend %s now: %s",
				extend_auto_whose(a, &a->ends[i], whose), q->message);
		if (!q->known)
			snprintf(a->cannot, sizeof a->cannot, "%s", q->message);
		if (!priced && q->price > limit)
			limit = q->price;
	}
	a->e.args.limit = limit;
	return extend_auto_left(a) <= 0 || auto_all_spent(a) ? auto_too_dear(a) : 0;
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
	if (part_end(e->part) == MODEL_NEVER)
		return print_fail(a->d->np, STATUS_CONFLICT, NULL, "%s: it has no end", cannot);
	if (market_whoami(a->d->m))
		return market_fail(a->d->m, "%s", cannot);
	return order_args_price(a->d->np, a->d->o, e->sku, &e->args);
}

/* Since when it counts, and what was spent since then. */
static int auto_recall(struct auto_extend *a)
{
	bool hold = !option_given(a->d->o, "dry-run") && !a->d->explain;
	struct market_link *m = a->d->m;
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
	return 0;
}

/* Its ends of now, and what was spent. */
static int auto_first_look(struct auto_extend *a)
{
	struct auto_seen s = { 0 };
	char when[WHEN_TEXT], hint[160];
	int rc = extend_auto_begin(a, &s);

	extend_auto_seen_release(&s);
	if (rc)
		return market_fail(a->d->m, "cannot extend '%.60s'", a->e.reservation.name);
	a->begun_with = extend_auto_spent(a);
	if (a->end_count)
		return 0;
	snprintf(hint, sizeof hint, "'nanopod extend %.60s -d ...' extends it once, and this command then goes on",
		a->e.reservation.name);
	return print_fail(a->d->np, STATUS_CONFLICT, hint,
		"cannot extend '%.60s' again and again: its time after %s was released, sold, or taken back",
		a->e.reservation.name, when_local(a->until, extend_auto_now(a), when));
}

static int auto_go(struct auto_extend *a)
{
	const struct options *o = a->d->o;
	int rc = extend_auto_check_procurements(a);

	rc = rc ? rc : auto_recall(a);
	rc = rc ? rc : auto_first_look(a);
	rc = rc ? rc : auto_first_quotes(a);
	rc = rc ? rc : extend_auto_check_cap(a);
	if (rc)
		return rc;
	extend_auto_show(a);
	if (option_given(o, "dry-run"))
		return 0;
	a->d->m->explain = a->d->explain;
	if (a->d->explain)
		return auto_post(a, &a->ends[0], false) == MARKET_EXPLAINED ? 0 : STATUS_FAILURE;
	rc = plan_agree(a->d->np, o, "Extend it again and again?");
	if (!rc && spending_begin(&a->since, a->paid, &a->d->m->fail))
		rc = print_fail(a->d->np, STATUS_FAILURE, NULL, "%s", a->d->m->fail.text);
	return rc ? rc : auto_loop(a);
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
	bought_release(&a.bought);
	free(a.all);
	free(a.ends);
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
