/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/procure/procure.h"

#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/rules/buy.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/sell.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/procure/renew.h"
#include "marketd/engine/procure/round.h"

#define PRICE_MAX INT64_C(1000000000000)
enum { WINDOW_MAX = 129600 };

/* An order that is too large is refused, as order_check() refuses it. */
static int32_t too_big(const struct live_order *o)
{
	int64_t most;

	if (o->pub.nodes > NODES_MAX)
		return REASON_INVALID;
	if (__builtin_mul_overflow(o->pub.price * o->pub.nodes, o->pub.end - o->pub.start, &most))
		return REASON_OVERFLOW;
	return 0;
}

static void buy_run(struct round *r, int64_t start, int64_t end, int32_t nodes)
{
	struct live_order t = round_order(r, SIDE_BUY, start, end, nodes);
	struct plan *plan = &r->e->plan;
	int rc = too_big(&t);

	if (rc) {
		round_keep_reason(r, rc);
		return;
	}
	rc = buy_plan(r->e, &t, plan, NULL);
	if (!plan->count || !rc)
		round_keep_reason(r, plan->rest_count ? buy_reason(plan) : 0);
	else
		round_keep_reason(r, rc);
	if (plan->count && !rc)
		buy_do(r->e, &t, plan);
}

static void sell_run(struct round *r, int64_t start, int64_t end, int32_t nodes)
{
	struct live_order t = round_order(r, SIDE_SELL, start, end, nodes);
	struct pick hosts;
	int rc = too_big(&t);

	rc = rc ? rc : sell_plan(r->e, &t, &hosts, NULL);
	if (rc) {
		round_keep_reason(r, rc);
		return;
	}
	sell_do(r->e, &t, &hosts);
	pick_release(&hosts);
}

/* One order for each run of minutes in which the same number is missing (too much). */
static void trade_runs(struct round *r, enum side side)
{
	struct steps s = round_survey(r);

	for (size_t i = 0; i < s.count && s.list[i].at < r->end;) {
		int32_t k = s.list[i].own - s.list[i].sale;
		int64_t start = s.list[i].at, end = round_level_end(r, &s, i);

		for (i++; i < s.count && s.list[i].at < r->end && s.list[i].own - s.list[i].sale == k; i++)
			end = round_level_end(r, &s, i);
		if (side == SIDE_BUY && k < r->target)
			buy_run(r, start, end, r->target - k);
		else if (side == SIDE_SELL && k > r->target)
			sell_run(r, start, end, k - r->target);
	}
	free(s.list);
}

/* By edition 1 of the rules. */
static void procure_first(struct engine *e, struct procurement *p)
{
	struct round r = round_of(e, p);

	if (r.start >= r.end)
		return;
	round_cancel_excess(&r);
	if (world_account(e, p->account)->pub.state == ACCOUNT_OPEN)
		trade_runs(&r, SIDE_BUY);
	trade_runs(&r, SIDE_SELL);
	round_tell(&r);
}

static void procure_one(struct engine *e, struct procurement *p)
{
	if (e->rules < 2) {
		procure_first(e, p);
		return;
	}
	renew_hosts(e, p);
	renew_rest(e, p);
}

/* All renew what they have before any buys something else: so nobody takes a host that is in use and for sale. */
void procure_all(struct engine *e)
{
	uint64_t before = e->next_transfer;
	struct procurement *p;
	bool still = true;

	for (size_t at = 0; e->enabled && (p = rank_next(&e->all[PROCUREMENTS], &at));)
		if (p->enabled && e->rules < 2)
			procure_first(e, p);
		else if (p->enabled)
			still = renew_hosts(e, p) && still;
	if (e->rules < 2 || (still && e->next_transfer == before))
		return;
	for (size_t at = 0; e->enabled && (p = rank_next(&e->all[PROCUREMENTS], &at));)
		if (p->enabled)
			renew_rest(e, p);
}

static int check_numbers(int32_t target, int32_t window, int64_t min_sell, int64_t max_buy, struct fail *why)
{
	if (target < -1 || target > NODES_MAX)
		return fail_set(why, REASON_INVALID, "the target is 0 to %d nodes, or the number of instances",
			NODES_MAX);
	if (window < 1 || window > WINDOW_MAX)
		return fail_set(why, REASON_INVALID, "the window is 1 to %d minutes", WINDOW_MAX);
	if (min_sell < 0 || min_sell > PRICE_MAX || max_buy < 0 || max_buy > PRICE_MAX)
		return fail_set(why, REASON_INVALID, "a price is below 0 or too high");
	if (min_sell > max_buy)
		return fail_set(why, REASON_INVALID, "the minimum sell price is above the maximum buy price");
	return 0;
}

/* Does the pool have another procurement for this SKU than `self`? */
static bool has_other(const struct live_pool *d, uint64_t sku, const struct procurement *self)
{
	const struct procurement *p;

	for (size_t at = 0; (p = rank_next(&d->procurements, &at));)
		if (p != self && p->sku == sku)
			return true;
	return false;
}

