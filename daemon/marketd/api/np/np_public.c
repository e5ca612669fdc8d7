/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /np/v1/public: what is for sale, for who has no account. Its text is made every few seconds at most, so that a
 * crowd of strangers costs no more than one.
 */
#include <stdlib.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/np/price_week.h"
#include "marketd/api/np/public_book.h"
#include "marketd/api/render.h"

enum { PUBLIC_MS = 2000, PUBLIC_TYPES = 64, PUBLIC_TEXT_MAX = 1 << 20 };

struct public_view {
	struct buf text;
	int64_t made_ms;
	uint64_t undone; /* api->undone when it was made */
	struct price_week week;
};

void np_public_close(struct api *api)
{
	if (!api->public_view)
		return;
	buf_release(&api->public_view->text);
	price_week_release(&api->public_view->week);
	free(api->public_view);
	api->public_view = NULL;
}

/* ---- Rendering -------------------------------------------------------------------------- */

static json_t *public_asks_json(const struct public_window *w, int64_t minutes)
{
	json_t *list = json_array();

	for (int i = 0; i < w->ask_count; i++)
		json_array_append_new(list,
			json_pack("{s:o, s:I}", "dollars_per_node_hour", render_average(w->asks[i].cost, minutes),
				"nodes", (json_int_t)w->asks[i].nodes));
	return list;
}

static json_t *public_windows_json(const struct public_type *t)
{
	json_t *list = json_array();

	for (int i = 0; i < PUBLIC_WINDOWS; i++) {
		const struct public_window *w = &t->windows[i];
		char room[MONEY_TEXT];
		const char *limit = price_text(w->asks[0].dearest, (unsigned)t->sku->gpus, room);

		json_array_append_new(list,
			json_pack("{s:I, s:I, s:o, s:o}", "seconds", (json_int_t)(60 * public_minutes[i]), "nodes",
				(json_int_t)w->nodes, "limit", w->ask_count ? json_string(limit) : json_null(), "asks",
				public_asks_json(w, public_minutes[i])));
	}
	return list;
}

static json_t *public_week_json(const struct price_week *w, struct week_type *t)
{
	int64_t cost, minutes;
	json_t *list;

	if (!w->counted)
		return json_null();
	list = json_array();
	for (int64_t n = w->step - WEEK_STEPS + 1; t && n <= w->step; n++) {
		if (!price_week_index(&t->steps[n % WEEK_STEPS], &cost, &minutes))
			cost = minutes = 0;
		json_array_append_new(list, render_average(cost, minutes));
	}
	return list;
}

static json_t *public_last_json(const struct price_week *w, const struct week_type *t)
{
	if (!w->counted || !t || !t->last_at)
		return json_null();
	return json_pack("{s:o, s:I}", "dollars_per_node_hour", render_price(t->last_price), "filled_at",
		(json_int_t)t->last_at);
}

static json_t *public_type_json(const struct public_type *t, const struct price_week *w)
{
	struct week_type *week = price_week_of(w, t->sku->id);

	return json_pack("{s:o, s:o, s:i, s:b, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "instance_sku",
		render_id(IDENT_SKU, t->sku->id), "type", render_text(t->sku->alias), "gpus", (int)t->sku->gpus,
		"proof", (int)t->sku->proof, "properties", sku_facts(t->sku), "hosts_up", (json_int_t)t->hosts,
		"on_sale", (json_int_t)t->on_sale, "on_sale_together", (json_int_t)t->together, "windows",
		public_windows_json(t), "last_trade", public_last_json(w, week), "week", public_week_json(w, week));
}

static bool public_sells(const struct public_type *t)
{
	return t->on_sale || t->together;
}

static json_t *public_json(const struct api *api, const struct public_book *b, const struct price_week *w)
{
	json_t *types = json_array();

	for (int sells = 1; sells >= 0; sells--)
		for (size_t i = 0; i < b->count && json_array_size(types) < PUBLIC_TYPES; i++)
			if (public_sells(&b->types[i]) == (sells == 1))
				json_array_append_new(types, public_type_json(&b->types[i], w));
	return json_pack("{s:s, s:o, s:I, s:I, s:I, s:o, s:I}", "object", "public", "name",
		render_text(api->name ? api->name : "nanopod"), "now", (json_int_t)market_now(api->market), "week_from",
		(json_int_t)((w->step - WEEK_STEPS + 1) * WEEK_STEP), "week_step", (json_int_t)WEEK_STEP, "types",
		types, "types_total", (json_int_t)b->count);
}

/* ---- Answering -------------------------------------------------------------------------- */

