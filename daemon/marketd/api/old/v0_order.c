/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v0/orders and /v0/quote. A total in cents becomes a price per node-minute, rounded in the account's
 * favour: down for a buy, so that it never costs more, up for a sell.
 */
#include "marketd/api/old/v0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/np/np.h"

enum { MICROS_PER_CENT = 10000 };

/* Start and end of a body as minutes. false: refused. */
static bool v0_order_read_window(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	int64_t minute = engine_minute(market_engine(api->market)), start, end;

	if (!v0_time(body_text(q->body, "start_at"), (minute + 1) * 60, &start)) {
		api_refuse(q, r, REASON_INVALID, "start_at",
			"'start_at' must be \"NOW\" or a time, such as 2026-11-20T21:00:00Z");
		return false;
	}
	if (strcmp(body_text(q->body, "end_at"), "NOW") == 0 || !v0_time(body_text(q->body, "end_at"), 0, &end)) {
		api_refuse(q, r, REASON_INVALID, "end_at", "'end_at' must be a time, such as 2026-11-20T21:00:00Z");
		return false;
	}
	if (!np_minute(q, r, "start_at", start, &ev->u.order.start) ||
		!np_minute(q, r, "end_at", end, &ev->u.order.end))
		return false;
	if (ev->u.order.start <= minute && ev->u.order.start >= minute - 1)
		ev->u.order.start = minute + 1; /* "now", give or take a minute */
	if (ev->u.order.end > ev->u.order.start)
		return true;
	api_refuse(q, r, REASON_INVALID, "end_at", "the end must be after the start and the current minute");
	return false;
}

static bool read_flags(const struct request *q, struct reply *r, struct event *ev)
{
	const json_t *flags = json_object_get(q->body, "flags");
	const char *absent = body_bool(flags, "post_only", false) ? "flags.post_only" :
		body_bool(flags, "market", false) ? "flags.market" :
		json_is_object(json_object_get(q->body, "reprice")) ? "reprice" : NULL;

	if (absent) {
		api_refuse(q, r, REASON_NOT_IMPLEMENTED, absent,
			"this market has no '%s': an order is at its limit or better", absent);
		return false;
	}
	if (!body_bool(flags, "ioc", false))
		ev->u.order.flags |= ORDER_STANDING;
	/* A standing sell fills in parts, a buy whole or not. 'prorate' is how every limit works here. */
	if (ev->u.order.side == SIDE_SELL && (ev->u.order.flags & ORDER_STANDING))
		ev->u.order.flags |= ORDER_PARTIAL;
	return true;
}

static void read_price(const struct request *q, struct event *ev)
{
	int64_t micros = body_int(q->body, "price", 0) * MICROS_PER_CENT;
	int64_t parts = (ev->u.order.end - ev->u.order.start) * ev->u.order.nodes;

	if (ev->u.order.side == SIDE_SELL) {
		ev->u.order.price = micros / parts + (micros % parts != 0);
		return;
	}
	ev->u.order.price = micros / parts;
	ev->u.order.max_total = micros;
}

/* The pool to buy into or sell from: that of the given contract. false: refused. */
static bool read_contract(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	const json_t *beside = json_object_get(q->body, "colocate_with");
	const char *field = ev->u.order.side == SIDE_SELL ? "contract_id" : "colocate_with";
	const char *text = ev->u.order.side == SIDE_SELL ? body_text(q->body, "contract_id") :
		json_string_value(json_array_get(beside, 0));
	struct v0_contract c;
	struct fail why = { 0 };
	int rc;

	if (json_array_size(beside) > 1) {
		api_refuse(q, r, REASON_NOT_IMPLEMENTED, field, "give one contract to colocate with, not several");
		return false;
	}
	if (!text && ev->u.order.side == SIDE_SELL) {
		api_refuse(q, r, REASON_INVALID, field,
			"'contract_id' is required for a sell: the contract to sell from");
		return false;
	}
	if (!text)
		return true;
	rc = v0_contract_find(api, ev->account, text, &c, &why);
	if (rc == 1 && ev->u.order.side == SIDE_BUY && !v0_nodes_room(market_engine(api->market), c.pool)) {
		api_refuse(q, r, REASON_LIMIT, field,
			"contract '%s' has as many orders to come as it may; wait until one begins, or cancel one",
			text);
		return false;
	}
	if (rc == 1) {
		ev->u.order.pool = c.pool;
		ev->u.order.sku = c.sku;
		return true;
	}
	api_refuse(q, r, rc ? REASON_UNAVAILABLE : REASON_NOT_FOUND, field, "no contract '%s'", text);
	return false;
}

static bool v0_order_read_sku(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	const char *type = body_text(q->body, "instance_type"), *cluster = body_text(q->body, "cluster");

	if (ev->u.order.sku)
		return true;
	if (!type && !cluster) {
		api_refuse(q, r, REASON_INVALID, "instance_type", "give 'instance_type', 'cluster' or 'colocate_with'");
		return false;
	}
	ev->u.order.sku = v0_pick(market_engine(api->market), ev, WAIT_FOR_PRICE, type, cluster);
	if (!ev->u.order.sku)
		api_refuse(q, r, REASON_NOT_FOUND, cluster ? "cluster" : "instance_type", "this market has no '%s'",
			cluster ? cluster : type);
	return ev->u.order.sku;
}

