/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks every invariant over the whole state: money and capacity add up, each minute of a host has
 * one owner with a lease for it, orders hold what they may cost. Slow; changes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "marketd/engine/live/calendar.h"
#include "marketd/engine/engine.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/money/volume.h"
#include "marketd/engine/live/world.h"

/* Sums that the audit counts again for an account, for a SKU in a pool, for a lease. */
struct tally {
	int64_t held, escrow, paid;
	struct asked asked;
};

struct audit {
	const struct engine *e;
	struct fail *why;
	struct idmap accounts;     /* struct tally */
	struct idmap leases;       /* struct lease_tally */
	struct idmap grants;       /* int64_t: what leases still cost each */
};

struct lease_tally {
	int64_t minutes;           /* of pieces from `minute` on */
	int children;
};

#define broken(a, ...) fail_set((a)->why, -EINVAL, __VA_ARGS__)

static bool audit_add(int64_t *sum, int64_t more)
{
	return !__builtin_add_overflow(*sum, more, sum);
}

static bool add_product(int64_t *sum, int64_t a, int64_t b)
{
	int64_t product;

	return !__builtin_mul_overflow(a, b, &product) && audit_add(sum, product);
}

static int check_orders(struct audit *a)
{
	const struct live_order *t;

	for (size_t at = 0; (t = rank_next(&a->e->all[ORDERS], &at));) {
		const struct order *o = &t->pub;
		struct tally *owner = idmap_get(&a->accounts, o->account);
		int64_t hold = 0;

		if ((o->status != ORDER_RESTING && o->status != ORDER_PARTIALLY_FILLED) || o->filled_minutes < 0 ||
			o->filled_cost < 0)
			return broken(a, "open order %" PRIu64 " has a status that no open order has", o->id);
		if (o->end <= a->e->minute || ((o->side == SIDE_BUY || order_block(o)) && o->start <= a->e->minute))
			return broken(a, "order %" PRIu64 " is open, but its window is over", o->id);
		if (o->side == SIDE_BUY &&
			(!(o->flags & ORDER_STANDING) || (o->flags & ORDER_EXTEND) || !o->rest_count))
			return broken(a, "buy %" PRIu64 " rests without a reason", o->id);
		if (o->side == SIDE_SELL && (t->last <= a->e->minute || t->last > o->end || o->hold))
			return broken(a, "sell %" PRIu64 " is open and has nothing on sale", o->id);
		if (!(o->flags & ORDER_PARTIAL) && o->side == SIDE_BUY &&
			(o->rest_count != 1 || o->rest[0].nodes != o->nodes || o->rest[0].start != o->start ||
				o->rest[0].end != o->end))
			return broken(a, "order %" PRIu64 " is all or nothing, and filled in part", o->id);
		for (size_t i = 0; i < o->rest_count; i++)
			if (!add_product(&hold, o->price * o->rest[i].nodes, o->rest[i].end - o->rest[i].start))
				return broken(a, "order %" PRIu64 " holds more than can be counted", o->id);
		if (o->side == SIDE_BUY && hold != o->hold)
			return broken(a, "order %" PRIu64 " does not hold its worst case", o->id);
		if (!audit_add(&owner->held, o->hold))
			return broken(a, "account %" PRIu64 " holds more than can be counted", o->account);
	}
	return 0;
}

/* The parent covers the same minutes of the same host, and its buyer is this lease's seller. */
static int check_parent(struct audit *a, const struct live_lease *t)
{
	const struct lease *l = &t->pub;
	const struct live_lease *parent = world_lease(a->e, l->parent);
	struct lease_tally *of = idmap_get(&a->leases, l->parent);

	if (!l->parent)
		return l->seller == t->host->pub.account
			? 0
			: broken(a, "lease %" PRIu64 " was not sold by the host's owner", l->id);
	if (!parent || l->parent >= l->id || parent->pub.start != l->start || parent->pub.end != l->end ||
		parent->pub.host != l->host || parent->pub.buyer != l->seller || !parent->pub.sold_on ||
		parent->pub.interruptible || parent->pub.paid_end != parent->pub.end || of->children++)
		return broken(a, "lease %" PRIu64 " has a parent that does not fit it", l->id);
	return 0;
}

