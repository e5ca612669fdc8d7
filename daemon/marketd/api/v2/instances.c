/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/instances as a collection: creating, listing, changing many at once. */
#include "marketd/api/v2/v2.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/v2/instance.h"
#include "marketd/api/render.h"

enum { BATCH_MAX = 100 };

/* ---- Create ------------------------------------------------------------------------------ */

/* Refuses what SF Compute offers and this market cannot do, instead of ignoring it. */
static bool instances_offered(const struct request *q, struct reply *r)
{
	if (body_bool(q->body, "enable_public_ipv4", false))
		api_refuse(q, r, REASON_INVALID, "enable_public_ipv4", "this market has no public IPv4 addresses");
	else if (body_text(q->body, "firewall"))
		api_refuse_as(q, r, 404, REASON_NOT_FOUND, "firewall", "this market has no firewalls");
	else if (body_bool(q->body, "_preview_enable_infiniband", false))
		api_refuse(q, r, REASON_INVALID, "_preview_enable_infiniband",
			"this market does not take requests for InfiniBand");
	else
		return true;
	return false;
}

static int instances_create(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_INSTANCE, .u.instance.priority = PRIORITY_NORMAL };
	const char *pool = body_text(q->body, "pool"), *sku = body_text(q->body, "instance_sku");
	const struct pool *p;
	const struct sku *s;
	char room[IDENT_TEXT];

	if (!api_whose(q, r, &ev.account) || !instances_offered(q, r))
		return r->status;
	p = find_pool(e, ev.account, pool);
	if (!p)
		return api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", pool);
	s = find_sku(e, sku);
	if (!s)
		return api_refuse_as(q, r, 422, REASON_NOT_FOUND, "instance_sku", "no instance SKU '%s'", sku);
	ev.u.instance.pool = p->id;
	ev.u.instance.sku = s->id;
	if (!v2_instance_image(q, r, &ev.u.instance.image) ||
		!body_user_data(q, r, "cloud_init_user_data", &ev.u.instance.user_data) ||
		!v2_instance_priority(q, r, q->body, &ev.u.instance.priority) ||
		!(ev.name = name_read(api, q, r, IDENT_INSTANCE, room)))
		return r->status;
	return v2_instance_make(api, q, r, &ev);
}

/* ---- List -------------------------------------------------------------------------------- */

struct wanted {
	int64_t after, before;
	uint32_t statuses;     /* bits; 0: all */
	bool user_data;
};

static bool instances_read_statuses(const struct request *q, struct reply *r, uint32_t *out)
{
	static const struct { const char *text; enum instance_status status; } rows[] = {
		{ "awaiting_allocation", INSTANCE_AWAITING }, { "running", INSTANCE_RUNNING },
		{ "terminated", INSTANCE_TERMINATED }, { "failed", INSTANCE_FAILED },
	};
	const char *text;

	for (size_t i = 0; (text = api_query_at(q, "status", i)); i++) {
		uint32_t bit = 0;

		for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
			if (strcmp(rows[n].text, text) == 0)
				bit = 1u << rows[n].status;
		if (!bit) {
			api_refuse(q, r, REASON_INVALID, "status", "no status '%s'", text);
			return false;
		}
		*out |= bit;
	}
	return true;
}

static bool read_include(const struct request *q, struct reply *r, bool *user_data)
{
	const char *text;

	for (size_t i = 0; (text = api_query_at(q, "include", i)); i++) {
		if (strcmp(text, "cloud_init_user_data") != 0) {
			api_refuse(q, r, REASON_INVALID, "include", "only cloud_init_user_data can be included");
			return false;
		}
		*user_data = true;
	}
	return true;
}

/* Every pool in the query must be this account's. */
static bool pools_known(const struct engine *e, const struct request *q, struct reply *r)
{
	const char *text;

	for (size_t i = 0; (text = api_query_at(q, "pool", i)); i++)
		if (!find_pool(e, q->account, text)) {
			api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", text);
			return false;
		}
	return true;
}

static bool read_wanted(const struct engine *e, const struct request *q, struct reply *r, struct wanted *w)
{
	return api_query_int(q, r, "created_after", 0, INT64_MAX, 0, &w->after) &&
		api_query_int(q, r, "created_before", 0, INT64_MAX, INT64_MAX, &w->before) &&
		instances_read_statuses(q, r, &w->statuses) && read_include(q, r, &w->user_data) &&
		pools_known(e, q, r);
}

/* Whether any value of a repeated filter means this id; true without the filter. */
static bool instances_among(const struct request *q, const char *name, enum ident kind, uint64_t id)
{
	uint64_t each;

	if (!api_query(q, name))
		return true;
	for (size_t i = 0; api_query_at(q, name, i); i++)
		if (ident_parse(kind, api_query_at(q, name, i), &each) && each == id)
			return true;
	return false;
}

