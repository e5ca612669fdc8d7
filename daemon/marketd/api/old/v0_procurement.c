/* SPDX-License-Identifier: Apache-2.0 */
/* Procurements of /v0: prices in cents per GPU-hour, each with its own pool. */
#include "marketd/api/old/v0.h"

#include <stdio.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/np/np.h"

enum { MICROS_PER_CENT = 10000, HOUR = 60 };

static int64_t to_cents(const struct sku *s, int64_t price, bool up)
{
	int64_t per = (int64_t)MICROS_PER_CENT * (s && s->gpus ? s->gpus : 1), micros = price * HOUR;

	return micros / per + (up && micros % per ? 1 : 0);
}

static int64_t from_cents(const struct sku *s, int64_t cents, bool up)
{
	int64_t micros = cents * MICROS_PER_CENT * (s->gpus ? s->gpus : 1);

	return micros / HOUR + (up && micros % HOUR ? 1 : 0);
}

/* The target: a number, or the number of instances in its pool. */
static int target_of(const struct engine *e, const struct procurement *p)
{
	int n = 0;

	if (p->target >= 0)
		return (int)p->target;
	for (const struct instance *i = engine_instance_after(e, p->account, 0); i;
		i = engine_instance_after(e, p->account, i->id))
		n += i->pool == p->pool && i->sku == p->sku &&
			(i->status == INSTANCE_AWAITING || i->status == INSTANCE_RUNNING);
	return n;
}

/* Rounds a limit so that sending it back gives the same price. */
static json_t *procurement_json(const struct engine *e, const struct procurement *p)
{
	const struct sku *s = engine_sku(e, p->sku);

	return json_pack("{s:s, s:o, s:s, s:i, s:I, s:I, s:i, s:s, s:{s:s, s:s}, s:s, s:o, s:o}", "object",
		"procurement", "id", render_id(IDENT_PROCUREMENT, p->id), "instance_type", v0_type(s),
		"desired_quantity", target_of(e, p), "buy_limit_price_per_gpu_hour",
		(json_int_t)to_cents(s, p->max_buy, true), "sell_limit_price_per_gpu_hour",
		(json_int_t)to_cents(s, p->min_sell, false), "horizon", (int)p->window, "status",
		p->enabled ? "active" : "disabled", "colocation_strategy", "type", "pinned", "cluster_name", v0_type(s),
		"last_message", p->reason == REASON_FUNDS ? "insufficient_balance" : "running", "created_at",
		v0_iso(p->created_at), "updated_at", v0_iso(p->updated_at));
}

static int list_procurements(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *type = api_query(q, "instance_type");
	uint64_t account;
	json_t *data;

	if (!api_whose(q, r, &account))
		return r->status;
	data = json_array();
	for (const struct procurement *p = engine_procurement_after(e, account, 0); p;
		p = engine_procurement_after(e, account, p->id))
		if (!type || v0_type_is(engine_sku(e, p->sku), type))
			json_array_append_new(data, procurement_json(e, p));
	return api_json(q, r, 200, json_pack("{s:s, s:o, s:b}", "object", "list", "data", data, "has_more", 0));
}

static const struct procurement *procurement_of(struct api *api, const struct request *q, struct reply *r)
{
	const struct procurement *p;
	uint64_t account;

	if (!api_whose(q, r, &account))
		return NULL;
	p = find_procurement(market_engine(api->market), account, q->parts[0]);
	if (!p)
		api_refuse(q, r, REASON_NOT_FOUND, "id", "no procurement '%s'", q->parts[0]);
	return p;
}

static int get_procurement(struct api *api, const struct request *q, struct reply *r)
{
	const struct procurement *p = procurement_of(api, q, r);

	return p ? api_json(q, r, 200, procurement_json(market_engine(api->market), p)) : r->status;
}

static int v0_procurement_change(struct api *api, const struct request *q, struct reply *r)
{
	const struct procurement *p = procurement_of(api, q, r);
	const char *status = body_text(q->body, "status");
	struct event ev = { .kind = EVENT_PROCUREMENT_CHANGE };
	const struct sku *s;
	struct fail why = { 0 };
	int64_t buy, sell;
	int rc;

	if (!p)
		return r->status;
	s = engine_sku(market_engine(api->market), p->sku);
	ev.account = p->account;
	ev.subject = p->id;
	buy = body_int(q->body, "buy_limit_price_per_gpu_hour", -1);
	sell = body_int(q->body, "sell_limit_price_per_gpu_hour", -1);
	ev.u.procurement_change.target = (int32_t)body_int(q->body, "desired_quantity", -1);
	ev.u.procurement_change.window = (int32_t)body_int(q->body, "horizon", -1);
	ev.u.procurement_change.max_buy = buy < 0 ? -1 : from_cents(s, buy, false);
	ev.u.procurement_change.min_sell = sell < 0 ? -1 : from_cents(s, sell, true);
	ev.u.procurement_change.enabled = !status ? -1 : strcmp(status, "active") == 0;
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : get_procurement(api, q, r);
}

