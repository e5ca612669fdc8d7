/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/release.h"

#include <string.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/rules/sell.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/trade.h"

/* The pool's next minutes of a host from `at` on: their piece, or NULL. */
static const struct piece *next_own(const struct live_host *h, uint64_t pool, int64_t at)
{
	for (size_t i = calendar_find(h, at); i < h->pub.piece_count; i++)
		if (h->pub.pieces[i].pool == pool)
			return &h->pub.pieces[i];
	return NULL;
}

static int release_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct live_pool *p = world_pool(e, ev->subject);

	if (!world_account(e, ev->account))
		return fail_set(why, REASON_NOT_FOUND, "no such account");
	if (!p || p->pub.account != ev->account || p->pub.deleted)
		return fail_set(why, REASON_NOT_FOUND, "no such pool");
	if (p->pub.kind != POOL_MARKET)
		return fail_set(why, REASON_WRONG_STATE, "pool '%s' is for hosts: it has nothing to give back",
			p->pub.name);
	if (ev->u.release.sku && !world_sku(e, ev->u.release.sku))
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	if (ev->u.release.nodes < 0 || ev->u.release.nodes > NODES_MAX)
		return fail_set(why, REASON_INVALID, "a release is for 1 to %d nodes, or 0 for all", NODES_MAX);
	return 0;
}

/* Finds the hosts to give back, in order. */
static int release_plan(const struct engine *e, const struct event *ev, struct pick *out, int64_t *from,
	struct fail *why)
{
	const struct live_pool *p = world_pool(e, ev->subject);
	int rc = release_check(e, ev, why);

	*out = (struct pick){ 0 };
	if (rc)
		return rc;
	*from = ev->u.release.from > e->minute ? ev->u.release.from : e->minute + 1;
	for (size_t i = 0; i < p->holding_count; i++) {
		struct live_host *h = p->holdings[i].live;

		if (p->holdings[i].until <= *from || (ev->u.release.sku && h->pub.sku != ev->u.release.sku) ||
			!next_own(h, p->pub.id, *from))
			continue;
		must_room(out->list, out->count, out->cap);
		out->list[out->count++] = h;
	}
	if (!out->count || out->count < (size_t)ev->u.release.nodes) {
		size_t had = out->count;

		pick_release(out);
		if (!had)
			return fail_set(why, REASON_NOT_OWNED, "pool '%s' has no time left to give back", p->pub.name);
		return fail_set(why, REASON_NOT_OWNED, "pool '%s' has only %zu node%s from then on", p->pub.name, had,
			had == 1 ? "" : "s");
	}
	pick_sort(out, e, p->pub.id);
	if (ev->u.release.nodes)
		out->count = (size_t)ev->u.release.nodes;
	return 0;
}

/* Takes the pool's own offers of this host off sale. */
static void release_withdraw(struct engine *e, struct live_host *h, uint64_t pool, int64_t from)
{
	const struct piece *p;

	for (int64_t at = from; (p = next_own(h, pool, at)); ) {
		int64_t start = p->start > from ? p->start : from, end = p->end;

		at = end;
		if (!p->order || p->interruptible)
			continue;
		live_order_touch(e, world_order(e, p->order));
		calendar_off_sale(h, start, end, p->order);
	}
}

static void give_back(struct engine *e, struct live_host *h, uint64_t pool, int64_t from)
{
	const struct piece *p;

	while ((p = next_own(h, pool, from))) {
		struct live_lease *l = world_lease(e, p->lease);

		if (l->pub.start < from)
			l = lease_split(e, l, from);
		lease_give_back(e, l);
	}
	h->sku->marked = true;
}

int release_apply(struct engine *e, const struct event *ev, struct fail *why)
{
	struct pick hosts;
	int64_t from;
	int rc = release_plan(e, ev, &hosts, &from, why);

	if (rc)
		return rc;
	for (size_t i = 0; i < hosts.count; i++)
		release_withdraw(e, hosts.list[i], ev->subject, from);
	trade_finish(e);
	for (size_t i = 0; i < hosts.count; i++)
		give_back(e, hosts.list[i], ev->subject, from);
	trade_finish(e);
	pick_release(&hosts);
	return 0;
}

int release_quote(const struct engine *e, const struct event *ev, struct release_quote *out, struct fail *why)
{
	struct release_quote made = { 0 };
	struct pick hosts;
	const struct piece *p;
	int64_t from;
	int rc = release_plan(e, ev, &hosts, &from, why);

	if (rc)
		return rc;
	made.hosts = must_zalloc(hosts.count * sizeof *made.hosts);
	for (size_t i = 0; i < hosts.count; i++) {
		made.hosts[made.count++] = hosts.list[i]->pub.id;
		for (int64_t at = from; (p = next_own(hosts.list[i], ev->subject, at));) {
			const struct live_lease *l = world_lease(e, p->lease);

			made.paid = sure_add(made.paid, lease_unused(&l->pub, from));
			made.refund = sure_add(made.refund, lease_refund(e, &l->pub, from));
			at = l->pub.end;
		}
	}
	pick_release(&hosts);
	*out = made;
	return 0;
}