static bool in_pools(const struct engine *e, const struct request *q, uint64_t pool)
{
	const struct pool *p;

	if (!api_query(q, "pool"))
		return true;
	for (size_t i = 0; api_query_at(q, "pool", i); i++) {
		p = find_pool(e, q->account, api_query_at(q, "pool", i));
		if (p && p->id == pool)
			return true;
	}
	return false;
}

static bool instances_matches(const struct engine *e, const struct request *q, const struct wanted *w,
	const struct instance *i)
{
	return (!w->statuses || (w->statuses & 1u << i->status)) && i->created_at >= w->after &&
		i->created_at <= w->before && instances_among(q, "id", IDENT_INSTANCE, i->id) &&
		instances_among(q, "instance_sku", IDENT_SKU, i->sku) && in_pools(e, q, i->pool) &&
		tags_match(q, i->tags);
}

static int v2_instances_list(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct wanted w = { 0 };
	struct paging g;
	struct page page;
	const struct instance *i;

	if (!paging_read(q, r, CURSOR_INSTANCES, LIMIT_MAX, &g) || !read_wanted(e, q, r, &w) ||
	    !workspace_check(api, q, r, api_query(q, "workspace"), "workspace"))
		return r->status;
	page_init(&page, &g);
	i = g.back ? engine_instance_after(e, q->account, g.from[0]) :
		engine_instance_before(e, q->account, g.started ? g.from[0] : UINT64_MAX);
	for (; i; i = g.back ? engine_instance_after(e, q->account, i->id)
			     : engine_instance_before(e, q->account, i->id)) {
		if (!instances_matches(e, q, &w, i))
			continue;
		if (!page_wants(&page))
			break;
		page_add(&page, i->id, render_instance(e, i, w.user_data));
	}
	return page_answer(q, r, &page);
}

/* ---- Many at once ------------------------------------------------------------------------- */

/* Checks all entries before it changes any: a later failure is an internal error. */
static bool batch_check(const struct engine *e, const struct request *q, struct reply *r, const json_t *data,
	struct event *events)
{
	const struct instance *i;
	const json_t *entry;
	size_t n;

	json_array_foreach(data, n, entry) {
		const char *text = body_text(entry, "id");

		i = find_instance(e, q->account, text);
		if (!i) {
			api_refuse_as(q, r, 422, REASON_NOT_FOUND, "data", "no instance '%s' in this account", text);
			return false;
		}
		if (n && i->account != events[0].account) {
			api_refuse(q, r, REASON_INVALID, "data", "all instances of a batch must be in one workspace");
			return false;
		}
		events[n] = (struct event){ .kind = EVENT_INSTANCE_CHANGE, .account = i->account, .subject = i->id };
		if (!v2_instance_priority(q, r, entry, &events[n].u.instance_change.priority))
			return false;
	}
	return true;
}

static bool instances_seen_before(const struct event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (events[i].subject == events[n].subject)
			return true;
	return false;
}

static int instances_batch(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const json_t *data = json_object_get(q->body, "data");
	size_t count = json_array_size(data);
	struct event events[BATCH_MAX];
	struct fail why = { 0 };
	json_t *list;

	if (count > BATCH_MAX)
		return api_refuse(q, r, REASON_LIMIT, "data", "a batch may have up to %d entries, not %zu", BATCH_MAX,
			count);
	if (!batch_check(e, q, r, data, events))
		return r->status;
	for (size_t i = 0; i < count; i++) {
		int reason = api_apply(api, q, &events[i], NULL, &why);

		if (reason)
			return api_failed(q, r, reason, "data", &why);
	}
	list = json_array();
	for (size_t i = 0; i < count; i++)
		if (!instances_seen_before(events, i))
			json_array_append_new(list, render_instance(e, engine_instance(e, events[i].subject), false));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", list));
}

const struct route api_v2_instances[] = {
	{ METHOD_POST, "/v2/instances", instances_create, SCOPE_NODES, ROUTE_CREATES, "Create instance", NULL,
		"CreateInstanceRequest", "InstanceResponse", 201 },
	{ METHOD_GET, "/v2/instances", v2_instances_list, SCOPE_READ, 0, "List instances",
		"workspace:string,id:array,pool:array,status:array,created_after:integer,created_before:integer,"
		"instance_sku:array,limit:integer,starting_after:string,ending_before:string,include:array,tag:array,"
		"tag_key:array",
		NULL, "ListInstancesResponse", 200 },
	{ METHOD_PATCH, "/v2/instances", instances_batch, SCOPE_NODES, 0, "Update multiple instances", NULL,
		"BatchPatchInstancesRequest", "BatchPatchInstancesResponse", 200 },
	{ 0 },
};
