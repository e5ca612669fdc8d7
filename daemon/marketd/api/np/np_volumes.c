/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes: room of a machine that an account has for as long as it pays; what machines let, and for how much. */
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/api/tally.h"

/* ---- As JSON -------------------------------------------------------------------------------- */

/* The types of the machine's hosts, each once. */
static json_t *volumes_types(const struct engine *e, uint64_t agent)
{
	json_t *list = json_array(), *seen = json_object();

	for (const struct host *h = engine_host_of_agent(e, agent, 0); h; h = engine_host_of_agent(e, agent, h->id)) {
		const struct sku *s = engine_sku(e, h->sku);

		if (s && !json_object_get(seen, s->alias)) {
			json_object_set_new(seen, s->alias, json_true());
			json_array_append_new(list, render_text(s->alias));
		}
	}
	json_decref(seen);
	return list;
}

static json_t *volume_json(const struct engine *e, const struct volume *v)
{
	static const char *const states[] = { "paid", "unpaid", "deleting" };
	bool up = engine_agent_up(e, v->agent);
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:s, s:o, s:I, s:o, s:o}", "object", "volume", "id",
		render_id(IDENT_VOLUME, v->id), "name", render_text(v->name), "account",
		render_id(IDENT_ACCOUNT, v->account), "agent", render_id(IDENT_AGENT, v->agent), "gib", v->gib, "state",
		v->state == VOLUME_DELETING || up ? states[v->state] : "unreachable", "types",
		volumes_types(e, v->agent), "created_at", (json_int_t)v->created_at, "paid_until",
		render_minute(v->paid_until), "delete_at", v->until ? render_minute(v->until) : json_null());

	render_money(o, "gib_month", v->price);
	render_money(o, "hourly", engine_volume_hour(v->gib, v->price));
	return o;
}

static json_t *volume_offer_json(const struct engine *e, const struct agent *a, bool here)
{
	json_t *o = json_pack("{s:s, s:o, s:I, s:I, s:o, s:b, s:b}", "object", "volume_offer", "agent",
		render_id(IDENT_AGENT, a->id), "gib", (json_int_t)a->volume_gib, "free_gib",
		(json_int_t)(a->volume_gib - engine_volume_let(e, a->id)), "types", volumes_types(e, a->id), "here",
		(int)here, "up", (int)engine_agent_up(e, a->id));

	render_money(o, "gib_month", a->volume_price);
	return o;
}

/* ---- Finding -------------------------------------------------------------------------------- */

/* The route's volume, by id or name, of the caller. NULL: refused. */
static const struct volume *volumes_find(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct volume *v = NULL;
	uint64_t id;

	if (ident_parse(IDENT_VOLUME, q->parts[0], &id))
		v = engine_volume(e, id);
	else if (q->account)
		v = engine_volume_named(e, q->account, q->parts[0]);
	if (v && (!q->account || v->account == q->account))
		return v;
	api_refuse(q, r, REASON_NOT_FOUND, "id", "no volume '%s'", q->parts[0]);
	return NULL;
}

static const struct agent *volumes_agent(const struct engine *e, const char *text)
{
	const struct agent *a = NULL;
	uint64_t id;

	if (text && ident_parse(IDENT_AGENT, text, &id))
		a = engine_agent(e, id);
	return a && !a->retired ? a : NULL;
}

/* Does the pool have a host of this machine in this minute? */
static bool volumes_is_here(const struct engine *e, const struct agent *a, const struct pool *p)
{
	uint64_t at = 0;

	while (p && engine_pool_host(e, p->id, engine_minute(e), &at)) {
		const struct host *h = engine_host(e, at);

		if (h && h->agent == a->id)
			return true;
	}
	return false;
}

/* ---- What machines let ------------------------------------------------------------------------ */

static int list_volume_offers(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *name = api_query(q, "pool");
	const struct pool *p = name ? find_pool(e, q->account, name) : NULL;
	json_t *data = json_array();

	if (name && !p) {
		json_decref(data);
		return api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s'", name);
	}
	for (const struct agent *a = NULL; (a = engine_agent_after(e, 0, a ? a->id : 0));) {
		bool here = volumes_is_here(e, a, p);

		if (!a->retired && (here || a->volume_gib))
			json_array_append_new(data, volume_offer_json(e, a, here));
	}
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static int put_volume_offer(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct agent *a = volumes_agent(e, q->parts[0]);
	struct event ev = { .kind = EVENT_VOLUME_OFFER };
	struct fail why = { 0 };
	int rc;

	if (!a && q->account)
		a = engine_agent_named(e, q->account, q->parts[0]);
	if (!a || (q->account && a->account != q->account))
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no agent '%s'", q->parts[0]);
	ev.account = a->account;
	ev.subject = a->id;
	ev.u.volume.gib = (int32_t)body_int(q->body, "max_gib", 0);
	ev.u.volume.price = a->volume_price;
	if (!body_money(q, r, q->body, "gib_month_dollars", &ev.u.volume.price))
		return r->status;
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, "max_gib", &why) : api_json(q, r, 200, volume_offer_json(e, a, false));
}