static uint64_t v0_procurement_read_sku(struct api *api, const struct request *q, struct reply *r,
	const struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	const char *type = body_text(q->body, "instance_type");
	const char *cluster = body_text(json_object_get(q->body, "colocation_strategy"), "cluster_name");
	int64_t now = engine_minute(e) + 1;
	struct event order = { .kind = EVENT_ORDER,
		.account = ev->account,
		.u.order = { .nodes = ev->u.procurement.target > 0 ? ev->u.procurement.target : 1,
			.start = now,
			.end = now + ev->u.procurement.window,
			.price = node_price(body_int(q->body, "buy_limit_price_per_gpu_hour", 0) * 8) } };
	uint64_t sku = v0_pick(e, &order, WAIT_FOR_START, type, cluster);

	if (!sku)
		api_refuse(q, r, REASON_NOT_FOUND, cluster ? "colocation_strategy.cluster_name" : "instance_type",
			"this market has no '%s'", cluster ? cluster : type ? type : "");
	return sku;
}

/* Deletes the pool again if the procurement is refused. */
static int v0_procurement_make(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	char room[IDENT_TEXT], name[IDENT_TEXT + 16];
	struct event pool = { .kind = EVENT_POOL, .account = ev->account, .name = name, .u.pool.kind = POOL_MARKET };
	struct event undo = { .kind = EVENT_POOL_DELETE, .account = ev->account }, asked = *ev;
	uint64_t next = engine_next_id(market_engine(api->market));
	const struct effects *did;
	struct fail why = { 0 };
	int rc = decide_apply(api, q, &asked, &why);

	if (rc) /* before it makes a pool for nothing */
		return api_failed(q, r, rc, NULL, &why);
	do
		snprintf(name, sizeof name, "procurement-%s", strchr(ident_text(IDENT_POOL, next++, room), '_') + 1);
	while (engine_pool_named(market_engine(api->market), ev->account, name));
	ev->name = name;
	rc = api_apply(api, q, &pool, &did, &why);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	undo.subject = ev->u.procurement.pool = effects_made(did);
	rc = api_apply(api, q, ev, &did, &why);
	if (rc) {
		api_apply(api, q, &undo, NULL, NULL);
		return api_failed(q, r, rc, NULL, &why);
	}
	for (size_t i = 0; i < did->count; i++) /* the same event may have made its first orders */
		if (did->list[i].kind == EFFECT_MADE &&
			engine_procurement(market_engine(api->market), did->list[i].u.made))
			return api_json(q, r, 201, procurement_json(market_engine(api->market),
				engine_procurement(market_engine(api->market), did->list[i].u.made)));
	return api_refuse(q, r, REASON_INTERNAL, NULL, "the market returned no procurement");
}

static int v0_procurement_create(struct api *api, const struct request *q, struct reply *r)
{
	const char *status = body_text(q->body, "status");
	struct event ev = { .kind = EVENT_PROCUREMENT };
	const struct sku *s;

	if (!api_whose(q, r, &ev.account))
		return r->status;
	ev.u.procurement.target = (int32_t)body_int(q->body, "desired_quantity", 0);
	ev.u.procurement.window = (int32_t)body_int(q->body, "horizon", HOUR);
	ev.u.procurement.enabled = !status || strcmp(status, "active") == 0;
	ev.u.procurement.sku = v0_procurement_read_sku(api, q, r, &ev);
	if (!ev.u.procurement.sku)
		return r->status;
	s = engine_sku(market_engine(api->market), ev.u.procurement.sku);
	ev.u.procurement.max_buy = from_cents(s, body_int(q->body, "buy_limit_price_per_gpu_hour", 0), false);
	ev.u.procurement.min_sell = from_cents(s, body_int(q->body, "sell_limit_price_per_gpu_hour", 0), true);
	return v0_procurement_make(api, q, r, &ev);
}

const struct route api_v0_procurement_routes[] = {
	{ METHOD_GET, "/v0/procurements", list_procurements, SCOPE_READ, 0, "List procurements", "instance_type:string",
		NULL, "v0.ProcurementList", 200 },
	{ METHOD_POST, "/v0/procurements", v0_procurement_create, SCOPE_TRADE, ROUTE_CREATES,
		"Make a procurement: keep buying up to a price", NULL, "v0.CreateProcurementRequest", "v0.Procurement",
		201 },
	{ METHOD_GET, "/v0/procurements/{id}", get_procurement, SCOPE_READ, 0, "Get a procurement", NULL, NULL,
		"v0.Procurement", 200 },
	{ METHOD_PATCH, "/v0/procurements/{id}", v0_procurement_change, SCOPE_TRADE, 0, "Change a procurement", NULL,
		"v0.PatchProcurementRequest", "v0.Procurement", 200 },
	{ 0 },
};
