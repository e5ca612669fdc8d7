/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of what offers cost: up, down, to the same price, and to what nobody may ask. See stream.h. */
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

void stream_prices(struct stream *s, struct event *ev)
{
	if (ev->kind != EVENT_RULES && s->step > 26 && rng_percent(&s->prices, 5))
		do_price(s, ev);
}

bool stream_prices_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind != EVENT_ORDER_PRICE)
		return false;
	switch (rng_below(&s->prices, 4)) {
	case 0:
		ev->u.order_price.price = -1;
		break;
	case 1:
		ev->u.order_price.price = INT64_C(1000000000001);
		break;
	case 2:
		ev->u.order_price.price = INT64_C(1000000000000);
		break; /* too much where it has no end */
	default:
		ev->subject = 1 + (uint64_t)rng_below(&s->prices, (int64_t)s->r->next_id);
		break;
	}
	return true;
}
