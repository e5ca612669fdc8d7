/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/instances/{id}: one instance: stopping, replacing, its logs, its SSH address. */
#include "marketd/api/v2/instance.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/v2/v2.h"
#include "marketd/api/render.h"

enum { LOGS_MAX = 2500, LOGS_DEFAULT = 100, LOGS_BYTES = 4 << 20, MICROS = 1000000 };
#define LOGS_TIME_MAX (INT64_MAX / MICROS - 1)

/* ---- What a body says --------------------------------------------------------------------- */

bool v2_instance_image(const struct request *q, struct reply *r, uint64_t *image)
{
	const char *text = body_text(q->body, "image");

	if (text && find_image(text, image))
		return true;
	api_refuse_as(q, r, 422, REASON_NOT_FOUND, "image",
		"no image '%s'; GET /v2/images?workspace=" PUBLIC_WORKSPACE " lists the images", text ? text : "");
	return false;
}

bool v2_instance_priority(const struct request *q, struct reply *r, const json_t *body, int32_t *priority)
{
	static const char *const names[] = { "yield", "normal", "preferred", "critical" };
	const char *text = body_text(body, "priority_level");

	if (!text)
		return true;
	for (int32_t i = 0; i < (int32_t)(sizeof names / sizeof *names); i++)
		if (strcmp(names[i], text) == 0) {
			*priority = i;
			return true;
		}
	api_refuse(q, r, REASON_INVALID, "priority_level", "no priority '%s'", text);
	return false;
}

int v2_instance_make(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	const struct effects *did;
	struct fail why = { 0 };
	char *tags = NULL;
	int reason;

	if (!ev->text) {
		if (!tags_read(q, r, NULL, &tags))
			return r->status;
		ev->text = tags;
	}
	reason = api_apply(api, q, ev, &did, &why);
	free(tags);
	if (reason)
		return api_failed(q, r, reason, reason == REASON_NAME_TAKEN ? "name" : NULL, &why);
	return api_json(q, r, 201, render_instance(e, engine_instance(e, effects_made(did)), false));
}

/* ---- One --------------------------------------------------------------------------------- */

static const struct instance *the_instance(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = find_instance(market_engine(api->market), q->account, q->parts[0]);

	if (!i)
		api_refuse(q, r, REASON_NOT_FOUND, "id", "no instance '%s' in this account", q->parts[0]);
	return i;
}

static int instance_get(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = the_instance(api, q, r);

	return i ? api_json(q, r, 200, render_instance(market_engine(api->market), i, false)) : r->status;
}

static int instance_patch(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = the_instance(api, q, r);
	struct event ev = { .kind = EVENT_INSTANCE_CHANGE, .u.instance_change.priority = -1 };
	char room[IDENT_TEXT], *tags;
	struct fail why = { 0 };
	int reason = 0;

	if (!i || (body_text(q->body, "name") && !(ev.name = name_read(api, q, r, IDENT_INSTANCE, room))) ||
		!v2_instance_priority(q, r, q->body, &ev.u.instance_change.priority) ||
		!tags_read(q, r, i->tags, &tags))
		return r->status;
	if (ev.name && strcmp(ev.name, i->name) == 0)
		ev.name = NULL;
	ev.account = i->account;
	ev.subject = i->id;
	ev.text = tags;
	if (ev.name || ev.text || ev.u.instance_change.priority >= 0)
		reason = api_apply(api, q, &ev, NULL, &why);
	free(tags);
	if (reason)
		return api_failed(q, r, reason, reason == REASON_NAME_TAKEN ? "name" : NULL, &why);
	return api_json(q, r, 200, render_instance(market_engine(api->market),
		engine_instance(market_engine(api->market), ev.subject), false));
}

static int v2_instance_delete(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = the_instance(api, q, r);
	struct fail why = { 0 };
	int reason;

	if (!i)
		return r->status;
	reason = api_apply_to(api, q, EVENT_INSTANCE_DELETE, i->account, i->id, &why);
	return reason ? api_failed(q, r, reason, "id", &why) : api_nothing(r);
}

/* Stops it. SF Compute answers 404 for one that has already ended. */
static int v2_instance_stop(struct api *api, const struct request *q, struct reply *r, const struct instance *i)
{
	struct fail why = { 0 };
	int reason = api_apply_to(api, q, EVENT_INSTANCE_STOP, i->account, i->id, &why);

	if (reason == REASON_WRONG_STATE)
		return api_refuse_as(q, r, 404, reason, "id", "the instance has already ended");
	return reason ? api_failed(q, r, reason, "id", &why) : 0;
}

