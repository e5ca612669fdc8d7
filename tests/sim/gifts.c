/* SPDX-License-Identifier: Apache-2.0 */
#include "gifts.h"

#include <stdlib.h>

static void *gifts_more(void *old, size_t count, size_t size)
{
	void *p = reallocarray(old, count, size);

	if (!p)
		abort();
	return p;
}

static struct gift *gifts_of(struct gifts *g, uint64_t id)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->list[i].id == id)
			return &g->list[i];
	return NULL;
}

static struct gift_lease *gifts_lease(struct gifts *g, uint64_t id)
{
	for (size_t i = 0; i < g->lease_count; i++)
		if (g->leases[i].id == id)
			return &g->leases[i];
	return NULL;
}

static struct gift_order *gifts_order(struct gifts *g, uint64_t id)
{
	for (size_t i = 0; i < g->order_count; i++)
		if (g->orders[i].id == id)
			return &g->orders[i];
	g->orders = gifts_more(g->orders, ++g->order_count, sizeof *g->orders);
	g->orders[g->order_count - 1] = (struct gift_order){ .id = id };
	return &g->orders[g->order_count - 1];
}

/* The parts of a lease that was split are leases of their own. */
static const char *gifts_lease_seen(struct gifts *g, const struct lease *l)
{
	if (gifts_lease(g, l->parent))
		return "somebody sold on what a grant paid for";
	if (!l->grant || gifts_lease(g, l->id))
		return NULL;
	g->leases = gifts_more(g->leases, ++g->lease_count, sizeof *g->leases);
	g->leases[g->lease_count - 1] = (struct gift_lease){ l->id, l->grant, l->order, l->buyer, l->seller };
	return NULL;
}

/* Income of the lease's seller is none of the money that comes back. */
static const char *gifts_posting(struct gifts *g, const struct posting *p)
{
	const struct gift_lease *l = gifts_lease(g, p->subject);
	struct gift *gift = l ? gifts_of(g, l->grant) : NULL;
	struct gift_order *o;

	if (!gift || p->asset || p->book != BOOK_AVAILABLE || p->owner == l->seller)
		return NULL;
	if (p->owner == gift->sponsor) {
		gift->net -= p->amount;
		g->paid += p->amount < 0;
		g->returned += p->amount > 0;
		return gift->net < 0 || gift->net > gift->max ? "a grant costs more than its maximum, or nothing"
							      : NULL;
	}
	if (p->owner != l->buyer)
		return "money of a granted lease goes to a stranger";
	o = gifts_order(g, l->order);
	o->net -= p->amount;
	return o->net < 0 ? "a buyer got back more than they paid" : NULL;
}

const char *gifts_look(struct gifts *g, const struct event *ev, const struct effects *did)
{
	const char *wrong = NULL;

	if (ev->kind == EVENT_GRANT) {
		g->list = gifts_more(g->list, ++g->count, sizeof *g->list);
		g->list[g->count - 1] = (struct gift){ .id = effects_made(did),
			.sponsor = ev->u.grant.sponsor,
			.max = ev->u.grant.max };
	}
	for (size_t i = 0; !wrong && i < did->count; i++)
		if (did->list[i].kind == EFFECT_LEASE)
			wrong = gifts_lease_seen(g, &did->list[i].u.lease.lease);
	for (size_t i = 0; !wrong && i < did->count; i++)
		if (did->list[i].kind == EFFECT_POSTING)
			wrong = gifts_posting(g, &did->list[i].u.posting);
	return wrong;
}

void gifts_release(struct gifts *g)
{
	free(g->list);
	free(g->leases);
	free(g->orders);
	*g = (struct gifts){ 0 };
}
