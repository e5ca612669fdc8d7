/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/lease.h"

#include <stdlib.h>

#include "marketd/engine/live/calendar.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/money/income.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/rules/live_order.h"

struct live_pool *lease_source(const struct engine *e, const struct live_lease *l)
{
	return l->pub.parent ? world_pool(e, world_lease(e, l->pub.parent)->pub.pool) : l->host->pool;
}

void lease_schedule(struct engine *e, struct live_lease *l)
{
	int64_t when = l->pub.start;

	if (l->begun) {
		when = l->pub.settled + e->policy.settle_minutes;
		when = when < l->pub.end ? when : l->pub.end;
	}
	due_set(&e->leases_due, &l->due, l->pub.id, when);
}

/* Splits one lease; its parent, if it has one, is already split. */
static struct live_lease *split_one(struct engine *e, struct live_lease *l, int64_t at, uint64_t parent)
{
	struct lease tail = l->pub;
	struct live_lease *made;

	ensure(l->pub.start < at && at < l->pub.end && at > e->minute, "a lease is split outside its minutes");
	tail.id = world_id(e);
	tail.parent = parent;
	tail.start = tail.settled = at;
	tail.paid_end = tail.paid_end > at ? tail.paid_end : at;
	made = world_make_lease(e, &tail);
	lease_schedule(e, made);
	if (!l->pub.sold_on)
		calendar_relabel(l->host, at, l->pub.end, l->pub.id, tail.id);
	l->pub.end = at;
	l->pub.paid_end = l->pub.paid_end < at ? l->pub.paid_end : at;
	lease_schedule(e, l);
	emit_lease(e, &l->pub, false, false);
	emit_lease(e, &made->pub, false, false);
	return made;
}

struct live_lease *lease_split(struct engine *e, struct live_lease *l, int64_t at)
{
	struct live_lease **chain = NULL, *tail = NULL;
	size_t count = 0, cap = 0;

	if (!l->pub.parent)
		return split_one(e, l, at, 0);
	for (struct live_lease *x = l; x; x = world_lease(e, x->pub.parent)) {
		must_room(chain, count, cap);
		chain[count++] = x;
	}
	while (count-- > 0)
		tail = split_one(e, chain[count], at, tail ? tail->pub.id : 0);
	free(chain);
	return tail;
}

static void lease_notify(struct engine *e, enum notice_kind kind, uint64_t account, const struct lease *l,
	int64_t amount, int64_t minute)
{
	emit_notice(e, &(struct notice){ .kind = kind, .account = account, .subject = l->id, .other = l->host,
		.amount = amount, .minute = minute });
}

bool lease_unproven(const struct engine *e, const struct lease *l)
{
	const struct host *h = &world_host(e, l->host)->pub;

	return l->proof && h->proof_until <= l->since; /* 0 where there is no proof, or it failed */
}

/* What so many minutes of a lease cost: its buyer, and a grant. */
struct lease_money {
	int64_t own, granted;
};

static struct lease_money lease_money(const struct lease *l, int64_t minutes)
{
	return (struct lease_money){ sure_mul(l->price - l->granted, minutes), sure_mul(l->granted, minutes) };
}

/* So much of it comes back to those who paid. */
static void lease_unspend(struct engine *e, const struct lease *l, struct lease_money back)
{
	grant_spend(e, l->grant, -back.granted);
	cap_spend(e, l->token, l->month, -back.own);
}

/* Neither what a sponsor pays to itself is income, nor what resold time brings. */
static void lease_earned(struct engine *e, const struct lease *l, struct live_account *seller,
	const struct live_account *sponsor, struct lease_money m, int64_t fee)
{
	bool own = sponsor && sponsor->pub.beneficiary == seller->pub.beneficiary;

	if (!l->parent)
		income_earn(e, seller, m.own + (own ? 0 : m.granted) - fee);
}