/* Its sponsor's part is in the sponsor's escrow, and can come back to the grant. */
static bool check_granted(struct audit *a, const struct lease *l)
{
	struct tally *sponsor = idmap_get(&a->accounts, grant_sponsor(a->e, l->grant)->pub.id);
	int64_t *open = idmap_get(&a->grants, l->grant);

	return add_product(&sponsor->escrow, l->granted, l->paid_end - l->settled) &&
		add_product(open, l->granted, l->paid_end - l->settled);
}

static int check_grants(struct audit *a)
{
	const struct grant *g;

	for (size_t at = 0; (g = rank_next(&a->e->all[GRANTS], &at));) {
		const int64_t *open = idmap_get(&a->grants, g->id);

		if (*open > g->spent || g->spent > g->max)
			return broken(a, "grant %" PRIu64 " did not spend what its leases still cost it", g->id);
	}
	return 0;
}

static int check_leases(struct audit *a)
{
	const struct live_lease *t;

	for (size_t at = 0; (t = rank_next(&a->e->all[LEASES], &at));) {
		const struct lease *l = &t->pub;
		struct tally *buyer = idmap_get(&a->accounts, l->buyer);
		/* What the market held up is given back with the minute that it ends in. */
		int64_t most = l->start > a->e->minute ? l->start : a->e->minute + 1;
		int rc = check_parent(a, t);

		if (rc)
			return rc;
		if (l->settled > most || l->paid_end < l->end - 1 || (!l->interruptible && l->paid_end != l->end) ||
			(l->interruptible && l->sold_on) || world_pool(a->e, l->pool)->pub.kind != POOL_MARKET)
			return broken(a, "lease %" PRIu64 " has values that no lease can have", l->id);
		if (world_account(a->e, l->buyer)->pub.beneficiary == world_account(a->e, l->seller)->pub.beneficiary)
			return broken(a, "lease %" PRIu64 " has one beneficiary on both sides", l->id);
		if (!grant_fits(a->e, l))
			return broken(a, "lease %" PRIu64 " is paid by a grant that does not fit it", l->id);
		if (l->paid_end <= l->settled)
			continue;
		if (!add_product(&buyer->escrow, l->price - l->granted, l->paid_end - l->settled) ||
			(l->grant && !check_granted(a, l)))
			return broken(a, "account %" PRIu64 " has more in escrow than can be counted", l->buyer);
	}
	return 0;
}

static int check_piece(struct audit *a, const struct live_host *h, const struct piece *p)
{
	const struct live_lease *l = world_lease(a->e, p->lease);
	const struct live_order *sell = world_order(a->e, p->order);
	int64_t start = p->start > a->e->minute ? p->start : a->e->minute;
	struct lease_tally *of = idmap_get(&a->leases, p->lease);
	const struct live_pool *d = world_pool(a->e, p->pool);

	if (l &&
		(l->pub.host != h->pub.id || l->pub.pool != p->pool || l->pub.start > start || l->pub.end < p->end ||
			l->pub.sold_on))
		return broken(a, "minute %" PRId64 " of host %" PRIu64 " has a pool that is not its lease's", start,
			h->pub.id);
	if (p->granted != (l && l->pub.grant) || (l && p->interruptible != l->pub.interruptible))
		return broken(a, "minute %" PRId64 " of host %" PRIu64 " names no known lease", start, h->pub.id);
	if (!l && (p->lease || p->pool != h->pub.pool))
		return broken(a, "minute %" PRId64 " of host %" PRIu64 " has a pool without a lease", start, h->pub.id);
	if (l)
		of->minutes += p->end - start;
	if (d->pub.deleted)
		return broken(a, "minute %" PRId64 " of host %" PRIu64 " has a deleted pool", start, h->pub.id);
	if (!p->order)
		return 0;
	if (!sell || sell->pub.side != SIDE_SELL || sell->pub.sku != h->pub.sku || sell->pub.start > start ||
		sell->pub.end < p->end || sell->pub.price != p->price || sell->pub.place != p->place ||
		p->block != order_block(&sell->pub) || sell->last < p->end)
		return broken(a, "minute %" PRId64 " of host %" PRIu64 " is on sale by an order that does not fit",
			start, h->pub.id);
	if (l && l->pub.interruptible ? l->pub.sell_order != p->order : sell->pub.pool != p->pool)
		return broken(a, "minute %" PRId64 " of host %" PRIu64 " is on sale by somebody who does not own it",
			start, h->pub.id);
	for (size_t i = 0; i < sell->host_count; i++)
		if (sell->hosts[i] == h->pub.id)
			return 0;
	return broken(a, "sell %" PRIu64 " does not know host %" PRIu64, p->order, h->pub.id);
}

