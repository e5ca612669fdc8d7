/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts cost, and at least: of several hosts, or of all of a type, in one request and one commit. */
#include "marketd/api/np/np.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/may/quota.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

/* An offer that gets the price, with what it asked for before. */
struct repriced {
	uint64_t order, account, sku;
	int64_t was;
	json_t *hosts;
};

struct repricing {
	const struct host **hosts;
	size_t host_count, host_cap;
	struct repriced *offers;
	size_t offer_count, offer_cap;
	int64_t price;
	bool nomem;
};

static void repricing_release(struct repricing *p)
{
	for (size_t i = 0; i < p->offer_count; i++)
		json_decref(p->offers[i].hosts);
	free(p->offers);
	free(p->hosts);
}

/* Room for one more; false: there is no memory. */
static bool repricing_room(struct repricing *p, void **list, size_t count, size_t *cap, size_t size)
{
	void *more;

	if (count < *cap)
		return true;
	more = reallocarray(*list, *cap ? 2 * *cap : 16, size);
	if (!more) {
		p->nomem = true;
		return false;
	}
	*list = more;
	*cap = *cap ? 2 * *cap : 16;
	return true;
}

static bool repricing_has(const struct repricing *p, const struct host *h)
{
	for (size_t i = 0; i < p->host_count; i++)
		if (p->hosts[i] == h)
			return true;
	return false;
}

static void repricing_add_host(struct repricing *p, const struct host *h)
{
	if (repricing_has(p, h) ||
		!repricing_room(p, (void **)&p->hosts, p->host_count, &p->host_cap, sizeof(const struct host *)))
		return;
	p->hosts[p->host_count++] = h;
}

/* ---- Whose ------------------------------------------------------------------------------------- */

static const struct host *price_host(const struct engine *e, uint64_t account, const char *text)
{
	const struct host *h;
	uint64_t id;

	if (!ident_parse(IDENT_HOST, text, &id))
		return engine_host_named(e, account, text);
	h = engine_host(e, id);
	return h && !h->retired && (!account || h->account == account) ? h : NULL;
}

/* The hosts of the body: those that it names, or all of a type. false: refused. */
static bool price_hosts(struct api *api, const struct request *q, struct reply *r, struct repricing *p)
{
	const json_t *names = json_object_get(q->body, "hosts");
	const char *type = body_text(q->body, "instance_sku");
	const struct engine *e = market_engine(api->market);
	const struct sku *s = type ? find_sku(e, type) : NULL;
	uint64_t account;

	if (json_is_array(names) == (type != NULL)) {
		api_refuse(q, r, REASON_INVALID, "hosts", "name the hosts, or the instance SKU for all hosts of it");
		return false;
	}
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		const struct host *h = price_host(e, q->account, name);

		if (!h) {
			api_refuse(q, r, REASON_NOT_FOUND, "hosts", "no host '%s'", name);
			return false;
		}
		repricing_add_host(p, h);
	}
	if (!type)
		return true;
	if (!s) {
		api_refuse(q, r, REASON_NOT_FOUND, "instance_sku", "no instance SKU '%s'", type);
		return false;
	}
	if (!api_whose(q, r, &account))
		return false;
	for (const struct host *h = engine_host_after(e, account, 0); h; h = engine_host_after(e, account, h->id))
		if (!h->retired && h->sku == s->id)
			repricing_add_host(p, h);
	return true;
}

/* ---- What they have on sale -------------------------------------------------------------------- */

static const struct order *price_sells(const struct engine *e, const struct host *h, const struct piece *x)
{
	const struct order *o = x->order && x->end > engine_minute(e) ? engine_order(e, x->order) : NULL;

	return o && o->pool == h->pool ? o : NULL;
}

static void price_add_offer(struct repricing *p, const struct order *o, const struct host *h)
{
	json_t *host = json_pack("{s:o, s:o}", "id", render_id(IDENT_HOST, h->id), "name", render_text(h->name));
	size_t i = 0;

	while (i < p->offer_count && p->offers[i].order != o->id)
		i++;
	if (i == p->offer_count && repricing_room(p, (void **)&p->offers, i, &p->offer_cap, sizeof *p->offers))
		p->offers[p->offer_count++] = (struct repriced){ .order = o->id,
			.account = o->account,
			.sku = o->sku,
			.was = o->price,
			.hosts = json_array() };
	if (i < p->offer_count)
		json_array_append(p->offers[i].hosts, host);
	json_decref(host);
}