/* ---- Volumes ------------------------------------------------------------------------------------ */

static int list_volumes(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	const struct volume *v;
	uint64_t last = 0;
	json_t *data;
	int64_t limit;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &limit))
		return r->status;
	if (after && !ident_parse(IDENT_VOLUME, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a volume");
	data = json_array();
	for (v = engine_volume_after(e, q->account, last); v && limit; v = engine_volume_after(e, q->account, v->id)) {
		json_array_append_new(data, volume_json(e, v));
		last = v->id;
		limit--;
	}
	return api_json(q, r, 200,
		render_list(data, json_array_size(data) ? render_id(IDENT_VOLUME, last) : NULL, v != NULL));
}

static int get_volume(struct api *api, const struct request *q, struct reply *r)
{
	const struct volume *v = volumes_find(api, q, r);

	return v ? api_json(q, r, 200, volume_json(market_engine(api->market), v)) : r->status;
}

/* The most that it may cost is required where a program asks for it: prices change. */
static bool volumes_read(const struct request *q, struct reply *r, struct event *ev)
{
	ev->u.volume.gib = (int32_t)body_int(q->body, "gib", 0);
	return body_money(q, r, q->body, "max_gib_month_dollars", &ev->u.volume.price);
}

static int post_volume(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *agent = body_text(q->body, "agent");
	const struct agent *a = volumes_agent(e, agent);
	struct event ev = { .kind = EVENT_VOLUME, .name = body_text(q->body, "name") };
	const struct effects *did;
	struct fail why = { 0 };
	int rc;

	if (!api_whose(q, r, &ev.account) || !np_spends_freely(api, q, r) || !volumes_read(q, r, &ev))
		return r->status;
	if (!a)
		return api_refuse(q, r, REASON_NOT_FOUND, "agent", "no machine '%.64s' lets room for volumes", agent);
	ev.subject = a->id;
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc)
		return api_failed(q, r, rc, rc == REASON_NAME_TAKEN ? "name" : NULL, &why);
	return api_json(q, r, 201, volume_json(e, engine_volume(e, effects_made(did))));
}

static int volumes_change(struct api *api, const struct request *q, struct reply *r, const struct volume *v,
	struct event *ev)
{
	struct fail why = { 0 };
	int rc;

	ev->kind = EVENT_VOLUME_CHANGE;
	ev->account = v->account;
	ev->subject = v->id;
	rc = api_apply(api, q, ev, NULL, &why);
	return rc ? api_failed(q, r, rc, "gib", &why) : 0;
}

static int patch_volume(struct api *api, const struct request *q, struct reply *r)
{
	const struct volume *v = volumes_find(api, q, r);
	struct event ev = { 0 };

	if (!v || !np_spends_freely(api, q, r) || !volumes_read(q, r, &ev) || volumes_change(api, q, r, v, &ev))
		return r->status;
	return api_json(q, r, 200, volume_json(market_engine(api->market), v));
}

static int delete_volume(struct api *api, const struct request *q, struct reply *r)
{
	const struct volume *v = volumes_find(api, q, r);
	struct event ev = { 0 };

	return !v || volumes_change(api, q, r, v, &ev) ? r->status : api_nothing(r);
}

/* ---- An agent's ---------------------------------------------------------------------------------- */

json_t *np_volumes_work(const struct engine *e, const struct agent *a)
{
	json_t *list = json_array();

	for (const struct volume *v = engine_volume_of_agent(e, a->id, 0); v;
		v = engine_volume_of_agent(e, a->id, v->id))
		json_array_append_new(list,
			json_pack("{s:o, s:o, s:o, s:I, s:s}", "id", render_id(IDENT_VOLUME, v->id), "name",
				render_text(v->name), "tenant", render_id(IDENT_ACCOUNT, v->account), "bytes",
				(json_int_t)v->gib << 30, "state",
				v->state == VOLUME_PAID             ? "mounted"
					: v->state == VOLUME_UNPAID ? "kept"
								    : "deleted"));
	return list;
}

/* A second report of the same is no error: the first one's answer may have been lost. */
static int post_volume_gone(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct agent *a = q->agent ? engine_agent(e, q->agent) : NULL;
	const struct volume *v = NULL;
	struct event ev = { .kind = EVENT_VOLUME_GONE };
	struct fail why = { 0 };
	uint64_t id = 0;
	int rc;

	if (!a)
		return api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"only an agent may do this, with the token of its session");
	if (ident_parse(IDENT_VOLUME, q->parts[0], &id))
		v = engine_volume(e, id);
	if (!v || v->agent != a->id)
		return api_nothing(r);
	ev.account = a->account;
	ev.subject = v->id;
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

/* ---- Shapes ------------------------------------------------------------------------------------ */