void lease_settle(struct engine *e, struct live_lease *t, int64_t minute)
{
	struct lease *l = &t->pub;
	struct live_account *buyer = world_account(e, l->buyer), *seller = world_account(e, l->seller);
	struct live_account *sponsor = grant_sponsor(e, l->grant);
	int64_t to = minute < l->end ? minute : l->end, paid = minute < l->paid_end ? minute : l->paid_end;
	struct lease_money m;
	int64_t fee, used;
	bool free_of_charge = t->host->pub.down || lease_unproven(e, l);

	if (to <= l->settled)
		return;
	m = lease_money(l, paid > l->settled ? paid - l->settled : 0);
	fee = free_of_charge ? 0 : ledger_fee(m.own + m.granted, e->policy.fee_bps);
	used = l->sold_on ? 0 : to - l->settled;
	ledger_move(e, l->id,
		(struct entry[]){
			{ .book = BOOK_ESCROW, .account = buyer, .amount = -m.own },
			{ .book = BOOK_ESCROW, .account = sponsor, .amount = -m.granted },
			{ .book = BOOK_FEES, .amount = fee },
			{ .book = BOOK_AVAILABLE,
				.account = free_of_charge ? buyer : seller,
				.amount = free_of_charge ? m.own : m.own + m.granted - fee },
			{ .book = BOOK_AVAILABLE, .account = sponsor, .amount = free_of_charge ? m.granted : 0 },
			{ .book = BOOK_CAPACITY, .pool = world_pool(e, l->pool), .sku = t->host->sku, .amount = -used },
			{ .book = BOOK_USED, .sku = t->host->sku, .amount = used },
		},
		7);
	l->settled = to;
	if (free_of_charge)
		lease_unspend(e, l, m);
	else
		lease_earned(e, l, seller, sponsor, m, fee);
	if (m.own + m.granted)
		lease_notify(e, free_of_charge ? NOTICE_REFUNDED : NOTICE_SETTLED,
			free_of_charge ? l->buyer : l->seller, l, free_of_charge ? m.own : m.own + m.granted - fee, to);
	if (e->minute < l->end) /* else it is over now */
		emit_lease(e, l, false, false);
}

void lease_end(struct engine *e, struct live_lease *l)
{
	emit_lease(e, &l->pub, false, true);
	lease_notify(e, NOTICE_LEASE_ENDED, l->pub.buyer, &l->pub, 0, l->pub.end);
	world_drop_lease(e, l);
}

/* The entry that returns the capacity of `minutes` to where it came from. */
static struct entry source_entry(const struct engine *e, const struct live_lease *l, int64_t minutes)
{
	struct live_pool *p = lease_source(e, l);

	return (struct entry){ .book = p->pub.kind == POOL_ORIGINATING ? BOOK_ISSUED : BOOK_CAPACITY, .pool = p,
		.sku = l->host->sku, .amount = minutes };
}

/*
 * Returns minutes of the host to the seller's pool, under its own lease; on sale again if `order` is open, up to where
 * the host's owner sells it and for no less than its floor.
 */
static void return_minutes(struct engine *e, struct live_lease *l, int64_t start, int64_t end, uint64_t parent,
	uint64_t order)
{
	struct live_order *sell = world_order(e, order);
	struct piece p = { .pool = lease_source(e, l)->pub.id, .lease = parent };
	int64_t until;

	if (sell && !floor_allows(l->host, sell->pub.pool, sell->pub.price))
		sell = NULL;
	until = sell && sell->pool == l->host->pool ? live_host_sells_until(l->host) : end;
	if (sell && until < end) {
		calendar_put(l->host, until > start ? until : start, end, &p);
		end = until;
	}
	if (start >= end)
		return;
	if (sell) {
		p.order = order;
		p.price = sell->pub.price;
		p.place = sell->pub.place;
		p.block = order_block(&sell->pub);
		live_order_on_sale(e, sell, l->host, start, end);
	}
	calendar_put(l->host, start, end, &p);
}

void lease_interrupt(struct engine *e, struct live_lease *t, int64_t c)
{
	struct lease *l = &t->pub;
	struct live_account *buyer = world_account(e, l->buyer), *sponsor = grant_sponsor(e, l->grant);
	struct live_lease *parent = world_lease(e, l->parent);
	struct lease_money back;

	ensure(l->interruptible && c >= l->start && c < l->end && c >= world_notice(e),
		"a lease is interrupted without notice");
	back = lease_money(l, l->paid_end - c + (l->start < c ? 1 : 0));
	if (parent && c > l->start)
		parent = lease_split(e, parent, c);
	lease_unspend(e, l, back);
	ledger_move(e, l->id,
		(struct entry[]){
			{ .book = BOOK_ESCROW, .account = buyer, .amount = -back.own },
			{ .book = BOOK_AVAILABLE, .account = buyer, .amount = back.own },
			{ .book = BOOK_ESCROW, .account = sponsor, .amount = -back.granted },
			{ .book = BOOK_AVAILABLE, .account = sponsor, .amount = back.granted },
			{ .book = BOOK_CAPACITY,
				.pool = world_pool(e, l->pool),
				.sku = t->host->sku,
				.amount = -(l->end - c) },
			source_entry(e, t, l->end - c),
		},
		6);
	if (parent) {
		parent->pub.sold_on = false;
		emit_lease(e, &parent->pub, false, false);
	}
	return_minutes(e, t, c, l->end, parent ? parent->pub.id : 0, calendar_at(t->host, c)->order);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_INTERRUPTED,
			.account = l->buyer,
			.subject = l->id,
			.other = l->host,
			.amount = back.own,
			.minute = c });
	t->host->sku->marked = t->host->sku->crossed = true;
	l->end = c;
	l->paid_end = c > l->start ? c - 1 : c;
	if (c <= l->start) {
		emit_lease(e, l, false, true);
		world_drop_lease(e, t);
		return;
	}
	lease_schedule(e, t);
	emit_lease(e, l, false, false);
}

