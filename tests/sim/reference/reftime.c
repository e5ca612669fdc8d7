/* SPDX-License-Identifier: Apache-2.0 */
/* What time does in the reference market: settling, expiry, procuring, instances. See reference.h. */
#include <stdlib.h>

#include "ref.h"

bool ref_instance_lives(const struct rinstance *i)
{
	return i->status == INSTANCE_AWAITING || i->status == INSTANCE_RUNNING;
}

/* ---- Settling --------------------------------------------------------------------------- */

static int64_t lease_due(const struct reference *r, const struct rlease *l)
{
	int64_t due = l->settled + r->policy.settle_minutes;

	return due < l->end ? due : l->end;
}

static void settle_due(struct reference *r)
{
	for (;;) {
		struct rlease *next = NULL;

		for (size_t i = 0; i < r->leases.n; i++) {
			struct rlease *l = r->leases.at[i];

			if (lease_due(r, l) <= r->minute && (!next || lease_due(r, l) < lease_due(r, next)))
				next = l;
		}
		if (!next)
			return;
		ref_lease_settle(r, next, r->minute);
		if (next->end <= r->minute)
			ref_list_drop(&r->leases, next);
	}
}

/* ---- Orders grow old -------------------------------------------------------------------- */

static void buy_ages(struct reference *r, struct rorder *o)
{
	int64_t before = ref_rest_minutes(o);

	ref_rest_forget(&o->rest, r->minute + 1);
	if (o->start < r->minute + 1)
		o->start = r->minute + 1;
	if (ref_rest_minutes(o) == before)
		return;
	ref_mark_add(&r->wanted, o->sku);
	ref_order_hold(r, o, o->price * ref_rest_minutes(o));
	if (o->rest.n == 0)
		ref_order_close(r, o, ORDER_CANCELLED, REASON_EXPIRED);
}

static void sell_ages(struct reference *r, struct rorder *o)
{
	if (r->minute >= (o->flags & ORDER_PARTIAL ? o->end : o->start))
		ref_order_close(r, o, ORDER_CANCELLED, REASON_EXPIRED);
	else if (!ref_order_on_sale(r, o))
		ref_order_close(r, o, o->minutes ? ORDER_FILLED : ORDER_CANCELLED, 0);
}

static void orders_age(struct reference *r)
{
	for (size_t i = 0; i < r->orders.n; ) {
		size_t n = r->orders.n;
		struct rorder *o = r->orders.at[i];

		if (o->side == SIDE_BUY)
			buy_ages(r, o);
		else
			sell_ages(r, o);
		if (r->orders.n == n)
			i++;
	}
}

/* ---- Instances -------------------------------------------------------------------------- */

static bool host_taken(const struct reference *r, uint64_t pool, uint64_t host)
{
	for (size_t i = 0; i < r->instances.n; i++) {
		const struct rinstance *in = r->instances.at[i];

		if (in->pool == pool && in->host == host && ref_instance_lives(in))
			return true;
	}
	return false;
}

static struct rinstance *instance_waiting(const struct reference *r, const struct rinstance *after)
{
	struct rinstance *best = NULL;

	for (size_t i = 0; i < r->instances.n; i++) {
		struct rinstance *in = r->instances.at[i];

		if (in->status != INSTANCE_AWAITING || in->host)
			continue;
		if (after &&
			(in->priority > after->priority || (in->priority == after->priority && in->id <= after->id)))
			continue;
		if (!best || in->priority > best->priority)
			best = in;
	}
	return best;
}

/* Does a procurement miss this instance, which has just ended? */
static bool instance_missed(const struct reference *r, const struct rinstance *in)
{
	for (size_t i = 0; i < r->procurements.n; i++) {
		struct rprocurement p = *(struct rprocurement *)r->procurements.at[i];
		bool every = p.target < 0;

		if (p.pool != in->pool || p.sku != in->sku || !p.enabled)
			continue;
		p.target = -1; /* counts those that live */
		return every || ref_target(r, &p) < ((struct rprocurement *)r->procurements.at[i])->target;
	}
	return false;
}

static void review_pool(struct reference *r, uint64_t pool)
{
	for (size_t i = 0; i < r->instances.n; i++) {
		struct rinstance *in = r->instances.at[i], *next;
		const struct rhost *h = ref_list_find(&r->hosts, in->host);

		if (in->pool != pool || !in->host || (h && ref_owns(h, r->minute, in->pool)))
			continue;
		in->status = INSTANCE_TERMINATED;
		in->host = 0;
		if (r->rules < 2 || !instance_missed(r, in))
			continue;
		next = ref_more(NULL, 1, sizeof *next);
		*next = *in;
		next->id = r->next_id++;
		next->name = ref_text(in->name);
		next->status = INSTANCE_AWAITING;
		ref_list_add(&r->instances, next);
	}
}

void ref_review(struct reference *r)
{
	for (size_t i = 0; i < r->pools.n; i++)
		review_pool(r, ((struct rpool *)r->pools.at[i])->id);
	for (struct rinstance *in = instance_waiting(r, NULL); in; in = instance_waiting(r, in))
		for (size_t i = 0; i < r->hosts.n && !in->host; i++) {
			const struct rhost *h = r->hosts.at[i];

			if (h->sku == in->sku && ref_owns(h, r->minute, in->pool) && !host_taken(r, in->pool, h->id))
				in->host = h->id;
		}
}

/* ---- Procurements ----------------------------------------------------------------------- */

void ref_procurement_cancel(struct reference *r, struct rprocurement *p, int side)
{
	for (size_t i = 0; i < r->orders.n; ) {
		struct rorder *o = r->orders.at[i];

		if (o->procurement == p->id && (side < 0 || o->side == side))
			ref_order_close(r, o, ORDER_CANCELLED, 0);
		else
			i++;
	}
}

