/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/pools: what holds the nodes that an account bought. */
#include "marketd/api/v2/v2.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/render.h"

enum { HISTORY_MAX = 1440 };

static const struct pool *the_pool(struct api *api, const struct request *q, struct reply *r)
{
	const struct pool *p = find_pool(market_engine(api->market), q->account, q->parts[0]);

	if (!p)
		api_refuse(q, r, REASON_NOT_FOUND, "id", "no pool '%s' in this account", q->parts[0]);
	return p;
}

static bool pools_history(const struct request *q, struct reply *r, int64_t *minutes)
{
	return api_query_int(q, r, "schedule_history_minutes", 0, HISTORY_MAX, 0, minutes);
}

/* The pools whose id, path or name is among id=…; all without id=. */
static bool pools_named(const struct engine *e, const struct request *q, const struct pool *p)
{
	if (!api_query(q, "id"))
		return true;
	for (size_t i = 0; api_query_at(q, "id", i); i++)
		if (find_pool(e, q->account, api_query_at(q, "id", i)) == p)
			return true;
	return false;
}

static int pools_list(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct paging g;
	struct page page;
	const struct pool *p;
	int64_t minutes;

	if (!paging_read(q, r, CURSOR_POOLS, LIMIT_MAX, &g) || !pools_history(q, r, &minutes) ||
	    !workspace_check(api, q, r, api_query(q, "workspace"), "workspace"))
		return r->status;
	page_init(&page, &g);
	p = g.back ? engine_pool_after(e, q->account, g.from[0]) :
		engine_pool_before(e, q->account, g.started ? g.from[0] : UINT64_MAX);
	for (; p; p = g.back ? engine_pool_after(e, q->account, p->id) : engine_pool_before(e, q->account, p->id)) {
		if (!pool_seen(p) || !pools_named(e, q, p) || !tags_match(q, p->tags))
			continue;
		if (!page_wants(&page))
			break;
		page_add(&page, p->id, render_pool(e, p, minutes));
	}
	return page_answer(q, r, &page);
}

static int pools_get(struct api *api, const struct request *q, struct reply *r)
{
	const struct pool *p = the_pool(api, q, r);
	int64_t minutes;

	if (!p || !pools_history(q, r, &minutes))
		return r->status;
	return api_json(q, r, 200, render_pool(market_engine(api->market), p, minutes));
}

/* SF Compute has no 400 for pools: a name in use is an invalid value. */
static int pools_not_done(const struct request *q, struct reply *r, int reason, const struct fail *why)
{
	if (reason == REASON_NAME_TAKEN)
		return api_refuse_as(q, r, 422, reason, "name", "%s",
			why->text[0] ? why->text : reason_row(reason)->text);
	return api_failed(q, r, reason, NULL, why);
}

static int pools_create(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .kind = EVENT_POOL, .u.pool.kind = POOL_MARKET };
	const struct effects *did;
	char room[IDENT_TEXT], *tags;
	struct fail why = { 0 };
	int reason;

	if (!api_whose(q, r, &ev.account) ||
		!workspace_check(api, q, r, body_text(q->body, "workspace"), "workspace") ||
		!(ev.name = name_read(api, q, r, IDENT_POOL, room)) || !tags_read(q, r, NULL, &tags))
		return r->status;
	ev.text = tags;
	reason = api_apply(api, q, &ev, &did, &why);
	free(tags);
	if (reason)
		return pools_not_done(q, r, reason, &why);
	return api_json(q, r, 201, render_pool(market_engine(api->market),
		engine_pool(market_engine(api->market), effects_made(did)), 0));
}

static int pools_patch(struct api *api, const struct request *q, struct reply *r)
{
	const struct pool *p = the_pool(api, q, r);
	struct event ev = { .kind = EVENT_POOL_CHANGE };
	char room[IDENT_TEXT], *tags;
	struct fail why = { 0 };
	int reason;

	if (!p || (body_text(q->body, "name") && !(ev.name = name_read(api, q, r, IDENT_POOL, room))) ||
		!tags_read(q, r, p->tags, &tags))
		return r->status;
	if (ev.name && strcmp(ev.name, p->name) == 0) /* keeping its own name changes nothing */
		ev.name = NULL;
	ev.account = p->account;
	ev.subject = p->id;
	ev.text = tags;
	reason = ev.name || ev.text ? api_apply(api, q, &ev, NULL, &why) : 0;
	free(tags);
	if (reason)
		return pools_not_done(q, r, reason, &why);
	return api_json(q, r, 200, render_pool(market_engine(api->market),
		engine_pool(market_engine(api->market), ev.subject), 0));
}

static int pools_delete(struct api *api, const struct request *q, struct reply *r)
{
	const struct pool *p = the_pool(api, q, r);
	struct fail why = { 0 };
	int reason;

	if (!p)
		return r->status;
	reason = api_apply_to(api, q, EVENT_POOL_DELETE, p->account, p->id, &why);
	return reason ? pools_not_done(q, r, reason, &why) : api_nothing(r);
}

#define LISTED \
	"workspace:string,id:array,limit:integer,starting_after:string,ending_before:string," \
	"schedule_history_minutes:integer,tag:array,tag_key:array"

/* Pools were called capacities before: both names lead to the same things. */
#define POOL_ROUTES(path, one, was) \
	{ METHOD_POST, path, pools_create, SCOPE_TRADE, ROUTE_CREATES, "Create pool" was, NULL, \
		"v2.CreatePoolRequest", "PoolResponse", 201 }, \
		{ METHOD_GET, path, pools_list, SCOPE_READ, 0, "List pools" was, LISTED, NULL, "ListPoolsResponse", \
			200 }, \
		{ METHOD_GET, one, pools_get, SCOPE_READ, 0, "Get pool" was, "schedule_history_minutes:integer", NULL, \
			"PoolResponse", 200 }, \
		{ METHOD_PATCH, one, pools_patch, SCOPE_TRADE, 0, "Update pool" was, NULL, "v2.PatchPoolRequest", \
			"PoolResponse", 200 }, \
	{ \
		METHOD_DELETE, one, pools_delete, SCOPE_TRADE, 0, "Delete pool" was, NULL, NULL, NULL, 204 \
	}

const struct route api_v2_pools[] = {
	POOL_ROUTES("/v2/pools", "/v2/pools/{id}", ""),
	POOL_ROUTES("/v2/capacities", "/v2/capacities/{id}", ", by its old name"),
	{ 0 },
};