/* Minutes of it from then on that are paid and not over. */
static int64_t lease_left(const struct lease *l, int64_t from)
{
	int64_t start = l->start > from ? l->start : from;

	return l->paid_end > start ? l->paid_end - start : 0;
}

int64_t lease_unused(const struct lease *l, int64_t from)
{
	return lease_money(l, lease_left(l, from)).own;
}

/* How much of what was paid for unused time comes back. */
static int64_t lease_back(const struct engine *e, const struct lease *l, int64_t unused)
{
	if (l->interruptible || lease_unproven(e, l))
		return unused;
	if (l->proof && l->since > e->minute && world_host(e, l->host)->pub.proof_until <= e->minute)
		return unused;
	return ledger_share(unused, e->policy.release_bps);
}

int64_t lease_refund(const struct engine *e, const struct lease *l, int64_t from)
{
	return lease_back(e, l, lease_unused(l, from));
}

/* Returns a whole lease to its seller: `back` to those who paid; its buyer hears `told`; `order` sells its minutes. */
static void lease_return(struct engine *e, struct live_lease *t, struct lease_money back, uint64_t order,
	enum notice_kind kind, uint64_t told)
{
	struct lease *l = &t->pub;
	struct live_account *buyer = world_account(e, l->buyer), *seller = world_account(e, l->seller);
	struct live_account *sponsor = grant_sponsor(e, l->grant);
	struct live_lease *parent = world_lease(e, l->parent);
	struct lease_money unused = lease_money(l, l->paid_end - l->start);
	int64_t kept = unused.own - back.own + unused.granted - back.granted;
	int64_t fee = ledger_fee(kept, e->policy.fee_bps);

	lease_unspend(e, l, back);
	ledger_move(e, l->id,
		(struct entry[]){
			{ .book = BOOK_ESCROW, .account = buyer, .amount = -unused.own },
			{ .book = BOOK_AVAILABLE, .account = buyer, .amount = back.own },
			{ .book = BOOK_ESCROW, .account = sponsor, .amount = -unused.granted },
			{ .book = BOOK_AVAILABLE, .account = sponsor, .amount = back.granted },
			{ .book = BOOK_FEES, .amount = fee },
			{ .book = BOOK_AVAILABLE, .account = seller, .amount = kept - fee },
			{ .book = BOOK_CAPACITY,
				.pool = world_pool(e, l->pool),
				.sku = t->host->sku,
				.amount = l->start - l->end },
			source_entry(e, t, l->end - l->start),
		},
		8);
	lease_earned(e, l, seller, sponsor,
		(struct lease_money){ unused.own - back.own, unused.granted - back.granted }, fee);
	if (parent) {
		parent->pub.sold_on = false;
		emit_lease(e, &parent->pub, false, false);
	}
	return_minutes(e, t, l->start, l->end, l->parent, order);
	emit_notice(e,
		&(struct notice){ .kind = kind,
			.account = l->buyer,
			.subject = told,
			.other = l->host,
			.amount = back.own,
			.minute = l->start });
	if (kept - fee)
		lease_notify(e, NOTICE_SETTLED, l->seller, l, kept - fee, l->start);
	emit_lease(e, l, false, true);
	world_drop_lease(e, t);
}

void lease_give_back(struct engine *e, struct live_lease *t)
{
	struct lease *l = &t->pub;
	struct live_order *sell = world_order(e, l->sell_order);
	bool block = sell && order_block(&sell->pub);
	struct lease_money back = lease_money(l, l->paid_end - l->start);

	back.own = lease_back(e, l, back.own);
	back.granted = lease_back(e, l, back.granted);
	lease_return(e, t, back, sell && !block ? l->sell_order : 0, NOTICE_RELEASED, l->id);
	if (block)
		live_order_touch(e, sell); /* an interruptible lease was on sale: now less is */
}

void lease_shorten(struct engine *e, struct live_lease *t, uint64_t told)
{
	lease_return(e, t, lease_money(&t->pub, t->pub.paid_end - t->pub.start), 0, NOTICE_SHORTENED, told);
}
