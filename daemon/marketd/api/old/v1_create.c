/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/nodes. It buys several names all or none: first on a copy of the market, which shows exactly
 * what would happen, and only then for real. It never buys anything without an end, nor anything that it
 * would have to give back.
 */
#include "marketd/api/old/v1.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/may/decide.h"
#include "market/when.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/np/np.h"
#include "marketd/api/may/quota.h"

enum { NAME_MAX_BYTES = 128, WINDOW_MINUTES = 60, SELL_CENTS_PER_GPU = 25 };

struct wish {
	uint64_t account, sku, image;
	bool reserved;
	int64_t count, cents;
	int64_t start, end;          /* minutes; reserved only */
	const char *user_data;       /* NULL: none */
	const char *any;             /* ZONE_…: which zones will do; NULL: one was named */
	char *script;                /* owned: the account's script, if the request has none */
	char (*names)[NAME_BYTES + 1];
};

/* ---- Reading ------------------------------------------------------------------------------------- */

static bool name_is_taken(const struct engine *e, uint64_t account, const char *name)
{
	const struct procurement *p;

	for (p = engine_procurement_after(e, account, 0); p; p = engine_procurement_after(e, account, p->id))
		if (strcmp(p->name, name) == 0)
			return true;
	return engine_pool_named(e, account, name) || engine_instance_named(e, account, name);
}

static bool name_is_good(const char *name)
{
	bool digits = true;

	for (const char *p = name; *p; p++) {
		if (!isalnum((unsigned char)*p) && (p == name || !strchr("._-", *p)))
			return false;
		digits = digits && isdigit((unsigned char)*p);
	}
	return *name && !digits && strlen(name) <= NAME_MAX_BYTES && strncmp(name, "vm_", 3) != 0 &&
		strncmp(name, "n_", 2) != 0;
}

static bool read_given(const struct engine *e, const struct request *q, struct reply *r, struct wish *w,
	const json_t *names)
{
	for (int64_t i = 0; i < w->count; i++) {
		const char *name = json_string_value(json_array_get(names, (size_t)i));

		if (!name_is_good(name)) {
			api_refuse(q, r, REASON_INVALID, "names",
				"'%s' is not a valid node name: use up to %d letters, digits, '.', '_', '-', not a "
				"number, and not starting with 'vm_' or 'n_'",
				name, (int)NAME_MAX_BYTES);
			return false;
		}
		snprintf(w->names[i], sizeof w->names[i], "%s", name);
		for (int64_t k = 0; k < i; k++)
			if (strcmp(w->names[k], name) == 0) {
				api_refuse(q, r, REASON_INVALID, "names", "'%s' is repeated", name);
				return false;
			}
		if (name_is_taken(e, w->account, name)) {
			api_refuse(q, r, REASON_NAME_TAKEN, "names", "the name '%s' is in use", name);
			return false;
		}
	}
	return true;
}

static bool v1_create_read_names(const struct engine *e, const struct request *q, struct reply *r, struct wish *w)
{
	const json_t *names = json_object_get(q->body, "names");
	size_t given = json_array_size(names);
	uint64_t next = engine_next_id(e);
	char room[IDENT_TEXT];

	w->count = body_int(q->body, "desired_count", 1);
	if (given && (int64_t)given != w->count) {
		api_refuse(q, r, REASON_INVALID, "names", "%zu names for %" PRId64 " nodes", given, w->count);
		return false;
	}
	w->names = calloc((size_t)w->count, sizeof *w->names);
	if (!w->names) {
		api_refuse(q, r, REASON_UNAVAILABLE, NULL, "out of memory");
		return false;
	}
	if (given)
		return read_given(e, q, r, w, names);
	for (int64_t i = 0; i < w->count; i++)
		do
			snprintf(w->names[i], sizeof w->names[i], "node-%s",
				strchr(ident_text(IDENT_NODE, next++, room), '_') + 1);
		while (name_is_taken(e, w->account, w->names[i]));
	return true;
}