/* false: it has nothing on sale. */
static bool price_offers_of(const struct engine *e, const struct host *h, struct repricing *p)
{
	const struct order *last = NULL, *o;

	for (size_t i = 0; i < h->piece_count; i++) {
		o = price_sells(e, h, &h->pieces[i]);
		if (!o || o == last)
			continue;
		if (!last || p->offers[p->offer_count - 1].order != o->id)
			price_add_offer(p, o, h);
		last = o;
	}
	return last != NULL;
}

/* A host whose price would change with that of the named ones; NULL. */
static const struct host *price_other(const struct engine *e, const struct repricing *p, uint64_t *order)
{
	for (size_t i = 0; i < p->offer_count; i++) {
		const struct order *o = engine_order(e, p->offers[i].order);
		const struct host *h = o->nodes > 1 ? engine_host_after(e, o->account, 0) : NULL;

		for (*order = o->id; h; h = engine_host_after(e, o->account, h->id))
			for (size_t k = 0; h->pool == o->pool && k < h->piece_count; k++)
				if (price_sells(e, h, &h->pieces[k]) == o && !repricing_has(p, h))
					return h;
	}
	return NULL;
}

static bool price_offers(struct api *api, const struct request *q, struct reply *r, struct repricing *p)
{
	const struct engine *e = market_engine(api->market);
	const bool all = body_text(q->body, "instance_sku") != NULL;
	const struct host *other;
	char id[IDENT_TEXT];
	uint64_t order = 0;

	for (size_t i = 0; i < p->host_count; i++)
		if (!price_offers_of(e, p->hosts[i], p) && !all) {
			api_refuse(q, r, REASON_WRONG_STATE, "hosts",
				"host '%s' is not on sale; 'nanopod host offer' offers its time", p->hosts[i]->name);
			return false;
		}
	if (!p->offer_count) {
		api_refuse(q, r, REASON_WRONG_STATE, "instance_sku", "no host of that type is on sale");
		return false;
	}
	other = price_other(e, p, &order);
	if (other)
		api_refuse(q, r, REASON_WRONG_STATE, "hosts",
			"order '%s' offers host '%s' together with these; name it, too",
			ident_text(IDENT_ORDER, order, id), other->name);
	return !other;
}

/* ---- The change -------------------------------------------------------------------------------- */

/* The event of one of them. False: it changes nothing. */
typedef bool (*price_event_fn)(const struct engine *e, const struct repricing *p, size_t i, struct event *ev);
typedef int (*price_check_fn)(const struct engine *e, const struct event *ev, struct fail *why);

/* All of them or none: nothing is changed before each was checked. 0 or a reason. */
static int price_apply(struct api *api, const struct request *q, const struct repricing *p, size_t count,
	price_event_fn event, price_check_fn check, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	struct quota_need need = { 0 };
	bool any = false;
	struct event ev;
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		any = event(e, p, i, &ev) || any;
		rc = check(e, &ev, why);
		need.account = ev.account;
	}
	if (rc || !any || body_bool(q->body, "dry_run", false))
		return rc;
	rc = quota_grant(api, q, &need, why);
	for (size_t i = 0; !rc && i < count; i++)
		if (event(e, p, i, &ev))
			rc = api_apply(api, q, &ev, NULL, why);
	return rc;
}

/* A buyer may have taken all that this one had on sale at the price of the one before. */
static bool price_event(const struct engine *e, const struct repricing *p, size_t i, struct event *ev)
{
	const struct repriced *o = &p->offers[i];

	*ev = (struct event){ .kind = EVENT_ORDER_PRICE,
		.account = o->account,
		.subject = o->order,
		.u.order_price.price = p->price };
	return o->was != p->price && engine_order(e, o->order);
}

static json_t *price_json(const struct request *q, const struct repricing *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->offer_count; i++) {
		const struct repriced *o = &p->offers[i];

		json_array_append_new(list,
			json_pack("{s:o, s:o, s:o, s:O, s:o, s:b}", "order", render_id(IDENT_ORDER, o->order),
				"account", render_id(IDENT_ACCOUNT, o->account), "instance_sku",
				render_id(IDENT_SKU, o->sku), "hosts", o->hosts, "was_dollars_per_node_hour",
				render_price(o->was), "changed", o->was != p->price));
	}
	return json_pack("{s:s, s:b, s:o, s:o}", "object", "repricing", "dry_run",
		(int)body_bool(q->body, "dry_run", false), "price_dollars_per_node_hour", render_price(p->price),
		"data", list);
}

