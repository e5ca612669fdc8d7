/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seller's side: hosts and offers. A seller sees when a host is sold, never to whom.
 */
#include "marketd/api/np/np.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "market/when.h"
#include "marketd/api/promise.h"
#include "marketd/api/render.h"
#include "marketd/store/watch.h"

static json_t *piece_json(const struct host *h, const struct piece *p, int64_t from)
{
	bool own = p->pool == h->pool;
	const char *state = !own ? "sold" : p->order ? "on_sale" : p->taken ? "closed" : "idle";
	json_t *o = json_pack("{s:I, s:o, s:s}", "start_at", (json_int_t)(p->start > from ? p->start : from) * 60,
		"end_at", render_minute(p->end), "state", state);

	if (own && p->order) {
		json_object_set_new(o, "order", render_id(IDENT_ORDER, p->order));
		json_object_set_new(o, "price_dollars_per_node_hour", render_price(p->price));
	}
	return o;
}

const char *np_host_state(const struct host *h)
{
	return h->retired ? "retired" : h->down ? "down" : "up";
}

void np_put_resources(json_t *o, const struct sku *s)
{
	struct promise p = promise_of(s);
	json_t *resources = promise_resources(&p);

	if (resources)
		json_object_set_new(o, "resources", resources);
}

json_t *np_host_brief(const struct engine *e, const struct host *h)
{
	const struct sku *s = engine_sku(e, h->sku);
	json_t *o = json_pack("{s:o, s:o, s:o, s:s}", "id", render_id(IDENT_HOST, h->id), "name", render_text(h->name),
		"type", render_text(s ? s->alias : ""), "state", np_host_state(h));

	np_put_resources(o, s);
	return o;
}

/* Why it is down, and from when on it is out of service. */
static void host_put_service(json_t *o, const struct host *h)
{
	json_object_set_new(o, "down_reason", render_text(h->why));
	json_object_set_new(o, "down_since", h->down_at ? json_integer(h->down_at) : json_null());
	json_object_set_new(o, "drain",
		!h->drain ? json_null()
			  : json_pack("{s:I, s:b, s:o}", "from", (json_int_t)h->drain * 60, "ends_leases",
				    (int)h->drain_ends, "reason", render_text(h->drain_why)));
}

json_t *np_host(const struct engine *e, const struct host *h)
{
	json_t *schedule = json_array(), *made;

	for (size_t i = 0; !h->retired && i < h->piece_count; i++)
		if (h->pieces[i].end > engine_minute(e))
			json_array_append_new(schedule, piece_json(h, &h->pieces[i], engine_minute(e)));
	made = json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:I, s:o, s:I, s:o}", "object", "host", "id",
		render_id(IDENT_HOST, h->id), "name", render_text(h->name), "account",
		render_id(IDENT_ACCOUNT, h->account), "instance_sku", render_sku_summary(e, h->sku), "state",
		np_host_state(h), "agent", h->agent ? render_id(IDENT_AGENT, h->agent) : json_null(), "pool",
		render_pool_summary(e, h->pool), "start_at", (json_int_t)h->start * 60, "end_at", render_minute(h->end),
		"created_at", (json_int_t)h->created_at, "schedule", schedule);
	json_object_set_new(made, "account_name", render_text(engine_account(e, h->account)->name));
	host_put_service(made, h);
	json_object_set_new(made, "floor_dollars_per_node_hour", h->floor ? render_price(h->floor) : json_null());
	json_object_set_new(made, "verification", np_verification(e, h));
	return made;
}

const struct host *np_find_host(struct api *api, const struct request *q, struct reply *r, bool retired)
{
	const struct engine *e = market_engine(api->market);
	const struct host *h;
	uint64_t id;

	if (ident_parse(IDENT_HOST, q->parts[0], &id)) {
		h = engine_host(e, id);
		if (h && q->account && h->account != q->account)
			h = NULL;
	} else {
		h = engine_host_named(e, q->account, q->parts[0]);
	}
	if (!h || (h->retired && !retired)) {
		api_refuse(q, r, REASON_NOT_FOUND, "id", "no host '%s'", q->parts[0]);
		return NULL;
	}
	return h;
}