static int public_make(struct api *api, const struct request *q, struct reply *r, struct public_view *v)
{
	struct public_book book;
	struct fail why = { 0 };
	json_t *body;
	int rc;

	buf_clear(&v->text);
	if (v->undone != api->undone)
		price_week_release(&v->week);
	v->undone = api->undone;
	rc = price_week_read(&v->week, market_store(api->market), market_now(api->market), &why);
	if (rc)
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	if (public_book_count(market_engine(api->market), &book))
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory");
	body = public_json(api, &book, &v->week);
	public_book_release(&book);
	if (api_json(q, r, 200, body) == 200 && buf_add(&v->text, r->body.data, r->body.len) == 0)
		v->made_ms = api->now_ms;
	return r->status;
}

static int get_public(struct api *api, const struct request *q, struct reply *r)
{
	struct public_view *v = api->public_view;

	if (api->private_book && !q->scopes)
		return api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"this market shows what is for sale to its customers alone; sign in with a token");
	if (!v) {
		v = calloc(1, sizeof *v);
		if (!v)
			return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory");
		buf_init(&v->text, PUBLIC_TEXT_MAX);
		api->public_view = v;
	}
	if (!v->text.len || v->undone != api->undone || api->now_ms - v->made_ms >= PUBLIC_MS)
		return public_make(api, q, r, v);
	buf_clear(&r->body);
	if (buf_add(&r->body, v->text.data, v->text.len))
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory");
	return r->status = 200;
}

const struct route api_np_public_routes[] = {
	{ METHOD_GET, "/np/v1/public", get_public, 0, ROUTE_OPEN,
		"Get what is for sale of each type, and for how much; up to 2 seconds old", NULL, NULL, "np.Public",
		200 },
	{ 0 },
};

/* ---- Shapes ----------------------------------------------------------------------------- */

static const struct schema_field public_ask_fields[] = {
	{ "dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0,
		"the mean over the window, where the price changes within it" },
	{ "nodes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "for sale at that price" },
	{ 0 },
};

static const struct schema_field public_window_fields[] = {
	{ "seconds", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "how long, from the next minute on" },
	{ "nodes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "for sale for all of that time" },
	{ "limit", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"dollars per GPU-hour (node-hour without GPUs): the limit that buys the cheapest of them" },
	{ "asks", SCHEMA_ARRAY, FIELD_REQUIRED, "np.PublicAsk", 0, PUBLIC_ASKS, "the cheapest first" },
	{ 0 },
};

static const struct schema_field public_trade_fields[] = {
	{ "dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("filled_at", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field public_type_fields[] = {
	{ "instance_sku", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "type", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "gpus", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "of a node" },
	{ "proof", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0,
		"whether its hosts have to pass measurements; others are not counted as for sale" },
	{ "properties", SCHEMA_MAP, FIELD_REQUIRED, "any", 0, 0,
		"of a node, as GET /v2/instance_sku_property_catalog explains them" },
	{ "hosts_up", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "on_sale", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "nodes, from the next minute on" },
	{ "on_sale_together", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0,
		"nodes, from the next minute on, of offers that are sold only whole; no window counts them" },
	{ "windows", SCHEMA_ARRAY, FIELD_REQUIRED, "np.PublicWindow", PUBLIC_WINDOWS, PUBLIC_WINDOWS,
		"an hour, a day, a week" },
	{ "last_trade", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.PublicTrade", 0, 0, "of the last seven days" },
	{ "week", SCHEMA_ARRAY, FIELD_REQUIRED | FIELD_NULL, "any", 0, WEEK_STEPS,
		"dollars per node-hour that were paid in each step: the median of what pairs of buyer and seller paid, "
		"weighted by node-hours, none by more than a third of all; of fewer than three pairs the mean; null "
		"where there was none; empty: none in all of them; null: they are being counted, ask again" },
	{ 0 },
};

static const struct schema_field public_fields[] = {
	OBJECT_IS("public"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "of the market" },
	TIME("now", FIELD_REQUIRED),
	{ "week_from", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "Unix seconds: when the first step began" },
	{ "week_step", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "seconds" },
	{ "types", SCHEMA_ARRAY, FIELD_REQUIRED, "np.PublicType", 0, PUBLIC_TYPES,
		"those with something for sale first" },
	{ "types_total", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_public[] = {
	{ "np.PublicAsk", SCHEMA_OBJECT, NULL, 0, 0, NULL, public_ask_fields, NULL },
	{ "np.PublicWindow", SCHEMA_OBJECT, NULL, 0, 0, NULL, public_window_fields, NULL },
	{ "np.PublicTrade", SCHEMA_OBJECT, NULL, 0, 0, NULL, public_trade_fields, NULL },
	{ "np.PublicType", SCHEMA_OBJECT, NULL, 0, 0, NULL, public_type_fields, NULL },
	{ "np.Public", SCHEMA_OBJECT, NULL, 0, 0, NULL, public_fields, NULL },
	{ 0 },
};
