/* SPDX-License-Identifier: Apache-2.0 */
/* Orders with their fills: from the store or, if this turn made them, from their effects. */
#include "marketd/api/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/money.h"
#include "market/reason.h"

struct fills {
	const struct order *order;
	int64_t minute;
	json_t *list;
	struct spans spans;
	int failed;
};

/* Names nobody: neither the host nor the other side. over: it ended, be it by time, be it before. */
static void add_fill(struct fills *f, const struct lease *l, bool over)
{
	bool given_up = l->sold_on || (over && l->end > f->minute);
	json_t *row;

	if (l->order != f->order->id && l->sell_order != f->order->id)
		return;
	row = json_pack("{s:o, s:I, s:[o], s:o, s:b}", "contract", render_id(IDENT_CONTRACT, l->id), "filled_at",
		(json_int_t)l->filled_at, "allocation_schedule_delta", render_span(l->start, l->end, 1),
		"price_dollars_per_node_hour", render_price(l->price), "np_given_up", (int)given_up);
	if (json_array_append_new(f->list, row) || spans_add(&f->spans, l->start, l->end, 1))
		f->failed = -ENOMEM;
}

static int stored_fill(void *arg, const struct lease *l, bool over)
{
	struct fills *f = arg;

	if (l->start < l->end)
		add_fill(f, l, over);
	return f->failed;
}

static int render_order_collect(struct api *api, struct fills *f, const struct effects *did)
{
	struct store *store = market_store(api->market);
	struct store_page page = { .limit = 65536 };
	struct fail why;

	if (!f->order->filled_minutes)
		return 0;
	if (!did)
		return store->calls->leases(store, f->order->id, 0, 0, &page, stored_fill, f, &why);
	for (size_t i = 0; i < did->count; i++)
		if (did->list[i].kind == EFFECT_LEASE && did->list[i].u.lease.is_new)
			add_fill(f, &did->list[i].u.lease.lease, did->list[i].u.lease.over);
	return f->failed;
}

static const char *render_order_status_text(enum order_status s)
{
	switch (s) {
	case ORDER_FILLED: return "filled";
	case ORDER_PARTIALLY_FILLED: return "partially_filled";
	case ORDER_REJECTED: return "rejected";
	case ORDER_CANCELLED: return "cancelled";
	case ORDER_RESTING: return "standing";
	default: return "pending";
	}
}

static json_t *render_order_principal(const struct engine *e, uint64_t token)
{
	const struct token *t = token ? engine_token(e, token) : NULL;

	if (!t)
		return json_null();
	return json_pack("{s:o, s:s, s:o}", "id", render_id(IDENT_TOKEN, token), "type", "token", "name",
		render_text(t->name));
}

static void render_order_set_money(json_t *made, const char *name, int64_t micros)
{
	char room[MONEY_TEXT];

	json_object_set_new(made, name, json_string(money_wire(micros, room)));
}

/* Minutes that were sold, released and sold again count once: never more nodes than the order has. */
static void render_order_cap(struct spans *s, int32_t nodes)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct span span = s->list[i];

		if (span.nodes > nodes)
			span.nodes = nodes;
		if (n && s->list[n - 1].end == span.start && s->list[n - 1].nodes == span.nodes)
			s->list[n - 1].end = span.end;
		else
			s->list[n++] = span;
	}
	s->count = n;
}

static void set_fills(json_t *made, const struct order *o, struct fills *f)
{
	struct spans filled = { 0 };

	if (spans_sum(f->spans.list, f->spans.count, &filled))
		f->failed = -ENOMEM;
	render_order_cap(&filled, o->nodes);
	json_object_set_new(made, "filled_allocation_schedule_delta", render_spans(filled.list, filled.count));
	json_object_set_new(made, "filled_average_price_dollars_per_node_hour",
		render_average(o->filled_cost, o->filled_minutes));
	json_object_set_new(made, "fills", f->list);
	f->list = NULL;
	free(filled.list);
}

