/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/nodes, as SF Compute's own SDK speaks it, on pools and instances. */
#include "marketd/api/old/v1.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/np/np.h"
#include "marketd/api/may/quota.h"

static int v1_node_no_memory(const struct request *q, struct reply *r)
{
	return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
}

/* The node of the path with its instances; false: refused. The caller releases both. */
static bool v1_node_node_of(struct api *api, const struct request *q, struct reply *r, struct node *n, struct vms *v)
{
	const struct engine *e = market_engine(api->market);
	const struct pool *p;
	uint64_t account;
	int rc;

	*v = (struct vms){ 0 };
	if (!api_whose(q, r, &account))
		return false;
	p = node_find(e, account, q->parts[0]);
	if (!p) {
		api_refuse(q, r, REASON_NOT_FOUND, "id", "no node '%s'", q->parts[0]);
		return false;
	}
	rc = vms_read(e, account, v);
	if (rc == 0)
		rc = node_read(e, p, v, n);
	if (rc == 1)
		return true;
	vms_release(v);
	if (rc)
		v1_node_no_memory(q, r);
	else
		api_refuse(q, r, REASON_NOT_FOUND, "id", "the pool '%s' is not a node", p->name);
	return false;
}

static void v1_node_drop(struct node *n, struct vms *v)
{
	node_release(n);
	vms_release(v);
}

static int v1_node_get_node(struct api *api, const struct request *q, struct reply *r)
{
	struct node n;
	struct vms v;
	int status;

	if (!v1_node_node_of(api, q, r, &n, &v))
		return r->status;
	status = api_json(q, r, 200, node_json(market_engine(api->market), &n, &v));
	v1_node_drop(&n, &v);
	return status;
}

static bool v1_node_among(const struct request *q, const char *query, const char *text)
{
	const char *want;

	for (size_t i = 0; (want = api_query_at(q, query, i)); i++)
		if (strcmp(want, text) == 0)
			return true;
	return false;
}

static bool v1_node_wanted(const struct request *q, const struct node *n)
{
	const char *type = api_query(q, "type");
	char room[IDENT_TEXT];

	if (api_query(q, "id") && !v1_node_among(q, "id", ident_text(IDENT_NODE, n->pool->id, room)))
		return false;
	if (api_query(q, "name") && !v1_node_among(q, "name", n->pool->name))
		return false;
	return !type || strcmp(type, n->reserved ? "reserved" : "autoreserved") == 0;
}

static int v1_node_list_nodes(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *type = api_query(q, "type");
	json_t *data;
	uint64_t account;
	struct vms v;

	if (!api_whose(q, r, &account))
		return r->status;
	if (!!api_query(q, "id") + !!api_query(q, "name") + !!type > 1)
		return api_refuse(q, r, REASON_INVALID, type ? "type" : "name",
			"'id', 'name' and 'type' cannot be combined");
	if (type && strcmp(type, "reserved") != 0 && strcmp(type, "autoreserved") != 0)
		return api_refuse(q, r, REASON_INVALID, "type", "'type' is reserved or autoreserved");
	if (vms_read(e, account, &v))
		return v1_node_no_memory(q, r);
	data = json_array();
	for (const struct pool *p = engine_pool_after(e, account, 0); p; p = engine_pool_after(e, account, p->id)) {
		struct node n;

		if (node_read(e, p, &v, &n) != 1)
			continue;
		if (v1_node_wanted(q, &n))
			json_array_append_new(data, node_json(e, &n, &v));
		node_release(&n);
	}
	vms_release(&v);
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static bool v1_node_alive(const struct node *n)
{
	return n->vm && (n->vm->status == INSTANCE_AWAITING || n->vm->status == INSTANCE_RUNNING);
}

/* A node without minutes waits for a host that nobody will buy any more. */
static int stop_waiting(struct api *api, const struct request *q, const struct node *n, struct fail *why)
{
	struct event ev = { .kind = EVENT_INSTANCE_STOP, .account = n->pool->account };

	if (!v1_node_alive(n) || n->vm->host || n->end)
		return 0;
	ev.subject = n->vm->id;
	return api_apply(api, q, &ev, NULL, why);
}

static int stop_renewing(struct api *api, const struct request *q, const struct node *n, struct fail *why)
{
	struct event ev = { .kind = EVENT_PROCUREMENT_DELETE, .account = n->pool->account };

	if (!n->procurement)
		return 0;
	ev.subject = n->procurement->id;
	return api_apply(api, q, &ev, NULL, why);
}

static int delete_node(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .kind = EVENT_POOL_DELETE };
	struct fail why = { 0 };
	bool busy, renews;
	struct node n;
	struct vms v;
	int rc;

	if (!v1_node_node_of(api, q, r, &n, &v))
		return r->status;
	ev.account = n.pool->account;
	ev.subject = n.pool->id;
	renews = n.procurement && v1_node_alive(&n);
	busy = v1_node_alive(&n) && (n.vm->host || n.end);
	rc = renews || busy || n.end ? 0 : stop_renewing(api, q, &n, &why);
	rc = rc || renews || busy ? rc : stop_waiting(api, q, &n, &why);
	v1_node_drop(&n, &v);
	if (renews)
		return api_refuse(q, r, REASON_WRONG_STATE, "id", "it renews itself; release it first");
	if (busy)
		return api_refuse(q, r, REASON_WRONG_STATE, "id",
			"it has a VM that runs or will run; delete the node after its end");
	rc = rc ? rc : api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, "id", &why) : api_nothing(r);
}

