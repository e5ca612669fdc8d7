/* SPDX-License-Identifier: Apache-2.0 */
/* The events of the reference market that are about pools, orders, releases and procurements. See reference.h. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static const int64_t price_max = 1000000000000;

/* ---- Pools ------------------------------------------------------------------------------ */

static bool pool_named(const struct reference *r, uint64_t account, const char *name, const struct rpool *but)
{
	for (size_t i = 0; i < r->pools.n; i++) {
		const struct rpool *p = r->pools.at[i];

		if (p != but && p->account == account && strcmp(p->name, name) == 0)
			return true;
	}
	return false;
}

static int th_pool(struct reference *r, const struct event *ev)
{
	struct rpool *p;

	if (!ref_name_ok(ev->name) || (ev->u.pool.kind != POOL_MARKET && ev->u.pool.kind != POOL_ORIGINATING))
		return REASON_INVALID;
	if (pool_named(r, ev->account, ev->name, NULL))
		return REASON_NAME_TAKEN;
	p = ref_more(NULL, 1, sizeof *p);
	*p = (struct rpool){ r->next_id++, ev->account, ref_text(ev->name), ev->u.pool.kind };
	ref_list_add(&r->pools, p);
	return 0;
}

static int th_pool_change(struct reference *r, const struct event *ev)
{
	struct rpool *p = ref_pool(r, ev->account, ev->subject);

	if (!p)
		return REASON_NOT_FOUND;
	if (!ev->name)
		return 0;
	if (!ref_name_ok(ev->name))
		return REASON_INVALID;
	if (pool_named(r, ev->account, ev->name, p))
		return REASON_NAME_TAKEN;
	free(p->name);
	p->name = ref_text(ev->name);
	return 0;
}

static bool pool_needed(const struct reference *r, uint64_t pool)
{
	for (size_t i = 0; i < r->hosts.n; i++) {
		const struct rhost *h = r->hosts.at[i];

		if (h->pool == pool)
			return true;
		for (size_t j = 0; j < h->cells; j++)
			if (h->cell[j].pool == pool)
				return true;
	}
	for (size_t i = 0; i < r->orders.n; i++)
		if (((struct rorder *)r->orders.at[i])->pool == pool)
			return true;
	for (size_t i = 0; i < r->leases.n; i++)
		if (((struct rlease *)r->leases.at[i])->pool == pool) /* sold on, it could come back */
			return true;
	for (size_t i = 0; i < r->instances.n; i++) {
		const struct rinstance *in = r->instances.at[i];

		if (in->pool == pool && ref_instance_lives(in))
			return true;
	}
	for (size_t i = 0; i < r->procurements.n; i++)
		if (((struct rprocurement *)r->procurements.at[i])->pool == pool)
			return true;
	return false;
}

static int th_pool_delete(struct reference *r, const struct event *ev)
{
	struct rpool *p = ref_pool(r, ev->account, ev->subject);

	if (!p)
		return REASON_NOT_FOUND;
	if (pool_needed(r, p->id))
		return REASON_HAS_DEPENDENTS;
	free(p->name);
	ref_list_drop(&r->pools, p);
	return 0;
}

/* ---- Orders ----------------------------------------------------------------------------- */

static bool order_invalid(const struct event *ev)
{
	const int known = ORDER_STANDING | ORDER_PARTIAL | ORDER_EXTEND | ORDER_INTERRUPTIBLE | ORDER_UNVERIFIED;
	int flags = ev->u.order.flags, side = ev->u.order.side;

	if (side != SIDE_BUY && side != SIDE_SELL)
		return true;
	if (ev->u.order.nodes < 1 || ev->u.order.nodes > NODES_MAX || ev->u.order.price < 0 ||
		ev->u.order.price > price_max)
		return true;
	if (ev->u.order.max_total < 0 || (flags & ~known) || ev->u.order.procurement)
		return true;
	if (ev->u.order.start >= ev->u.order.end || ev->u.order.end > MINUTE_MAX)
		return true;
	if (side == SIDE_SELL)
		return (flags & (ORDER_EXTEND | ORDER_INTERRUPTIBLE | ORDER_UNVERIFIED)) || ev->u.order.max_total ||
			(ev->u.order.host && ev->u.order.nodes != 1);
	return ev->u.order.host ||
		((flags & ORDER_EXTEND) && (flags & (ORDER_PARTIAL | ORDER_STANDING | ORDER_INTERRUPTIBLE)));
}

