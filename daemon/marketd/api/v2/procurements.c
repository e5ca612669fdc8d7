/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/procurements: standing targets: the market orders what keeps a pool at a number of nodes. */
#include "marketd/api/v2/v2.h"

#include <string.h>

#include "market/reason.h"
#include "marketd/api/render.h"

enum { TARGET_MAX = NODES_MAX };

static const struct procurement *the_procurement(struct api *api, const struct request *q, struct reply *r)
{
	const struct procurement *p = find_procurement(market_engine(api->market), q->account, q->parts[0]);

	if (!p)
		api_refuse(q, r, REASON_NOT_FOUND, "id", "no procurement '%s' in this account", q->parts[0]);
	return p;
}

/* Pages backwards by walking the account's procurements, which are few. */
static const struct procurement *procurements_before(const struct engine *e, uint64_t account, uint64_t id)
{
	const struct procurement *last = NULL, *p;

	for (p = engine_procurement_after(e, account, 0); p && p->id < id;
		p = engine_procurement_after(e, account, p->id))
		last = p;
	return last;
}

static int v2_procurements_list(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *text = api_query(q, "pool");
	const struct pool *pool = text ? find_pool(e, q->account, text) : NULL;
	const struct procurement *p;
	struct paging g;
	struct page page;

	if (!paging_read(q, r, CURSOR_PROCUREMENTS, LIMIT_SMALL, &g) ||
	    !workspace_check(api, q, r, api_query(q, "workspace"), "workspace"))
		return r->status;
	if (text && !pool)
		return api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", text);
	page_init(&page, &g);
	p = g.back ? procurements_before(e, q->account, g.from[0])
		   : engine_procurement_after(e, q->account, g.started ? g.from[0] : 0);
	for (; p; p = g.back ? procurements_before(e, q->account, p->id)
			     : engine_procurement_after(e, q->account, p->id)) {
		if (pool && p->pool != pool->id)
			continue;
		if (!page_wants(&page))
			break;
		page_add(&page, p->id, render_procurement(e, p));
	}
	return page_answer(q, r, &page);
}

static int procurements_get(struct api *api, const struct request *q, struct reply *r)
{
	const struct procurement *p = the_procurement(api, q, r);

	return p ? api_json(q, r, 200, render_procurement(market_engine(api->market), p)) : r->status;
}

/* A name in use is 400 by its reason, as SF Compute's "duplicate"; a second one for a pool and SKU is 409. */
static int procurements_not_done(const struct request *q, struct reply *r, int reason, const struct fail *why)
{
	return api_failed(q, r, reason, reason == REASON_NAME_TAKEN ? "name" : NULL, why);
}

/* "node_count": the number of instances; else a number. */
static bool read_target(const struct request *q, struct reply *r, int32_t *target)
{
	const json_t *value = json_object_get(q->body, "target");

	if (json_is_string(value)) {
		*target = -1;
		return true;
	}
	if (json_integer_value(value) < 0 || json_integer_value(value) > TARGET_MAX) {
		api_refuse(q, r, REASON_INVALID, "target", "a target is \"node_count\" or 0 to %d nodes",
			(int)TARGET_MAX);
		return false;
	}
	*target = (int32_t)json_integer_value(value);
	return true;
}

static const struct sku *the_sku(const struct engine *e, const struct request *q, struct reply *r)
{
	const char *text = body_text(q->body, "instance_sku");
	const struct sku *s = find_sku(e, text);

	if (!s)
		api_refuse_as(q, r, 422, REASON_NOT_FOUND, "instance_sku", "no instance SKU '%s'", text);
	return s;
}

static bool procurements_orderly(const struct request *q, struct reply *r, int64_t min_sell, int64_t max_buy)
{
	if (min_sell <= max_buy)
		return true;
	api_refuse(q, r, REASON_INVALID, "min_sell_price_dollars_per_node_hour",
		"the minimum sell price must not be above the maximum buy price");
	return false;
}

