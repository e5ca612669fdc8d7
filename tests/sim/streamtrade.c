/* SPDX-License-Identifier: Apache-2.0 */
/* Random orders and releases. See stream.h. */
#include "stream.h"

static int32_t some_nodes(struct stream *s)
{
	static const int32_t few[] = { 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4 };

	return few[rng_below(&s->rng, sizeof few / sizeof few[0])];
}

static int64_t some_length(struct stream *s)
{
	static const int64_t round[] = { 1, 2, 3, 5, 10, 15, 30, 60 };

	if (rng_percent(&s->rng, 40))
		return round[rng_below(&s->rng, sizeof round / sizeof round[0])];
	return 1 + rng_below(&s->rng, s->profile->window);
}

static void some_window(struct stream *s, int64_t *start, int64_t *end)
{
	*start = stream_minute(s);
	*end = rng_percent(&s->rng, 50) ? stream_minute(s) : *start + some_length(s);
	if (*end <= *start)
		*end = *start + some_length(s);
}

/* A window in [low, high), often the whole. */
static void window_within(struct stream *s, int64_t low, int64_t high, int64_t *start, int64_t *end)
{
	if (low < s->r->minute + 1)
		low = s->r->minute + 1;
	if (high > low + 4 * s->profile->window)
		high = low + 4 * s->profile->window;
	*start = rng_percent(&s->rng, 40) ? low : low + rng_below(&s->rng, high - low);
	*end = rng_percent(&s->rng, 40) ? high : *start + 1 + rng_below(&s->rng, high - *start);
}

static void order_begin(struct stream *s, struct event *ev, const struct rpool *p, int side, uint64_t sku)
{
	ev->kind = EVENT_ORDER;
	ev->account = p->account;
	ev->u.order.pool = p->id;
	ev->u.order.sku = sku;
	ev->u.order.side = side;
	ev->u.order.nodes = some_nodes(s);
	ev->u.order.price = stream_price(s);
}

static int32_t buy_flags(struct stream *s)
{
	int32_t flags = 0;

	if (rng_percent(&s->rng, s->profile->partial))
		flags |= ORDER_PARTIAL;
	if (rng_percent(&s->rng, s->profile->standing))
		flags |= ORDER_STANDING;
	if (rng_percent(&s->rng, s->profile->interruptible))
		flags |= ORDER_INTERRUPTIBLE;
	return flags;
}

/* A piece of a host that a pool of this kind has and that somebody may still trade. */
static const struct cell *some_cell(struct stream *s, int kind, struct rhost **host)
{
	for (int i = 0; i < 12; i++) {
		struct rhost *h = stream_pick(s, &s->r->hosts);
		const struct cell *c = h && h->cells ? &h->cell[rng_below(&s->rng, (int64_t)h->cells)] : NULL;
		const struct rpool *p = c ? ref_list_find(&s->r->pools, c->pool) : NULL;

		*host = h;
		if (p && p->kind == kind && c->end > s->r->minute + 1)
			return c;
	}
	return NULL;
}

static int64_t near_price(struct stream *s, int64_t price)
{
	int64_t p = price + (rng_below(&s->rng, 4) - 1) * s->profile->price;

	return p < 0 ? 0 : p > 1000000000000 ? 1000000000000 : p;
}

/* A piece that is on sale. */
static const struct cell *some_offer(struct stream *s, struct rhost **host)
{
	for (int i = 0; i < 12; i++) {
		struct rhost *h = stream_pick(s, &s->r->hosts);
		const struct cell *c = h && h->cells ? &h->cell[rng_below(&s->rng, (int64_t)h->cells)] : NULL;

		*host = h;
		if (c && c->order && !h->down && c->end > s->r->minute + 1)
			return c;
	}
	return NULL;
}

static bool do_buy(struct stream *s, struct event *ev)
{
	const struct rpool *p = stream_pool(s, POOL_MARKET);
	const struct rsku *sku = stream_pick(s, &s->r->skus);
	struct rhost *h;
	const struct cell *c = rng_percent(&s->rng, 70) ? some_offer(s, &h) : NULL;
	const struct rorder *sell = c ? ref_list_find(&s->r->orders, c->order) : NULL;

	if (!p || !sku)
		return false;
	order_begin(s, ev, p, SIDE_BUY, c ? h->sku : sku->id);
	ev->u.order.flags = buy_flags(s);
	some_window(s, &ev->u.order.start, &ev->u.order.end);
	if (c && rng_percent(&s->rng, 80))
		window_within(s, c->start, c->end, &ev->u.order.start, &ev->u.order.end);
	if (rng_percent(&s->rng, 40)) /* what most have a chance with */
		ev->u.order.price += 4 * s->profile->price;
	else if (sell && rng_percent(&s->rng, 60))
		ev->u.order.price = near_price(s, sell->price);
	if (rng_percent(&s->rng, 10))
		ev->u.order.max_total = ev->u.order.price * ev->u.order.nodes * (ev->u.order.end - ev->u.order.start) /
				2 +
			1;
	return true;
}

/* What a sell that is there offers, or nearly so: blocks want exactly that. */
static bool do_buy_like(struct stream *s, struct event *ev)
{
	const struct rpool *p = stream_pool(s, POOL_MARKET);
	const struct rorder *sell = stream_pick(s, &s->r->orders);

	for (int i = 0; i < 4 && sell && (sell->side != SIDE_SELL || (i < 2 && (sell->flags & ORDER_PARTIAL))); i++)
		sell = stream_pick(s, &s->r->orders);
	if (!p || !sell || sell->side != SIDE_SELL)
		return false;
	order_begin(s, ev, p, SIDE_BUY, sell->sku);
	ev->u.order.flags = buy_flags(s);
	ev->u.order.start = sell->start;
	ev->u.order.end = sell->end;
	if (sell->flags & ORDER_PARTIAL)
		window_within(s, sell->start, sell->end, &ev->u.order.start, &ev->u.order.end);
	ev->u.order.nodes = sell->nodes;
	ev->u.order.price = near_price(s, sell->price);
	return true;
}