static int post_prices(struct api *api, const struct request *q, struct reply *r)
{
	struct repricing p = { 0 };
	struct fail why = { 0 };
	int rc = 0;

	if (body_price(q, r, q->body, "price_dollars_per_node_hour", &p.price) && price_hosts(api, q, r, &p) &&
		price_offers(api, q, r, &p)) {
		rc = p.nomem ? REASON_UNAVAILABLE
			     : price_apply(api, q, &p, p.offer_count, price_event, engine_price_check, &why);
		if (rc)
			api_failed(q, r, rc, "price_dollars_per_node_hour", &why);
		else
			api_json(q, r, 200, price_json(q, &p));
	}
	repricing_release(&p);
	return r->status;
}

/* ---- The least that they cost ------------------------------------------------------------------ */

static bool floor_event(const struct engine *e, const struct repricing *p, size_t i, struct event *ev)
{
	const struct host *h = p->hosts[i];

	(void)e;
	*ev = (struct event){ .kind = EVENT_HOST_FLOOR,
		.account = h->account,
		.subject = h->id,
		.u.host_floor.price = p->price };
	return h->floor != p->price;
}

static int put_floors(struct api *api, const struct request *q, struct reply *r)
{
	struct repricing p = { 0 };
	struct fail why = { 0 };
	json_t *list = json_array();
	int rc = 0;

	if (body_price(q, r, q->body, "price_dollars_per_node_hour", &p.price) && price_hosts(api, q, r, &p)) {
		rc = p.nomem ? REASON_UNAVAILABLE
			     : price_apply(api, q, &p, p.host_count, floor_event, engine_floor_check, &why);
		for (size_t i = 0; !rc && i < p.host_count; i++)
			json_array_append_new(list, np_host(market_engine(api->market), p.hosts[i]));
		if (rc)
			api_failed(q, r, rc, "price_dollars_per_node_hour", &why);
		else
			api_json(q, r, 200, json_pack("{s:s, s:O}", "object", "list", "data", list));
	}
	json_decref(list);
	repricing_release(&p);
	return r->status;
}

const struct route api_np_price_routes[] = {
	{ METHOD_PUT, "/np/v1/floors", put_floors, SCOPE_HOST, 0,
		"Set the price below which hosts are never on sale, of all of them or none", NULL, "np.FloorRequest",
		"np.HostFloors", 200 },
	{ METHOD_POST, "/np/v1/prices", post_prices, SCOPE_HOST, ROUTE_CREATES,
		"Change the price of what hosts have on sale, of all of them or none", NULL, "np.PriceRequest",
		"np.Repricing", 200 },
	{ 0 },
};

/* ---- Shapes ----------------------------------------------------------------------------- */

#define PRICE_TEXT "^[0-9]+[.][0-9]+$"
static const struct schema_field price_request[] = {
	{ "hosts", SCHEMA_ARRAY, FIELD_NULL, "string", 1, 1000, "ids or names; else instance_sku" },
	{ "instance_sku", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES,
		"id or alias: all hosts of it that are on sale" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 1, 32, NULL },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field floor_request[] = {
	{ "hosts", SCHEMA_ARRAY, FIELD_NULL, "string", 1, 1000, "ids or names; else instance_sku" },
	{ "instance_sku", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "id or alias: all hosts of it" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 1, 32, "0.000000: no floor" },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field host_floors[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Host", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field repriced[] = {
	{ "order", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "keeps its id, its window and what it sold" },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "instance_sku", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "hosts", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Named", 0, 0, NULL },
	{ "was_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 0, 0, "the price before" },
	{ "changed", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "false: it had that price already" },
	{ 0 },
};

static const struct schema_field repricing[] = {
	OBJECT_IS("repricing"),
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "nothing was changed, but all was checked" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Repriced", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_price[] = {
	OBJECT("np.PriceRequest", price_request),
	OBJECT("np.FloorRequest", floor_request),
	OBJECT("np.HostFloors", host_floors),
	OBJECT("np.Repriced", repriced),
	OBJECT("np.Repricing", repricing),
	{ 0 },
};