/* Makes a pool for a buy. 0, or a reason. */
static int make_pool(struct api *api, const struct request *q, struct event *ev, struct fail *why)
{
	char room[IDENT_TEXT], name[IDENT_TEXT + 16],
		*tags = v0_nodes_new_tags(body_text(q->body, "instance_type"), ev->u.order.sku);
	uint64_t next = engine_next_id(market_engine(api->market));
	struct event made = { .kind = EVENT_POOL,
		.account = ev->account,
		.name = name,
		.text = tags,
		.u.pool.kind = POOL_MARKET };
	const struct effects *did;
	int rc;

	do
		snprintf(name, sizeof name, "contract-%s", strchr(ident_text(IDENT_POOL, next++, room), '_') + 1);
	while (engine_pool_named(market_engine(api->market), ev->account, name));
	rc = api_apply(api, q, &made, &did, why);
	free(tags);
	if (rc == 0)
		ev->u.order.pool = effects_made(did);
	return rc;
}

static const char *v0_order_status_word(const struct order *o)
{
	return o->status == ORDER_FILLED ? "filled" : o->status == ORDER_CANCELLED ? "cancelled" : "pending";
}

/* Places the order and makes its nodes; deletes the pool made for it if the order bought nothing. */
static int v0_order_place(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	bool own = !ev->u.order.pool;
	struct event undo = { .kind = EVENT_POOL_DELETE, .account = ev->account };
	const struct effects *did;
	const struct order *o = NULL;
	struct order placed;
	struct fail why = { 0 };
	json_t *answer = NULL;
	int rc = own ? make_pool(api, q, ev, &why) : 0;

	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	undo.subject = ev->u.order.pool;
	rc = api_apply(api, q, ev, &did, &why);
	if (rc == 0)
		o = effects_order(did, effects_made(did));
	if (o)
		answer = json_pack("{s:s, s:s, s:o}", "object", "order", "status", v0_order_status_word(o), "id",
			render_id(IDENT_ORDER, o->id));
	if (o && q->idempotency_key)
		json_object_set_new(answer, "idempotency_key", json_string(q->idempotency_key));
	if (o)
		placed = *o; /* the next event takes the effects away */
	own = own && (!o || (o->status == ORDER_CANCELLED && !o->filled_minutes));
	if (own)
		api_apply(api, q, &undo, NULL, NULL);
	else if (o)
		v0_nodes_follow(api, &placed);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	return api_json(q, r, 201, answer);
}

static int post_order(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .kind = EVENT_ORDER }, asked;
	struct quote quote;
	struct fail why = { 0 };
	int rc;

	ev.u.order.side = strcmp(body_text(q->body, "side"), "sell") == 0 ? SIDE_SELL : SIDE_BUY;
	ev.u.order.nodes = (int32_t)body_int(q->body, "quantity", 0);
	if (!api_whose(q, r, &ev.account) || !v0_order_read_window(api, q, r, &ev) || !read_flags(q, r, &ev))
		return r->status;
	read_price(q, &ev);
	if (!read_contract(api, q, r, &ev) || !v0_order_read_sku(api, q, r, &ev))
		return r->status;
	asked = ev;
	rc = decide_apply(api, q, &asked, &why);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	rc = engine_quote(market_engine(api->market), &asked, &quote, &why);
	if (rc == REASON_SUSPENDED || rc == REASON_FUNDS || rc == REASON_OVER_MAX_TOTAL || rc == REASON_OVER_CAP ||
		rc == REASON_PAST)
		return api_failed(q, r, rc, NULL, &why); /* before it makes a pool for nothing */
	return v0_order_place(api, q, r, &ev);
}

const struct route api_v0_order_routes[] = {
	{ METHOD_POST, "/v0/orders", post_order, SCOPE_TRADE, ROUTE_CREATES, "Buy or sell for a total in cents", NULL,
		"v0.CreateOrderRequest", "v0.NewOrder", 201 },
	{ METHOD_GET, "/v0/orders", v0_list_orders, SCOPE_READ, 0, "List orders", V0_ORDER_FILTERS, NULL,
		"v0.OrderList", 200 },
	{ METHOD_GET, "/v0/orders/{id}", v0_get_order, SCOPE_READ, 0, "Get an order", NULL, NULL, "v0.Order", 200 },
	{ METHOD_DELETE, "/v0/orders/{id}", v0_cancel_order, SCOPE_TRADE, 0, "Cancel an order", NULL, "v1.Empty",
		"v0.Pending", 200 },
	{ METHOD_GET, "/v0/quote", v0_get_quote, SCOPE_READ, 0, "Quote an order: what it would cost now",
		"side:string,quantity:integer,instance_type:string,cluster:string,colocate_with:array,contract_id:"
		"string,"
		"duration:integer,min_duration:integer,max_duration:integer,min_start_date:string,max_start_date:"
		"string",
		NULL, "v0.QuoteAnswer", 200 },
	{ 0 },
};
