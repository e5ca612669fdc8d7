/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/orders: place, list, get and cancel. */
#include "marketd/api/v2/v2.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/render.h"

enum { IDS_MAX = QUERY_MAX };

static int orders_create(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev;
	uint64_t account;

	if (!api_whose(q, r, &account) || !body_order(api, q, r, account, &ev))
		return r->status;
	return place_order(api, q, r, &ev);
}

/* ---- List -------------------------------------------------------------------------------- */

struct listing {
	struct api *api;
	struct page page;
	bool brief; /* without fills */
};

static int v2_orders_add_row(void *arg, const struct order *o)
{
	struct listing *l = arg;

	if (page_wants(&l->page))
		page_add(&l->page, o->id, l->brief ? render_order_brief(l->api, o) : render_order(l->api, o, NULL));
	return 0;
}

static bool orders_one_of(const struct request *q, struct reply *r, const char *name, const char *const *words,
	size_t count, int *out)
{
	const char *text = api_query(q, name);

	for (size_t i = 0; i < count; i++)
		if (!text || strcmp(text, words[i]) == 0) {
			*out = text ? (int)i : -1;
			return true;
		}
	api_refuse(q, r, REASON_INVALID, name, "'%s' cannot be '%s'", name, text);
	return false;
}

static bool orders_read_statuses(const struct request *q, struct reply *r, uint32_t *out)
{
	static const struct { const char *text; uint32_t bit; } rows[] = {
		{ "pending", 1u << ORDER_PENDING }, { "filled", 1u << ORDER_FILLED },
		{ "partially_filled", 1u << ORDER_PARTIALLY_FILLED }, { "rejected", 1u << ORDER_REJECTED },
		{ "cancelled", 1u << ORDER_CANCELLED }, { "standing", 1u << ORDER_RESTING },
	};
	const char *text;

	for (size_t i = 0; (text = api_query_at(q, "status", i)); i++) {
		uint32_t bit = 0;

		for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
			if (strcmp(rows[n].text, text) == 0)
				bit = rows[n].bit;
		if (!bit) {
			api_refuse(q, r, REASON_INVALID, "status", "no status '%s'", text);
			return false;
		}
		*out |= bit;
	}
	return true;
}

/* pool=, procurement=, workspace=: must be this account's. */
static bool orders_read_things(struct api *api, const struct request *q, struct reply *r, struct order_filter *f)
{
	const struct engine *e = market_engine(api->market);
	const char *pool = api_query(q, "pool"), *procurement = api_query(q, "procurement");
	const struct pool *p = pool ? find_pool(e, q->account, pool) : NULL;
	const struct procurement *c = procurement ? find_procurement(e, q->account, procurement) : NULL;

	if (pool && !p) {
		api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", pool);
		return false;
	}
	if (procurement && !c) {
		api_refuse(q, r, REASON_NOT_FOUND, "procurement", "no procurement '%s' in this account", procurement);
		return false;
	}
	f->pool = p ? p->id : 0;
	f->procurement = c ? c->id : 0;
	f->no_procurements = !c;
	return pool || workspace_check(api, q, r, api_query(q, "workspace"), "workspace");
}

static bool read_ids(const struct request *q, struct reply *r, uint64_t ids[IDS_MAX], struct order_filter *f)
{
	const char *text;

	for (size_t i = 0; i < IDS_MAX && (text = api_query_at(q, "id", i)); i++)
		if (!ident_parse(IDENT_ORDER, text, &ids[f->id_count++])) {
			api_refuse(q, r, REASON_INVALID, "id", "'%s' is not the id of an order", text);
			return false;
		}
	f->ids = f->id_count ? ids : NULL;
	return true;
}

static bool orders_read_filter(struct api *api, const struct request *q, struct reply *r, struct order_filter *f,
	uint64_t ids[IDS_MAX], bool *descending)
{
	static const char *const sides[] = { "buy", "sell" };
	static const char *const sorts[] = { "created_at", "-created_at", "start_at", "-start_at" };
	int sort;

	*f = (struct order_filter){ .account = q->account, .side = -1 };
	if (!orders_one_of(q, r, "side", sides, 2, &f->side) || !orders_one_of(q, r, "sort_by", sorts, 4, &sort) ||
	    !orders_read_statuses(q, r, &f->statuses) ||
	    !api_query_int(q, r, "created_after", 0, INT64_MAX, 0, &f->created_after) ||
	    !api_query_int(q, r, "created_before", 0, INT64_MAX, 0, &f->created_before) ||
	    !orders_read_things(api, q, r, f) || !read_ids(q, r, ids, f))
		return false;
	if (f->id_count) /* given by id: whoever placed it */
		f->no_procurements = false;
	f->by_start = sort >= 2;
	*descending = sort < 0 || sort == 1 || sort == 3;
	return true;
}

