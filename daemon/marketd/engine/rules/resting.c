/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/resting.h"

#include "market/reason.h"
#include "marketd/engine/rules/ledger.h"
#include "marketd/engine/rules/match.h"
#include "marketd/engine/rules/tell.h"
#include "marketd/engine/rules/ticket.h"
#include "marketd/engine/rules/trade.h"

struct span resting_whole(const struct order *o)
{
	return (struct span){ .start = o->start, .end = o->end, .nodes = o->nodes };
}

/* Can what came on sale since the last pass be of use to it? All else was tried then and did not fill. */
static bool worth(const struct fresh *f, const struct ticket *t)
{
	if (f->all || (f->lost && t->lost && !(t->pub.flags & ORDER_PARTIAL)))
		return true;
	return f->start < f->end && t->pub.price >= f->price && t->pub.start < f->end && t->pub.end > f->start;
}

/* True where it is closed. */
static bool try_one(struct engine *e, struct ticket *t)
{
	struct want w;

	want_of(&w, t, t->pub.id);
	match_find(e, &w, &e->plan);
	if (!e->plan.count)
		return false;
	trade_do(e, t, &e->plan, true);
	ticket_set_rest(t, e->plan.rest, e->plan.rest_count);
	if (!t->pub.rest_count) {
		trade_close(e, t, ORDER_FILLED, 0);
		return true;
	}
	t->pub.status = ORDER_PARTIALLY_FILLED;
	tell_order(e, &t->pub);
	return false;
}

void resting_try(struct engine *e, struct ware *w)
{
	struct fresh f = w->fresh;
	size_t i = 0;

	f.all = f.all || w->crossed;
	w->fresh = (struct fresh){ 0 };
	w->tried = e->round;
	w->marked = w->crossed = false;
	while (i < w->resting_count) {
		struct ticket *t = w->resting[i];

		f.all = f.all || w->crossed; /* one before it interrupted a lease, and left something over */
		if (!f.all && !f.lost && t->pub.price < f.price)
			break;
		if (!worth(&f, t) || !try_one(e, t))
			i++;
	}
	w->marked = false;
}

void resting_try_marked(struct engine *e)
{
	struct ware *w;

	for (size_t at = 0; (w = rank_next(&e->all[SKUS], &at));) {
		if (!w->marked)
			continue;
		w->marked = false;
		if (w->tried != e->round)
			resting_try(e, w);
	}
}

/* What of the need is before `minute` is gone; true where something was. */
static bool shorten(struct ticket *t, int64_t minute)
{
	struct span *s = t->spans;
	size_t gone = 0;
	bool lost = false;

	for (size_t i = 0; i < t->pub.rest_count && s[i].start < minute; i++) {
		lost = true;
		s[i].start = minute;
		if (s[i].start >= s[i].end)
			gone++;
	}
	if (gone)
		ticket_set_rest(t, s + gone, t->pub.rest_count - gone);
	return lost;
}

static void lose_minute(struct engine *e, struct ticket *t)
{
	struct party *p = world_party(e, t->pub.account);
	int64_t hold;

	t->lost = shorten(t, e->minute + 1);
	t->pub.start = e->minute + 1;
	if (t->lost) {
		t->ware->marked = t->ware->fresh.lost = true;
		hold = sure_mul(t->pub.price, ticket_rest_minutes(t));
		ledger_move(e, t->pub.id, (struct entry[]){
			{ .book = BOOK_HELD, .party = p, .amount = hold - t->pub.hold },
			{ .book = BOOK_AVAILABLE, .party = p, .amount = t->pub.hold - hold },
		}, 2);
		t->pub.hold = hold;
	}
	if (!t->pub.rest_count) {
		trade_close(e, t, ORDER_CANCELLED, REASON_EXPIRED);
		return;
	}
	tell_order(e, &t->pub);
	ticket_schedule(e, t);
}

static void sell_due(struct engine *e, struct ticket *t)
{
	const struct order *o = &t->pub;

	if (e->minute >= o->end || (order_block(o) && e->minute >= o->start))
		trade_close(e, t, ORDER_CANCELLED, REASON_EXPIRED);
	else if (!ticket_still(e, t))
		trade_close(e, t, o->filled_minutes ? ORDER_FILLED : ORDER_CANCELLED, 0);
}

void resting_pass_minute(struct engine *e)
{
	struct due *d;

	while ((d = due_first(&e->orders_due)) && d->minute <= e->minute) {
		struct ticket *t = list_entry(d, struct ticket, due);

		if (t->pub.side == SIDE_BUY)
			lose_minute(e, t);
		else
			sell_due(e, t);
	}
}
