/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random changes of what offers cost and of what hosts cost at least, and what nobody may ask; and what the operator
 * says. See stream.h.
 */
#include <string.h>

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

/* Mostly short ones, and few ends: in some worlds there come to be too many. */
static void do_announce(struct stream *s, struct event *ev)
{
	const struct list *people = &s->r->accounts, *said = &s->r->words;
	const struct raccount *a = people->n && rng_percent(&s->prices, 40)
		? people->at[rng_below(&s->prices, (int64_t)people->n)]
		: NULL;
	int64_t from = rng_percent(&s->prices, 50) ? 0 : s->r->minute + rng_below(&s->prices, 20);
	const struct rword *w = said->n ? said->at[rng_below(&s->prices, (int64_t)said->n)] : NULL;

	if (w && rng_percent(&s->prices, s->chatty ? 5 : 30)) {
		*ev = (struct event){ .kind = EVENT_ANNOUNCE_END,
			.at = ev->at,
			.account = w->account,
			.subject = w->id };
		return;
	}
	*ev = (struct event){ .kind = EVENT_ANNOUNCE,
		.at = ev->at,
		.account = a ? a->id : 0,
		.text = rng_percent(&s->prices, 50) ? "new fans on Sunday" : "x",
		.u.announce = { .severity = (int32_t)rng_below(&s->prices, 3), .from = from } };
	if (rng_percent(&s->prices, 60))
		ev->u.announce.until = (from ? from : s->r->minute) + 1 + rng_below(&s->prices, 60);
}

void stream_prices(struct stream *s, struct event *ev)
{
	if (ev->kind == EVENT_RULES || s->step <= 26)
		return;
	if (rng_percent(&s->prices, 5))
		do_price(s, ev);
	else if (rng_percent(&s->prices, 2))
		do_floor(s, ev);
	else if (rng_percent(&s->prices, s->chatty ? 80 : 1))
		do_announce(s, ev);
}

static char words_long[ANNOUNCEMENT_BYTES + 2];

static void spoil_announce(struct stream *s, struct event *ev)
{
	memset(words_long, 'w', sizeof words_long - 1);
	switch (rng_below(&s->prices, 7)) {
	case 0:
		ev->text = words_long;
		break;
	case 1:
		ev->text = rng_percent(&s->prices, 50) ? NULL : "";
		break;
	case 2:
		ev->u.announce.severity = rng_percent(&s->prices, 50) ? -1 : 3;
		break;
	case 3:
		ev->u.announce.until = s->r->minute;
		break;
	case 4:
		ev->u.announce.from = -1;
		break;
	case 5:
		ev->u.announce.until = MINUTE_MAX + 1;
		break;
	default:
		ev->account = s->r->next_id;
		break;
	}
}

bool stream_prices_spoil(struct stream *s, struct event *ev)
{
	int64_t *price = ev->kind == EVENT_HOST_FLOOR ? &ev->u.host_floor.price : &ev->u.order_price.price;

	if (ev->kind == EVENT_ANNOUNCE) {
		spoil_announce(s, ev);
		return true;
	}
	if (ev->kind == EVENT_ANNOUNCE_END) {
		ev->subject = s->r->next_id;
		return true;
	}
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
