/* SPDX-License-Identifier: Apache-2.0 */
/* The VMs of /v0: SSH address, console, replacing one, the script that new ones run. */
#include "marketd/api/old/v0.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/reason.h"
#include "marketd/api/np/np.h"

enum { SCRIPT_MAX = 60 * 1024, LOGS_MAX = 2500, LOGS_DEFAULT = 100, LOGS_BYTES = 1 << 20, MICROS = 1000000 };
#define LOGS_TIME_MAX ((int64_t)1 << 40)

static const char *v0_vm_status_word(const struct instance *i)
{
	static const char *const words[] = { "Pending", "Running", "Destroyed", "NodeFailure" };

	return words[i->status];
}

static int list_instances(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data;
	uint64_t account;

	if (!api_whose(q, r, &account))
		return r->status;
	data = json_array();
	for (const struct instance *i = engine_instance_after(e, account, 0); i;
		i = engine_instance_after(e, account, i->id)) {
		const struct sku *s = engine_sku(e, i->sku);

		if (i->status == INSTANCE_AWAITING || i->status == INSTANCE_RUNNING)
			json_array_append_new(data,
				json_pack("{s:o, s:s, s:s, s:o}", "id", old_id(IDENT_INSTANCE, "vm", i->id),
					"cluster_id", v0_type(s), "current_status", v0_vm_status_word(i),
					"last_updated_at", v0_iso(i->updated_at)));
	}
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

/* By vm_…, inst_… or name, of the account that asks; NULL: refused. */
static const struct instance *vm_of(struct api *api, const struct request *q, struct reply *r, const char *field,
	const char *text)
{
	const struct instance *i;
	uint64_t account;

	if (!api_whose(q, r, &account))
		return NULL;
	if (!text) {
		api_refuse(q, r, REASON_INVALID, field, "'%s' is required: the VM", field);
		return NULL;
	}
	i = find_instance(market_engine(api->market), account, text);
	if (!i)
		api_refuse(q, r, REASON_NOT_FOUND, field, "no VM '%s'", text);
	return i;
}

static int get_ssh(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = vm_of(api, q, r, "vm_id", api_query(q, "vm_id"));
	json_t *told, *keys, *key, *made;
	size_t n;

	if (!i)
		return r->status;
	told = i->status == INSTANCE_RUNNING ? old_ssh(i) : NULL;
	if (!told)
		return api_refuse(q, r, REASON_NOT_FOUND, "vm_id", "the VM has no SSH address yet");
	keys = json_array();
	json_array_foreach(json_object_get(told, "host_keys"), n, key)
		json_array_append_new(keys, json_pack("{s:O, s:O}", "key_type", json_object_get(key, "key_type"),
			"base64_encoded_key", json_object_get(key, "key")));
	made = json_pack("{s:O, s:I, s:o, s:o, s:o}", "ssh_hostname", json_object_get(told, "hostname"), "ssh_port",
		(json_int_t)body_int(told, "port", 22), "ssh_host_keys", keys, "last_successful_key_update",
		v0_iso(i->updated_at), "last_attempted_key_update", v0_iso(i->updated_at));
	json_decref(told);
	return api_json(q, r, 200, made);
}

/* The instance that runs in a node, by the node's id or name, or its own. */
static const struct instance *node_instance(const struct engine *e, uint64_t account, const char *text)
{
	const struct instance *found = find_instance(e, account, text);
	const struct pool *p = found ? NULL : node_find(e, account, text);

	for (const struct instance *i = p ? engine_instance_after(e, account, 0) : NULL; i;
		i = engine_instance_after(e, account, i->id))
		if (i->pool == p->id && i->status == INSTANCE_RUNNING)
			found = i;
	return found;
}

static int get_node_ssh(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i;
	json_t *told, *made;
	uint64_t account;

	if (!api_whose(q, r, &account))
		return r->status;
	i = node_instance(market_engine(api->market), account, q->parts[0]);
	told = i && i->status == INSTANCE_RUNNING ? old_ssh(i) : NULL;
	if (!told)
		return api_refuse(q, r, REASON_NOT_FOUND, "id",
			i ? "the node '%s' has no SSH address yet" : "no node '%s' runs", q->parts[0]);
	made = json_pack("{s:O, s:I, s:o, s:I, s:I}", "hostname", json_object_get(told, "hostname"), "port",
		(json_int_t)body_int(told, "port", 22), "host_keys",
		json_object_get(told, "host_keys") ? json_incref(json_object_get(told, "host_keys")) : json_array(),
		"last_successful_key_update", (json_int_t)i->updated_at, "last_attempted_key_update",
		(json_int_t)i->updated_at);
	json_decref(told);
	return api_json(q, r, 200, made);
}

/* Seconds of "…_realtime_timestamp": ISO 8601 or a number. false: refused. */
static bool log_time(const struct request *q, struct reply *r, const char *name, int64_t *out)
{
	const char *text = api_query(q, name);
	long n;

	if (!text || v0_time(text, *out, out))
		return true;
	if (str_to_long(text, 0, LOGS_TIME_MAX, &n) == 0) {
		*out = n;
		return true;
	}
	api_refuse(q, r, REASON_INVALID, name, "'%s' must be a time, such as 2027-01-15T10:00:00Z", name);
	return false;
}

static bool v0_vm_logs_query(const struct request *q, struct reply *r, struct log_filter *w)
{
	int64_t before, since, before_at = LOGS_TIME_MAX, since_at = 0, limit;
	const char *order = api_query(q, "order_by");

	if (order && strcmp(order, "seqnum_asc") != 0 && strcmp(order, "seqnum_desc") != 0) {
		api_refuse(q, r, REASON_INVALID, "order_by", "'order_by' must be seqnum_asc or seqnum_desc");
		return false;
	}
	if (!api_query_int(q, r, "before_seqnum", 0, INT64_MAX, INT64_MAX, &before) ||
		!api_query_int(q, r, "since_seqnum", 0, INT64_MAX, 0, &since) ||
		!log_time(q, r, "before_realtime_timestamp", &before_at) ||
		!log_time(q, r, "since_realtime_timestamp", &since_at) ||
		!api_query_int(q, r, "limit", 1, LOGS_MAX, LOGS_DEFAULT, &limit))
		return false;
	*w = (struct log_filter){ .after = (uint64_t)since,
		.before = before ? (uint64_t)before : 1,
		.after_at = since_at * MICROS,
		.before_at = before_at * MICROS + MICROS - 1,
		.descending = order && strcmp(order, "seqnum_desc") == 0,
		.limit = (size_t)limit };
	return true;
}

struct vm_logs { json_t *list; uint64_t vm; size_t bytes; };

static int log_row(void *arg, const struct log_line *l)
{
	struct vm_logs *p = arg;
	json_t *data = json_array();

	for (size_t i = 0; i < l->len; i++)
		json_array_append_new(data, json_integer(((const unsigned char *)l->data)[i]));
	/* Clients join the rows, and print what a newline ends. */
	if (!l->len || ((const char *)l->data)[l->len - 1] != '\n')
		json_array_append_new(data, json_integer('\n'));
	json_array_append_new(p->list,
		json_pack("{s:o, s:o, s:I, s:I, s:I, s:o}", "instance_id", old_id(IDENT_INSTANCE, "vm", p->vm),
			"realtime_timestamp", v0_iso(l->at / MICROS), "monotonic_timestamp_sec",
			(json_int_t)(l->at / MICROS), "monotonic_timestamp_nano_sec",
			(json_int_t)(l->at % MICROS * 1000), "seqnum", (json_int_t)l->seq, "data", data));
	p->bytes += l->len;
	return p->bytes > LOGS_BYTES;
}

static int get_logs(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = vm_of(api, q, r, "instance_id", api_query(q, "instance_id"));
	struct store *store = market_store(api->market);
	struct vm_logs p = { 0 };
	struct fail why = { 0 };
	struct log_filter w;
	int rc;

	if (!i || !v0_vm_logs_query(q, r, &w))
		return r->status;
	p.list = json_array();
	p.vm = i->id;
	rc = store->calls->logs(store, i->id, &w, log_row, &p, &why);
	if (rc < 0) {
		json_decref(p.list);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	return api_json(q, r, 200, json_pack("{s:o}", "data", p.list));
}

/* Starts it on another free machine of the same pool, else on the same one again. */
static int post_replace(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = vm_of(api, q, r, "vm_id", body_text(q->body, "vm_id"));
	struct event stop = { .kind = EVENT_INSTANCE_STOP }, make = { .kind = EVENT_INSTANCE };
	const struct effects *did;
	struct fail why = { 0 };
	char *name, *user_data;
	int rc;

	if (!i)
		return r->status;
	if (i->status != INSTANCE_AWAITING && i->status != INSTANCE_RUNNING)
		return api_refuse(q, r, REASON_WRONG_STATE, "vm_id", "the VM has ended; nothing to replace");
	if (account_shut(engine_account(market_engine(api->market), i->account)))
		return api_refuse(q, r, REASON_SUSPENDED, NULL,
			"the account is suspended; the market leaves its machine alone");
	name = strdup(i->name); /* stopping it may move its texts */
	user_data = i->user_data ? strdup(i->user_data) : NULL;
	stop.account = make.account = i->account;
	stop.subject = i->id;
	make.name = name;
	make.u.instance.pool = i->pool;
	make.u.instance.sku = i->sku;
	make.u.instance.image = i->image;
	make.u.instance.priority = (int32_t)i->priority;
	make.u.instance.user_data = user_data;
	rc = api_swap(api, q, &stop, &make, &did, &why);
	free(name);
	free(user_data);
	if (rc)
		return api_failed(q, r, rc, "vm_id", &why);
	return api_json(q, r, 200, json_pack("{s:o, s:o}", "replaced", old_id(IDENT_INSTANCE, "vm", stop.subject),
		"replaced_by", old_id(IDENT_INSTANCE, "vm", effects_made(did))));
}

/* ---- The script ---------------------------------------------------------------------------------------- */

/* The script is a tag of a pool of that name, which holds nothing else. NULL: none. */
static char *script_read(const struct engine *e, uint64_t account)
{
	const struct pool *p = engine_pool_named(e, account, SCRIPT_POOL);
	json_t *tags = p && p->tags ? json_loads(p->tags, 0, NULL) : NULL;
	const char *text = json_string_value(json_object_get(tags, "script"));
	char *copy = text ? strdup(text) : NULL;

	json_decref(tags);
	return copy;
}

char *old_script(const struct engine *e, uint64_t account)
{
	char *text = script_read(e, account), *base64 = NULL;
	size_t len = text ? strlen(text) : 0;

	if (len)
		base64 = malloc((len + 2) / 3 * 4 + 1);
	if (base64)
		EVP_EncodeBlock((unsigned char *)base64, (const unsigned char *)text, (int)len);
	free(text);
	return base64;
}

static int get_script(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t account;
	char *text;
	int status;

	if (!api_whose(q, r, &account))
		return r->status;
	text = script_read(market_engine(api->market), account);
	status = api_json(q, r, 200, json_pack("{s:s}", "script", text ? text : ""));
	free(text);
	return status;
}

/* Clients send a string, or its bytes as numbers. NULL: refused. malloc'd. */
static char *script_of(const struct request *q, struct reply *r)
{
	const json_t *given = json_object_get(q->body, "script"), *item;
	size_t i, n = json_array_size(given);
	char *text;

	if (json_is_string(given)) {
		text = strdup(json_string_value(given));
	} else {
		text = malloc(n + 1);
		json_array_foreach(given, i, item)
			if (text)
				text[i] = (char)json_integer_value(item);
		if (text)
			text[n] = '\0';
	}
	if (!text) {
		api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	} else if (strlen(text) > SCRIPT_MAX) {
		api_refuse(q, r, REASON_TOO_LARGE, "script", "a script may have up to %d bytes", (int)SCRIPT_MAX);
	} else {
		json_t *probe = json_string(text);

		json_decref(probe);
		if (probe)
			return text;
		api_refuse(q, r, REASON_INVALID, "script", "a script must be UTF-8 text");
	}
	free(text);
	return NULL;
}

static int script_write(struct api *api, const struct request *q, uint64_t account, const char *script,
	struct fail *why)
{
	const struct pool *p = engine_pool_named(market_engine(api->market), account, SCRIPT_POOL);
	char *before = p ? script_read(market_engine(api->market), account) : NULL;
	json_t *tags = json_pack("{s:s}", "script", script);
	char *text = json_dumps(tags, JSON_COMPACT);
	struct event ev = { .kind = EVENT_POOL,
		.account = account,
		.name = SCRIPT_POOL,
		.text = text,
		.u.pool.kind = POOL_MARKET };
	int rc;

	if (p) {
		ev.kind = EVENT_POOL_CHANGE;
		ev.subject = p->id;
		ev.name = NULL;
	}
	if (p && !before)
		rc = fail_set(why, REASON_NAME_TAKEN,
			"the pool '" SCRIPT_POOL "', which stores the script, is used for something else");
	else
		rc = text ? api_apply(api, q, &ev, NULL, why) : REASON_UNAVAILABLE;
	free(before);
	free(text);
	json_decref(tags);
	return rc;
}

static int post_script(struct api *api, const struct request *q, struct reply *r)
{
	struct fail why = { 0 };
	uint64_t account;
	char *text;
	int rc;

	if (!api_whose(q, r, &account))
		return r->status;
	text = script_of(q, r);
	if (!text)
		return r->status;
	rc = script_write(api, q, account, text, &why);
	free(text);
	return rc ? api_failed(q, r, rc, "script", &why) : get_script(api, q, r);
}

const struct route api_v0_vm_routes[] = {
	{ METHOD_GET, "/v0/vms/instances", list_instances, SCOPE_READ, 0, "List VMs that run or will run", NULL, NULL,
		"v0.VmList", 200 },
	{ METHOD_GET, "/v0/vms/ssh", get_ssh, SCOPE_READ, 0, "Get a VM's SSH address and host keys", "vm_id:string",
		NULL, "v0.Ssh", 200 },
	{ METHOD_GET, "/v2/nodes/{id}/ssh", get_node_ssh, SCOPE_READ, 0, "Get a node's SSH address and host keys", NULL,
		NULL, "v2.NodeSsh", 200 },
	{ METHOD_GET, "/v0/vms/logs2", get_logs, SCOPE_READ, 0, "Get a VM's console",
		"instance_id:string,order_by:string,limit:integer,since_seqnum:integer,before_seqnum:integer,"
		"since_realtime_timestamp:string,before_realtime_timestamp:string",
		NULL, "v0.Logs", 200 },
	{ METHOD_POST, "/v0/vms/replace", post_replace, SCOPE_NODES, ROUTE_CREATES, "Replace a VM by a new one", NULL,
		"v0.ReplaceRequest", "v0.Replaced", 200 },
	{ METHOD_GET, "/v0/vms/script", get_script, SCOPE_READ, 0, "Get the script that new VMs run", NULL, NULL,
		"v0.Script", 200 },
	{ METHOD_POST, "/v0/vms/script", post_script, SCOPE_NODES, ROUTE_CREATES, "Set the script that new VMs run",
		NULL, "v0.ScriptRequest", "v0.Script", 200 },
	{ 0 },
};