static bool sells_drained(const struct engine *e, const struct live_host *h, const struct piece *p)
{
	const struct live_order *sell = world_order(e, p->order);

	return sell && sell->pool == h->pool && p->end > live_host_sells_until(h);
}

static bool sells_cheap(const struct engine *e, const struct live_host *h, const struct piece *p)
{
	const struct live_order *sell = world_order(e, p->order);

	return sell && sell->pool == h->pool && p->price < h->pub.floor;
}

static int audit_check_hosts(struct audit *a)
{
	const struct live_host *h;

	for (size_t at = 0; (h = rank_next(&a->e->all[HOSTS], &at));) {
		size_t first = calendar_find(h, a->e->minute);
		int64_t next = h->pub.start > a->e->minute ? h->pub.start : a->e->minute;

		for (size_t i = first; i < h->pub.piece_count; i++) {
			const struct piece *p = &h->pub.pieces[i];
			int rc = check_piece(a, h, p);

			if (rc)
				return rc;
			if ((i > first ? p->start != next : p->start > next) || p->start >= p->end)
				return broken(a, "the minutes of host %" PRIu64 " have a gap at %" PRId64, h->pub.id,
					next);
			if (p->taken && (p->pool != h->pub.pool || p->lease || p->order))
				return broken(a, "host %" PRIu64 " sells what was taken from a buyer, at %" PRId64,
					h->pub.id, next);
			if (i > first && p[-1].pool == p->pool && p[-1].lease == p->lease && p[-1].order == p->order &&
				p[-1].taken == p->taken)
				return broken(a, "like pieces of host %" PRIu64 " are not joined at %" PRId64,
					h->pub.id, next);
			if (sells_cheap(a->e, h, p))
				return broken(a, "host %" PRIu64 " is on sale below its floor", h->pub.id);
			if (sells_drained(a->e, h, p))
				return broken(a, "host %" PRIu64 " is on sale after its owner has drained it",
					h->pub.id);
			next = p->end;
		}
		if (!h->pub.retired && h->pub.end > a->e->minute && next != h->pub.end)
			return broken(a, "the minutes of host %" PRIu64 " end too early", h->pub.id);
	}
	return 0;
}

/* A lease has all its minutes, or has sold all of them on. */
static int check_minutes(struct audit *a)
{
	const struct live_lease *t;

	for (size_t at = 0; (t = rank_next(&a->e->all[LEASES], &at));) {
		const struct lease *l = &t->pub;
		const struct lease_tally *of = idmap_get(&a->leases, l->id);
		int64_t start = l->start > a->e->minute ? l->start : a->e->minute;

		if (l->sold_on ? of->minutes || of->children != 1 : of->children || of->minutes != l->end - start)
			return broken(a, "lease %" PRIu64 " does not have the minutes that it is for", l->id);
	}
	return 0;
}