/* The owner of the new host: what an operator gives in the body, else the caller. false: refused. */
static bool host_owner(struct api *api, const struct request *q, struct reply *r, uint64_t *account)
{
	const char *text = body_text(q->body, "account");
	const struct account *a;

	if (!text)
		return api_whose(q, r, account);
	a = np_find_account(market_engine(api->market), text);
	if (a && (a->id == q->account || (np_allowed(q) & SCOPE_ADMIN))) {
		*account = a->id;
		return true;
	}
	if (np_allowed(q) & SCOPE_ADMIN)
		api_refuse(q, r, REASON_NOT_FOUND, "account", "no account '%s'", text);
	else
		api_refuse(q, r, REASON_FORBIDDEN, "account", "only the operator may register hosts for others");
	return false;
}

/* The originating pool of an account and SKU; makes it if there is none. 0: refused. */
static uint64_t host_pool(struct api *api, const struct request *q, struct reply *r, uint64_t account,
	const struct sku *s, bool *made)
{
	char name[NAME_BYTES + 8];
	struct event ev = { .kind = EVENT_POOL, .account = account, .name = name, .u.pool.kind = POOL_ORIGINATING };
	const struct effects *did;
	struct fail why = { 0 };
	const struct pool *p;
	int rc;

	*made = false;
	snprintf(name, sizeof name, "hosts-%s", s->alias);
	p = engine_pool_named(market_engine(api->market), account, name);
	if (p && p->kind == POOL_ORIGINATING)
		return p->id;
	if (p) {
		api_refuse(q, r, REASON_NAME_TAKEN, "instance_sku",
			"the pool '%s' exists and is not for hosts; rename it", name);
		return 0;
	}
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc) {
		api_failed(q, r, rc, NULL, &why);
		return 0;
	}
	*made = true;
	return effects_made(did);
}

int np_make_host(struct api *api, const struct request *q, struct reply *r, uint64_t account, uint64_t agent)
{
	const struct engine *e = market_engine(api->market);
	const struct sku *s = find_sku(e, body_text(q->body, "instance_sku"));
	struct event ev = { .kind = EVENT_HOST, .account = account, .name = body_text(q->body, "name"), .u.host = {
		.start = engine_minute(e) + 1, .end = MINUTE_MAX, .agent = agent } };
	const struct effects *did;
	struct fail why = { 0 };
	bool made;
	int rc;

	if (!body_minute(q, r, q->body, "start_at", &ev.u.host.start) ||
	    !body_minute(q, r, q->body, "end_at", &ev.u.host.end))
		return r->status;
	if (!s)
		return api_refuse(q, r, REASON_NOT_FOUND, "instance_sku", "no instance SKU '%s'",
			body_text(q->body, "instance_sku"));
	ev.u.host.sku = s->id;
	ev.u.host.pool = host_pool(api, q, r, ev.account, s, &made);
	if (!ev.u.host.pool)
		return r->status;
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc && made) /* the pool was made for this host alone */
		api_apply_to(api, q, EVENT_POOL_DELETE, ev.account, ev.u.host.pool, NULL);
	if (rc)
		return api_failed(q, r, rc,
			rc == REASON_NAME_TAKEN        ? "name"
				: rc == REASON_NO_ROOM ? "instance_sku"
						       : NULL,
			&why);
	return api_json(q, r, 201, np_host(e, engine_host(e, effects_made(did))));
}

static int post_host(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t account;

	return host_owner(api, q, r, &account) ? np_make_host(api, q, r, account, 0) : r->status;
}

