/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/lease.h"

#include <stdlib.h>

#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/ledger.h"
#include "marketd/engine/rules/tell.h"
#include "marketd/engine/rules/ticket.h"

struct depot *lease_source(const struct engine *e, const struct tenure *t)
{
	return t->pub.parent ? world_depot(e, world_tenure(e, t->pub.parent)->pub.pool) : t->unit->depot;
}

void lease_schedule(struct engine *e, struct tenure *t)
{
	int64_t when = t->pub.start;

	if (t->begun) {
		when = t->pub.settled + e->policy.settle_minutes;
		when = when < t->pub.end ? when : t->pub.end;
	}
	due_set(&e->leases_due, &t->due, t->pub.id, when);
}

/* One lease of which the parent, if it has one, is split already. */
static struct tenure *split_one(struct engine *e, struct tenure *t, int64_t at, uint64_t parent)
{
	struct lease tail = t->pub;
	struct tenure *made;

	ensure(t->pub.start < at && at < t->pub.end && at > e->minute, "a lease is split outside of itself");
	tail.id = world_id(e);
	tail.parent = parent;
	tail.start = tail.settled = at;
	tail.paid_end = tail.paid_end > at ? tail.paid_end : at;
	made = world_make_tenure(e, &tail);
	lease_schedule(e, made);
	if (!t->pub.sold_on)
		calendar_relabel(t->unit, at, t->pub.end, t->pub.id, tail.id);
	t->pub.end = at;
	t->pub.paid_end = t->pub.paid_end < at ? t->pub.paid_end : at;
	lease_schedule(e, t);
	tell_lease(e, &t->pub, false, false);
	tell_lease(e, &made->pub, false, false);
	return made;
}

struct tenure *lease_split(struct engine *e, struct tenure *t, int64_t at)
{
	struct tenure **chain = NULL, *tail = NULL;
	size_t count = 0, cap = 0;

	if (!t->pub.parent)
		return split_one(e, t, at, 0);
	for (struct tenure *x = t; x; x = world_tenure(e, x->pub.parent)) {
		must_room(chain, count, cap);
		chain[count++] = x;
	}
	while (count-- > 0)
		tail = split_one(e, chain[count], at, tail ? tail->pub.id : 0);
	free(chain);
	return tail;
}

static void notify(struct engine *e, enum notice_kind kind, uint64_t account, const struct lease *l, int64_t amount,
	int64_t minute)
{
	tell_notice(e, &(struct notice){ .kind = kind, .account = account, .subject = l->id, .other = l->host,
		.amount = amount, .minute = minute });
}

void lease_settle(struct engine *e, struct tenure *t, int64_t minute)
{
	struct lease *l = &t->pub;
	struct party *buyer = world_party(e, l->buyer), *seller = world_party(e, l->seller);
	int64_t to = minute < l->end ? minute : l->end, paid = minute < l->paid_end ? minute : l->paid_end;
	int64_t amount, fee, used;
	bool down = t->unit->pub.down;

	if (to <= l->settled)
		return;
	amount = paid > l->settled ? sure_mul(l->price, paid - l->settled) : 0;
	fee = down ? 0 : ledger_fee(amount, e->policy.fee_bps);
	used = l->sold_on ? 0 : to - l->settled;
	ledger_move(e, l->id, (struct entry[]){
		{ .book = BOOK_ESCROW, .party = buyer, .amount = -amount },
		{ .book = BOOK_FEES, .amount = fee },
		{ .book = BOOK_AVAILABLE, .party = down ? buyer : seller, .amount = amount - fee },
		{ .book = BOOK_CAPACITY, .depot = world_depot(e, l->pool), .ware = t->unit->ware, .amount = -used },
		{ .book = BOOK_USED, .ware = t->unit->ware, .amount = used },
	}, 5);
	l->settled = to;
	if (amount)
		notify(e, down ? NOTICE_REFUNDED : NOTICE_SETTLED, down ? l->buyer : l->seller, l, amount - fee, to);
	if (to < l->end)
		tell_lease(e, l, false, false);
}

void lease_end(struct engine *e, struct tenure *t)
{
	tell_lease(e, &t->pub, false, true);
	notify(e, NOTICE_LEASE_ENDED, t->pub.buyer, &t->pub, 0, t->pub.end);
	world_drop_tenure(e, t);
}

/* The capacity of `minutes` goes back to where it came from. */
static struct entry source_entry(const struct engine *e, const struct tenure *t, int64_t minutes)
{
	struct depot *d = lease_source(e, t);

	return (struct entry){ .book = d->pub.kind == POOL_ORIGINATING ? BOOK_ISSUED : BOOK_CAPACITY, .depot = d,
		.ware = t->unit->ware, .amount = minutes };
}

