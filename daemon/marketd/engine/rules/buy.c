/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/buy.h"

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/match.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/trade.h"

int32_t buy_reason(const struct plan *plan)
{
	return plan->more ? REASON_PRICE_TOO_LOW : REASON_NO_CAPACITY;
}

/* Would one of the pool's hosts go on if it had not failed? */
static bool extend_failed(const struct want *w)
{
	bool asks = w->pool && w->sku->pub.proof && !(w->flags & ORDER_UNVERIFIED);

	for (size_t i = 0; asks && i < w->pool->holding_count; i++) {
		const struct live_host *h = w->pool->holdings[i].live;

		if (h->sku == w->sku && h->pub.proof == PROOF_FAILED &&
			calendar_owned(h, w->pool->pub.id, w->start - 1))
			return true;
	}
	return false;
}

static int plan_extend(const struct engine *e, const struct want *w, struct plan *plan, struct fail *why)
{
	int rc = match_extend(e, w, plan);

	if (rc == REASON_NOT_OWNED)
		return fail_set(why, rc, "the pool does not have %d nodes in the minute before", w->nodes);
	if (rc == REASON_PRICE_TOO_LOW)
		return fail_set(why, rc, "keeping the same hosts costs more than the limit");
	if (rc && extend_failed(w))
		return fail_set(why, rc, "not all of the same hosts can go on: one failed its verification");
	if (rc)
		return fail_set(why, rc, "not all of the same hosts are for sale throughout the window");
	return 0;
}

int64_t buy_granted(const struct order *o, const struct plan *plan)
{
	int64_t sum = 0;

	for (size_t i = 0; o->grant && i < plan->count; i++) {
		const struct slice *s = &plan->list[i];

		sum = sure_add(sum, sure_mul(grant_price(o, s->price), s->end - s->start));
	}
	return sum;
}

int buy_plan(const struct engine *e, struct live_order *o, struct plan *plan, struct fail *why)
{
	const struct live_account *a = world_account(e, o->pub.account);
	struct span whole = resting_whole(&o->pub);
	int64_t need, left, granted;
	struct want w;
	int rc;

	want_of(&w, o, UINT64_MAX);
	w.rest = &whole;
	w.rest_count = 1;
	if (o->pub.flags & ORDER_EXTEND) {
		rc = plan_extend(e, &w, plan, why);
		if (rc)
			return rc;
	} else {
		match_find(e, &w, plan);
	}
	left = o->pub.flags & ORDER_STANDING ? (whole.end - whole.start) * whole.nodes - plan->minutes : 0;
	o->pub.hold = sure_mul(o->pub.price, left);
	o->pub.granted = grant_part(e, &o->pub, plan->cost);
	granted = buy_granted(&o->pub, plan);
	need = sure_add(plan->cost - granted, o->pub.hold);
	if (o->pub.max_total && need > o->pub.max_total)
		return fail_set(why, REASON_OVER_MAX_TOTAL, "it would cost more than the maximum total");
	if (need > ledger_spendable(&a->pub))
		return fail_set(why, REASON_FUNDS, "the balance of account '%s' does not cover it", a->pub.name);
	rc = grant_check_funds(e, o->pub.grant, granted, why);
	return rc ? rc : cap_check(e, &o->pub, need, why);
}

static void buy_rest(struct engine *e, struct live_order *o, const struct plan *plan)
{
	struct live_account *a = world_account(e, o->pub.account);
	struct live_order *made;

	o->pub.status = plan->count ? ORDER_PARTIALLY_FILLED : ORDER_RESTING;
	o->pub.rest = plan->rest;
	o->pub.rest_count = plan->rest_count;
	made = live_order_open(e, o, NULL, 0);
	ledger_move(e, o->pub.id, (struct entry[]){
		{ .book = BOOK_AVAILABLE, .account = a, .amount = -o->pub.hold },
		{ .book = BOOK_HELD, .account = a, .amount = o->pub.hold },
	}, 2);
	cap_spend(e, o->pub.token, o->pub.month, o->pub.hold);
	emit_order(e, &made->pub);
}

uint64_t buy_do(struct engine *e, struct live_order *o, const struct plan *plan)
{
	int64_t hold = o->pub.hold;

	o->pub.id = world_id(e);
	trade_emit_placed(e, &o->pub);
	o->pub.hold = 0; /* trade_do() pays from available */
	trade_do(e, o, plan, false);
	o->pub.hold = hold;
	if (!plan->rest_count)
		trade_close(e, o, ORDER_FILLED, 0);
	else if (o->pub.flags & ORDER_STANDING)
		buy_rest(e, o, plan);
	else
		trade_close(e, o, ORDER_CANCELLED, buy_reason(plan));
	return o->pub.id;
}