static bool v1_create_read_window(const struct engine *e, const struct request *q, struct reply *r, struct wish *w)
{
	const char *type = body_text(q->body, "node_type");
	bool has_end = json_is_integer(json_object_get(q->body, "end_at"));

	w->reserved = type ? strcmp(type, "reserved") == 0 : has_end;
	w->start = engine_minute(e) + 1;
	if (!body_minute(q, r, q->body, "start_at", &w->start) || !body_minute(q, r, q->body, "end_at", &w->end))
		return false;
	if (w->reserved && !has_end) {
		api_refuse(q, r, REASON_INVALID, "end_at", "'end_at' is required for a reserved node");
		return false;
	}
	if (!w->reserved && (has_end || json_is_integer(json_object_get(q->body, "start_at")))) {
		api_refuse(q, r, REASON_INVALID, has_end ? "end_at" : "start_at",
			"an autoreserved node starts now and runs until it is "
			"released; use node_type \"reserved\" for a window");
		return false;
	}
	if (has_end && w->end % 60) {
		api_refuse(q, r, REASON_INVALID, "end_at", "'end_at' must be on a whole hour (a multiple of 3600)");
		return false;
	}
	return true;
}

static bool v1_create_read_rest(const struct engine *e, const struct request *q, struct reply *r, struct wish *w)
{
	const char *image = body_text(q->body, "image_id");

	w->cents = body_int(q->body, "max_price_per_node_hour", 0);
	w->image = IMAGE_ID;
	if (!body_user_data(q, r, "cloud_init_user_data", &w->user_data))
		return false;
	if (image && !find_image(image, &w->image)) {
		api_refuse(q, r, REASON_NOT_FOUND, "image_id", "no image '%s'", image);
		return false;
	}
	if (body_bool(q->body, "forward_443", false)) {
		api_refuse(q, r, REASON_NOT_IMPLEMENTED, "forward_443", "this market forwards no ports");
		return false;
	}
	if (!body_text(q->body, "cloud_init_user_data"))
		w->user_data = w->script = old_script(e, w->account);
	return true;
}

/* ---- Which zone -------------------------------------------------------------------------------------- */

static struct event v1_create_order_of(const struct wish *w, uint64_t pool, uint64_t sku, int64_t nodes)
{
	return (struct event){ .kind = EVENT_ORDER,
		.account = w->account,
		.u.order = { .pool = pool,
			.sku = sku,
			.side = SIDE_BUY,
			.nodes = (int32_t)nodes,
			.start = w->start,
			.end = w->end,
			.price = node_price(w->cents) } };
}

/* Clients that asked for a quote of any zone send its zone along with 'any_zone': the zone decides. */
static bool v1_create_read_zone(const struct engine *e, const struct request *q, struct reply *r, struct wish *w)
{
	const char *zone = body_text(q->body, "zone");
	bool any = body_bool(q->body, "any_zone", false),
	     infiniband = body_bool(q->body, "_preview_enable_infiniband", false);
	const struct sku *s = zone ? find_sku(e, zone) : NULL;

	if (!zone && !any && !w->reserved) {
		api_refuse(q, r, REASON_INVALID, "zone", "'zone' or 'any_zone' is required for an autoreserved node");
		return false;
	}
	if (zone && (!s || (infiniband && !zone_has_infiniband(s)))) {
		api_refuse(q, r, s ? REASON_INVALID : REASON_NOT_FOUND, "zone",
			s ? "the zone '%s' has no InfiniBand" : "no zone '%s'", zone);
		return false;
	}
	w->any = s ? NULL : infiniband ? ZONE_INFINIBAND : ZONE_ANY;
	if (!s) {
		struct event order = v1_create_order_of(w, 0, 0, w->count);

		if (!w->reserved)
			order.u.order.end = w->start + WINDOW_MINUTES;
		w->sku = zone_any(e, &order, w->any);
	} else {
		w->sku = s->id;
	}
	if (!w->sku)
		api_refuse(q, r, REASON_NO_CAPACITY, "zone", "no zone has such nodes");
	return w->sku;
}

/* ---- What a node is made of ------------------------------------------------------------------------------- */

/* network: the pool of the request's first node; 0: this is the first. */
static char *v1_create_tags(const struct wish *w, uint64_t network)
{
	struct node_tags tags = { .type = w->reserved ? "reserved" : "autoreserved",
		.cents = w->cents,
		.start_at = w->start * 60,
		.end_at = w->end * 60,
		.sku = w->sku,
		.network = network,
		.zone = w->reserved ? NULL : w->any };

	return node_tags_text(&tags);
}

static struct event v1_create_pool_of(const struct wish *w, int64_t i, const char *tags)
{
	return (struct event){ .kind = EVENT_POOL,
		.account = w->account,
		.name = w->names[i],
		.text = tags,
		.u.pool.kind = POOL_MARKET };
}

