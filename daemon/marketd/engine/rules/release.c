/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/release.h"

#include <string.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/rules/sell.h"
#include "marketd/engine/rules/ticket.h"
#include "marketd/engine/rules/trade.h"

/* The pool's next minutes of a host from `at` on: their piece, or NULL. */
static const struct piece *next_own(const struct unit *u, uint64_t pool, int64_t at)
{
	for (size_t i = calendar_find(u, at); i < u->pub.piece_count; i++)
		if (u->pub.pieces[i].pool == pool)
			return &u->pub.pieces[i];
	return NULL;
}

static int check(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct depot *d = world_depot(e, ev->subject);

	if (!world_party(e, ev->account))
		return fail_set(why, REASON_NOT_FOUND, "there is no such account");
	if (!d || d->pub.account != ev->account || d->pub.deleted)
		return fail_set(why, REASON_NOT_FOUND, "there is no such pool");
	if (d->pub.kind != POOL_MARKET)
		return fail_set(why, REASON_WRONG_STATE, "pool '%s' is where hosts come from: it has nothing to give back", d->pub.name);
	if (ev->u.release.sku && !world_ware(e, ev->u.release.sku))
		return fail_set(why, REASON_NOT_FOUND, "there is no such instance SKU");
	if (ev->u.release.nodes < 0 || ev->u.release.nodes > NODES_MAX)
		return fail_set(why, REASON_INVALID, "a release is of 1 to %d nodes, or 0 for all", NODES_MAX);
	return 0;
}

/* The hosts that it is about, in the order in which they are given back. */
static int plan(const struct engine *e, const struct event *ev, struct pick *out, int64_t *from, struct fail *why)
{
	const struct depot *d = world_depot(e, ev->subject);
	int rc = check(e, ev, why);

	*out = (struct pick){ 0 };
	if (rc)
		return rc;
	*from = ev->u.release.from > e->minute ? ev->u.release.from : e->minute + 1;
	for (size_t i = 0; i < d->holding_count; i++) {
		struct unit *u = d->holdings[i].unit;

		if (d->holdings[i].until <= *from || (ev->u.release.sku && u->pub.sku != ev->u.release.sku) ||
			!next_own(u, d->pub.id, *from))
			continue;
		must_room(out->list, out->count, out->cap);
		out->list[out->count++] = u;
	}
	if (!out->count || out->count < (size_t)ev->u.release.nodes) {
		size_t had = out->count;

		pick_release(out);
		return fail_set(why, REASON_NOT_OWNED, "pool '%s' has %zu nodes from then on", d->pub.name, had);
	}
	pick_sort(out, e, d->pub.id);
	if (ev->u.release.nodes)
		out->count = (size_t)ev->u.release.nodes;
	return 0;
}

/* What the pool offers of this host itself goes off sale. */
static void withdraw(struct engine *e, struct unit *u, uint64_t pool, int64_t from)
{
	const struct piece *p;

	for (int64_t at = from; (p = next_own(u, pool, at)); ) {
		int64_t start = p->start > from ? p->start : from, end = p->end;

		at = end;
		if (!p->order || p->interruptible)
			continue;
		ticket_touch(e, world_ticket(e, p->order));
		calendar_off_sale(u, start, end, p->order);
	}
}

static void give_back(struct engine *e, struct unit *u, uint64_t pool, int64_t from)
{
	const struct piece *p;

	while ((p = next_own(u, pool, from))) {
		struct tenure *t = world_tenure(e, p->lease);

		if (t->pub.start < from)
			t = lease_split(e, t, from);
		lease_give_back(e, t);
	}
	u->ware->marked = true;
}

int release_apply(struct engine *e, const struct event *ev, struct fail *why)
{
	struct pick hosts;
	int64_t from;
	int rc = plan(e, ev, &hosts, &from, why);

	if (rc)
		return rc;
	for (size_t i = 0; i < hosts.count; i++)
		withdraw(e, hosts.list[i], ev->subject, from);
	trade_finish(e);
	for (size_t i = 0; i < hosts.count; i++)
		give_back(e, hosts.list[i], ev->subject, from);
	trade_finish(e);
	pick_release(&hosts);
	return 0;
}

int release_refund(const struct engine *e, const struct event *ev, int64_t *refund, struct fail *why)
{
	struct pick hosts;
	const struct piece *p;
	int64_t from, sum = 0;
	int rc = plan(e, ev, &hosts, &from, why);

	if (rc)
		return rc;
	for (size_t i = 0; i < hosts.count; i++)
		for (int64_t at = from; (p = next_own(hosts.list[i], ev->subject, at));) {
			const struct tenure *t = world_tenure(e, p->lease);

			sum = sure_add(sum, lease_refund(e, &t->pub, from));
			at = t->pub.end;
		}
	pick_release(&hosts);
	*refund = sum;
	return 0;
}