static int instance_terminate(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = the_instance(api, q, r);
	uint64_t id = i ? i->id : 0;

	if (!i || v2_instance_stop(api, q, r, i))
		return r->status;
	return api_json(q, r, 200, render_instance(market_engine(api->market),
		engine_instance(market_engine(api->market), id), false));
}

/* ---- Replacing ----------------------------------------------------------------------------- */

/* Reads what the new one is made of. */
static bool instance_replaceable(struct api *api, const struct request *q, struct reply *r, const struct instance *i,
	struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = engine_account(e, i->account);
	const struct instance *other;
	const char *name = body_text(q->body, "name");

	if (i->status == INSTANCE_TERMINATED || i->status == INSTANCE_FAILED) {
		api_refuse_as(q, r, 404, REASON_WRONG_STATE, "id", "the instance has already ended");
		return false;
	}
	if (account_shut(a)) {
		api_refuse(q, r, REASON_SUSPENDED, NULL, "%s", reason_row(REASON_SUSPENDED)->text);
		return false;
	}
	if (name && ident_looks(IDENT_INSTANCE, name)) {
		api_refuse(q, r, REASON_INVALID, "name", "'%s' looks like an id; choose another name", name);
		return false;
	}
	other = name ? engine_instance_named(e, i->account, name) : NULL;
	if (other && other != i) {
		api_refuse(q, r, REASON_NAME_TAKEN, "name", "an instance '%s' already exists", name);
		return false;
	}
	return v2_instance_image(q, r, &ev->u.instance.image) &&
		body_user_data(q, r, "cloud_init_user_data", &ev->u.instance.user_data);
}

/* Copies the old one's texts: stopping it may move them. */
static int instance_replace(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct instance *i = the_instance(api, q, r);
	struct event stop = { .kind = EVENT_INSTANCE_STOP }, ev = { .kind = EVENT_INSTANCE };
	const struct effects *did;
	struct fail why = { 0 };
	char *name, *tags;
	int reason;

	if (!i || !instance_replaceable(api, q, r, i, &ev))
		return r->status;
	stop.subject = i->id;
	stop.account = ev.account = i->account;
	ev.u.instance.pool = i->pool;
	ev.u.instance.sku = i->sku;
	ev.u.instance.priority = i->priority;
	name = strdup(body_text(q->body, "name") ? body_text(q->body, "name") : i->name);
	tags = i->tags ? strdup(i->tags) : NULL;
	if (!name || (i->tags && !tags)) {
		api_refuse(q, r, REASON_INTERNAL, NULL, "out of memory");
	} else {
		ev.name = name;
		ev.text = tags;
		reason = api_swap(api, q, &stop, &ev, &did, &why);
		if (reason)
			api_failed(q, r, reason, NULL, &why);
		else
			api_json(q, r, 201, render_instance(e, engine_instance(e, effects_made(did)), false));
	}
	free(name);
	free(tags);
	return r->status;
}

/* ---- Logs and SSH --------------------------------------------------------------------------- */

/* What an instance's agent reported as JSON; NULL: nothing, or a plain sentence. */
static json_t *report_of(const struct instance *i)
{
	return i->detail && i->detail[0] == '{' ? json_loads(i->detail, 0, NULL) : NULL;
}

static bool instance_logs_query(const struct request *q, struct reply *r, struct log_filter *w)
{
	const char *sort = api_query(q, "sort_by");
	int64_t before, after, before_at, after_at, limit;

	if (sort && strcmp(sort, "seqnum") != 0 && strcmp(sort, "-seqnum") != 0) {
		api_refuse(q, r, REASON_INVALID, "sort_by", "logs are sorted by seqnum or -seqnum");
		return false;
	}
	if (!api_query_int(q, r, "seqnum_before", 0, INT64_MAX, INT64_MAX, &before) ||
	    !api_query_int(q, r, "seqnum_after", 0, INT64_MAX, 0, &after) ||
	    !api_query_int(q, r, "realtime_timestamp_before", 0, LOGS_TIME_MAX, LOGS_TIME_MAX, &before_at) ||
	    !api_query_int(q, r, "realtime_timestamp_after", 0, LOGS_TIME_MAX, 0, &after_at) ||
	    !api_query_int(q, r, "limit", 1, LOGS_MAX, LOGS_DEFAULT, &limit))
		return false;
	*w = (struct log_filter){ .after = (uint64_t)after,
		.before = before ? (uint64_t)before : 1,
		.after_at = after_at * MICROS,
		.before_at = before_at * MICROS + MICROS - 1,
		.descending = sort && *sort == '-',
		.limit = (size_t)limit };
	return true;
}

