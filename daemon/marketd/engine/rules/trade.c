/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/trade.h"

#include "marketd/engine/live/calendar.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/rules/live_order.h"

void trade_emit_placed(struct engine *e, const struct order *o)
{
	emit_notice(e, &(struct notice){ .kind = NOTICE_ORDER_PLACED, .account = o->account, .subject = o->id,
		.other = o->pool, .amount = o->hold, .minute = o->start, .code = (int32_t)o->side });
}

void trade_close(struct engine *e, struct live_order *t, enum order_status status, int32_t reason)
{
	struct order *o = &t->pub;

	if (o->side == SIDE_SELL && t->open)
		live_order_off_sale(e, t);
	if (o->hold) {
		struct live_account *a = world_account(e, o->account);

		ledger_move(e, o->id, (struct entry[]){
			{ .book = BOOK_HELD, .account = a, .amount = -o->hold },
			{ .book = BOOK_AVAILABLE, .account = a, .amount = o->hold },
		}, 2);
		cap_spend(e, o->token, o->month, -o->hold);
		o->hold = 0;
	}
	o->status = status;
	o->reason = reason;
	o->closed_at = e->at;
	o->rest_count = 0;
	emit_order(e, o);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_ORDER_CLOSED,
			.account = o->account,
			.subject = o->id,
			.other = o->pool,
			.amount = o->filled_cost,
			.minute = o->end,
			.code = reason ? reason : (int32_t)status });
	if (t->open)
		live_order_shut(e, t);
}

static bool trade_asks(const struct live_order *buy)
{
	return buy->sku->pub.proof && !(buy->pub.flags & ORDER_UNVERIFIED);
}

/* When its buyer came: a pool that has the host in the minute before, with proof, goes on there. */
static int64_t trade_since(const struct engine *e, const struct live_order *buy, const struct slice *s)
{
	const struct piece *before = calendar_at(s->host, s->start - 1);
	const struct live_lease *had = before && before->pool == buy->pub.pool ? world_lease(e, before->lease) : NULL;

	return trade_asks(buy) && had && had->pub.proof ? had->pub.since : s->start;
}

/* Splits the seller's lease so that one part is [start, end), and marks that part as sold on. */
static struct live_lease *cut_parent(struct engine *e, uint64_t lease, int64_t start, int64_t end)
{
	struct live_lease *l = world_lease(e, lease);

	if (!l)
		return NULL;
	if (l->pub.start < start)
		l = lease_split(e, l, start);
	if (end < l->pub.end)
		lease_split(e, l, end);
	l->pub.sold_on = true;
	emit_lease(e, &l->pub, false, false);
	return l;
}

static void trade_pay(struct engine *e, const struct live_order *buy, const struct live_lease *lease,
	const struct live_pool *source, const struct slice *s, bool from_hold)
{
	struct live_account *a = world_account(e, buy->pub.account);
	struct live_account *sponsor = grant_sponsor(e, lease->pub.grant);
	int64_t minutes = s->end - s->start, granted = sure_mul(lease->pub.granted, minutes);
	int64_t cost = sure_mul(s->price, minutes) - granted;
	int64_t held = from_hold ? sure_mul(buy->pub.price, minutes) : 0;

	grant_spend(e, lease->pub.grant, granted);
	cap_spend(e, buy->pub.token, buy->pub.month, cost - held);
	ledger_move(e, lease->pub.id,
		(struct entry[]){
			{ .book = BOOK_HELD, .account = a, .amount = -held },
			{ .book = BOOK_AVAILABLE, .account = a, .amount = held - cost },
			{ .book = BOOK_ESCROW, .account = a, .amount = cost },
			{ .book = BOOK_AVAILABLE, .account = sponsor, .amount = -granted },
			{ .book = BOOK_ESCROW, .account = sponsor, .amount = granted },
			{ .book = source->pub.kind == POOL_ORIGINATING ? BOOK_ISSUED : BOOK_CAPACITY,
				.pool = world_pool(e, source->pub.id),
				.sku = buy->sku,
				.amount = -minutes },
			{ .book = BOOK_CAPACITY, .pool = buy->pool, .sku = buy->sku, .amount = minutes },
		},
		7);
}

static void emit_trade(struct engine *e, const struct lease *l, int64_t cost, int64_t own)
{
	emit_lease(e, l, true, false);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_ORDER_FILLED,
			.account = l->buyer,
			.subject = l->order,
			.other = l->id,
			.amount = own,
			.minute = l->start });
	emit_notice(e, &(struct notice){ .kind = NOTICE_SOLD, .account = l->seller, .subject = l->sell_order,
		.other = l->id, .amount = cost, .minute = l->start });
}

