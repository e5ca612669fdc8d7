/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/resting.h"

#include "market/reason.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/match.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/trade.h"

struct span resting_whole(const struct order *o)
{
	return (struct span){ .start = o->start, .end = o->end, .nodes = o->nodes };
}

/* Can the buy use what came on sale since the last pass? That pass tried all else, and it did not fill. */
static bool resting_worth(const struct fresh *f, const struct live_order *o)
{
	if (f->all || (f->lost && o->lost && !(o->pub.flags & ORDER_PARTIAL)))
		return true;
	return f->start < f->end && o->pub.price >= f->price && o->pub.start < f->end && o->pub.end > f->start;
}

/* True if that closed it. */
static bool try_one(struct engine *e, struct live_order *o)
{
	struct want w;

	want_of(&w, o, o->pub.id);
	match_find(e, &w, &e->plan);
	if (!e->plan.count)
		return false;
	trade_do(e, o, &e->plan, true);
	live_order_set_rest(o, e->plan.rest, e->plan.rest_count);
	if (!o->pub.rest_count) {
		trade_close(e, o, ORDER_FILLED, 0);
		return true;
	}
	o->pub.status = ORDER_PARTIALLY_FILLED;
	emit_order(e, &o->pub);
	return false;
}

void resting_try(struct engine *e, struct live_sku *s)
{
	struct fresh f = s->fresh;
	size_t i = 0;

	f.all = f.all || s->crossed;
	s->fresh = (struct fresh){ 0 };
	s->tried = e->round;
	s->marked = s->crossed = false;
	while (i < s->resting_count) {
		struct live_order *o = s->resting[i];

		f.all = f.all || s->crossed; /* a buy before it interrupted a lease and left part of it on sale */
		if (!f.all && !f.lost && o->pub.price < f.price)
			break;
		if (!resting_worth(&f, o) || !try_one(e, o))
			i++;
	}
	s->marked = false;
}

void resting_try_marked(struct engine *e)
{
	struct live_sku *s;

	for (size_t at = 0; (s = rank_next(&e->all[SKUS], &at));) {
		if (!s->marked)
			continue;
		s->marked = false;
		if (s->tried != e->round)
			resting_try(e, s);
	}
}

/* Drops the need before `minute`; true if there was any. */
static bool resting_shorten(struct live_order *o, int64_t minute)
{
	struct span *s = o->spans;
	size_t gone = 0;
	bool lost = false;

	for (size_t i = 0; i < o->pub.rest_count && s[i].start < minute; i++) {
		lost = true;
		s[i].start = minute;
		if (s[i].start >= s[i].end)
			gone++;
	}
	if (gone)
		live_order_set_rest(o, s + gone, o->pub.rest_count - gone);
	return lost;
}

static void lose_minute(struct engine *e, struct live_order *o)
{
	struct live_account *a = world_account(e, o->pub.account);
	int64_t hold;

	o->lost = resting_shorten(o, e->minute + 1);
	o->pub.start = e->minute + 1;
	if (o->lost) {
		o->sku->marked = o->sku->fresh.lost = true;
		hold = sure_mul(o->pub.price, live_order_rest_minutes(o));
		ledger_move(e, o->pub.id, (struct entry[]){
			{ .book = BOOK_HELD, .account = a, .amount = hold - o->pub.hold },
			{ .book = BOOK_AVAILABLE, .account = a, .amount = o->pub.hold - hold },
		}, 2);
		cap_spend(e, o->pub.token, o->pub.month, hold - o->pub.hold);
		o->pub.hold = hold;
	}
	if (!o->pub.rest_count) {
		trade_close(e, o, ORDER_CANCELLED, REASON_EXPIRED);
		return;
	}
	emit_order(e, &o->pub);
	live_order_schedule(e, o);
}

static void sell_due(struct engine *e, struct live_order *t)
{
	const struct order *o = &t->pub;

	if (e->minute >= o->end || (order_block(o) && e->minute >= o->start))
		trade_close(e, t, ORDER_CANCELLED, REASON_EXPIRED);
	else if (!live_order_still(e, t))
		trade_close(e, t, o->filled_minutes ? ORDER_FILLED : ORDER_CANCELLED, 0);
}

void resting_pass_minute(struct engine *e)
{
	struct due *d;

	while ((d = due_first(&e->orders_due)) && d->minute <= e->minute) {
		struct live_order *o = list_entry(d, struct live_order, due);

		if (o->pub.side == SIDE_BUY)
			lose_minute(e, o);
		else
			sell_due(e, o);
	}
}

void resting_stop_buying(struct engine *e, struct live_account *a)
{
	struct live_order *o;

	for (uint64_t after = 0; (o = rank_after(&a->own[ORDERS], after));) {
		after = o->pub.id;
		if (o->pub.side == SIDE_BUY)
			trade_close(e, o, ORDER_CANCELLED, REASON_FUNDS);
	}
}
