/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v2/order_preview: what an order would cost, with the body that places it. The engine says what it would
 * do, so the estimate holds as long as nothing else happens in between.
 */
#include "marketd/api/v2/v2.h"

#include <string.h>

#include "market/reason.h"
#include "marketd/api/render.h"

static const int64_t price_max = 1000000000000; /* rules.md: of an order's limit */

struct preview {
	struct event ev; /* the order to post, with the best pool and SKU so far */
	struct quote best;
	int short_of; /* REASON_FUNDS if only money is missing */
	bool found, matched;
};

/* A limit so high that the price cannot be why it fails; lower where the total would overflow. */
static int64_t preview_boundless(const struct event *ev)
{
	int64_t units = ev->u.order.nodes * (ev->u.order.end - ev->u.order.start);

	return ev->u.order.side == SIDE_SELL ? 0 : INT64_MAX / units < price_max ? INT64_MAX / units : price_max;
}

/* 1: all of it fills at that limit, 0: it does not, negative: the order is invalid. */
static int preview_try(const struct engine *e, const struct event *ev, int64_t price, struct quote *out, int *short_of,
	struct fail *why)
{
	struct event ask = *ev;
	int reason;

	ask.u.order.price = price;
	*out = (struct quote){ .price = -1 };
	reason = engine_quote(e, &ask, out, why);
	*short_of = (reason == REASON_FUNDS || reason == REASON_OVER_CAP) && out->price >= 0 ? reason : 0;
	switch (reason) {
	case REASON_NONE: return out->nodes == ev->u.order.nodes;
	case REASON_NO_CAPACITY:
	case REASON_PRICE_TOO_LOW:
	case REASON_HOSTS_SOLD:
	case REASON_NO_BUYER:
	case REASON_NOT_OWNED: return 0;
	default: return *short_of ? 1 : reason;
	}
}