/* What is asked for is held, what was sent is in the market's book, and an account was paid out all of both. */
static int check_payouts(struct audit *a)
{
	const struct live_account *x;
	const struct payout *p;
	int64_t sent = 0;

	for (size_t at = 0; (p = rank_next(&a->e->all[PAYOUTS], &at));) {
		struct tally *t = idmap_get(&a->accounts, p->account);

		if (!audit_add(&t->paid, p->micros - p->back) ||
			!audit_add(p->state == PAYOUT_ASKED ? &t->held : &sent, p->micros - p->back))
			return broken(a, "account %" PRIu64 " is paid more than can be counted", p->account);
		t->asked.count += p->state == PAYOUT_ASKED;
		t->asked.micros += p->state == PAYOUT_ASKED ? p->micros : 0;
	}
	for (size_t at = 0; (x = rank_next(&a->e->all[ACCOUNTS], &at));) {
		const struct tally *t = idmap_get(&a->accounts, x->pub.id);

		if (t->paid != x->pub.income.paid)
			return broken(a, "account %" PRIu64 " is paid out something else than its payouts", x->pub.id);
		if (t->asked.count != x->pub.asked.count || t->asked.micros != x->pub.asked.micros)
			return broken(a, "account %" PRIu64 " asked for other payouts than it has", x->pub.id);
	}
	return sent == a->e->paid ? 0 : broken(a, "what was paid out is not in the market's book");
}

static int check_money(struct audit *a)
{
	int64_t sum = a->e->issued;
	const struct live_account *own;
	const struct account *x;

	if (a->e->fees < 0 || !audit_add(&sum, a->e->fees) || !audit_add(&sum, a->e->paid))
		return broken(a, "the market's fees are below 0");
	for (size_t at = 0; (own = rank_next(&a->e->all[ACCOUNTS], &at));) {
		const struct tally *t = idmap_get(&a->accounts, own->pub.id);

		x = &own->pub;
		if (x->available < x->floor && !rank_live(&own->own[PAYMENTS]) && !rank_live(&own->own[PAYOUTS]))
			return broken(a, "account %" PRIu64 " is below its floor", x->id);
		if (x->held != t->held)
			return broken(a, "account %" PRIu64 " does not hold what its orders hold", x->id);
		if (x->escrow != t->escrow)
			return broken(a, "account %" PRIu64 " does not have in escrow what its leases still cost",
				x->id);
		if (!audit_add(&sum, x->available) || !audit_add(&sum, x->held) || !audit_add(&sum, x->escrow))
			return broken(a, "there is more money than can be counted");
	}
	return sum == 0 ? 0 : broken(a, "all books of money come to %" PRId64 " and not to 0", sum);
}

/* A pool's capacity is what its leases have left. */
static int check_pool(struct audit *a, const struct live_pool *p, int64_t used[], const struct rank *skus)
{
	const struct live_lease *l;

	for (size_t i = 0; i < p->stock_count; i++) {
		const struct stock *s = &p->stocks[i];
		int64_t sum = 0;

		for (size_t at = 0; (l = rank_next(&p->owner->own[LEASES], &at));)
			if (l->pub.pool == p->pub.id && l->pub.sku == s->sku && !l->pub.sold_on)
				sum += l->pub.end - l->pub.settled;
		if (s->capacity != sum || s->issued > 0 || (s->issued && p->pub.kind != POOL_ORIGINATING))
			return broken(a, "pool %" PRIu64 " does not have the capacity that its leases have", p->pub.id);
		for (size_t k = 0; k < skus->count; k++)
			if (skus->rows[k].id == s->sku &&
				(!audit_add(&used[k], s->capacity) || !audit_add(&used[k], s->issued)))
				return broken(a, "there is more capacity than can be counted");
	}
	return 0;
}

static int check_capacity(struct audit *a)
{
	const struct rank *skus = &a->e->all[SKUS];
	int64_t *sum = must_zalloc(skus->count * sizeof *sum);
	const struct live_pool *p;
	int rc = 0;

	for (size_t k = 0; k < skus->count; k++)
		sum[k] = ((const struct live_sku *)skus->rows[k].thing)->used;
	for (size_t at = 0; rc == 0 && (p = rank_next(&a->e->all[POOLS], &at));)
		rc = check_pool(a, p, sum, skus);
	for (size_t k = 0; rc == 0 && k < skus->count; k++)
		if (sum[k])
			rc = broken(a, "all books of SKU %" PRIu64 " come to %" PRId64 " and not to 0",
				skus->rows[k].id, sum[k]);
	free(sum);
	return rc;
}