static int procurements_create(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_PROCUREMENT };
	const char *pool_text = body_text(q->body, "pool");
	const struct effects *did;
	const struct pool *pool;
	const struct sku *sku;
	char room[IDENT_TEXT];
	struct fail why = { 0 };
	int reason;

	if (!api_whose(q, r, &ev.account))
		return r->status;
	pool = find_pool(e, ev.account, pool_text);
	if (!pool)
		return api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", pool_text);
	sku = the_sku(e, q, r);
	if (!sku || !read_target(q, r, &ev.u.procurement.target) ||
	    !body_price(q, r, q->body, "min_sell_price_dollars_per_node_hour", &ev.u.procurement.min_sell) ||
	    !body_price(q, r, q->body, "max_buy_price_dollars_per_node_hour", &ev.u.procurement.max_buy) ||
	    !procurements_orderly(q, r, ev.u.procurement.min_sell, ev.u.procurement.max_buy) ||
	    !(ev.name = name_read(api, q, r, IDENT_PROCUREMENT, room)))
		return r->status;
	ev.u.procurement.pool = pool->id;
	ev.u.procurement.sku = sku->id;
	ev.u.procurement.window = (int32_t)body_int(q->body, "managed_window_minutes", 0);
	ev.u.procurement.enabled = body_bool(q->body, "enabled", true);
	reason = api_apply(api, q, &ev, &did, &why);
	if (reason)
		return procurements_not_done(q, r, reason, &why);
	return api_json(q, r, 201, render_procurement(e, engine_procurement(e, effects_made(did))));
}

static int procurements_patch(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct procurement *p = the_procurement(api, q, r);
	struct event ev = { .kind = EVENT_PROCUREMENT_CHANGE, .u.procurement_change = {
		.target = -1, .window = -1, .min_sell = -1, .max_buy = -1, .enabled = -1 } };
	int64_t low, high;
	char room[IDENT_TEXT];
	struct fail why = { 0 };
	int reason;

	if (!p || (body_text(q->body, "name") && !(ev.name = name_read(api, q, r, IDENT_PROCUREMENT, room))) ||
	    !body_price(q, r, q->body, "min_sell_price_dollars_per_node_hour", &ev.u.procurement_change.min_sell) ||
	    !body_price(q, r, q->body, "max_buy_price_dollars_per_node_hour", &ev.u.procurement_change.max_buy))
		return r->status;
	low = ev.u.procurement_change.min_sell >= 0 ? ev.u.procurement_change.min_sell : p->min_sell;
	high = ev.u.procurement_change.max_buy >= 0 ? ev.u.procurement_change.max_buy : p->max_buy;
	if (!procurements_orderly(q, r, low, high))
		return r->status;
	if (body_text(q->body, "instance_sku")) {
		const struct sku *sku = the_sku(e, q, r);

		if (!sku)
			return r->status;
		ev.u.procurement_change.sku = sku->id == p->sku ? 0 : sku->id;
	}
	if (ev.name && strcmp(ev.name, p->name) == 0)
		ev.name = NULL;
	ev.account = p->account;
	ev.subject = p->id;
	ev.u.procurement_change.window = (int32_t)body_int(q->body, "managed_window_minutes", -1);
	if (json_is_boolean(json_object_get(q->body, "enabled")))
		ev.u.procurement_change.enabled = body_bool(q->body, "enabled", true);
	reason = api_apply(api, q, &ev, NULL, &why);
	return reason ? procurements_not_done(q, r, reason, &why)
		      : api_json(q, r, 200, render_procurement(e, engine_procurement(e, ev.subject)));
}

static int procurements_delete(struct api *api, const struct request *q, struct reply *r)
{
	const struct procurement *p = the_procurement(api, q, r);
	struct fail why = { 0 };
	int reason;

	if (!p)
		return r->status;
	reason = api_apply_to(api, q, EVENT_PROCUREMENT_DELETE, p->account, p->id, &why);
	return reason ? procurements_not_done(q, r, reason, &why) : api_nothing(r);
}

const struct route api_v2_procurements[] = {
	{ METHOD_POST, "/v2/procurements", procurements_create, SCOPE_TRADE, ROUTE_CREATES, "Create procurement", NULL,
		"CreateProcurementRequest", "ProcurementResponse", 201 },
	{ METHOD_GET, "/v2/procurements", v2_procurements_list, SCOPE_READ, 0, "List procurements",
		"workspace:string,pool:string,limit:integer,starting_after:string,ending_before:string", NULL,
		"ListProcurementsResponse", 200 },
	{ METHOD_GET, "/v2/procurements/{id}", procurements_get, SCOPE_READ, 0, "Get procurement", NULL, NULL,
		"ProcurementResponse", 200 },
	{ METHOD_PATCH, "/v2/procurements/{id}", procurements_patch, SCOPE_TRADE, 0, "Update procurement", NULL,
		"PatchProcurementRequest", "ProcurementResponse", 200 },
	{ METHOD_DELETE, "/v2/procurements/{id}", procurements_delete, SCOPE_TRADE, 0, "Delete procurement", NULL, NULL,
		NULL, 204 },
	{ 0 },
};
