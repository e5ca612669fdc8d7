/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/money/tariff.h"

#include <errno.h>
#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/money/ledger.h"

/* ---- Plans ------------------------------------------------------------------------------------ */

void tariff_add(struct engine *e, struct tariff *t)
{
	world_add(e, TARIFFS, t->id, t->account, t);
	world_name(e, TARIFFS, 0, t->name, t);
}

static bool tariff_counts(int64_t micros)
{
	return micros >= 0 && micros <= PAYMENT_MAX;
}

static int tariff_check(const struct engine *e, const struct event *ev, const struct tariff *old, struct fail *why)
{
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (ev->subject && (!old || old->account != ev->account))
		return fail_set(why, REASON_NOT_FOUND, "no such plan");
	if (ev->u.plan.sku && !world_sku(e, ev->u.plan.sku))
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	rc = check_name(ev->name, !old, why);
	if (rc)
		return rc;
	if (!tariff_counts(ev->u.plan.fee) || !tariff_counts(ev->u.plan.included) || !tariff_counts(ev->u.plan.rates))
		return fail_set(why, REASON_INVALID, "what a plan costs and pays is not below 0, and can be counted");
	if (ev->u.plan.state != TARIFF_OPEN && ev->u.plan.state != TARIFF_CLOSED)
		return fail_set(why, REASON_INVALID, "a plan is open or closed");
	if (old && old->sku != ev->u.plan.sku)
		return fail_set(why, REASON_INVALID, "a plan keeps its type; make another plan for another type");
	if (!old && world_named(e, TARIFFS, 0, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "plan '%s' already exists", ev->name);
	return 0;
}

int tariff_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct tariff *t = world_tariff(e, ev->subject);
	int rc = tariff_check(e, ev, t, why);

	if (rc)
		return rc;
	if (!t) {
		t = must_zalloc(sizeof *t);
		*t = (struct tariff){ .id = world_id(e),
			.account = ev->account,
			.name = must_copy(ev->name),
			.sku = ev->u.plan.sku,
			.created_at = ev->at };
		tariff_add(e, t);
		emit_made(e, t->id);
	}
	t->fee = ev->u.plan.fee;
	t->included = ev->u.plan.included;
	t->rates = ev->u.plan.rates;
	t->state = (enum tariff_state)ev->u.plan.state;
	return 0;
}

/* ---- Months ------------------------------------------------------------------------------------ */

static int64_t subscription_month_end(const struct engine *e)
{
	return cap_month_start(cap_month(e->minute) + 1);
}

/* What is left of a month's amount from this minute on, rounded down. */
static int64_t subscription_share(const struct engine *e, int64_t amount)
{
	int64_t end = subscription_month_end(e), all = end - cap_month_start(cap_month(e->minute)),
		left = end - e->minute;

	return amount / all * left + amount % all * left / all;
}

struct subscription *subscription_of(const struct engine *e, uint64_t account)
{
	const struct live_account *a = world_account(e, account);

	return a ? rank_after(&a->own[SUBSCRIPTIONS], 0) : NULL;
}

static void subscription_tell(struct engine *e, const struct subscription *s, enum notice_kind kind, uint64_t plan,
	int64_t amount, int32_t code)
{
	emit_notice(e,
		&(struct notice){ .kind = kind,
			.account = s->account,
			.subject = plan,
			.other = s->grant,
			.amount = amount,
			.minute = kind == NOTICE_PLAN_ENDED || kind == NOTICE_PLAN_LAPSED ? e->minute
											  : subscription_month_end(e),
			.code = code });
}

/* The account pays so much to the plan's seller for this month. */
static void subscription_pay(struct engine *e, const struct subscription *s, int64_t fee)
{
	ledger_move(e, s->grant,
		(struct entry[]){
			{ .book = BOOK_AVAILABLE, .account = world_account(e, s->account), .amount = -fee },
			{ .book = BOOK_AVAILABLE,
				.account = world_account(e, world_tariff(e, s->plan)->account),
				.amount = fee },
		},
		2);
	subscription_tell(e, s, NOTICE_PLAN_PAID, s->plan, fee, 0);
}

/* What a month costs and pays: as agreed, where the plan has changed since and is not better in all. */
static struct tariff subscription_terms(const struct subscription *s, const struct tariff *t)
{
	struct tariff as = *t;

	if (s->plan != t->id || s->next_fee != s->fee ||
		(t->fee <= s->fee && t->included >= s->included && t->rates >= s->rates))
		return as;
	as.fee = s->fee;
	as.included = s->included;
	as.rates = s->rates;
	return as;
}

