/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads bodies whose shape schema.c has checked. All APIs read orders here.
 */
#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/render.h"

const char *body_text(const json_t *body, const char *name)
{
	return json_string_value(json_object_get(body, name));
}

int64_t body_int(const json_t *body, const char *name, int64_t fallback)
{
	const json_t *value = json_object_get(body, name);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool body_bool(const json_t *body, const char *name, bool fallback)
{
	const json_t *value = json_object_get(body, name);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

bool body_price(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out)
{
	const char *text = body_text(body, name);
	bool exact;

	if (!text || price_parse_wire(text, out, &exact) == 0)
		return true;
	api_refuse(q, r, REASON_INVALID, name, "'%s' must be dollars per node-hour, such as \"2.500000\"", name);
	return false;
}

bool body_money(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out)
{
	const char *text = body_text(body, name);

	if (!text || money_parse_wire(text, false, out) == 0)
		return true;
	api_refuse(q, r, REASON_INVALID, name, "'%s' must be dollars with up to six decimals, such as \"12.500000\"",
		name);
	return false;
}

bool body_user_data(const struct request *q, struct reply *r, const char *name, const char **out)
{
	const char *text = body_text(q->body, name);
	int64_t size = text ? base64_size(text) : 0;

	if (size >= 0 && size <= USER_DATA_MAX) {
		*out = text && *text ? text : NULL;
		return true;
	}
	api_refuse(q, r, REASON_INVALID, name,
		size < 0 ? "user data must be base64, padded, on one line"
			 : "user data may have up to 64 KiB before encoding");
	return false;
}

/* Turns seconds into a minute of the market. */
static bool to_minute(const struct request *q, struct reply *r, const char *field, int64_t seconds, int64_t *out)
{
	if (seconds < 0 || seconds % 60 || seconds / 60 >= MINUTE_MAX) {
		api_refuse(q, r, REASON_INVALID, field,
			"'%s' must be Unix seconds on a whole minute (a multiple of 60)", field);
		return false;
	}
	*out = seconds / 60;
	return true;
}

bool body_minute(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out)
{
	const json_t *value = json_object_get(body, name);

	return json_is_integer(value) ? to_minute(q, r, name, json_integer_value(value), out) : true;
}

/* allocation_schedule_delta: exactly one range with both ends. */
static bool body_read_window(const struct request *q, struct reply *r, struct event *ev)
{
	const char *field = "allocation_schedule_delta";
	const json_t *list = json_object_get(q->body, field), *range = json_array_get(list, 0);
	int64_t nodes = body_int(range, "node_count", 0);

	if (json_array_size(list) != 1) {
		api_refuse(q, r, REASON_INVALID, field, "an order is for one time range, not %zu",
			json_array_size(list));
		return false;
	}
	if (!json_is_integer(json_object_get(range, "end_at"))) {
		api_refuse(q, r, REASON_INVALID, "allocation_schedule_delta.0.end_at", "an order needs an end");
		return false;
	}
	if (!to_minute(q, r, "allocation_schedule_delta.0.start_at", body_int(range, "start_at", -1),
		    &ev->u.order.start) ||
		!to_minute(q, r, "allocation_schedule_delta.0.end_at", body_int(range, "end_at", -1), &ev->u.order.end))
		return false;
	if (ev->u.order.start >= ev->u.order.end) {
		api_refuse(q, r, REASON_INVALID, "allocation_schedule_delta.0.end_at",
			"the end must be after the start");
		return false;
	}
	if (nodes < 1 || nodes > NODES_MAX) {
		api_refuse(q, r, REASON_INVALID, "allocation_schedule_delta.0.node_count",
			"an order is for 1 to %d nodes", (int)NODES_MAX);
		return false;
	}
	ev->u.order.nodes = (int32_t)nodes;
	return true;
}

/* The pool and the SKU. */
static bool body_read_things(const struct engine *e, const struct request *q, struct reply *r, struct event *ev)
{
	const char *pool_text = body_text(q->body, "pool"), *sku_text = body_text(q->body, "instance_sku");
	const struct pool *pool = pool_text ? find_pool(e, ev->account, pool_text) : NULL;
	const struct sku *sku = sku_text ? find_sku(e, sku_text) : NULL;

	if (pool_text && !pool) {
		api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", pool_text);
		return false;
	}
	if (!sku) {
		api_refuse_as(q, r, sku_text ? 404 : 422, sku_text ? REASON_NOT_FOUND : REASON_INVALID, "instance_sku",
			"no instance SKU '%s'", sku_text ? sku_text : "");
		return false;
	}
	ev->u.order.pool = pool ? pool->id : 0;
	ev->u.order.sku = sku->id;
	return true;
}

bool body_order(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev)
{
	const char *side = body_text(q->body, "side");

	*ev = (struct event){ .kind = EVENT_ORDER, .account = account };
	if (!body_read_things(market_engine(api->market), q, r, ev) || !body_read_window(q, r, ev) ||
	    !body_price(q, r, q->body, "limit_price_dollars_per_node_hour", &ev->u.order.price) ||
	    !body_money(q, r, q->body, "np_max_total_dollars", &ev->u.order.max_total))
		return false;
	ev->u.order.side = side && strcmp(side, "sell") == 0 ? SIDE_SELL : SIDE_BUY;
	if (body_bool(q->body, "allow_standing", false))
		ev->u.order.flags |= ORDER_STANDING;
	if (body_bool(q->body, "allow_partial", false))
		ev->u.order.flags |= ORDER_PARTIAL;
	if (body_bool(q->body, "np_interruptible", false))
		ev->u.order.flags |= ORDER_INTERRUPTIBLE;
	if (body_bool(q->body, "np_unverified", false))
		ev->u.order.flags |= ORDER_UNVERIFIED;
	if (ev->u.order.side == SIDE_SELL && (ev->u.order.flags & ORDER_UNVERIFIED)) {
		api_refuse(q, r, REASON_INVALID, "np_unverified", "only a buy can take unverified hosts");
		return false;
	}
	if (ev->u.order.side == SIDE_SELL && (ev->u.order.flags & ORDER_INTERRUPTIBLE)) {
		api_refuse(q, r, REASON_INVALID, "np_interruptible", "only a buy can be interruptible");
		return false;
	}
	if (body_text(q->body, "np_max_total_dollars") && (ev->u.order.side == SIDE_SELL || !ev->u.order.max_total)) {
		api_refuse(q, r, REASON_INVALID, "np_max_total_dollars", "a maximum total is for a buy, and above 0");
		return false;
	}
	return true;
}

/* The field of the body that a reason is about. */
static const char *field_of(int reason)
{
	switch (reason) {
	case REASON_PAST:
	case REASON_NOT_OWNED:
	case REASON_HOSTS_SOLD: return "allocation_schedule_delta";
	case REASON_PRICE_TOO_LOW: return "limit_price_dollars_per_node_hour";
	case REASON_OVER_MAX_TOTAL: return "np_max_total_dollars";
	case REASON_WRONG_STATE: return "pool";
	default: return NULL;
	}
}

int place_order(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	const struct effects *did;
	const struct order *made;
	struct fail why = { 0 };
	int reason = api_apply(api, q, ev, &did, &why);

	if (reason == REASON_WRONG_STATE) /* SF Compute has no 409 here */
		return api_refuse_as(q, r, 422, reason, "pool", "%s",
			why.text[0] ? why.text : reason_row(reason)->text);
	if (reason)
		return api_failed(q, r, reason, field_of(reason), &why);
	made = effects_order(did, effects_made(did));
	if (!made)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the market returned no order");
	return api_json(q, r, 201, render_order(api, made, did));
}