static struct event tags_event(const struct pool *p, const char *text)
{
	return (struct event){ .kind = EVENT_POOL_CHANGE, .account = p->account, .subject = p->id, .text = text };
}

static int set_tags(struct api *api, const struct request *q, const struct pool *p, const json_t *tags,
	struct fail *why)
{
	char *text = json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS);
	struct event ev = tags_event(p, text);
	int rc = text ? api_apply(api, q, &ev, NULL, why) : REASON_UNAVAILABLE;

	free(text);
	return rc;
}

/* Stops renewals and extensions: what is paid runs to its end. This refunds nothing. */
static int release_node(struct api *api, const struct request *q, struct reply *r)
{
	struct fail why = { 0 };
	struct node n;
	struct vms v;
	int rc;

	if (!v1_node_node_of(api, q, r, &n, &v))
		return r->status;
	if (n.released || (!v1_node_alive(&n) && !n.procurement)) {
		api_refuse(q, r, REASON_WRONG_STATE, "id", "the node is %s", node_status(&n));
		v1_node_drop(&n, &v);
		return r->status;
	}
	quota_reduces(api->quotas);
	rc = stop_renewing(api, q, &n, &why);
	rc = rc ? rc : stop_waiting(api, q, &n, &why);
	if (rc == 0) {
		json_object_set_new(n.tags, "sfc_released", json_sprintf("%lld", (long long)market_now(api->market)));
		rc = set_tags(api, q, n.pool, n.tags, &why);
	}
	v1_node_drop(&n, &v);
	return rc ? api_failed(q, r, rc, NULL, &why) : v1_node_get_node(api, q, r);
}

static struct event extend_event(const struct node *n, int64_t end, int64_t cents)
{
	return (struct event){ .kind = EVENT_ORDER,
		.account = n->pool->account,
		.u.order = { .pool = n->pool->id,
			.sku = n->sku->id,
			.side = SIDE_BUY,
			.flags = ORDER_EXTEND,
			.nodes = 1,
			.start = n->end,
			.end = end,
			.price = node_price(cents) } };
}

/* Asks for the order and for the tags that follow it: what is paid is noted. */
static int extend_ask(struct api *api, const struct request *q, const struct node *n, const struct event *order,
	struct fail *why)
{
	struct quota_need need = { 0 };
	char *text = json_dumps(n->tags, JSON_COMPACT | JSON_SORT_KEYS);
	struct event tags = tags_event(n->pool, text);

	quota_need_add(api, &need, order);
	quota_need_add(api, &need, &tags);
	free(text);
	return text ? quota_grant(api, q, &need, why) : REASON_UNAVAILABLE;
}

static int extend_order(struct api *api, const struct request *q, struct reply *r, const struct node *n,
	struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	struct fail why = { 0 };
	struct diagnosis other = { 0 };
	char hint[160] = "";
	int rc = extend_ask(api, q, n, ev, &why);

	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	rc = api_apply(api, q, ev, NULL, &why);
	if (rc == REASON_HOSTS_SOLD || rc == REASON_PRICE_TOO_LOW) {
		engine_diagnose(e, ev, &other);
		np_hint(&other, hint, sizeof hint);
	}
	if (rc == REASON_FUNDS)
		return api_refuse(q, r, rc, NULL, "Insufficient balance");
	if (rc == REASON_POLICY || rc == REASON_UNAVAILABLE || rc == REASON_OVER_CAP)
		return api_failed(q, r, rc, NULL, &why);
	if (rc)
		return api_refuse(q, r, rc, NULL, "Extension failed due to capacity: %s%s",
			why.text[0] ? why.text : reason_row(rc)->text, hint);
	return 0;
}

/* The order, and n's tags as they are once it is done. */
static struct event extend_plan(const struct request *q, struct node *n, int64_t end)
{
	int64_t cents = body_int(q->body, "max_price_per_node_hour", 0);

	json_object_set_new(n->tags, "sfc_end_at", json_sprintf("%lld", (long long)end * 60));
	json_object_set_new(n->tags, "sfc_max_price_cents", json_sprintf("%lld", (long long)cents));
	return extend_event(n, end, cents);
}