static int order_check(struct reference *r, const struct event *ev)
{
	const struct raccount *a = ref_list_find(&r->accounts, ev->account);
	const struct rpool *p = ref_pool(r, ev->account, ev->u.order.pool);
	bool buy = ev->u.order.side == SIDE_BUY;

	if (a->state == ACCOUNT_SUSPENDED && (buy || (p && p->kind == POOL_ORIGINATING)))
		return REASON_SUSPENDED;
	if (!p)
		return REASON_NOT_FOUND;
	if (buy && p->kind == POOL_ORIGINATING)
		return REASON_WRONG_STATE;
	if (!ref_list_find(&r->skus, ev->u.order.sku))
		return REASON_NOT_FOUND;
	if (ref_grant_of_order(r, ev))
		return ref_grant_of_order(r, ev);
	if (order_invalid(ev) || ref_grant_invalid(r, ev))
		return REASON_INVALID;
	if (ev->u.order.start < r->minute - 1 || ev->u.order.end <= r->minute + 1)
		return REASON_PAST;
	if ((wide)ev->u.order.price * ev->u.order.nodes * (ev->u.order.end - ev->u.order.start) > INT64_MAX)
		return REASON_OVERFLOW;
	if (ev->u.order.host && !ref_list_find(&r->hosts, ev->u.order.host))
		return REASON_NOT_FOUND;
	return 0;
}

static int th_order(struct reference *r, const struct event *ev)
{
	struct rorder o = { .account = ev->account,
		.pool = ev->u.order.pool,
		.sku = ev->u.order.sku,
		.host = ev->u.order.host,
		.side = ev->u.order.side,
		.flags = ev->u.order.flags | (ev->u.order.grant ? 32 : 0),
		.token = ev->token,
		.month = ev->u.order.side == SIDE_BUY ? ref_month(r, ev->token) : 0,
		.gift = ev->u.order.grant,
		.part = ev->u.order.granted,
		.nodes = ev->u.order.nodes,
		.start = ev->u.order.start,
		.end = ev->u.order.end,
		.price = ev->u.order.price,
		.max_total = ev->u.order.max_total };
	int rc = order_check(r, ev), unfilled;

	if (rc)
		return rc;
	if (o.start < r->minute + 1)
		o.start = r->minute + 1;
	return o.side == SIDE_BUY ? ref_order_buy(r, &o, false, &unfilled) : ref_order_sell(r, &o);
}

/* The offer stays what it is, but for its price; among those of that price it is the last. */
static int th_order_price(struct reference *r, const struct event *ev)
{
	const struct raccount *a = ref_list_find(&r->accounts, ev->account);
	struct rorder *o = ref_list_find(&r->orders, ev->subject);
	int64_t price = ev->u.order_price.price;

	if (!o || o->account != ev->account || o->side != SIDE_SELL)
		return REASON_NOT_FOUND;
	if (a->state == ACCOUNT_SUSPENDED && ref_pool(r, o->account, o->pool)->kind == POOL_ORIGINATING)
		return REASON_SUSPENDED;
	if (o->procurement)
		return REASON_WRONG_STATE;
	if (price < 0 || price > price_max)
		return REASON_INVALID;
	if ((wide)price * o->nodes * (o->end - o->start) > INT64_MAX)
		return REASON_OVERFLOW;
	for (size_t i = 0; i < r->hosts.n; i++) {
		const struct rhost *h = r->hosts.at[i];

		for (size_t j = 0; h->pool == o->pool && price < h->floor && j < h->cells; j++)
			if (h->cell[j].order == o->id && h->cell[j].end > r->minute)
				return REASON_BELOW_FLOOR;
	}
	if (price == o->price)
		return 0;
	o->price = price;
	o->place = r->next_id++;
	ref_try_resting(r, o->sku);
	return 0;
}

static int th_cancel(struct reference *r, const struct event *ev)
{
	struct rorder *o = ref_list_find(&r->orders, ev->subject);

	if (!o || o->account != ev->account)
		return REASON_NOT_FOUND;
	if (ev->u.cancel.reason != 0 && ev->u.cancel.reason != REASON_NO_ROOM)
		return REASON_INVALID;
	ref_order_close(r, o, ORDER_CANCELLED, ev->u.cancel.reason);
	return 0;
}

/* ---- Release ---------------------------------------------------------------------------- */

struct giving { uint64_t pool; int64_t from; };