/* The highest limit at which the sale still happens: all buys that it fills are at or above it. */
static int64_t lowest_bid(const struct engine *e, const struct event *ev, int64_t guess)
{
	int64_t low = 0, high = price_max;
	struct quote ignored;
	struct fail why;
	int short_of;

	if (guess >= 0 && preview_try(e, ev, guess, &ignored, &short_of, &why) == 1)
		return guess;
	while (low < high) {
		int64_t middle = low + (high - low + 1) / 2;

		if (preview_try(e, ev, middle, &ignored, &short_of, &why) == 1)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Tries one pool and SKU, and keeps it if it beats the best so far. */
static int preview_consider(const struct engine *e, struct preview *p, uint64_t pool, uint64_t sku, struct fail *why)
{
	struct event ev = p->ev;
	struct quote quote;
	int short_of, can;
	bool better;

	ev.u.order.pool = pool;
	ev.u.order.sku = sku;
	can = preview_try(e, &ev, preview_boundless(&ev), &quote, &short_of, why);
	if (can <= 0)
		return can;
	better = ev.u.order.side == SIDE_BUY ? quote.cost < p->best.cost : quote.cost > p->best.cost;
	if (p->found && !better)
		return 0;
	ev.u.order.price = ev.u.order.side == SIDE_BUY ? quote.price : lowest_bid(e, &ev, quote.price);
	p->ev = ev;
	p->best = quote;
	p->short_of = short_of;
	p->found = true;
	return 0;
}

/* Tries every pool that the order could be for: the one given; else any for a sale, the newest for a buy. */
static int consider_pools(const struct engine *e, struct preview *p, uint64_t pool, uint64_t sku, struct fail *why)
{
	const struct pool *each;
	int failed;

	if (pool)
		return preview_consider(e, p, pool, sku, why);
	for (each = engine_pool_before(e, p->ev.account, UINT64_MAX); each;
	     each = engine_pool_before(e, p->ev.account, each->id)) {
		if (!pool_seen(each) || (p->ev.u.order.side == SIDE_BUY && each->kind != POOL_MARKET))
			continue;
		failed = preview_consider(e, p, each->id, sku, why);
		if (failed || p->ev.u.order.side == SIDE_BUY)
			return failed;
	}
	return 0;
}

static bool read_request(const struct request *q, struct reply *r, struct event *ev)
{
	int64_t seconds = body_int(q->body, "duration_seconds", 0), nodes = body_int(q->body, "node_count", 0);
	const char *side = body_text(q->body, "side");

	if (!body_minute(q, r, q->body, "start_at", &ev->u.order.start))
		return false;
	if (seconds <= 0 || seconds % 60 || seconds / 60 > MINUTE_MAX - ev->u.order.start) {
		api_refuse(q, r, REASON_INVALID, "duration_seconds",
			"'duration_seconds' must be a multiple of 60 above 0");
		return false;
	}
	if (nodes < 1 || nodes > NODES_MAX) {
		api_refuse(q, r, REASON_INVALID, "node_count", "an order is for 1 to %d nodes", (int)NODES_MAX);
		return false;
	}
	ev->u.order.end = ev->u.order.start + seconds / 60;
	ev->u.order.nodes = (int32_t)nodes;
	ev->u.order.side = side && strcmp(side, "sell") == 0 ? SIDE_SELL : SIDE_BUY;
	return requirements_check(q, r, json_object_get(q->body, "requirements"));
}

static json_t *v2_preview_fee(const struct engine *e, const struct event *ev)
{
	return json_pack("{s:s, s:i}", "flat_dollars_per_node_hour", "0.000000", "percentage_bps",
		ev->u.order.side == SIDE_SELL ? (int)engine_policy(e)->fee_bps : 0);
}

static int preview_quoted(const struct engine *e, const struct request *q, struct reply *r, const struct preview *p)
{
	const struct event *ev = &p->ev;
	json_t *body = json_pack("{s:o, s:s, s:b, s:b, s:o, s:[o], s:o}", "pool",
		render_id(IDENT_POOL, ev->u.order.pool), "side", ev->u.order.side == SIDE_SELL ? "sell" : "buy",
		"allow_standing", 0, "allow_partial", 0, "instance_sku", render_id(IDENT_SKU, ev->u.order.sku),
		"allocation_schedule_delta", render_span(ev->u.order.start, ev->u.order.end, ev->u.order.nodes),
		"limit_price_dollars_per_node_hour", render_price(ev->u.order.price));
	json_t *made = json_pack("{s:s, s:o, s:o, s:[]}", "type", "quoted", "post_order_body", body, "fee",
		v2_preview_fee(e, ev), "notices");

	if (made && (render_money(made, "np_total", p->best.cost) ||
	    json_object_set_new(made, "np_reason", render_reason(p->short_of)))) {
		json_decref(made);
		made = NULL;
	}
	return api_json(q, r, 200, made);
}

static int preview_unavailable(const struct engine *e, const struct request *q, struct reply *r,
	const struct preview *p, const struct fail *why)
{
	return api_json(q, r, 200, json_pack("{s:s, s:s, s:o, s:[], s:o}", "type", "unavailable",
		"reason", p->matched ? "no_availability" : "no_matching_instance_skus",
		"fee", p->matched ? v2_preview_fee(e, &p->ev) : json_null(), "notices",
		"np_message", render_text(why->text[0] ? why->text : NULL)));
}

/* false: refused. A buy needs a pool to go into, so that the body can be posted as it is. */
static bool preview_read_pool(const struct engine *e, const struct request *q, struct reply *r, const struct event *ev,
	uint64_t *pool)
{
	const char *text = body_text(q->body, "pool");
	const struct pool *p = text ? find_pool(e, ev->account, text) : NULL;

	if (text && !p) {
		api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", text);
		return false;
	}
	*pool = p ? p->id : 0;
	if (p || ev->u.order.side == SIDE_SELL)
		return true;
	for (p = engine_pool_after(e, ev->account, 0); p; p = engine_pool_after(e, ev->account, p->id))
		if (pool_seen(p) && p->kind == POOL_MARKET)
			return true;
	api_refuse(q, r, REASON_INVALID, "pool", "this account has no pool to buy into; make one with POST /v2/pools");
	return false;
}

static int preview_order(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct preview p = { .ev = { .kind = EVENT_ORDER } };
	struct fail why = { 0 };
	uint64_t pool;

	p.ev.token = api_spender(e, q);
	if (!api_whose(q, r, &p.ev.account) || !read_request(q, r, &p.ev) || !preview_read_pool(e, q, r, &p.ev, &pool))
		return r->status;
	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id)) {
		int failed = 0;

		if (!requirements_match(json_object_get(q->body, "requirements"), s))
			continue;
		p.matched = true;
		failed = consider_pools(e, &p, pool, s->id, &why);
		if (failed)
			return api_failed(q, r, failed, failed == REASON_PAST ? "start_at" : NULL, &why);
	}
	return p.found ? preview_quoted(e, q, r, &p) : preview_unavailable(e, q, r, &p, &why);
}

const struct route api_v2_preview[] = {
	{ METHOD_POST, "/v2/order_preview", preview_order, SCOPE_READ | SCOPE_TRADE, 0, "Estimate an order", NULL,
		"v2.OrderPreviewRequest", "v2.OrderPreviewResponse", 200 },
	{ 0 },
};