#define VOLUME_MONEY(name, note) \
	{ name "_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, note }, \
	{ \
		name "_micros", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL \
	}
#define VOLUME_ROOM(name, flags, least, note) \
	{ \
		name, SCHEMA_INTEGER, flags, NULL, least, VOLUME_GIB_MAX, note \
	}

static const struct schema_field volume_fields[] = {
	OBJECT_IS("volume"),
	ID_OF("vol"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "nodes of the account on its machine see /volumes/NAME" },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "agent", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "the machine that it is on" },
	VOLUME_ROOM("gib", FIELD_REQUIRED, 1, NULL),
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "paid|unpaid|deleting|unreachable", 0, 0,
		"unreachable: its machine is away; until it is back, the volume costs nothing" },
	{ "types", SCHEMA_ARRAY, FIELD_REQUIRED, "string", 0, 0, "of the nodes that its machine sells" },
	TIME("created_at", FIELD_REQUIRED),
	TIME("paid_until", FIELD_REQUIRED | FIELD_NULL),
	TIME("delete_at", FIELD_REQUIRED | FIELD_NULL),
	VOLUME_MONEY("gib_month", "of 730 hours"),
	VOLUME_MONEY("hourly", "what an hour costs; each is paid when it begins"),
	{ 0 },
};

static const struct schema_field volume_list[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Volume", 0, 0, NULL },
	{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field volume_request[] = {
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, "^[a-z0-9][a-z0-9-]*$", 1, 63, NULL },
	VOLUME_ROOM("gib", FIELD_REQUIRED, 1, NULL),
	{ "agent", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, "one of np.VolumeOffer" },
	{ "max_gib_month_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, "refused where it costs more now" },
	{ 0 },
};

static const struct schema_field volume_change_request[] = {
	VOLUME_ROOM("gib", FIELD_REQUIRED, 1, "more than it has"),
	{ "max_gib_month_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0,
		"what its machine asks now is its price from then on; refused where that is more" },
	{ 0 },
};

static const struct schema_field volume_offer_fields[] = {
	OBJECT_IS("volume_offer"),
	{ "agent", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	VOLUME_ROOM("gib", FIELD_REQUIRED, 0, "that it lets in all"),
	VOLUME_ROOM("free_gib", FIELD_REQUIRED, 0, NULL),
	{ "types", SCHEMA_ARRAY, FIELD_REQUIRED, "string", 0, 0, "of the nodes that it sells" },
	{ "here", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "the pool of the query has a node there now" },
	{ "up", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	VOLUME_MONEY("gib_month", "of 730 hours"),
	{ 0 },
};

static const struct schema_field volume_offer_list[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.VolumeOffer", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field volume_offer_request[] = {
	VOLUME_ROOM("max_gib", FIELD_REQUIRED, 0, "in all; 0: none"),
	{ "gib_month_dollars", SCHEMA_REF, FIELD_NULL, "np.Dollars", 0, 0, "of new volumes" },
	{ 0 },
};

const struct schema schema_np_volume[] = {
	OBJECT("np.Volume", volume_fields),
	OBJECT("np.VolumeList", volume_list),
	OBJECT("np.VolumeRequest", volume_request),
	OBJECT("np.VolumeChangeRequest", volume_change_request),
	OBJECT("np.VolumeOffer", volume_offer_fields),
	OBJECT("np.VolumeOfferList", volume_offer_list),
	OBJECT("np.VolumeOfferRequest", volume_offer_request),
	{ 0 },
};

const struct route api_np_volume_routes[] = {
	{ METHOD_GET, "/np/v1/volume_offers", list_volume_offers, SCOPE_READ, 0,
		"List machines that let room for volumes; with pool=POOL also which of them have its nodes now",
		"pool:string", NULL, "np.VolumeOfferList", 200 },
	{ METHOD_PUT, "/np/v1/agents/{id}/volumes", put_volume_offer, SCOPE_HOST, 0,
		"Let room of a machine's disk for volumes, at a price", NULL, "np.VolumeOfferRequest", "np.VolumeOffer",
		200 },
	{ METHOD_POST, "/np/v1/volumes", post_volume, SCOPE_TRADE, ROUTE_CREATES,
		"Make a volume: room of a machine that outlives nodes, paid by the hour", NULL, "np.VolumeRequest",
		"np.Volume", 201 },
	{ METHOD_GET, "/np/v1/volumes", list_volumes, SCOPE_READ, 0, "List volumes, by id",
		"limit:integer,starting_after:string", NULL, "np.VolumeList", 200 },
	{ METHOD_GET, "/np/v1/volumes/{id}", get_volume, SCOPE_READ, 0, "Get a volume, by id or name", NULL, NULL,
		"np.Volume", 200 },
	{ METHOD_PATCH, "/np/v1/volumes/{id}", patch_volume, SCOPE_TRADE, 0, "Enlarge a volume", NULL,
		"np.VolumeChangeRequest", "np.Volume", 200 },
	{ METHOD_DELETE, "/np/v1/volumes/{id}", delete_volume, SCOPE_TRADE, 0, "Delete a volume, with all data in it",
		NULL, NULL, NULL, 204 },
	{ METHOD_POST, "/np/v1/agent/volumes/{id}/gone", post_volume_gone, SCOPE_AGENT, 0,
		"Report that a volume, which the work says is deleted, is no longer on the agent's machine", NULL, NULL,
		NULL, 204 },
	{ 0 },
};