static bool has_from(struct reference *r, struct rhost *h, const void *arg)
{
	const struct giving *g = arg;

	(void)r;
	for (size_t i = 0; i < h->cells; i++)
		if (h->cell[i].pool == g->pool && h->cell[i].end > g->from)
			return true;
	return false;
}

/* The pool's own offers of these minutes end. */
static void release_offers(struct reference *r, struct rhost *h, const struct giving *g)
{
	ref_cells_cut(h, g->from);
	for (size_t i = 0; i < r->orders.n; ) {
		struct rorder *o = r->orders.at[i];
		size_t n = r->orders.n;
		bool any = false;

		for (size_t j = 0; o->pool == g->pool && o->side == SIDE_SELL && j < h->cells; j++) {
			struct cell *c = &h->cell[j];

			if (c->order == o->id && c->pool == g->pool && c->start >= g->from) {
				c->order = 0;
				any = true;
			}
		}
		if (any && !ref_order_on_sale(r, o))
			ref_order_close(r, o, o->minutes ? ORDER_FILLED : ORDER_CANCELLED, 0);
		if (r->orders.n == n)
			i++;
	}
	ref_cells_join(h);
}

static void release_host(struct reference *r, struct rhost *h, const struct giving *g)
{
	release_offers(r, h, g);
	for (;;) {
		struct rlease *first = NULL;
		struct rorder *sell;

		for (size_t i = 0; i < h->cells && !first; i++)
			if (h->cell[i].pool == g->pool && h->cell[i].end > g->from)
				first = ref_list_find(&r->leases, h->cell[i].lease);
		if (!first)
			return;
		sell = ref_list_find(&r->orders, first->sell_order);
		ref_lease_release(r, first, g->from);
		if (sell && !ref_order_on_sale(r, sell)) /* a block whose interruptible lease this was */
			ref_order_close(r, sell, sell->minutes ? ORDER_FILLED : ORDER_CANCELLED, 0);
	}
}

static int th_release(struct reference *r, const struct event *ev)
{
	const struct rpool *p = ref_pool(r, ev->account, ev->subject);
	struct giving g = { ev->subject, ev->u.release.from };
	size_t n, want = (size_t)ev->u.release.nodes;
	struct rhost **host;

	if (!p)
		return REASON_NOT_FOUND;
	if (p->kind != POOL_MARKET)
		return REASON_WRONG_STATE;
	if (ev->u.release.sku && !ref_list_find(&r->skus, ev->u.release.sku))
		return REASON_NOT_FOUND;
	if (ev->u.release.nodes < 0 || ev->u.release.nodes > NODES_MAX)
		return REASON_INVALID;
	if (g.from < r->minute + 1)
		g.from = r->minute + 1;
	host = ref_more(NULL, r->hosts.n + 1, sizeof *host);
	n = ref_hosts_to_give(r, p->id, ev->u.release.sku, host, has_from, &g);
	if (n == 0 || n < want) {
		free(host);
		return REASON_NOT_OWNED;
	}
	for (size_t i = 0; i < (want ? want : n); i++) {
		release_host(r, host[i], &g);
		ref_mark_add(&r->wanted, host[i]->sku);
	}
	free(host);
	return 0;
}

/* ---- Procurements ----------------------------------------------------------------------- */

static bool procurement_invalid(const struct rprocurement *p, const char *name, bool making)
{
	return ((making || name) && !ref_name_ok(name)) || p->window < 1 || p->window > 129600 || p->target < -1 ||
		p->target > 1024 || p->min_sell < 0 || p->max_buy > price_max || p->min_sell > p->max_buy;
}

static bool procurement_taken(const struct reference *r, const struct rprocurement *p, const char *name,
	const struct rprocurement *but)
{
	for (size_t i = 0; i < r->procurements.n; i++) {
		const struct rprocurement *other = r->procurements.at[i];

		if (other == but)
			continue;
		if (name ? other->account == p->account && strcmp(other->name, name) == 0
			 : other->pool == p->pool && other->sku == p->sku)
			return true;
	}
	return false;
}