static struct event v1_create_vm_of(const struct wish *w, int64_t i, uint64_t pool)
{
	return (struct event){ .kind = EVENT_INSTANCE,
		.account = w->account,
		.name = w->names[i],
		.u.instance = { .pool = pool,
			.sku = w->sku,
			.image = w->image,
			.priority = PRIORITY_NORMAL,
			.user_data = w->user_data } };
}

/* Buys hour by hour as long as the instance lives. */
static struct event v1_create_procurement_of(const struct engine *e, const struct wish *w, int64_t i, uint64_t pool)
{
	int64_t price = node_price(w->cents),
		floor = node_price((int64_t)SELL_CENTS_PER_GPU * engine_sku(e, w->sku)->gpus);

	return (struct event){ .kind = EVENT_PROCUREMENT,
		.account = w->account,
		.name = w->names[i],
		.u.procurement = { .pool = pool,
			.sku = w->sku,
			.target = -1,
			.window = WINDOW_MINUTES,
			.min_sell = floor < price ? floor : price,
			.max_buy = price,
			.enabled = true } };
}

/* 0: the account's quotas have room for all of them. */
static int v1_create_ask(struct api *api, const struct request *q, const struct wish *w, struct fail *why)
{
	struct quota_need need = { 0 };
	char *text = v1_create_tags(w, w->count > 1 ? engine_next_id(market_engine(api->market)) : 0);

	for (int64_t i = 0; i < w->count; i++) {
		struct event pool = v1_create_pool_of(w, i, text), vm = v1_create_vm_of(w, i, 0),
			     buys = w->reserved ? v1_create_order_of(w, 0, w->sku, 1)
						: v1_create_procurement_of(market_engine(api->market), w, i, 0);

		quota_need_add(api, &need, &pool);
		quota_need_add(api, &need, &vm);
		quota_need_add(api, &need, &buys);
	}
	free(text);
	return quota_grant(api, q, &need, why);
}

/* ---- Doing --------------------------------------------------------------------------------------------- */

/*
 * What the policy says of all nodes together, and of each: asked before anything is made, and not again for the second
 * node, as what the first one cost is no other request. buys: what buys one node, as it was allowed.
 */
static int v1_create_decide(struct api *api, const struct request *q, const struct wish *w, struct event *buys,
	struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	struct event all;
	int rc;

	if (w->reserved) {
		all = v1_create_order_of(w, 0, w->sku, w->count);
		*buys = v1_create_order_of(w, 0, w->sku, 1);
	} else {
		all = *buys = v1_create_procurement_of(e, w, 0, 0);
		all.u.procurement.target = (int32_t)w->count;
	}
	rc = decide_apply(api, q, &all, why);
	return rc ? rc : decide_apply(api, q, buys, why);
}

/* Where events go: the market, or a copy for trying. */
struct doer {
	struct api *api;
	const struct request *q;
	struct event buys; /* v1_create_decide() */
	struct engine *copy;
	struct effects did;
};

static int doer_apply(struct doer *d, struct event *ev, const struct effects **did, struct fail *why)
{
	if (!d->copy)
		return api_apply_decided(d->api, d->q, ev, did, why);
	ev->at = market_now(d->api->market);
	ev->token = api_spender(d->copy, d->q);
	*did = &d->did;
	return engine_apply(d->copy, ev, &d->did, why);
}

static int v1_create_buy(struct doer *d, uint64_t pool, struct fail *why)
{
	struct event ev = d->buys;
	const struct effects *did;
	const struct order *o;
	int rc;

	ev.u.order.pool = pool;
	rc = doer_apply(d, &ev, &did, why);
	if (rc)
		return rc;
	o = effects_order(did, effects_made(did));
	if (o && o->status == ORDER_FILLED)
		return 0;
	rc = o && o->reason ? o->reason : REASON_NO_CAPACITY;
	return fail_set(why, rc, "%s", reason_row(rc)->text);
}

static int make_one(struct doer *d, const struct wish *w, int64_t i, uint64_t *pools, struct fail *why)
{
	const struct engine *e = d->copy ? d->copy : market_engine(d->api->market);
	char *text = v1_create_tags(w, i ? pools[0] : 0);
	struct event made = v1_create_pool_of(w, i, text), vm, procurement;
	const struct effects *did;
	int rc = doer_apply(d, &made, &did, why);

	free(text);
	if (rc)
		return rc;
	pools[i] = effects_made(did);
	if (w->reserved)
		rc = v1_create_buy(d, pools[i], why);
	vm = v1_create_vm_of(w, i, pools[i]);
	if (rc == 0)
		rc = doer_apply(d, &vm, &did, why);
	procurement = v1_create_procurement_of(e, w, i, pools[i]);
	if (rc == 0 && !w->reserved)
		rc = doer_apply(d, &procurement, &did, why);
	return rc;
}

