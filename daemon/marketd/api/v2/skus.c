/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/instance_skus: the types of nodes, their availability, and the catalog of their properties. */
#include "marketd/api/v2/v2.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/render.h"

typedef json_t *(*sku_fn)(const struct engine *e, const struct sku *s);

static json_t *skus_whole(const struct engine *e, const struct sku *s)
{
	(void)e;
	return render_sku(s);
}

/* Filters of availability: each property by name, and id. */
static bool skus_wanted(const struct request *q, const struct sku *s)
{
	json_t *facts = sku_facts(s);
	bool match = true;
	uint64_t id;

	if (api_query(q, "id"))
		match = ident_parse(IDENT_SKU, api_query(q, "id"), &id) && id == s->id;
	for (const struct sku_property *p = sku_properties; match && p->name; p++) {
		const char *want = api_query(q, p->name);
		const json_t *fact = json_object_get(facts, p->name);
		json_t *text;

		if (!want)
			continue;
		text = fact ? sku_value_text(fact) : NULL;
		match = text && strcmp(json_string_value(text), want) == 0;
		json_decref(text);
	}
	json_decref(facts);
	return match;
}

/* SKUs are few: a page backwards walks all of them, oldest first, and keeps the last ones. */
static const struct sku *sku_before(const struct engine *e, uint64_t before)
{
	const struct sku *last = NULL;

	for (const struct sku *s = engine_sku_after(e, 0); s && s->id < before; s = engine_sku_after(e, s->id))
		last = s;
	return last;
}

static int v2_skus_list(struct api *api, const struct request *q, struct reply *r, sku_fn render)
{
	const struct engine *e = market_engine(api->market);
	struct paging paging;
	struct page page;
	const struct sku *s;

	if (!paging_read(q, r, CURSOR_SKUS, LIMIT_MAX, &paging))
		return r->status;
	page_init(&page, &paging);
	s = paging.back ? sku_before(e, paging.from[0]) : engine_sku_after(e, paging.started ? paging.from[0] : 0);
	for (; s; s = paging.back ? sku_before(e, s->id) : engine_sku_after(e, s->id)) {
		if (!skus_wanted(q, s))
			continue;
		if (!page_wants(&page))
			break;
		page_add(&page, s->id, render(e, s));
	}
	return page_answer(q, r, &page);
}

static int v2_skus_get(struct api *api, const struct request *q, struct reply *r, sku_fn render)
{
	const struct engine *e = market_engine(api->market);
	const struct sku *s = find_sku(e, q->parts[0]);

	if (!s)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no instance SKU '%s'", q->parts[0]);
	return api_json(q, r, 200, render(e, s));
}

static int skus_list(struct api *api, const struct request *q, struct reply *r)
{
	return v2_skus_list(api, q, r, skus_whole);
}
static int skus_get(struct api *api, const struct request *q, struct reply *r)
{
	return v2_skus_get(api, q, r, skus_whole);
}

static bool numbers_ok(const struct request *q, struct reply *r)
{
	int64_t ignored;
	bool flag;

	return api_query_int(q, r, "num_accelerators", 0, UINT32_MAX, 0, &ignored) &&
		api_query_int(q, r, "num_vcpus", 0, UINT32_MAX, 0, &ignored) &&
		api_query_int(q, r, "memory", 0, INT64_MAX, 0, &ignored) &&
		api_query_int(q, r, "local_storage", 0, INT64_MAX, 0, &ignored) &&
		api_query_bool(q, r, "supports_public_ipv4", false, &flag);
}

static int availability_list(struct api *api, const struct request *q, struct reply *r)
{
	return numbers_ok(q, r) ? v2_skus_list(api, q, r, render_availability) : r->status;
}

static int availability_get(struct api *api, const struct request *q, struct reply *r)
{
	return v2_skus_get(api, q, r, render_availability);
}

/* ---- The catalog of properties ------------------------------------------------------------ */

/* A key or a value of the catalog. */
static json_t *skus_entry(json_t *name, json_t *title, const char *text, int64_t since)
{
	return json_pack("{s:o, s:o, s:s, s:n, s:I, s:n, s:n}", "name", name, "display_name", title, "description",
		text, "documentation_link", "stable_at", (json_int_t)since, "deprecated_at", "deprecation_info");
}

static bool skus_listed(const json_t *values, const json_t *name)
{
	const json_t *value;
	size_t i;

	json_array_foreach(values, i, value)
		if (json_equal(json_object_get(value, "name"), name))
			return true;
	return false;
}

/* Every value that some SKU has, oldest first. */
static json_t *skus_definition(const struct engine *e, const struct sku_property *p)
{
	json_t *values = json_array();
	int64_t since = 0;

	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id)) {
		json_t *facts = sku_facts(s), *fact = json_object_get(facts, p->name);
		json_t *name = fact ? sku_value_text(fact) : NULL;

		if (name && !skus_listed(values, name)) {
			json_array_append_new(values,
				skus_entry(json_incref(name), sku_property_display(p, fact), p->text, s->created_at));
			since = since ? since : s->created_at;
		}
		json_decref(name);
		json_decref(facts);
	}
	return json_pack("{s:o, s:o, s:s}", "key",
		skus_entry(json_string(p->name), json_string(p->title), p->text, since), "values", values, "type",
		"enumeration");
}

static int skus_catalog(struct api *api, const struct request *q, struct reply *r)
{
	struct paging paging;
	struct page page;
	uint64_t count = 0, at;

	if (!paging_read(q, r, CURSOR_PROPERTIES, LIMIT_MAX, &paging))
		return r->status;
	while (sku_properties[count].name)
		count++;
	page_init(&page, &paging);
	at = paging.started ? paging.from[0] : 0; /* positions start at 1 */
	for (at = paging.back ? at - 1 : at + 1; at >= 1 && at <= count && page_wants(&page);
		at = paging.back ? at - 1 : at + 1)
		page_add(&page, at, skus_definition(market_engine(api->market), &sku_properties[at - 1]));
	return page_answer(q, r, &page);
}

#define PAGED "limit:integer,starting_after:string,ending_before:string"

const struct route api_v2_skus[] = {
	{ METHOD_GET, "/v2/instance_skus", skus_list, SCOPE_READ, 0, "List instance SKUs", PAGED, NULL,
		"ListInstanceSkusResponse", 200 },
	{ METHOD_GET, "/v2/instance_skus/availability", availability_list, SCOPE_READ, 0,
		"List instance-SKU availability",
		PAGED ",id:string,region:string,availability_zone:string,accelerator:string,form_factor:string,rdma_"
		      "type:string,"
		      "num_accelerators:integer,num_vcpus:integer,memory:integer,local_storage:integer,supports_public_"
		      "ipv4:boolean",
		NULL, "ListInstanceSkuAvailabilityResponse", 200 },
	{ METHOD_GET, "/v2/instance_skus/{id}", skus_get, SCOPE_READ, 0, "Get instance SKU", NULL, NULL, "InstanceSku",
		200 },
	{ METHOD_GET, "/v2/instance_skus/{id}/availability", availability_get, SCOPE_READ, 0,
		"Get instance-SKU availability", NULL, NULL, "InstanceSkuAvailability", 200 },
	{ METHOD_GET, "/v2/instance_sku_property_catalog", skus_catalog, SCOPE_READ, 0,
		"List instance SKU property catalog", PAGED, NULL, "ListInstanceSkuPropertyCatalogResponse", 200 },
	{ 0 },
};