static int th_procurement(struct reference *r, const struct event *ev)
{
	const struct raccount *a = ref_list_find(&r->accounts, ev->account);
	const struct rpool *pool = ref_pool(r, ev->account, ev->u.procurement.pool);
	struct rprocurement draft = { .account = ev->account,
		.pool = ev->u.procurement.pool,
		.sku = ev->u.procurement.sku,
		.target = ev->u.procurement.target,
		.window = ev->u.procurement.window,
		.min_sell = ev->u.procurement.min_sell,
		.max_buy = ev->u.procurement.max_buy,
		.enabled = ev->u.procurement.enabled },
			    *p;

	if (a->state == ACCOUNT_SUSPENDED)
		return REASON_SUSPENDED;
	if (!pool)
		return REASON_NOT_FOUND;
	if (pool->kind != POOL_MARKET)
		return REASON_WRONG_STATE;
	if (!ref_list_find(&r->skus, draft.sku))
		return REASON_NOT_FOUND;
	if (procurement_taken(r, &draft, NULL, NULL))
		return REASON_WRONG_STATE;
	if (procurement_invalid(&draft, ev->name, true))
		return REASON_INVALID;
	if (procurement_taken(r, &draft, ev->name, NULL))
		return REASON_NAME_TAKEN;
	p = ref_more(NULL, 1, sizeof *p);
	*p = draft;
	p->id = r->next_id++;
	p->name = ref_text(ev->name);
	p->token = r->rules > 2 ? ev->token : 0;
	ref_list_add(&r->procurements, p);
	if (p->enabled)
		ref_procure(r, p);
	return 0;
}

static int th_procurement_change(struct reference *r, const struct event *ev)
{
	const struct raccount *a = ref_list_find(&r->accounts, ev->account);
	struct rprocurement *p = ref_list_find(&r->procurements, ev->subject), draft;

	if (a->state == ACCOUNT_SUSPENDED && ev->u.procurement_change.enabled == 1)
		return REASON_SUSPENDED;
	if (!p || p->account != ev->account)
		return REASON_NOT_FOUND;
	draft = *p;
	draft.sku = ev->u.procurement_change.sku ? ev->u.procurement_change.sku : p->sku;
	draft.target = ev->u.procurement_change.target == -1 ? p->target : ev->u.procurement_change.target;
	draft.window = ev->u.procurement_change.window == -1 ? p->window : ev->u.procurement_change.window;
	draft.min_sell = ev->u.procurement_change.min_sell == -1 ? p->min_sell : ev->u.procurement_change.min_sell;
	draft.max_buy = ev->u.procurement_change.max_buy == -1 ? p->max_buy : ev->u.procurement_change.max_buy;
	if (!ref_list_find(&r->skus, draft.sku))
		return REASON_NOT_FOUND;
	if (procurement_taken(r, &draft, NULL, p))
		return REASON_WRONG_STATE;
	if (procurement_invalid(&draft, ev->name, false) || ev->u.procurement_change.enabled < -1 ||
		ev->u.procurement_change.enabled > 1)
		return REASON_INVALID;
	if (ev->name && procurement_taken(r, &draft, ev->name, p))
		return REASON_NAME_TAKEN;
	if (ev->u.procurement_change.enabled >= 0)
		draft.enabled = ev->u.procurement_change.enabled;
	if (draft.sku != p->sku || !draft.enabled)
		ref_procurement_cancel(r, p, -1);
	*p = draft;
	if (r->rules > 2 && ev->token)
		p->token = ev->token;
	if (ev->name) {
		free(p->name);
		p->name = ref_text(ev->name);
	}
	if (p->enabled)
		ref_procure(r, p);
	return 0;
}

static int th_procurement_delete(struct reference *r, const struct event *ev)
{
	struct rprocurement *p = ref_list_find(&r->procurements, ev->subject);

	if (!p || p->account != ev->account)
		return REASON_NOT_FOUND;
	ref_procurement_cancel(r, p, -1);
	free(p->name);
	ref_list_drop(&r->procurements, p);
	return 0;
}

int ref_thing(struct reference *r, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_VOLUME_OFFER:
	case EVENT_VOLUME:
	case EVENT_VOLUME_CHANGE:
	case EVENT_VOLUME_GONE:
		return ref_volume(r, ev);
	case EVENT_POOL: return th_pool(r, ev);
	case EVENT_POOL_CHANGE: return th_pool_change(r, ev);
	case EVENT_POOL_DELETE: return th_pool_delete(r, ev);
	case EVENT_ORDER: return th_order(r, ev);
	case EVENT_CANCEL: return th_cancel(r, ev);
	case EVENT_ORDER_PRICE:
		return th_order_price(r, ev);
	case EVENT_RELEASE: return th_release(r, ev);
	case EVENT_PROCUREMENT: return th_procurement(r, ev);
	case EVENT_PROCUREMENT_CHANGE: return th_procurement_change(r, ev);
	case EVENT_PROCUREMENT_DELETE: return th_procurement_delete(r, ev);
	default: return REASON_INVALID;
	}
}