static int check_instances(struct audit *a)
{
	const struct instance *x;

	for (size_t at = 0; (x = rank_next(&a->e->all[INSTANCES], &at));) {
		const struct live_host *h = world_host(a->e, x->host);

		if (x->host &&
			(!h || h->instance != x->id || h->pub.sku != x->sku ||
				!calendar_owned(h, x->pool, a->e->minute)))
			return broken(a, "instance %" PRIu64 " is on a host that its pool does not have", x->id);
		if (x->host && x->status != INSTANCE_AWAITING && x->status != INSTANCE_RUNNING)
			return broken(a, "instance %" PRIu64 " is over, and on a host", x->id);
	}
	return 0;
}

static int check_free(struct audit *a, const struct live_pool *p, const struct stock *s)
{
	for (size_t i = 0; i < p->holding_count && p->holdings[i].host < s->free_from; i++) {
		const struct live_host *h = p->holdings[i].live;

		if (h->pub.sku == s->sku && !h->instance && calendar_owned(h, p->pub.id, a->e->minute))
			return broken(a, "pool %" PRIu64 " does not know that host %" PRIu64 " is free", p->pub.id,
				h->pub.id);
	}
	return 0;
}

static int check_counted(struct audit *a, const struct live_pool *p, const struct stock *s)
{
	const struct instance *x;
	int32_t live = 0;

	for (size_t at = 0; (x = rank_next(&p->instances, &at));)
		live += x->sku == s->sku;
	return live == s->instances
		? 0
		: broken(a, "pool %" PRIu64 " counts %d instances and has %d", p->pub.id, s->instances, live);
}

static int check_waiting(struct audit *a)
{
	const struct live_pool *p;
	const struct instance *x;
	size_t sum = 0;
	int rc = 0;

	for (size_t at = 0; (x = rank_next(&a->e->all[INSTANCES], &at));)
		sum += instance_waits(x);
	for (size_t at = 0; (p = rank_next(&a->e->all[POOLS], &at));)
		for (size_t i = 0; rc == 0 && i < p->stock_count; i++) {
			const struct stock *s = &p->stocks[i];

			for (size_t n = 0; n < s->waiting_count; n++) {
				x = s->waiting[n];
				if (!instance_waits(x) || x->pool != p->pub.id || x->sku != s->sku ||
					world_waiting_before(p, x) != s->waiting_count - 1 - n)
					return broken(a, "instance %" PRIu64 " waits in the wrong place", x->id);
			}
			sum -= s->waiting_count;
			rc = check_free(a, p, s);
			rc = rc ? rc : check_counted(a, p, s);
		}
	return rc || !sum ? rc : broken(a, "%zu instances wait in no pool", sum);
}

static int check_gone(struct audit *a)
{
	const struct live_account *x;
	const struct live_pool *p;
	const struct token *t;
	const struct grant *g;
	size_t given = 0, live = 0;

	for (size_t at = 0; (x = rank_next(&a->e->all[ACCOUNTS], &at));) {
		size_t pools = 0, tokens = 0, grants = 0;

		given += rank_live(&x->given);
		for (size_t k = 0; (g = rank_next(&x->given, &k));)
			if (g->ended || g->sponsor != x->pub.id)
				return broken(a, "account %" PRIu64 " does not pay grant %" PRIu64, x->pub.id, g->id);

		for (size_t k = 0; (p = rank_next(&x->own[POOLS], &k));)
			pools += p->pub.deleted;
		for (size_t k = 0; (t = rank_next(&x->own[TOKENS], &k));)
			tokens += t->revoked;
		for (size_t k = 0; (g = rank_next(&x->own[GRANTS], &k));)
			grants += g->ended;
		if (pools != x->gone[POOLS] || tokens != x->gone[TOKENS] || grants != x->gone[GRANTS])
			return broken(a, "account %" PRIu64 " has another number of pools, tokens or grants that ended",
				x->pub.id);
		live += rank_live(&x->own[GRANTS]) - grants;
	}
	return live == given ? 0 : broken(a, "a grant is paid by no account");
}