static int orders_list(struct api *api, const struct request *q, struct reply *r)
{
	struct store *store = market_store(api->market);
	struct listing l = { .api = api };
	struct store_page at = { 0 };
	struct order_filter filter;
	uint64_t ids[IDS_MAX];
	struct paging paging;
	struct fail why = { 0 };
	bool descending, fills;
	int failed;

	if (!api_query_bool(q, r, "np_fills", true, &fills) || !paging_read(q, r, CURSOR_ORDERS, LIMIT_MAX, &paging) ||
		!orders_read_filter(api, q, r, &filter, ids, &descending))
		return r->status;
	page_init(&l.page, &paging);
	l.brief = !fills;
	at.descending = descending != paging.back;
	at.limit = paging.limit + 1;
	if (paging.started)
		*(at.descending ? &at.before : &at.after) = paging.from[0];
	failed = store->calls->orders(store, &filter, &at, v2_orders_add_row, &l, &why);
	if (failed) {
		json_decref(l.page.data);
		return api_failed(q, r, failed, NULL, &why);
	}
	return page_answer(q, r, &l.page);
}

/* ---- One --------------------------------------------------------------------------------- */

struct one {
	struct api *api;
	json_t *made;
	enum order_status status;
	uint64_t id, account;
};

static int render_one(void *arg, const struct order *o)
{
	struct one *one = arg;

	one->made = render_order(one->api, o, NULL);
	return 0;
}

static int note_one(void *arg, const struct order *o)
{
	struct one *one = arg;

	one->status = o->status;
	one->id = o->id;
	one->account = o->account;
	return 0;
}

/* Calls fn with the order of the path; false: refused. */
static bool the_order(struct api *api, const struct request *q, struct reply *r, store_order_fn fn, struct one *one)
{
	struct fail why = { 0 };
	uint64_t id;
	int found = ident_parse(IDENT_ORDER, q->parts[0], &id) ? find_order(api, q->account, id, fn, one, &why) : 0;

	if (found > 0)
		return true;
	if (found < 0)
		api_failed(q, r, found, NULL, &why);
	else
		api_refuse(q, r, REASON_NOT_FOUND, "id", "no order '%s' in this account", q->parts[0]);
	return false;
}

static int orders_get(struct api *api, const struct request *q, struct reply *r)
{
	struct one one = { .api = api };

	return the_order(api, q, r, render_one, &one) ? api_json(q, r, 200, one.made) : r->status;
}

static const char *ended_text(enum order_status s)
{
	return s == ORDER_FILLED       ? "it is filled; sell or release what it bought"
		: s == ORDER_CANCELLED ? "it is already cancelled"
				       : "it is already closed";
}

/* The engine decides: the store may be older than this turn. */
static int orders_cancel(struct api *api, const struct request *q, struct reply *r)
{
	struct one one = { .api = api };
	struct fail why = { 0 };
	int reason;

	if (!the_order(api, q, r, note_one, &one))
		return r->status;
	if (!engine_order(market_engine(api->market), one.id))
		return api_refuse_as(q, r, 422, REASON_WRONG_STATE, "id", "the order cannot be cancelled: %s",
			ended_text(one.status));
	reason = api_apply_to(api, q, EVENT_CANCEL, one.account, one.id, &why);
	return reason ? api_failed(q, r, reason, "id", &why) : api_nothing(r);
}

const struct route api_v2_orders[] = {
	{ METHOD_POST, "/v2/orders", orders_create, SCOPE_TRADE, ROUTE_CREATES, "Create order", NULL,
		"v2.CreateOrderRequest", "v2.OrderResponse", 201 },
	{ METHOD_GET, "/v2/orders", orders_list, SCOPE_READ, 0, "List orders",
		"id:array,pool:string,workspace:string,side:string,status:array,created_after:integer,created_before:"
		"integer,"
		"procurement:string,sort_by:string,limit:integer,starting_after:string,ending_before:string,"
		"np_fills:boolean",
		NULL, "v2.ListOrdersResponse", 200 },
	{ METHOD_GET, "/v2/orders/{id}", orders_get, SCOPE_READ, 0, "Get order", NULL, NULL, "v2.OrderResponse", 200 },
	{ METHOD_DELETE, "/v2/orders/{id}", orders_cancel, SCOPE_TRADE, 0, "Cancel order", NULL, NULL, NULL, 204 },
	{ 0 },
};
