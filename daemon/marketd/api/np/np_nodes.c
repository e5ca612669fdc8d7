/* SPDX-License-Identifier: Apache-2.0 */
/* A buyer's nodes: what runs in a reservation, and its SSH address with the host keys to expect. */
#include "marketd/api/np/np.h"

#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/render.h"

enum { SSH_PORT = 22 };

/* An order or a procurement may bring its pool more time. */
static bool np_nodes_buys(const struct engine *e, const struct instance *i)
{
	const struct procurement *p = NULL;
	const struct order *o = NULL;

	while ((o = engine_order_after(e, i->account, o ? o->id : 0)))
		if (o->pool == i->pool && o->sku == i->sku && o->side == SIDE_BUY)
			return true;
	while ((p = engine_procurement_after(e, i->account, p ? p->id : 0)))
		if (p->pool == i->pool && p->sku == i->sku && p->enabled)
			return true;
	return false;
}

/* Windows of its pool for nodes that wait. */
static size_t np_nodes_room(const struct engine *e, const struct instance *i, const struct np_lives *l)
{
	size_t room = engine_pool_room(e, i->pool, i->sku), less = 0;

	for (size_t n = 0; l->without && n < l->without->count; n++)
		if (engine_host(e, l->without->hosts[n])->sku == i->sku)
			less += engine_windows_from(e, i->pool, l->without->hosts[n], l->from);
	return less < room ? room - less : 0;
}

bool np_node_lives_too(const struct engine *e, const struct instance *i, struct np_lives *last)
{
	if (i->status != INSTANCE_AWAITING || i->host)
		return i->status == INSTANCE_AWAITING || i->status == INSTANCE_RUNNING;
	if (last->pool != i->pool || last->sku != i->sku)
		*last = (struct np_lives){ .pool = i->pool,
			.sku = i->sku,
			.room = np_nodes_room(e, i, last),
			.buys = np_nodes_buys(e, i),
			.without = last->without,
			.from = last->from };
	return last->buys || (last->room && engine_waiting_before(e, i) < last->room);
}

static json_t *ssh_of(const struct instance *i)
{
	json_t *report = i->status == INSTANCE_RUNNING ? np_report(i) : NULL, *keys, *key, *made;
	const char *hostname = body_text(report, "hostname"), *user = body_text(report, "user");
	size_t n;

	if (!hostname) {
		json_decref(report);
		return json_null();
	}
	keys = json_array();
	json_array_foreach(json_object_get(report, "host_keys"), n, key)
		json_array_append_new(keys, json_pack("{s:O, s:O}", "type", json_object_get(key, "key_type"), "key",
			json_object_get(key, "key")));
	made = json_pack("{s:s, s:I, s:s, s:o}", "hostname", hostname, "port",
		(json_int_t)body_int(report, "port", SSH_PORT), "user", user ? user : "root", "host_keys", keys);
	json_decref(report);
	return made;
}

static json_t *np_nodes_zone_of(const struct sku *s)
{
	json_t *facts = s && s->properties ? json_loads(s->properties, 0, NULL) : NULL, *made;
	const char *zone = body_text(facts, "availability_zone");

	made = render_text(zone ? zone : body_text(facts, "region"));
	json_decref(facts);
	return made;
}

/* The host's owner has taken the minute after its time back from its own pool. */
static bool np_ends_early(const struct engine *e, const struct instance *i)
{
	const struct host *h = i->host ? engine_host(e, i->host) : NULL;
	int64_t minute = engine_minute(e), end = h ? engine_owned_until(e, h->id, i->pool, minute) : minute;

	for (size_t n = 0; end > minute && n < h->piece_count && h->pieces[n].start <= end; n++)
		if (end < h->pieces[n].end)
			return h->pieces[n].taken == i->pool;
	return false;
}

/* Of the lease that it runs under now; null: of none, as on its owner's own time. */
static json_t *np_nodes_price(const struct engine *e, const struct instance *i)
{
	const struct host *h = i->host ? engine_host(e, i->host) : NULL;
	const struct lease *l = NULL;
	int64_t minute = engine_minute(e);

	for (size_t n = 0; h && n < h->piece_count; n++)
		if (h->pieces[n].start <= minute && minute < h->pieces[n].end && h->pieces[n].pool == i->pool)
			l = engine_lease(e, h->pieces[n].lease);
	return l ? render_price(l->price) : json_null();
}

/* Why the node has its state; a fault of its host comes first. */
static json_t *message_of(const struct engine *e, const struct instance *i)
{
	const struct host *h = i->host ? engine_host(e, i->host) : NULL;
	json_t *report = np_report(i), *made;

	if (h && h->down)
		made = json_sprintf("its host is down%s%s%s; you get the minutes until it is back refunded; 'replace' "
				    "asks for another host",
			h->why ? " (" : "", h->why ? h->why : "", h->why ? ")" : "");
	else if (np_ends_early(e, i))
		made = json_sprintf("it ends early: its host's owner takes later time back%s%s%s, which is refunded",
			h->drain_why ? " (" : "", h->drain_why ? h->drain_why : "", h->drain_why ? ")" : "");
	else
		made = render_text(report ? body_text(report, "detail") : i->detail);
	json_decref(report);
	return made;
}

void np_starts_release(struct np_starts *s)
{
	free(s->list);
}