/* Its terms are those of this plan from now on. */
static void subscription_take(struct subscription *s, const struct tariff *t)
{
	s->plan = s->next = t->id;
	s->fee = s->next_fee = t->fee;
	s->included = t->included;
	s->rates = t->rates;
}

/* What is left of this month, with a grant of its own, which is paid. */
static void subscription_begin(struct engine *e, struct subscription *s, const struct tariff *t)
{
	struct grant *g = must_zalloc(sizeof *g);
	int64_t units = subscription_share(e, t->included);

	subscription_take(s, t);
	*g = (struct grant){ .id = world_id(e),
		.account = s->account,
		.sponsor = t->account,
		.name = must_copy(t->name),
		.max = units + subscription_share(e, t->rates),
		.until = subscription_month_end(e),
		.created_at = e->at,
		.plan = t->id,
		.units = units };
	s->grant = g->id;
	grant_add(e, g);
	subscription_pay(e, s, subscription_share(e, t->fee));
}

/* ---- Subscribing --------------------------------------------------------------------------------- */

/*
 * Of the same seller, for the same type, dearer, and with no less in it: it begins at once, where this month is paid.
 * Others wait for the next month.
 */
static bool subscription_raises(const struct engine *e, const struct subscription *s, const struct tariff *t)
{
	const struct tariff *now = world_tariff(e, s->plan);

	return now != t && now->account == t->account && now->sku == t->sku && t->fee > s->fee &&
		t->included >= s->included && t->rates >= s->rates && world_grant(e, s->grant)->until > e->minute;
}

bool subscription_begins_now(const struct engine *e, uint64_t account, const struct tariff *t)
{
	const struct subscription *s = subscription_of(e, account);

	return s && subscription_raises(e, s, t);
}

int64_t subscription_fee(const struct engine *e, uint64_t account, const struct tariff *t)
{
	const struct subscription *s = subscription_of(e, account);

	if (s && !subscription_raises(e, s, t))
		return 0;
	return subscription_share(e, t->fee - (s ? s->fee : 0));
}

/* A cap must leave room for a whole month: the token agrees to each that follows. */
static int subscription_check_pays(const struct engine *e, const struct event *ev, const struct tariff *t,
	struct fail *why)
{
	const struct account *a = &world_account(e, ev->account)->pub;
	const struct order as = { .token = ev->token, .month = cap_counts(e, ev->token) };
	int64_t fee = subscription_fee(e, ev->account, t);

	if (fee && fee > ledger_spendable(a))
		return fail_set(why, REASON_FUNDS, "the balance of account '%s' does not cover it", a->name);
	return t->fee ? cap_check(e, &as, t->fee, why) : 0;
}

static int subscription_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct subscription *s = subscription_of(e, ev->account);
	const struct tariff *t = world_tariff(e, ev->subject);
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!ev->subject && !s)
		return fail_set(why, REASON_NOT_FOUND, "the account has no plan");
	if (!ev->subject)
		return s->next ? 0 : fail_set(why, REASON_WRONG_STATE, "the plan ends with this month already");
	rc = check_open_account(e, ev, why);
	if (rc)
		return rc;
	if (!t)
		return fail_set(why, REASON_NOT_FOUND, "no such plan");
	if (s && s->next == t->id && s->next_fee == t->fee)
		return fail_set(why, REASON_WRONG_STATE, "the account has plan '%s' already", t->name);
	if (t->state == TARIFF_CLOSED && !(s && s->plan == t->id))
		return fail_set(why, REASON_WRONG_STATE, "plan '%s' takes no new subscriptions", t->name);
	if (world_account(e, t->account)->pub.state == ACCOUNT_SUSPENDED)
		return fail_set(why, REASON_WRONG_STATE, "the seller of plan '%s' is suspended", t->name);
	if (t->account == ev->account)
		return fail_set(why, REASON_INVALID, "an account cannot subscribe to a plan of its own");
	return subscription_check_pays(e, ev, t, why);
}

/* A dearer plan: it costs, and pays, what it has more for the rest of the month. */
static void subscription_raise(struct engine *e, struct subscription *s, const struct tariff *t)
{
	struct grant *g = world_grant(e, s->grant);
	int64_t fee = subscription_share(e, t->fee - s->fee);
	int64_t units = subscription_share(e, t->included - s->included);
	int64_t rates = subscription_share(e, t->rates - s->rates);

	subscription_take(s, t);
	free(g->name);
	g->name = must_copy(t->name);
	g->plan = t->id;
	g->units += units;
	g->max += units + rates;
	subscription_pay(e, s, fee);
}

