/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts of /v0: what one buy order bought and still has. */
#include "marketd/api/old/v0.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/np/np.h"

enum { CONTRACTS_MAX = 1000, LEASES_MAX = 65536, PAGE_ROWS = 500 };

/* ---- Finding ------------------------------------------------------------------------------------- */

static int found_row(void *arg, const struct order *o)
{
	struct v0_contract *c = arg;

	if (o->side == SIDE_BUY)
		*c = (struct v0_contract){ o->id, o->pool, o->sku, o->created_at };
	return 0;
}

int v0_contract_find(struct api *api, uint64_t account, const char *text, struct v0_contract *out, struct fail *f)
{
	const struct lease *l;
	struct v0_contract c = { 0 };
	uint64_t id;
	int rc;

	if (!ident_parse(IDENT_CONTRACT, text, &id))
		return 0;
	l = engine_lease(market_engine(api->market), id);
	if (l && l->buyer == account)
		id = l->order;
	rc = find_order(api, account, id, found_row, &c, f);
	if (rc < 0)
		return rc;
	if (!rc || !c.order)
		return 0;
	*out = c;
	return 1;
}

/* ---- Shape ----------------------------------------------------------------------------------------- */

struct shape {
	uint64_t order;
	struct spans parts, steps;
	bool failed;
};

static int lease_row(void *arg, const struct lease *l, bool over)
{
	struct shape *s = arg;

	(void)over;
	if (l->order == s->order && !l->sold_on && l->start < l->end && spans_add(&s->parts, l->start, l->end, 1))
		s->failed = true;
	return 0;
}

static int shape_read(struct api *api, uint64_t order, struct shape *s, struct fail *f)
{
	struct store *store = market_store(api->market);
	struct store_page page = { .limit = LEASES_MAX };
	int rc;

	*s = (struct shape){ .order = order };
	rc = store->calls->leases(store, order, 0, 0, &page, lease_row, s, f);
	if (rc == 0 && (s->failed || spans_sum(s->parts.list, s->parts.count, &s->steps)))
		rc = fail_set(f, -ENOMEM, "out of memory");
	return rc;
}

static void shape_release(struct shape *s)
{
	free(s->parts.list);
	free(s->steps.list);
}

/* Both lists have the same length: the last quantity is 0, at the end, and a gap is a step with quantity 0. */
static json_t *shape_json(const struct shape *s)
{
	json_t *intervals = json_array(), *quantities = json_array();
	const struct span *list = s->steps.list;

	for (size_t i = 0; i < s->steps.count; i++) {
		json_array_append_new(intervals, v0_iso(list[i].start * 60));
		json_array_append_new(quantities, json_integer(list[i].nodes));
		if (i + 1 < s->steps.count && list[i + 1].start == list[i].end)
			continue;
		json_array_append_new(intervals, v0_iso(list[i].end * 60));
		json_array_append_new(quantities, json_integer(0));
	}
	return json_pack("{s:o, s:o}", "intervals", intervals, "quantities", quantities);
}

static const char *state_word(const struct shape *s, int64_t minute)
{
	if (!s->steps.count || s->steps.list[s->steps.count - 1].end <= minute)
		return "Expired";
	return s->steps.list[0].start > minute ? "Upcoming" : "Active";
}

static bool is_node(const struct pool *p)
{
	return p && p->tags && strstr(p->tags, "\"sfc_node\":");
}

static json_t *contract_json(const struct engine *e, const struct v0_contract *c, const struct shape *s)
{
	const struct sku *sku = engine_sku(e, c->sku);
	char type[TYPE_BYTES];

	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:[], s:s, s:s, s:s, s:b}", "object", "contract", "status",
		"active", "id", render_id(IDENT_CONTRACT, c->order), "created_at", v0_iso(c->created_at),
		"instance_type", v0_asked_type(e, c->pool, sku, type), "shape", shape_json(s), "colocate_with",
		"cluster_id", v0_type(sku), "zone", v0_type(sku), "state", state_word(s, engine_minute(e)), "is_node",
		(int)is_node(engine_pool(e, c->pool)));
}

static int get_contract(struct api *api, const struct request *q, struct reply *r)
{
	struct v0_contract c;
	struct fail why = { 0 };
	uint64_t account;
	struct shape s;
	int rc, status;

	if (!api_whose(q, r, &account))
		return r->status;
	rc = v0_contract_find(api, account, q->parts[0], &c, &why);
	if (rc == 0)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no contract '%s'", q->parts[0]);
	rc = rc < 0 ? rc : shape_read(api, c.order, &s, &why);
	if (rc < 0)
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	status = api_json(q, r, 200, contract_json(market_engine(api->market), &c, &s));
	shape_release(&s);
	return status;
}

/* ---- List -------------------------------------------------------------------------------------------- */

struct collect {
	struct v0_contract *list;
	size_t count, cap, rows;
	uint64_t last;
	bool failed;
	int64_t live_since; /* minute: leaves out orders whose window ended before; INT64_MIN: none */
};