static int extend_node(struct api *api, const struct request *q, struct reply *r)
{
	int64_t seconds = body_int(q->body, "duration_seconds", 0);
	struct fail why = { 0 };
	struct event order;
	struct node n;
	struct vms v;
	int rc;

	if (seconds < 3600 || seconds % 3600)
		return api_refuse(q, r, REASON_INVALID, "duration_seconds",
			"'duration_seconds' must be a multiple of 3600, at least 3600");
	if (!v1_node_node_of(api, q, r, &n, &v))
		return r->status;
	if (!n.reserved)
		rc = api_refuse(q, r, REASON_INVALID, "id", "an autoreserved node renews itself");
	else if (n.released || !v1_node_alive(&n) || !n.end || !n.sku)
		rc = api_refuse_as(q, r, 422, REASON_WRONG_STATE, "id", "the node is %s", node_status(&n));
	else {
		order = extend_plan(q, &n, n.end + seconds / 60);
		rc = extend_order(api, q, r, &n, &order);
	}
	if (rc == 0) {
		rc = set_tags(api, q, n.pool, n.tags, &why);
		if (rc)
			api_failed(q, r, rc, NULL, &why);
	}
	v1_node_drop(&n, &v);
	return rc ? r->status : v1_node_get_node(api, q, r);
}

/* Stops the instance and starts a new one in its place, which gets the same host. */
static int replace_vm(struct api *api, const struct request *q, const struct node *n, uint64_t image,
	const char *user_data, struct fail *why)
{
	struct event stop = { .kind = EVENT_INSTANCE_STOP, .account = n->pool->account, .subject = n->vm->id };
	struct event make = { .kind = EVENT_INSTANCE,
		.account = n->pool->account,
		.name = n->pool->name,
		.u.instance = { .pool = n->pool->id,
			.sku = n->vm->sku,
			.image = image,
			.priority = (int32_t)n->vm->priority,
			.user_data = user_data } };
	const struct effects *did;

	return api_swap(api, q, &stop, &make, &did, why);
}

static int redeploy_checked(struct api *api, const struct request *q, struct reply *r, const struct node *n)
{
	const struct engine *e = market_engine(api->market);
	bool override = body_bool(q->body, "override_empty", false);
	const char *image_text = body_text(q->body, "image_id"), *data;
	const struct instance *named = engine_instance_named(e, n->pool->account, n->pool->name);
	uint64_t image = IMAGE_ID;
	char *kept = NULL;
	struct fail why = { 0 };
	int rc;

	if (!body_user_data(q, r, "cloud_init_user_data", &data))
		return r->status;
	if (n->released || !v1_node_alive(n))
		return api_refuse_as(q, r, 422, REASON_WRONG_STATE, "id", "the node is %s; nothing to replace",
			node_status(n));
	if (account_shut(engine_account(e, n->pool->account)))
		return api_refuse(q, r, REASON_SUSPENDED, NULL,
			"the account is suspended; the market leaves its machine alone");
	if (image_text && !find_image(image_text, &image))
		return api_refuse(q, r, REASON_NOT_FOUND, "image_id", "no image '%s'", image_text);
	if (named && named != n->vm)
		return api_refuse(q, r, REASON_NAME_TAKEN, "id", "another instance now has the name '%s'",
			n->pool->name);
	if (!override) {
		image = image_text ? image : n->vm->image;
		kept = body_text(q->body, "cloud_init_user_data") || !n->vm->user_data ? NULL
										       : strdup(n->vm->user_data);
	}
	rc = replace_vm(api, q, n, image, data ? data : kept, &why);
	free(kept);
	return rc ? api_failed(q, r, rc, NULL, &why) : 0;
}

static int redeploy_node(struct api *api, const struct request *q, struct reply *r)
{
	struct node n;
	struct vms v;
	int rc;

	if (!v1_node_node_of(api, q, r, &n, &v))
		return r->status;
	rc = redeploy_checked(api, q, r, &n);
	v1_node_drop(&n, &v);
	return rc ? r->status : v1_node_get_node(api, q, r);
}

const struct route api_v1_node_routes[] = {
	{ METHOD_GET, "/v1/nodes", v1_node_list_nodes, SCOPE_READ, 0, "List nodes, all or by id, name or type",
		"id:array,name:array,type:string", NULL, "v1.NodeList", 200 },
	{ METHOD_POST, "/v1/nodes", v1_create, SCOPE_TRADE, ROUTE_CREATES, "Buy nodes, all or none", NULL,
		"v1.CreateNodesRequest", "v1.NodeList", 201 },
	{ METHOD_GET, "/v1/nodes/{id}", v1_node_get_node, SCOPE_READ, 0, "Get a node, by id or name", NULL, NULL,
		"v1.Node", 200 },
	{ METHOD_DELETE, "/v1/nodes/{id}", delete_node, SCOPE_NODES, 0, "Delete a node that has ended", NULL,
		"v1.Empty", NULL, 204 },
	{ METHOD_PATCH, "/v1/nodes/{id}/extend", extend_node, SCOPE_TRADE, ROUTE_CREATES,
		"Extend a node: the same machine for longer", NULL, "v1.ExtendNodeRequest", "v1.Node", 200 },
	{ METHOD_PATCH, "/v1/nodes/{id}/release", release_node, SCOPE_NODES, 0,
		"Stop renewing: paid time runs to its end without a refund", NULL, "v1.Empty", "v1.Node", 200 },
	{ METHOD_PUT, "/v1/nodes/{id}/redeploy", redeploy_node, SCOPE_NODES, 0, "Replace the instance by a new one",
		NULL, "v1.RedeployNodeRequest", "v1.Node", 200 },
	{ 0 },
};