/* The pool's hosts in a minute, and those of them on sale for the procurement. Returns until when both surely hold. */
static int64_t procurement_look(const struct reference *r, const struct rprocurement *p, int64_t t, int64_t end,
	int32_t *own, int32_t *sale)
{
	*own = *sale = 0;
	for (size_t i = 0; i < r->hosts.n; i++) {
		const struct rhost *h = r->hosts.at[i];
		const struct cell *c = ref_cell_at(h, t);
		const struct rorder *o = c ? ref_list_find(&r->orders, c->order) : NULL;

		if (h->sku != p->sku)
			continue;
		if (c && c->end < end)
			end = c->end;
		for (size_t j = 0; j < h->cells; j++)
			if (h->cell[j].start > t && h->cell[j].start < end)
				end = h->cell[j].start;
		if (!c || c->pool != p->pool)
			continue;
		++*own;
		if (o && o->procurement == p->id)
			++*sale;
	}
	return end;
}

struct run { int64_t start, end; int32_t keeps; };

/* The maximal runs of minutes with as many hosts that are not on sale. */
static size_t procurement_runs(const struct reference *r, const struct rprocurement *p, struct run **out)
{
	int64_t end = r->minute + 1 + p->window, next;
	struct run *run = NULL;
	size_t n = 0;

	for (int64_t t = r->minute + 1; t < end; t = next) {
		int32_t own, sale;

		next = procurement_look(r, p, t, end, &own, &sale);
		if (n && run[n - 1].keeps == own - sale) {
			run[n - 1].end = next;
			continue;
		}
		run = ref_more(run, n + 1, sizeof *run);
		run[n++] = (struct run){ t, next, own - sale };
	}
	*out = run;
	return n;
}

bool ref_overdone(const struct reference *r, const struct rprocurement *p, int64_t end)
{
	int32_t target = ref_target(r, p);
	int64_t next;

	for (int64_t t = r->minute + 1; t < end; t = next) {
		int32_t own, sale;

		next = procurement_look(r, p, t, end, &own, &sale);
		if (sale > (own > target ? own - target : 0))
			return true;
	}
	return false;
}

int32_t ref_target(const struct reference *r, const struct rprocurement *p)
{
	int32_t n = 0;

	if (p->target >= 0)
		return p->target;
	for (size_t i = 0; i < r->instances.n; i++) {
		const struct rinstance *in = r->instances.at[i];

		n += in->pool == p->pool && in->sku == p->sku && ref_instance_lives(in);
	}
	return n;
}

static int procure_run(struct reference *r, const struct rprocurement *p, const struct run *run, int32_t nodes)
{
	struct rorder o = { .account = p->account, .pool = p->pool, .sku = p->sku, .procurement = p->id, .nodes = nodes,
		.start = run->start, .end = run->end, .side = SIDE_BUY, .flags = ORDER_PARTIAL, .price = p->max_buy };
	int rc, unfilled = 0;

	if (nodes < 0) {
		o.nodes = -nodes;
		o.side = SIDE_SELL;
		o.flags |= ORDER_STANDING;
		o.price = p->min_sell;
	}
	if ((wide)o.price * o.nodes * (o.end - o.start) > INT64_MAX)
		return REASON_OVERFLOW;
	rc = o.side == SIDE_BUY ? ref_order_buy(r, &o, true, &unfilled) : ref_order_sell(r, &o);
	return rc ? rc : unfilled;
}

void ref_procure(struct reference *r, struct rprocurement *p)
{
	const struct raccount *a = ref_list_find(&r->accounts, p->account);
	int32_t target = ref_target(r, p), reason = 0;

	if (r->rules > 1) {
		ref_renew(r, p);
		ref_fill_up(r, p);
		return;
	}
	if (ref_overdone(r, p, r->minute + 1 + p->window))
		ref_procurement_cancel(r, p, SIDE_SELL);
	for (int side = SIDE_BUY; side <= SIDE_SELL; side++) {
		struct run *run;
		size_t n = procurement_runs(r, p, &run);

		for (size_t i = 0; i < n; i++) {
			int32_t nodes = target - run[i].keeps;
			int rc = 0;

			if (side == SIDE_BUY ? nodes > 0 && a->state == ACCOUNT_OPEN : nodes < 0)
				rc = procure_run(r, p, &run[i], nodes);
			if (reason == 0)
				reason = rc;
		}
		free(run);
	}
	p->reason = reason;
}

/* ---- A minute --------------------------------------------------------------------------- */

static void procure_everyone(struct reference *r)
{
	for (int pass = 1; pass <= (r->rules > 1 ? 2 : 1); pass++)
		for (size_t i = 0; i < r->procurements.n; i++) {
			struct rprocurement *p = r->procurements.at[i];

			if (!p->enabled)
				continue;
			if (r->rules < 2)
				ref_procure(r, p);
			else if (pass == 1)
				ref_renew(r, p);
			else
				ref_fill_up(r, p);
		}
}

int ref_time_tick(struct reference *r, int64_t minute, int64_t now)
{
	if (minute <= r->minute || minute >= MINUTE_MAX)
		return REASON_INVALID;
	while (r->minute < minute) {
		r->minute++;
		r->wanted.n = r->tried.n = 0;
		for (size_t i = 0; i < r->hosts.n; i++)
			ref_cells_forget(r->hosts.at[i], r->minute);
		ref_month_turns(r, now);
		settle_due(r);
		ref_volumes_tick(r);
		orders_age(r);
		ref_try_wanted(r);
		procure_everyone(r);
		ref_try_wanted(r);
		ref_review(r);
		ref_debts_after(r);
	}
	return 0;
}
