/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of what offers cost and of what hosts cost at least, and what nobody may ask. See stream.h. */
#include "stream.h"

static const struct rorder *price_offer(struct stream *s)
{
	const struct list *all = &s->r->orders;

	for (int i = 0; i < 6 && all->n; i++) {
		const struct rorder *o = all->at[rng_below(&s->prices, (int64_t)all->n)];

		if (o->side == SIDE_SELL)
			return o;
	}
	return NULL;
}

static bool do_price(struct stream *s, struct event *ev)
{
	const struct rorder *o = price_offer(s);
	int64_t price = s->profile->price * rng_below(&s->prices, 8);

	if (!o)
		return false;
	if (rng_percent(&s->prices, 50))
		price = o->price + s->profile->price * (rng_below(&s->prices, 5) - 2);
	*ev = (struct event){ .kind = EVENT_ORDER_PRICE,
		.at = ev->at,
		.account = o->account,
		.subject = o->id,
		.u.order_price.price = price < 0 ? 0 : price };
	return true;
}

/* A host that an open offer sold whole, cheaper than the floor will be: time of it may come back to that offer. */
static const struct rhost *price_sold_out(struct stream *s, int64_t *floor)
{
	const struct list *all = &s->r->leases;

	for (int i = 0; i < 12 && all->n; i++) {
		const struct rlease *l = all->at[rng_below(&s->prices, (int64_t)all->n)];
		const struct rorder *o = l->parent ? NULL : ref_list_find(&s->r->orders, l->sell_order);
		const struct rhost *h = o ? ref_list_find(&s->r->hosts, l->host) : NULL;
		bool on = false;

		for (size_t j = 0; h && j < h->cells; j++)
			on = on || h->cell[j].order;
		if (!h || on || l->end <= s->r->minute + 2)
			continue;
		*floor = o->price + s->profile->price;
		return h;
	}
	return NULL;
}

static bool do_floor(struct stream *s, struct event *ev)
{
	const struct list *all = &s->r->hosts;
	int64_t floor = rng_percent(&s->prices, 40) ? 0 : s->profile->price * rng_below(&s->prices, 6);
	const struct rhost *h = rng_percent(&s->prices, 60) ? price_sold_out(s, &floor) : NULL;

	if (!h && all->n)
		h = all->at[rng_below(&s->prices, (int64_t)all->n)];
	if (!h)
		return false;
	*ev = (struct event){ .kind = EVENT_HOST_FLOOR,
		.at = ev->at,
		.account = h->account,
		.subject = h->id,
		.u.host_floor.price = floor };
	return true;
}

void stream_prices(struct stream *s, struct event *ev)
{
	if (ev->kind == EVENT_RULES || s->step <= 26)
		return;
	if (rng_percent(&s->prices, 5))
		do_price(s, ev);
	else if (rng_percent(&s->prices, 2))
		do_floor(s, ev);
}

bool stream_prices_spoil(struct stream *s, struct event *ev)
{
	int64_t *price = ev->kind == EVENT_HOST_FLOOR ? &ev->u.host_floor.price : &ev->u.order_price.price;

	if (ev->kind != EVENT_ORDER_PRICE && ev->kind != EVENT_HOST_FLOOR)
		return false;
	switch (rng_below(&s->prices, 4)) {
	case 0:
		*price = -1;
		break;
	case 1:
		*price = INT64_C(1000000000001);
		break;
	case 2:
		*price = INT64_C(1000000000000);
		break; /* too much where it has no end */
	default:
		ev->subject = 1 + (uint64_t)rng_below(&s->prices, (int64_t)s->r->next_id);
		break;
	}
	return true;
}