static int list_hosts(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	int64_t limit, n = 0;
	const struct host *h;
	uint64_t last = 0;
	json_t *data;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &limit))
		return r->status;
	if (after && !ident_parse(IDENT_HOST, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a host");
	data = json_array();
	for (h = engine_host_after(e, q->account, last); h && n < limit; h = engine_host_after(e, q->account, h->id)) {
		if (h->retired)
			continue;
		json_array_append_new(data, np_host(e, h));
		last = h->id;
		n++;
	}
	return api_json(q, r, 200, render_list(data, n ? render_id(IDENT_HOST, last) : NULL, h != NULL));
}

static int get_host(struct api *api, const struct request *q, struct reply *r)
{
	const struct host *h = np_find_host(api, q, r, true);

	return h ? api_json(q, r, 200, np_host(market_engine(api->market), h)) : r->status;
}

static int patch_host(struct api *api, const struct request *q, struct reply *r)
{
	const struct host *h = np_find_host(api, q, r, false);
	struct event ev = { .kind = EVENT_HOST_STATE };
	struct fail why = { 0 };
	const char *unfit;
	int rc;

	if (!h)
		return r->status;
	ev.account = h->account;
	ev.subject = h->id;
	ev.u.host_state.down = body_bool(q->body, "down", h->down);
	unfit = ev.u.host_state.down || !h->down ? NULL : watch_unfit(api->watch, h, market_now(api->market));
	if (unfit)
		return api_refuse(q, r, REASON_WRONG_STATE, "down",
			"host '%s' is %s; it is not sold before its agent has found it well for ten minutes%s", h->name,
			unfit, h->watched ? ", and then comes up by itself" : "");
	ev.text = ev.u.host_state.down ? body_text(q->body, "reason") : NULL;
	rc = api_apply(api, q, &ev, NULL, &why);
	if (rc)
		return api_failed(q, r, rc, "down", &why);
	return api_json(q, r, 200,
		np_host(market_engine(api->market), engine_host(market_engine(api->market), ev.subject)));
}

static int delete_host(struct api *api, const struct request *q, struct reply *r)
{
	const struct host *h = np_find_host(api, q, r, false);
	struct fail why = { 0 };
	int rc;

	if (!h)
		return r->status;
	rc = api_apply_to(api, q, EVENT_HOST_RETIRE, h->account, h->id, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

/* Time that a drain took from a buyer is not for sale. true: said so. */
static bool offers_taken(const struct request *q, struct reply *r, const struct host *h, const struct event *ev)
{
	char start[WHEN_TEXT], end[WHEN_TEXT];

	for (size_t i = 0; i < h->piece_count && h->pieces[i].start < ev->u.order.end; i++) {
		const struct piece *p = &h->pieces[i];

		if (!p->taken || p->end <= ev->u.order.start)
			continue;
		api_refuse(q, r, REASON_NOT_OWNED, "start_at",
			"host '%s' took its time from %s until %s back from a buyer, so that is not sold again; offer "
			"what is before or after it",
			h->name, when_iso(60 * p->start, start), when_iso(60 * p->end, end));
		return true;
	}
	return false;
}

static int post_offer(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct host *h = np_find_host(api, q, r, false);
	struct event ev = { .kind = EVENT_ORDER };

	if (!h)
		return r->status;
	ev.account = h->account;
	ev.u.order.pool = h->pool;
	ev.u.order.sku = h->sku;
	ev.u.order.host = h->id;
	ev.u.order.side = SIDE_SELL;
	ev.u.order.flags = ORDER_STANDING | ORDER_PARTIAL;
	ev.u.order.nodes = 1;
	ev.u.order.start = h->start > engine_minute(e) ? h->start : engine_minute(e) + 1;
	ev.u.order.end = h->end;
	if (!body_price(q, r, q->body, "price_dollars_per_node_hour", &ev.u.order.price) ||
	    !body_minute(q, r, q->body, "start_at", &ev.u.order.start) ||
	    !body_minute(q, r, q->body, "end_at", &ev.u.order.end))
		return r->status;
	if (offers_taken(q, r, h, &ev))
		return r->status;
	return place_order(api, q, r, &ev);
}

const struct route api_np_host_routes[] = {
	{ METHOD_POST, "/np/v1/hosts", post_host, SCOPE_HOST, ROUTE_CREATES, "Register a host", NULL,
		"np.CreateHostRequest", "np.Host", 201 },
	{ METHOD_GET, "/np/v1/hosts", list_hosts, SCOPE_HOST, 0, "List hosts that are not retired",
		"limit:integer,starting_after:string", NULL, "np.HostList", 200 },
	{ METHOD_GET, "/np/v1/hosts/{id}", get_host, SCOPE_HOST, 0, "Get a host, by id or name", NULL, NULL, "np.Host",
		200 },
	{ METHOD_PATCH, "/np/v1/hosts/{id}", patch_host, SCOPE_HOST, 0, "Take a host down, or up again", NULL,
		"np.PatchHostRequest", "np.Host", 200 },
	{ METHOD_DELETE, "/np/v1/hosts/{id}", delete_host, SCOPE_HOST, 0, "Retire a host without sold or offered time",
		NULL, NULL, NULL, 204 },
	{ METHOD_POST, "/np/v1/hosts/{id}/offers", post_offer, SCOPE_HOST, ROUTE_CREATES,
		"Offer a host's time at a price", NULL, "np.CreateOfferRequest", "v2.OrderResponse", 201 },
	{ 0 },
};
