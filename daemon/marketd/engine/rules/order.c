/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/order.h"

#include "market/money.h"
#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/trade.h"

enum { FLAGS = ORDER_STANDING | ORDER_PARTIAL | ORDER_EXTEND | ORDER_INTERRUPTIBLE | ORDER_UNVERIFIED };

static int check_whose(const struct engine *e, const struct event *ev, bool asking, struct fail *why)
{
	const struct live_account *a = world_account(e, ev->account);
	const struct live_pool *p = world_pool(e, ev->u.order.pool);
	bool buy = ev->u.order.side == SIDE_BUY, mine;

	if (!a)
		return fail_set(why, REASON_NOT_FOUND, "no such account");
	mine = p && p->pub.account == ev->account && !p->pub.deleted;
	if (a->pub.state == ACCOUNT_SUSPENDED && (buy || (mine && p->pub.kind == POOL_ORIGINATING)))
		return check_suspended(a, why);
	if (!mine && !(asking && buy && !ev->u.order.pool))
		return fail_set(why, REASON_NOT_FOUND, "no such pool");
	if (buy && mine && p->pub.kind == POOL_ORIGINATING)
		return fail_set(why, REASON_WRONG_STATE, "pool '%s' is for hosts; buy into another pool", p->pub.name);
	if (!world_sku(e, ev->u.order.sku))
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	return grant_check_named(e, ev, why);
}

static int check_shape(const struct engine *e, const struct event *ev, struct fail *why)
{
	bool buy = ev->u.order.side == SIDE_BUY;
	int32_t flags = ev->u.order.flags;

	if (ev->u.order.side != SIDE_BUY && ev->u.order.side != SIDE_SELL)
		return fail_set(why, REASON_INVALID, "an order buys or sells");
	if (ev->u.order.procurement)
		return fail_set(why, REASON_INVALID, "only the market places the orders of procurements");
	if (ev->u.order.nodes < 1 || ev->u.order.nodes > NODES_MAX)
		return fail_set(why, REASON_INVALID, "an order is for 1 to %d nodes", NODES_MAX);
	if (ev->u.order.price < 0 || ev->u.order.price > ORDER_PRICE_MAX)
		return fail_set(why, REASON_INVALID, "the price is below 0 or too high");
	if (ev->u.order.max_total < 0)
		return fail_set(why, REASON_INVALID, "the maximum total is below 0");
	if (flags & ~FLAGS)
		return fail_set(why, REASON_INVALID, "the order has an unknown flag");
	if (ev->u.order.start >= ev->u.order.end || ev->u.order.end > MINUTE_MAX)
		return fail_set(why, REASON_INVALID, "the window must end after it starts, and have an end");
	if (!buy && ((flags & (ORDER_EXTEND | ORDER_INTERRUPTIBLE | ORDER_UNVERIFIED)) || ev->u.order.max_total))
		return fail_set(why, REASON_INVALID,
			"only a buy can extend, be interruptible, take unverified hosts or have a maximum total");
	if ((flags & ORDER_EXTEND) && (flags & (ORDER_PARTIAL | ORDER_STANDING | ORDER_INTERRUPTIBLE)))
		return fail_set(why, REASON_INVALID, "an extend cannot be partial, standing or interruptible");
	if (buy && ev->u.order.host)
		return fail_set(why, REASON_INVALID, "a buy does not name a host");
	if (ev->u.order.host && ev->u.order.nodes != 1)
		return fail_set(why, REASON_INVALID, "a sell that names a host is for 1 node");
	return grant_check_shape(e, ev, why);
}

/* The pool must own the named host for the whole window. */
static int order_check_host(const struct engine *e, const struct order *o, struct fail *why)
{
	const struct live_host *h = world_host(e, o->host);

	if (!h || h->pub.retired)
		return fail_set(why, REASON_NOT_FOUND, "no such host");
	if (h->pub.sku != o->sku)
		return fail_set(why, REASON_NOT_OWNED, "host '%s' has another SKU", h->pub.name);
	for (int64_t at = o->start; at < o->end;) {
		const struct piece *p = calendar_at(h, at);

		if (!p || p->pool != o->pool)
			return fail_set(why, REASON_NOT_OWNED, "the pool does not have host '%s' throughout the window",
				h->pub.name);
		at = p->end;
	}
	return 0;
}