/* Minutes that are sold, released and sold again count each time, so nothing keeps the sum below 64 bits. */
static int64_t count_on(int64_t sum, int64_t more)
{
	return sum > INT64_MAX - more ? INT64_MAX : sum + more;
}

/* What both orders have filled. */
static void trade_count(struct engine *e, struct live_order *buy, struct live_order *sell, const struct slice *s,
	int64_t own, bool from_hold)
{
	int64_t minutes = s->end - s->start;

	buy->pub.filled_minutes += minutes;
	buy->pub.filled_cost += own;
	if (from_hold)
		buy->pub.hold -= sure_mul(buy->pub.price, minutes);
	sell->pub.filled_minutes = count_on(sell->pub.filled_minutes, minutes);
	sell->pub.filled_cost = count_on(sell->pub.filled_cost, sure_mul(s->price, minutes));
	sell->pub.status = ORDER_PARTIALLY_FILLED;
	live_order_touch(e, sell);
}

static void sell_slice(struct engine *e, struct live_order *buy, const struct slice *s, bool from_hold)
{
	struct live_order *sell = world_order(e, s->order);
	const struct piece *p = calendar_at(s->host, s->start);
	struct live_pool *source;
	struct live_lease *parent, *made;
	bool stays = buy->pub.flags & ORDER_INTERRUPTIBLE;
	int64_t cost = sure_mul(s->price, s->end - s->start), granted = grant_price(&buy->pub, s->price);
	int64_t own = cost - sure_mul(granted, s->end - s->start);

	ensure(sell && p && p->order == s->order && p->end >= s->end, "a plan no longer fits the state");
	ensure(s->price <= buy->pub.price && s->price >= sell->pub.price, "a trade passes a limit");
	ensure(sell->beneficiary != buy->beneficiary, "somebody trades with themselves");
	ensure(s->start > e->minute && !s->host->pub.down, "a past minute or a host that is down is sold");
	if (p->interruptible) {
		lease_interrupt(e, world_lease(e, p->lease), s->start);
		p = calendar_at(s->host, s->start);
	}
	source = world_pool(e, p->pool);
	parent = cut_parent(e, p->lease, s->start, s->end);
	made = world_make_lease(e,
		&(struct lease){ .id = world_id(e),
			.order = buy->pub.id,
			.sell_order = sell->pub.id,
			.host = s->host->pub.id,
			.sku = buy->pub.sku,
			.parent = parent ? parent->pub.id : 0,
			.buyer = buy->pub.account,
			.seller = sell->pub.account,
			.pool = buy->pub.pool,
			.start = s->start,
			.end = s->end,
			.price = s->price,
			.grant = granted ? buy->pub.grant : 0,
			.granted = granted,
			.token = buy->pub.month ? buy->pub.token : 0,
			.month = buy->pub.month,
			.paid_end = s->end,
			.settled = s->start,
			.interruptible = stays,
			.proof = trade_asks(buy),
			.since = trade_since(e, buy, s),
			.filled_at = e->at });
	lease_schedule(e, made);
	trade_pay(e, buy, made, source, s, from_hold);
	calendar_put(s->host, s->start, s->end,
		&(struct piece){ .pool = buy->pub.pool,
			.lease = made->pub.id,
			.order = stays ? sell->pub.id : 0,
			.price = stays ? sell->pub.price : 0,
			.place = stays ? sell->pub.place : 0,
			.block = stays && order_block(&sell->pub),
			.interruptible = stays,
			.granted = made->pub.grant });
	trade_count(e, buy, sell, s, own, from_hold);
	emit_trade(e, &made->pub, cost, own);
}

void trade_do(struct engine *e, struct live_order *buy, const struct plan *plan, bool from_hold)
{
	for (size_t i = 0; i < plan->count; i++)
		sell_slice(e, buy, &plan->list[i], from_hold);
	if (plan->count)
		trade_finish(e);
}

void trade_finish(struct engine *e)
{
	for (size_t i = 0; i < e->touched_count; i++) {
		struct live_order *o = e->touched[i];

		if (!o)
			continue;
		o->touched = false;
		if (live_order_still(e, o))
			emit_order(e, &o->pub);
		else
			trade_close(e, o, o->pub.filled_minutes ? ORDER_FILLED : ORDER_CANCELLED, 0);
	}
	e->touched_count = 0;
}