static int check_people(struct audit *a)
{
	const struct person *x;
	const struct token *t;

	for (size_t at = 0; (t = rank_next(&a->e->all[TOKENS], &at));) {
		x = world_person(a->e, t->person);
		if (t->person && !t->revoked && (!x || x->account != t->account))
			return broken(a, "token %" PRIu64 " is of a person that the account does not have", t->id);
	}
	return 0;
}

/* What a machine lets has room for all that it keeps for others. */
static int check_volumes(struct audit *a)
{
	const struct live_agent *g;
	const struct live_volume *v;
	size_t sum = 0;

	for (size_t at = 0; (g = rank_next(&a->e->all[AGENTS], &at));) {
		sum += rank_live(&g->volumes);
		if (volume_let(g) > g->pub.volume_gib)
			return broken(a, "agent %" PRIu64 " let more room than it has for volumes", g->pub.id);
	}
	for (size_t at = 0; (v = rank_next(&a->e->all[VOLUMES], &at));)
		if (v->agent->pub.retired || (v->pub.state == VOLUME_UNPAID) != (v->pub.until != 0) ||
			(v->pub.state == VOLUME_PAID && v->pub.paid_until <= a->e->minute) ||
			(v->pub.state == VOLUME_UNPAID && v->pub.paid_until > a->e->minute) ||
			(v->pub.state == VOLUME_DELETING) != (v->due.place == 0))
			return broken(a, "volume %" PRIu64 " is not paid as its state says", v->pub.id);
	return sum == rank_live(&a->e->all[VOLUMES]) ? 0 : broken(a, "a volume is on no agent");
}

static int check_debts(struct audit *a)
{
	const struct account *x;

	for (size_t at = 0; (x = rank_next(&a->e->all[ACCOUNTS], &at));)
		if (x->debt.owes != (a->e->rules >= 5 && account_owed(x)) ||
			(x->debt.step == DUNNING_SUSPENDED && x->state != ACCOUNT_SUSPENDED))
			return broken(a, "account %" PRIu64 " owes something else than its balance says", x->id);
	return 0;
}

static void audit_prepare(struct audit *a)
{
	const struct account *x;
	const struct lease *l;
	const struct grant *g;

	for (size_t at = 0; (x = rank_next(&a->e->all[ACCOUNTS], &at));)
		idmap_add(&a->accounts, x->id, must_zalloc(sizeof(struct tally)));
	for (size_t at = 0; (g = rank_next(&a->e->all[GRANTS], &at));)
		idmap_add(&a->grants, g->id, must_zalloc(sizeof(int64_t)));
	for (size_t at = 0; (l = rank_next(&a->e->all[LEASES], &at));)
		idmap_add(&a->leases, l->id, must_zalloc(sizeof(struct lease_tally)));
}

static void audit_forget(struct idmap *m)
{
	for (size_t i = 0; i < m->cap; i++)
		free(m->slots[i].thing);
	idmap_release(m);
}

int engine_check(const struct engine *e, struct fail *why)
{
	static int (*const checks[])(struct audit *) = { check_orders, check_leases, check_grants, audit_check_hosts,
		check_minutes, check_payouts, check_money, check_capacity, check_instances, check_waiting, check_gone,
		check_people, check_volumes, check_debts };
	struct audit a = { .e = e, .why = why };
	int rc = 0;

	audit_prepare(&a);
	for (size_t i = 0; rc == 0 && i < sizeof checks / sizeof *checks; i++)
		rc = checks[i](&a);
	audit_forget(&a.accounts);
	audit_forget(&a.leases);
	audit_forget(&a.grants);
	return rc;
}