static int collect_row(void *arg, const struct order *o)
{
	struct collect *c = arg;

	c->rows++;
	c->last = o->id;
	if (!o->filled_minutes || o->procurement || o->end <= c->live_since || c->count >= CONTRACTS_MAX)
		return 0;
	if (c->count == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 16;
		struct v0_contract *more = reallocarray(c->list, cap, sizeof *more);

		if (!more) {
			c->failed = true;
			return -ENOMEM;
		}
		c->list = more;
		c->cap = cap;
	}
	c->list[c->count++] = (struct v0_contract){ o->id, o->pool, o->sku, o->created_at };
	return 0;
}

/* The account's buy orders that filled at least in part, newest first. */
static int collect_all(struct api *api, uint64_t account, struct collect *c, struct fail *f)
{
	struct store *store = market_store(api->market);
	struct order_filter filter = { .account = account, .side = SIDE_BUY, .no_procurements = true };
	struct store_page page = { .limit = PAGE_ROWS, .descending = true };
	size_t before;
	int rc;

	do {
		before = c->rows;
		page.before = c->last;
		rc = store->calls->orders(store, &filter, &page, collect_row, c, f);
	} while (rc == 0 && c->rows - before == PAGE_ROWS && c->count < CONTRACTS_MAX);
	return rc;
}

static bool v0_contract_shown(const struct request *q, const struct engine *e, const struct v0_contract *c,
	const struct shape *s)
{
	const char *state = api_query(q, "state"), *type = api_query(q, "instance_type");
	const char *nodes = api_query(q, "include_nodes"), *is = state_word(s, engine_minute(e));
	const struct sku *sku = engine_sku(e, c->sku);
	int64_t from, to;

	if (!s->steps.count ||
		(state ? strcmp(state, "All") != 0 && strcmp(state, is) != 0 : strcmp(is, "Expired") == 0))
		return false;
	if ((type && !(sku && v0_type_is(sku, type))) ||
		(nodes && strcmp(nodes, "false") == 0 && is_node(engine_pool(e, c->pool))))
		return false;
	if (!api_query(q, "active_within_interval_start"))
		return true;
	return v0_time(api_query(q, "active_within_interval_start"), engine_minute(e) * 60, &from) &&
		v0_time(api_query(q, "active_within_interval_end"), engine_minute(e) * 60, &to) &&
		s->steps.list[0].start * 60 < to && s->steps.list[s->steps.count - 1].end * 60 > from;
}

static bool query_ok(const struct request *q, struct reply *r)
{
	static const char *const times[] = { "active_within_interval_start", "active_within_interval_end" };
	const char *state = api_query(q, "state");
	int64_t n;

	if (state && strcmp(state, "All") != 0 && strcmp(state, "Upcoming") != 0 && strcmp(state, "Active") != 0 &&
	    strcmp(state, "Expired") != 0) {
		api_refuse(q, r, REASON_INVALID, "state", "'state' is All, Upcoming, Active or Expired");
		return false;
	}
	for (int i = 0; i < 2; i++) {
		const char *text = api_query(q, times[i]);

		if (!text == !api_query(q, times[!i]) && (!text || v0_time(text, 0, &n)))
			continue;
		api_refuse(q, r, REASON_INVALID, times[i],
			"give both ends of the interval, such as 2026-11-20T21:00:00Z");
		return false;
	}
	return true;
}

static int list_contracts(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *state = api_query(q, "state");
	struct collect c = { .live_since = engine_minute(e) };
	json_t *data = json_array();
	struct fail why = { 0 };
	uint64_t account;
	int rc = 0;

	if (!api_whose(q, r, &account) || !query_ok(q, r)) {
		json_decref(data);
		return r->status;
	}
	if (state && (strcmp(state, "All") == 0 || strcmp(state, "Expired") == 0))
		c.live_since = INT64_MIN;
	rc = collect_all(api, account, &c, &why);
	for (size_t i = 0; rc == 0 && i < c.count; i++) {
		struct shape s;

		rc = shape_read(api, c.list[i].order, &s, &why);
		if (rc == 0 && v0_contract_shown(q, e, &c.list[i], &s))
			json_array_append_new(data, contract_json(e, &c.list[i], &s));
		shape_release(&s);
	}
	free(c.list);
	if (rc || c.failed) {
		json_decref(data);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	return api_json(q, r, 200,
		json_pack("{s:s, s:o, s:b}", "object", "list", "data", data, "has_more", c.count >= CONTRACTS_MAX));
}

const struct route api_v0_contract_routes[] = {
	{ METHOD_GET, "/v0/contracts", list_contracts, SCOPE_READ, 0, "List contracts that have not ended",
		"state:string,instance_type:string,include_nodes:boolean,include_procurements:boolean,"
		"active_within_interval_start:string,active_within_interval_end:string",
		NULL, "v0.ContractList", 200 },
	{ METHOD_GET, "/v0/contracts/{id}", get_contract, SCOPE_READ, 0, "Get a contract", NULL, NULL, "v0.Contract",
		200 },
	{ 0 },
};