static void set_np(json_t *made, const struct order *o)
{
	json_object_set_new(made, "np_reason", render_reason(o->reason));
	render_order_set_money(made, "np_filled_total_dollars", o->filled_cost);
	render_order_set_money(made, "np_hold_dollars", o->hold);
	json_object_set_new(made, "np_interruptible", json_boolean(o->flags & ORDER_INTERRUPTIBLE));
	json_object_set_new(made, "np_unverified", json_boolean(o->flags & ORDER_UNVERIFIED));
	json_object_set_new(made, "np_granted", json_boolean(o->flags & ORDER_GRANTED));
	json_object_set_new(made, "np_procurement",
		o->procurement ? render_id(IDENT_PROCUREMENT, o->procurement) : json_null());
}

static json_t *render_order_with(struct api *api, const struct order *o, const struct effects *did, bool fills)
{
	const struct engine *e = market_engine(api->market);
	struct fills f = { .order = o, .minute = engine_minute(e), .list = json_array() };
	json_t *made = json_object();

	if (fills && render_order_collect(api, &f, did))
		f.failed = -ENOMEM;
	json_object_set_new(made, "object", json_string("order"));
	json_object_set_new(made, "id", render_id(IDENT_ORDER, o->id));
	json_object_set_new(made, "capacity", render_pool_summary(e, o->pool));
	json_object_set_new(made, "pool", render_pool_summary(e, o->pool));
	json_object_set_new(made, "side", json_string(o->side == SIDE_SELL ? "sell" : "buy"));
	json_object_set_new(made, "allow_standing", json_boolean(o->flags & ORDER_STANDING));
	json_object_set_new(made, "allow_partial", json_boolean(o->flags & ORDER_PARTIAL));
	json_object_set_new(made, "instance_sku", render_sku_summary(e, o->sku));
	json_object_set_new(made, "allocation_schedule_delta",
		json_pack("[o]", render_span(o->start, o->end, o->nodes)));
	json_object_set_new(made, "limit_price_dollars_per_node_hour", render_price(o->price));
	json_object_set_new(made, "status", json_string(render_order_status_text(o->status)));
	json_object_set_new(made, "created_at", json_integer(o->created_at));
	json_object_set_new(made, "created_by", render_order_principal(e, o->token));
	json_object_set_new(made, "filled_at", o->status == ORDER_FILLED ? json_integer(o->closed_at) : json_null());
	json_object_set_new(made, "cancelled_at",
		o->status == ORDER_CANCELLED ? json_integer(o->closed_at) : json_null());
	set_fills(made, o, &f);
	set_np(made, o);
	free(f.spans.list);
	if (f.failed) {
		json_decref(made);
		return NULL;
	}
	return made;
}

json_t *render_order(struct api *api, const struct order *o, const struct effects *did)
{
	return render_order_with(api, o, did, true);
}

json_t *render_order_brief(struct api *api, const struct order *o)
{
	return render_order_with(api, o, NULL, false);
}

const struct order *effects_order(const struct effects *did, uint64_t id)
{
	for (size_t i = did->count; i-- > 0;)
		if (did->list[i].kind == EFFECT_ORDER && did->list[i].u.order.id == id)
			return &did->list[i].u.order;
	return NULL;
}

struct seek {
	store_order_fn fn;
	void *arg;
	int found;
};

static int seek_row(void *arg, const struct order *o)
{
	struct seek *s = arg;
	int answer = s->fn(s->arg, o);

	s->found = answer ? answer : 1;
	return 0;
}

int find_order(struct api *api, uint64_t account, uint64_t id, store_order_fn fn, void *arg, struct fail *f)
{
	struct store *store = market_store(api->market);
	struct order_filter filter = { .account = account, .side = -1, .ids = &id, .id_count = 1 };
	struct store_page page = { .limit = 1 };
	struct seek s = { .fn = fn, .arg = arg };
	int failed = store->calls->orders(store, &filter, &page, seek_row, &s, f);

	return failed ? failed : s.found;
}