int order_check(const struct engine *e, const struct event *ev, bool asking, struct order *out, struct fail *why)
{
	int rc = check_whose(e, ev, asking, why);
	int64_t most;

	rc = rc ? rc : check_shape(e, ev, why);
	if (rc)
		return rc;
	if (ev->u.order.start < e->minute - 1 || ev->u.order.end <= e->minute + 1)
		return fail_set(why, REASON_PAST, "the window is in the past");
	if (__builtin_mul_overflow(ev->u.order.price * ev->u.order.nodes, ev->u.order.end - ev->u.order.start, &most))
		return fail_set(why, REASON_OVERFLOW, "price x nodes x minutes is too large to be counted");
	*out = (struct order){ .account = ev->account,
		.token = ev->token,
		.pool = ev->u.order.pool,
		.sku = ev->u.order.sku,
		.host = ev->u.order.host,
		.side = (enum side)ev->u.order.side,
		.flags = ev->u.order.flags | (ev->u.order.grant ? ORDER_GRANTED : 0),
		.grant = ev->u.order.grant,
		.granted = ev->u.order.granted,
		.nodes = ev->u.order.nodes,
		.start = ev->u.order.start,
		.end = ev->u.order.end,
		.price = ev->u.order.price,
		.max_total = ev->u.order.max_total,
		.created_at = ev->at,
		.month = ev->u.order.side == SIDE_BUY ? cap_counts(e, ev->token) : 0,
		.status = ORDER_PENDING };
	if (out->start < e->minute + 1)
		out->start = e->minute + 1;
	return out->host ? order_check_host(e, out, why) : 0;
}

/* What a new price would be refused for; an order that nobody may give one is not found. */
int order_price_check(const struct engine *e, const struct event *ev, struct live_order **out, struct fail *why)
{
	const struct live_account *a = world_account(e, ev->account);
	struct live_order *o = world_order(e, ev->subject);
	int64_t price = ev->u.order_price.price, most;

	if (!a || !o || o->pub.account != ev->account || o->pub.side != SIDE_SELL)
		return fail_set(why, REASON_NOT_FOUND, "no such open offer");
	if (a->pub.state == ACCOUNT_SUSPENDED && o->pool->pub.kind == POOL_ORIGINATING)
		return check_suspended(a, why);
	if (o->pub.procurement)
		return fail_set(why, REASON_WRONG_STATE, "a procurement placed this order, and gives it its price");
	if (price < 0 || price > ORDER_PRICE_MAX)
		return fail_set(why, REASON_INVALID, "the price is below 0 or too high");
	if (__builtin_mul_overflow(price * o->pub.nodes, o->pub.end - o->pub.start, &most))
		return fail_set(why, REASON_OVERFLOW, "price x nodes x minutes is too large to be counted");
	*out = o;
	return floor_check_order(e, o, price, why);
}

int order_price(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_order *o = NULL;
	int rc = order_price_check(e, ev, &o, why);

	if (rc || o->pub.price == ev->u.order_price.price)
		return rc;
	live_order_reprice(e, o, ev->u.order_price.price);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_ORDER_PRICED,
			.account = o->pub.account,
			.subject = o->pub.id,
			.other = o->pub.pool,
			.amount = o->pub.price,
			.minute = o->pub.start,
			.code = (int32_t)o->pub.side });
	emit_order(e, &o->pub);
	resting_try(e, o->sku);
	return 0;
}

int order_cancel(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_order *o = world_order(e, ev->subject);

	if (!world_account(e, ev->account) || !o || o->pub.account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such open order");
	if (ev->u.cancel.reason && ev->u.cancel.reason != REASON_NO_ROOM)
		return fail_set(why, REASON_INVALID,
			"an order is cancelled for no reason, or because there is no room");
	trade_close(e, o, ORDER_CANCELLED, ev->u.cancel.reason);
	return 0;
}