char *base64_make(const void *data, size_t len)
{
	char *text = malloc((len + 2) / 3 * 4 + 1);

	if (text)
		EVP_EncodeBlock((unsigned char *)text, data, (int)len);
	return text;
}

struct log_pages { json_t *list; size_t bytes; };

/* The agent's clock has microseconds; SF Compute's shape has room for them only in the monotonic clock. */
static int log_chunk(void *arg, const struct log_line *l)
{
	struct log_pages *p = arg;
	bool ended = l->len && ((const char *)l->data)[l->len - 1] == '\n';
	char *line = malloc(l->len + 1), *data;
	json_t *made;

	if (!line)
		return -ENOMEM;
	memcpy(line, l->data, l->len);
	line[l->len] = '\n'; /* clients join the chunks */
	data = base64_make(line, l->len + !ended);
	free(line);
	if (!data)
		return -ENOMEM;
	made = json_pack("{s:I, s:I, s:I, s:I, s:s, s:I}", "timestamp_realtime", (json_int_t)(l->at / MICROS),
		"timestamp_monotonic_secs", (json_int_t)(l->at / MICROS), "timestamp_monotonic_nanos",
		(json_int_t)(l->at % MICROS * 1000), "seqnum", (json_int_t)l->seq, "data", data, "np_at_micros",
		(json_int_t)l->at);
	free(data);
	json_array_append_new(p->list, made);
	p->bytes += l->len;
	return p->bytes > LOGS_BYTES;
}

static int instance_logs(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = the_instance(api, q, r);
	struct store *store = market_store(api->market);
	struct log_pages p = { 0 };
	struct fail why = { 0 };
	struct log_filter w;
	int rc = 0;

	if (!i || !instance_logs_query(q, r, &w))
		return r->status;
	p.list = json_array();
	rc = store->calls->logs(store, i->id, &w, log_chunk, &p, &why);
	if (rc < 0) {
		json_decref(p.list);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", p.list));
}

static int instance_ssh(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = the_instance(api, q, r);
	json_t *report, *keys, *made = NULL;
	const char *hostname;

	if (!i)
		return r->status;
	report = i->status == INSTANCE_RUNNING ? report_of(i) : NULL;
	hostname = body_text(report, "hostname");
	keys = json_object_get(report, "host_keys");
	if (hostname)
		made = json_pack("{s:s, s:I, s:o, s:I, s:I}", "hostname", hostname, "port",
			(json_int_t)body_int(report, "port", 22), "host_keys", keys ? json_incref(keys) : json_array(),
			"last_successful_key_update_at", (json_int_t)i->updated_at, "last_attempted_key_update_at",
			(json_int_t)i->updated_at);
	json_decref(report);
	if (!hostname)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL, "SSH details are not available yet");
	return api_json(q, r, 200, made);
}

const struct route api_v2_instance[] = {
	{ METHOD_GET, "/v2/instances/{id}", instance_get, SCOPE_READ, 0, "Get instance", NULL, NULL, "InstanceResponse",
		200 },
	{ METHOD_PATCH, "/v2/instances/{id}", instance_patch, SCOPE_NODES, 0, "Update instance", NULL,
		"PatchInstanceRequest", "InstanceResponse", 200 },
	{ METHOD_DELETE, "/v2/instances/{id}", v2_instance_delete, SCOPE_NODES, 0, "Delete instance", NULL, NULL, NULL,
		204 },
	{ METHOD_POST, "/v2/instances/{id}/replace", instance_replace, SCOPE_NODES, ROUTE_CREATES, "Replace instance",
		NULL, "ReplaceInstanceRequest", "InstanceResponse", 201 },
	{ METHOD_POST, "/v2/instances/{id}/terminate", instance_terminate, SCOPE_NODES, 0, "Terminate instance", NULL,
		NULL, "InstanceResponse", 200 },
	{ METHOD_GET, "/v2/instances/{id}/logs", instance_logs, SCOPE_READ, 0, "Get instance logs",
		"seqnum_before:integer,seqnum_after:integer,realtime_timestamp_before:integer,realtime_timestamp_after:"
		"integer,"
		"sort_by:string,limit:integer",
		NULL, "InstanceLogsResponse", 200 },
	{ METHOD_GET, "/v2/instances/{id}/ssh", instance_ssh, SCOPE_READ, 0, "Get instance SSH info", NULL, NULL,
		"InstanceSshInfo", 200 },
	{ 0 },
};