/* Minutes of the host go back to the seller's pool, under the seller's own lease, on sale by `order` or not. */
static void return_minutes(struct engine *e, struct tenure *t, int64_t start, int64_t end, uint64_t parent, uint64_t order)
{
	struct ticket *sell = world_ticket(e, order);
	struct piece p = { .pool = lease_source(e, t)->pub.id, .lease = parent };

	if (sell) {
		p.order = order;
		p.price = sell->pub.price;
		p.block = order_block(&sell->pub);
		ticket_on_sale(e, sell, t->unit, start, end);
	}
	calendar_put(t->unit, start, end, &p);
}

void lease_interrupt(struct engine *e, struct tenure *t, int64_t c)
{
	struct lease *l = &t->pub;
	struct party *buyer = world_party(e, l->buyer);
	struct tenure *parent = world_tenure(e, l->parent);
	int64_t minutes, back;

	ensure(l->interruptible && c >= l->start && c < l->end && c >= world_notice(e), "a lease is interrupted without notice");
	minutes = l->paid_end - c + (l->start < c ? 1 : 0);
	back = sure_mul(l->price, minutes);
	if (parent && c > l->start)
		parent = lease_split(e, parent, c);
	ledger_move(e, l->id, (struct entry[]){
		{ .book = BOOK_ESCROW, .party = buyer, .amount = -back },
		{ .book = BOOK_AVAILABLE, .party = buyer, .amount = back },
		{ .book = BOOK_CAPACITY, .depot = world_depot(e, l->pool), .ware = t->unit->ware, .amount = -(l->end - c) },
		source_entry(e, t, l->end - c),
	}, 4);
	if (parent) {
		parent->pub.sold_on = false;
		tell_lease(e, &parent->pub, false, false);
	}
	return_minutes(e, t, c, l->end, parent ? parent->pub.id : 0, calendar_at(t->unit, c)->order);
	tell_notice(e, &(struct notice){ .kind = NOTICE_INTERRUPTED, .account = l->buyer, .subject = l->id, .other = l->host,
		.amount = back, .minute = c });
	t->unit->ware->marked = t->unit->ware->crossed = true;
	l->end = c;
	l->paid_end = c > l->start ? c - 1 : c;
	if (c <= l->start) {
		tell_lease(e, l, false, true);
		world_drop_tenure(e, t);
		return;
	}
	lease_schedule(e, t);
	tell_lease(e, l, false, false);
}

int64_t lease_refund(const struct engine *e, const struct lease *l, int64_t from)
{
	int64_t start = l->start > from ? l->start : from, unused;

	unused = l->paid_end > start ? sure_mul(l->price, l->paid_end - start) : 0;
	return l->interruptible ? unused : ledger_share(unused, e->policy.release_bps);
}

int64_t lease_give_back(struct engine *e, struct tenure *t)
{
	struct lease *l = &t->pub;
	struct party *buyer = world_party(e, l->buyer), *seller = world_party(e, l->seller);
	struct tenure *parent = world_tenure(e, l->parent);
	struct ticket *sell = world_ticket(e, l->sell_order);
	int64_t unused = sure_mul(l->price, l->paid_end - l->start), back = lease_refund(e, l, l->start);
	int64_t fee = ledger_fee(unused - back, e->policy.fee_bps);

	ledger_move(e, l->id, (struct entry[]){
		{ .book = BOOK_ESCROW, .party = buyer, .amount = -unused },
		{ .book = BOOK_AVAILABLE, .party = buyer, .amount = back },
		{ .book = BOOK_FEES, .amount = fee },
		{ .book = BOOK_AVAILABLE, .party = seller, .amount = unused - back - fee },
		{ .book = BOOK_CAPACITY, .depot = world_depot(e, l->pool), .ware = t->unit->ware, .amount = l->start - l->end },
		source_entry(e, t, l->end - l->start),
	}, 6);
	if (parent) {
		parent->pub.sold_on = false;
		tell_lease(e, &parent->pub, false, false);
	}
	return_minutes(e, t, l->start, l->end, l->parent, sell && !order_block(&sell->pub) ? l->sell_order : 0);
	if (sell && order_block(&sell->pub))
		ticket_touch(e, sell); /* of which less is on sale, where the lease was interruptible */
	tell_notice(e, &(struct notice){ .kind = NOTICE_RELEASED, .account = l->buyer, .subject = l->id, .other = l->host,
		.amount = back, .minute = l->start });
	if (unused - back - fee)
		notify(e, NOTICE_SETTLED, l->seller, l, unused - back - fee, l->start);
	tell_lease(e, l, false, true);
	world_drop_tenure(e, t);
	return back;
}