int subscription_set(struct engine *e, const struct event *ev, struct fail *why)
{
	struct subscription *s = subscription_of(e, ev->account);
	const struct tariff *t = world_tariff(e, ev->subject);
	int rc = subscription_check(e, ev, why);

	if (rc)
		return rc;
	if (t)
		cap_spend(e, ev->token, cap_counts(e, ev->token), subscription_fee(e, ev->account, t));
	if (!s) {
		s = must_zalloc(sizeof *s);
		*s = (struct subscription){ .id = world_id(e), .account = ev->account, .created_at = ev->at };
		world_add(e, SUBSCRIPTIONS, s->id, s->account, s);
		emit_made(e, s->id);
		subscription_begin(e, s, t);
	} else if (t && subscription_raises(e, s, t)) {
		subscription_raise(e, s, t);
	} else {
		s->next = ev->subject;
		s->next_fee = t ? t->fee : 0;
		subscription_tell(e, s, t ? NOTICE_PLAN_NEXT : NOTICE_PLAN_CANCELLED, t ? t->id : s->plan,
			t ? t->fee : 0, 0);
	}
	return 0;
}

/* ---- The turn of a month -------------------------------------------------------------------------- */

/* What the next month costs and pays, all 0 where none follows. Why it would not be paid as things are now; 0. */
static int32_t subscription_next(const struct engine *e, const struct subscription *s, struct tariff *as)
{
	const struct tariff *t = world_tariff(e, s->next);
	const struct account *a = &world_account(e, s->account)->pub;

	*as = t ? subscription_terms(s, t) : (struct tariff){ 0 };
	if (!t)
		return 0;
	if (a->state == ACCOUNT_SUSPENDED || world_account(e, t->account)->pub.state == ACCOUNT_SUSPENDED)
		return REASON_SUSPENDED;
	if (as->fee > s->next_fee)
		return REASON_PRICE_TOO_LOW;
	return as->fee && as->fee > ledger_spendable(a) ? REASON_FUNDS : 0;
}

int64_t subscription_next_fee(const struct engine *e, const struct subscription *s, int32_t *lapses)
{
	struct tariff as;

	*lapses = subscription_next(e, s, &as);
	return as.fee;
}

static void subscription_renew(struct engine *e, struct subscription *s)
{
	struct tariff as;
	int32_t lapses = subscription_next(e, s, &as);

	grant_over(e, world_grant(e, s->grant));
	if (s->next && !lapses) {
		subscription_begin(e, s, &as);
		return;
	}
	subscription_tell(e, s, s->next ? NOTICE_PLAN_LAPSED : NOTICE_PLAN_ENDED, s->next ? s->next : s->plan, as.fee,
		lapses);
	world_forget(e, SUBSCRIPTIONS, s->id, s->account, s);
}

int64_t subscription_due(const struct engine *e)
{
	return rank_live(&e->all[SUBSCRIPTIONS]) ? subscription_month_end(e) : MINUTE_MAX;
}

/* Nobody pays for a month in which the market was down: one that is over when its turn comes. */
void subscription_turn(struct engine *e)
{
	struct subscription *s;

	if (!rank_live(&e->all[SUBSCRIPTIONS]) || e->minute != cap_month_start(cap_month(e->minute)) ||
		60 * subscription_month_end(e) <= e->at)
		return;
	for (uint64_t after = 0; (s = rank_after(&e->all[SUBSCRIPTIONS], after));) {
		after = s->id;
		subscription_renew(e, s);
	}
}

/* ---- Reading, and snapshots ----------------------------------------------------------------------- */

bool tariff_fits(const struct engine *e, const struct tariff *t)
{
	return t->name && *t->name && world_account(e, t->account) && (!t->sku || world_sku(e, t->sku)) &&
		tariff_counts(t->fee) && tariff_counts(t->included) && tariff_counts(t->rates) &&
		t->state <= TARIFF_CLOSED && !world_named(e, TARIFFS, 0, t->name);
}

bool tariff_grants_fit(const struct engine *e)
{
	struct grant *g;

	for (size_t at = 0; (g = rank_next(&e->all[GRANTS], &at));)
		if (g->plan && (!world_tariff(e, g->plan) || world_tariff(e, g->plan)->account != g->sponsor))
			return false;
	return true;
}

bool subscription_fits(const struct engine *e, const struct subscription *s)
{
	const struct grant *g = world_grant(e, s->grant);

	return world_account(e, s->account) && !subscription_of(e, s->account) && world_tariff(e, s->plan) &&
		(!s->next || world_tariff(e, s->next)) && g && !g->ended && g->account == s->account &&
		g->plan == s->plan && g->until <= subscription_month_end(e) && tariff_counts(s->fee) &&
		tariff_counts(s->included) && tariff_counts(s->rates) && tariff_counts(s->next_fee);
}