int procure_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct procurement *p;
	struct live_pool *d;
	int rc = check_open_account(e, ev, why);

	rc = rc ? rc : check_pool(e, ev, ev->u.procurement.pool, &d, why);
	if (rc)
		return rc;
	if (d->pub.kind != POOL_MARKET)
		return fail_set(why, REASON_WRONG_STATE, "pool '%s' is for hosts; buy into another pool", d->pub.name);
	if (!world_sku(e, ev->u.procurement.sku))
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	if (has_other(d, ev->u.procurement.sku, NULL))
		return fail_set(why, REASON_WRONG_STATE, "pool '%s' already has a procurement for that SKU",
			d->pub.name);
	rc = check_name(ev->name, true, why);
	rc = rc ? rc
		: check_numbers(ev->u.procurement.target, ev->u.procurement.window, ev->u.procurement.min_sell,
			  ev->u.procurement.max_buy, why);
	if (rc)
		return rc;
	if (world_named(e, PROCUREMENTS, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "procurement '%s' already exists", ev->name);
	p = must_zalloc(sizeof *p);
	*p = (struct procurement){ .id = world_id(e),
		.account = ev->account,
		.pool = d->pub.id,
		.sku = ev->u.procurement.sku,
		.name = must_copy(ev->name),
		.target = ev->u.procurement.target,
		.window = ev->u.procurement.window,
		.min_sell = ev->u.procurement.min_sell,
		.max_buy = ev->u.procurement.max_buy,
		.enabled = ev->u.procurement.enabled,
		.token = e->rules >= 3 ? ev->token : 0,
		.created_at = ev->at,
		.updated_at = ev->at };
	world_add(e, PROCUREMENTS, p->id, p->account, p);
	world_name(e, PROCUREMENTS, p->account, p->name, p);
	rank_add(&d->procurements, p->id, p);
	e->enabled += p->enabled;
	emit_made(e, p->id);
	if (p->enabled)
		procure_one(e, p);
	return 0;
}

static int procure_find(const struct engine *e, const struct event *ev, struct procurement **out, struct fail *why)
{
	struct procurement *p = world_procurement(e, ev->subject);

	if (!world_account(e, ev->account) || !p || p->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such procurement");
	*out = p;
	return 0;
}

/* Fills in and checks what the procurement will be. */
static int procure_changed(const struct engine *e, const struct event *ev, const struct procurement *p,
	struct procurement *now, struct fail *why)
{
	int rc;

	*now = *p;
	if (ev->u.procurement_change.sku)
		now->sku = ev->u.procurement_change.sku;
	if (!world_sku(e, now->sku))
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	if (has_other(world_pool(e, p->pool), now->sku, p))
		return fail_set(why, REASON_WRONG_STATE, "the pool already has a procurement for that SKU");
	if (ev->u.procurement_change.target != -1)
		now->target = ev->u.procurement_change.target;
	if (ev->u.procurement_change.window != -1)
		now->window = ev->u.procurement_change.window;
	if (ev->u.procurement_change.min_sell != -1)
		now->min_sell = ev->u.procurement_change.min_sell;
	if (ev->u.procurement_change.max_buy != -1)
		now->max_buy = ev->u.procurement_change.max_buy;
	rc = check_name(ev->name, false, why);
	rc = rc ? rc : check_numbers(now->target, now->window, now->min_sell, now->max_buy, why);
	if (rc)
		return rc;
	if (ev->u.procurement_change.enabled < -1 || ev->u.procurement_change.enabled > 1)
		return fail_set(why, REASON_INVALID, "'enabled' is true or false");
	if (ev->u.procurement_change.enabled >= 0)
		now->enabled = ev->u.procurement_change.enabled;
	return 0;
}

int procure_change(struct engine *e, const struct event *ev, struct fail *why)
{
	const struct live_account *owner = world_account(e, ev->account);
	struct procurement *p, *other, now;
	int rc;

	if (owner && owner->pub.state == ACCOUNT_SUSPENDED && ev->u.procurement_change.enabled == 1)
		return check_open_account(e, ev, why);
	rc = procure_find(e, ev, &p, why);
	rc = rc ? rc : procure_changed(e, ev, p, &now, why);
	if (rc)
		return rc;
	other = ev->name ? world_named(e, PROCUREMENTS, ev->account, ev->name) : NULL;
	if (other && other != p)
		return fail_set(why, REASON_NAME_TAKEN, "procurement '%s' already exists", ev->name);
	if ((p->enabled && !now.enabled) || now.sku != p->sku)
		round_cancel_orders(e, p);
	if (ev->name) {
		world_unname(e, PROCUREMENTS, p->account, p->name);
		free(p->name);
		now.name = must_copy(ev->name);
	}
	e->enabled = e->enabled - p->enabled + now.enabled;
	now.updated_at = ev->at;
	now.token = e->rules >= 3 && ev->token ? ev->token : p->token;
	*p = now;
	if (ev->name)
		world_name(e, PROCUREMENTS, p->account, p->name, p);
	if (p->enabled)
		procure_one(e, p);
	return 0;
}

int procure_delete(struct engine *e, const struct event *ev, struct fail *why)
{
	struct procurement *p;
	int rc = procure_find(e, ev, &p, why);

	if (rc)
		return rc;
	round_cancel_orders(e, p);
	world_unname(e, PROCUREMENTS, p->account, p->name);
	rank_remove(&world_pool(e, p->pool)->procurements, p->id);
	e->enabled -= p->enabled;
	world_forget(e, PROCUREMENTS, p->id, p->account, p);
	return 0;
}
