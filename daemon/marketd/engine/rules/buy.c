/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/buy.h"

#include "market/reason.h"
#include "marketd/engine/rules/ledger.h"
#include "marketd/engine/rules/match.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/tell.h"
#include "marketd/engine/rules/ticket.h"
#include "marketd/engine/rules/trade.h"

int32_t buy_reason(const struct plan *plan)
{
	return plan->more ? REASON_PRICE_TOO_LOW : REASON_NO_CAPACITY;
}

static int plan_extend(const struct engine *e, const struct want *w, struct plan *plan, struct fail *why)
{
	int rc = match_extend(e, w, plan);

	if (rc == REASON_NOT_OWNED)
		return fail_set(why, rc, "the pool does not have %d nodes in the minute before", w->nodes);
	if (rc == REASON_PRICE_TOO_LOW)
		return fail_set(why, rc, "to keep the same hosts costs more than the limit");
	if (rc)
		return fail_set(why, rc, "not all of the same hosts are for sale throughout the window");
	return 0;
}

int buy_plan(const struct engine *e, struct ticket *t, struct plan *plan, struct fail *why)
{
	const struct party *p = world_party(e, t->pub.account);
	struct span whole = resting_whole(&t->pub);
	int64_t need, left;
	struct want w;
	int rc;

	want_of(&w, t, UINT64_MAX);
	w.rest = &whole;
	w.rest_count = 1;
	if (t->pub.flags & ORDER_EXTEND) {
		rc = plan_extend(e, &w, plan, why);
		if (rc)
			return rc;
	} else {
		match_find(e, &w, plan);
	}
	left = t->pub.flags & ORDER_STANDING ? (whole.end - whole.start) * whole.nodes - plan->minutes : 0;
	t->pub.hold = sure_mul(t->pub.price, left);
	need = sure_add(plan->cost, t->pub.hold);
	if (t->pub.max_total && need > t->pub.max_total)
		return fail_set(why, REASON_OVER_MAX_TOTAL, "it would cost more than the stated total");
	if (need > ledger_spendable(&p->pub))
		return fail_set(why, REASON_FUNDS, "the balance of account '%s' does not cover it", p->pub.name);
	return 0;
}

static void rest(struct engine *e, struct ticket *t, const struct plan *plan)
{
	struct party *p = world_party(e, t->pub.account);
	struct ticket *made;

	t->pub.status = plan->count ? ORDER_PARTIALLY_FILLED : ORDER_RESTING;
	t->pub.rest = plan->rest;
	t->pub.rest_count = plan->rest_count;
	made = ticket_open(e, t, NULL, 0);
	ledger_move(e, t->pub.id, (struct entry[]){
		{ .book = BOOK_AVAILABLE, .party = p, .amount = -t->pub.hold },
		{ .book = BOOK_HELD, .party = p, .amount = t->pub.hold },
	}, 2);
	tell_order(e, &made->pub);
}

uint64_t buy_do(struct engine *e, struct ticket *t, const struct plan *plan)
{
	int64_t hold = t->pub.hold;

	t->pub.id = world_id(e);
	trade_tell_placed(e, &t->pub);
	t->pub.hold = 0; /* until it is moved */
	trade_do(e, t, plan, false);
	t->pub.hold = hold;
	if (!plan->rest_count)
		trade_close(e, t, ORDER_FILLED, 0);
	else if (t->pub.flags & ORDER_STANDING)
		rest(e, t, plan);
	else
		trade_close(e, t, ORDER_CANCELLED, buy_reason(plan));
	return t->pub.id;
}