/* A host may not have started it yet though its time has begun. */
int64_t np_node_start(const struct engine *e, const struct instance *i, struct np_starts *last)
{
	size_t n;

	if (i->status != INSTANCE_AWAITING || i->host)
		return -1;
	if (last->pool != i->pool || last->sku != i->sku) {
		np_starts_release(last);
		*last = (struct np_starts){ .pool = i->pool, .sku = i->sku };
		if (engine_pool_windows(e, i->pool, i->sku, &last->list, &last->count))
			return -1;
	}
	n = engine_waiting_before(e, i);
	return n < last->count ? last->list[n] : -1;
}

static json_t *np_nodes_node_json(const struct engine *e, const struct instance *i, struct np_starts *starts)
{
	static const char *const words[] = { "awaiting_allocation", "running", "terminated", "failed" };
	const struct sku *s = engine_sku(e, i->sku);
	int64_t minute = engine_minute(e), end = i->host ? engine_owned_until(e, i->host, i->pool, minute) : minute;
	int64_t start = np_node_start(e, i, starts);
	const struct host *h = i->host ? engine_host(e, i->host) : NULL;

	return json_pack(
		"{s:s, s:o, s:o, s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}",
		"object", "node", "id", render_id(IDENT_INSTANCE, i->id), "name", render_text(i->name), "status",
		words[i->status], "status_message", message_of(e, i), "host_down", h && h->down, "ends_early",
		(int)np_ends_early(e, i), "reservation", render_pool_summary(e, i->pool), "type",
		render_text(s ? s->alias : ""), "zone", np_nodes_zone_of(s), "start_at",
		start < 0 ? json_null() : render_minute(start), "price_dollars_per_node_hour", np_nodes_price(e, i),
		"end_at", end > minute ? render_minute(end) : json_null(), "created_at", (json_int_t)i->created_at,
		"updated_at", (json_int_t)i->updated_at, "ended_at",
		render_ended_at(i) ? json_integer(render_ended_at(i)) : json_null(), "gpus", render_gpus(i), "ssh",
		ssh_of(i), "verification", h ? np_verification(e, h) : json_null());
}

static int np_nodes_list_nodes(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *reservation = api_query(q, "reservation"), *state = api_query(q, "state"),
		   *after = api_query(q, "starting_after");
	const struct pool *p = NULL;
	const struct instance *i;
	uint64_t account, last = 0;
	int64_t limit, n = 0;
	struct np_lives lives = { 0 };
	struct np_starts starts = { 0 };
	json_t *data;
	bool all;

	if (!api_whose(q, r, &account) || !api_query_int(q, r, "limit", 1, 1000, 1000, &limit))
		return r->status;
	if (reservation && !(p = find_pool(e, account, reservation)))
		return api_refuse(q, r, REASON_NOT_FOUND, "reservation", "no reservation '%s' in this account",
			reservation);
	if (state && strcmp(state, "live") != 0 && strcmp(state, "all") != 0)
		return api_refuse(q, r, REASON_INVALID, "state", "'state' is live or all");
	if (after && !ident_parse(IDENT_INSTANCE, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a node");
	all = state && strcmp(state, "all") == 0;
	data = json_array();
	for (i = engine_instance_after(e, account, last); i && n < limit;
		i = engine_instance_after(e, account, i->id)) {
		if ((p && i->pool != p->id) || (!all && !np_node_lives_too(e, i, &lives)))
			continue;
		json_array_append_new(data, np_nodes_node_json(e, i, &starts));
		last = i->id;
		n++;
	}
	np_starts_release(&starts);
	return api_json(q, r, 200, render_list(data, n ? render_id(IDENT_INSTANCE, last) : NULL, i != NULL));
}

static int np_nodes_get_node(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct instance *i = find_instance(e, q->account, q->parts[0]);
	struct np_starts starts = { 0 };
	json_t *node;

	if (!i)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no node '%s' in this account", q->parts[0]);
	node = np_nodes_node_json(e, i, &starts);
	np_starts_release(&starts);
	return api_json(q, r, 200, node);
}

/* New SSH keys: the agent puts them on the node. */
static int put_user_data(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = find_instance(market_engine(api->market), q->account, q->parts[0]);
	struct event ev = { .kind = EVENT_INSTANCE_CHANGE,
		.u.instance_change = { .priority = -1, .user_data = body_text(q->body, "user_data") } };
	const char *checked;
	struct fail why = { 0 };
	int rc;

	if (!i)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no instance '%s' in this account", q->parts[0]);
	if (!body_user_data(q, r, "user_data", &checked))
		return r->status;
	if (i->status != INSTANCE_AWAITING && i->status != INSTANCE_RUNNING)
		return api_refuse(q, r, REASON_WRONG_STATE, "id", "the instance has ended");
	ev.account = i->account;
	ev.subject = i->id;
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, "user_data", &why) : api_nothing(r);
}

const struct route api_np_node_routes[] = {
	{ METHOD_GET, "/np/v1/nodes", np_nodes_list_nodes, SCOPE_READ, 0,
		"List live nodes (state=all: ended ones too) with their SSH addresses",
		"reservation:string,state:string,limit:integer,starting_after:string", NULL, "np.NodeList", 200 },
	{ METHOD_GET, "/np/v1/nodes/{id}", np_nodes_get_node, SCOPE_READ, 0, "Get a node, by id or name", NULL, NULL,
		"np.Node", 200 },
	{ METHOD_PUT, "/np/v1/instances/{id}/user-data", put_user_data, SCOPE_NODES, 0,
		"Replace an instance's user data, and with it its SSH keys", NULL, "np.UserDataRequest", NULL, 204 },
	{ 0 },
};