static bool do_extend(struct stream *s, struct event *ev)
{
	struct rhost *h;
	const struct cell *c = some_cell(s, POOL_MARKET, &h);

	if (!c)
		return false;
	order_begin(s, ev, ref_list_find(&s->r->pools, c->pool), SIDE_BUY, h->sku);
	ev->u.order.flags = ORDER_EXTEND;
	ev->u.order.start = c->end;
	ev->u.order.end = rng_percent(&s->rng, 40) ? stream_minute(s) : 0;
	if (ev->u.order.end <= c->end)
		ev->u.order.end = c->end + some_length(s);
	ev->u.order.nodes = 1 + (int32_t)rng_below(&s->rng, 2);
	if (rng_percent(&s->rng, 60))
		ev->u.order.price += 6 * s->profile->price;
	return true;
}

static bool do_sell(struct stream *s, struct event *ev, int kind)
{
	struct rhost *h;
	const struct cell *c = some_cell(s, kind, &h);

	for (int i = 0; i < 3 && c && c->order; i++)
		c = some_cell(s, kind, &h);
	if (!c)
		return false;
	order_begin(s, ev, ref_list_find(&s->r->pools, c->pool), SIDE_SELL, h->sku);
	if (!rng_percent(&s->rng, s->profile->block))
		ev->u.order.flags |= ORDER_PARTIAL;
	if (rng_percent(&s->rng, 75))
		ev->u.order.flags |= ORDER_STANDING;
	window_within(s, c->start, c->end, &ev->u.order.start, &ev->u.order.end);
	if (rng_percent(&s->rng, 10))
		ev->u.order.end += some_length(s);
	if (c->end == MINUTE_MAX && rng_percent(&s->rng, 15))
		ev->u.order.end = MINUTE_MAX;
	if (rng_percent(&s->rng, 25)) {
		ev->u.order.host = h->id;
		ev->u.order.nodes = 1;
	}
	if (rng_percent(&s->rng, 40))
		ev->u.order.price = near_price(s, 0);
	return true;
}

/* What a buy that rests waits for. */
static bool do_sell_like(struct stream *s, struct event *ev)
{
	const struct rorder *buy = stream_pick(s, &s->r->orders);
	const struct rpool *p;
	struct rhost *h;
	const struct cell *c = some_cell(s, rng_percent(&s->rng, 60) ? POOL_MARKET : POOL_ORIGINATING, &h);

	for (int i = 0; i < 4 && buy && buy->side != SIDE_BUY; i++)
		buy = stream_pick(s, &s->r->orders);
	if (!buy || !c || buy->side != SIDE_BUY || h->sku != buy->sku)
		return false;
	p = ref_list_find(&s->r->pools, c->pool);
	order_begin(s, ev, p, SIDE_SELL, buy->sku);
	ev->u.order.nodes = buy->nodes;
	ev->u.order.flags = rng_percent(&s->rng, s->profile->block) ? 0 : ORDER_PARTIAL;
	ev->u.order.flags |= rng_percent(&s->rng, 60) ? ORDER_STANDING : 0;
	ev->u.order.start = buy->start;
	ev->u.order.end = buy->end;
	ev->u.order.price = near_price(s, buy->price);
	return true;
}

static bool do_cancel(struct stream *s, struct event *ev)
{
	const struct rorder *o = stream_pick(s, &s->r->orders);

	if (!o)
		return false;
	ev->kind = EVENT_CANCEL;
	ev->account = o->account;
	ev->subject = o->id;
	ev->u.cancel.reason = rng_percent(&s->rng, 20) ? REASON_NO_ROOM : rng_percent(&s->rng, 1) ? REASON_PAST : 0;
	return true;
}

static bool do_release(struct stream *s, struct event *ev)
{
	struct rhost *h;
	const struct cell *c = some_cell(s, POOL_MARKET, &h);

	if (!c)
		return false;
	ev->kind = EVENT_RELEASE;
	ev->account = ((struct rpool *)ref_list_find(&s->r->pools, c->pool))->account;
	ev->subject = c->pool;
	ev->u.release.from = rng_percent(&s->rng, 30) ? 0 : stream_minute(s);
	if (rng_percent(&s->rng, 50))
		ev->u.release.from = c->start + rng_below(&s->rng, c->end - c->start);
	ev->u.release.nodes = (int32_t)rng_below(&s->rng, 3);
	ev->u.release.sku = rng_percent(&s->rng, 50) ? h->sku : 0;
	return true;
}

bool stream_trade(struct stream *s, enum action a, struct event *ev)
{
	switch (a) {
	case DO_BUY: return do_buy(s, ev);
	case DO_BUY_LIKE: return do_buy_like(s, ev);
	case DO_EXTEND: return do_extend(s, ev);
	case DO_OFFER: return do_sell(s, ev, POOL_ORIGINATING);
	case DO_RESELL: return do_sell(s, ev, POOL_MARKET);
	case DO_SELL_LIKE: return do_sell_like(s, ev);
	case DO_CANCEL: return do_cancel(s, ev);
	case DO_RELEASE: return do_release(s, ev);
	default: return false;
	}
}