static int make_all(struct doer *d, const struct wish *w, uint64_t *pools, struct fail *why)
{
	int rc = 0;

	for (int64_t i = 0; rc == 0 && i < w->count; i++)
		rc = make_one(d, w, i, pools, why);
	return rc;
}

/*
 * 0: it will succeed. For one node a quote is enough, and a procurement cannot fail while the account is
 * open; several nodes are tried on a copy first.
 */
static int v1_create_rehearse(struct doer *real, const struct wish *w, uint64_t *pools, struct fail *why)
{
	const struct engine *e = market_engine(real->api->market);
	struct doer d = { .api = real->api, .q = real->q };
	struct quote quote;
	struct buf state;
	int rc = 0;

	if (engine_account(e, w->account)->state == ACCOUNT_SUSPENDED)
		return fail_set(why, REASON_SUSPENDED, "%s", reason_row(REASON_SUSPENDED)->text);
	rc = v1_create_decide(real->api, real->q, w, &real->buys, why);
	if (rc == 0 && w->reserved)
		rc = engine_quote(e, &real->buys, &quote, why);
	d.buys = real->buys;
	if (rc || !w->reserved || w->count == 1)
		return rc;
	buf_init(&state, SIZE_MAX / 4);
	effects_init(&d.did);
	rc = engine_save(e, &state);
	if (rc == 0)
		rc = engine_load(&d.copy, state.data, state.len, why);
	if (rc)
		rc = fail_set(why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	buf_release(&state);
	if (rc == 0)
		rc = make_all(&d, w, pools, why);
	engine_free(d.copy);
	effects_release(&d.did);
	return rc;
}

static int v1_create_refuse(struct api *api, const struct request *q, struct reply *r, const struct wish *w, int rc,
	const struct fail *why)
{
	struct event ev = v1_create_order_of(w, 0, w->sku, w->count);
	const char *field = NULL;
	struct diagnosis other = { 0 };
	char hint[160] = "";

	if (rc == REASON_NO_CAPACITY || rc == REASON_PRICE_TOO_LOW) {
		engine_diagnose(market_engine(api->market), &ev, &other);
		np_hint(&other, hint, sizeof hint);
		field = rc == REASON_NO_CAPACITY ? "desired_count" : "max_price_per_node_hour";
	}
	return api_refuse(q, r, rc, field, "%s%s", why->text[0] ? why->text : reason_row(rc)->text, hint);
}

static int v1_create_answer(struct api *api, const struct request *q, struct reply *r, const struct wish *w,
	const uint64_t *pools)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();
	struct vms v;

	if (vms_read(e, w->account, &v)) {
		json_decref(data);
		return api_json(q, r, 201, NULL);
	}
	for (int64_t i = 0; i < w->count; i++) {
		struct node n;

		if (node_read(e, engine_pool(e, pools[i]), &v, &n) == 1) {
			json_array_append_new(data, node_json(e, &n, &v));
			node_release(&n);
		}
	}
	vms_release(&v);
	return api_json(q, r, 201, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static int v1_create_create(struct api *api, const struct request *q, struct reply *r, struct wish *w)
{
	const struct engine *e = market_engine(api->market);
	struct doer d = { .api = api, .q = q };
	struct fail why = { 0 };
	uint64_t *pools;
	int rc, status;

	if (!v1_create_read_window(e, q, r, w) || !v1_create_read_rest(e, q, r, w) ||
		!v1_create_read_names(e, q, r, w) || !v1_create_read_zone(e, q, r, w))
		return r->status;
	pools = calloc((size_t)w->count, sizeof *pools);
	if (!pools)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	rc = v1_create_rehearse(&d, w, pools, &why);
	rc = rc ? rc : v1_create_ask(api, q, w, &why);
	if (rc == 0)
		rc = make_all(&d, w, pools, &why);
	status = rc ? v1_create_refuse(api, q, r, w, rc, &why) : v1_create_answer(api, q, r, w, pools);
	free(pools);
	return status;
}

int v1_create(struct api *api, const struct request *q, struct reply *r)
{
	struct wish w = { 0 };
	int status;

	if (!np_may(q, r, SCOPE_NODES) || !api_whose(q, r, &w.account))
		return r->status;
	status = v1_create_create(api, q, r, &w);
	free(w.script);
	free(w.names);
	return status;
}
