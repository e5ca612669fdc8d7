/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent's session: it fetches its work, reports on its nodes, and sends their consoles. Each answer
 * lists all of its work, so that the agent never depends on an earlier answer.
 */
#include "marketd/api/np/np.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/render.h"
#include "marketd/store/watch.h"

enum { WAIT_MAX = 30, CONSOLE_BYTES = 256 * 1024, CONSOLE_LINES = 1000,
	CONSOLE_AFTER = 3600 };

/* The agent of the session; NULL: refused (an admin's token is no agent either). */
static const struct agent *the_agent(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = q->agent ? engine_agent(market_engine(api->market), q->agent) : NULL;

	if (!a)
		api_refuse(q, r, REASON_FORBIDDEN, NULL, "only an agent may do this, with the token of its session");
	return a;
}

/* ---- Work ---------------------------------------------------------------------- */

/* The pool whose nodes it shares a network with: its own, or the first one that the same request of /v1 made. */
static uint64_t np_work_network(const struct engine *e, const struct instance *i)
{
	const struct pool *p = engine_pool(e, i->pool);
	/* for each node of each answer: only those that may say so are read */
	json_t *tags = p && p->tags && strstr(p->tags, NP_TAG_NETWORK) ? json_loads(p->tags, 0, NULL) : NULL;
	const char *text = json_string_value(json_object_get(tags, NP_TAG_NETWORK));
	uint64_t network = i->pool;

	if (text && !ident_parse(IDENT_POOL, text, &network))
		network = i->pool;
	json_decref(tags);
	return network;
}

static json_t *np_work_node_json(const struct engine *e, const struct host *h, const struct instance *i)
{
	const struct sku *s = engine_sku(e, i->sku);
	int64_t end = engine_owned_until(e, h->id, i->pool, engine_minute(e));
	json_t *node = json_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:I, s:o}", "id",
		render_id(IDENT_INSTANCE, i->id), "name", render_text(i->name), "host", render_id(IDENT_HOST, h->id),
		"type", render_text(s ? s->alias : ""), "image", IMAGE_NAME, "tenant",
		render_id(IDENT_ACCOUNT, i->account), "pool", render_id(IDENT_POOL, i->pool), "user_data",
		render_text(i->user_data && *i->user_data ? i->user_data : NULL), "status",
		i->status == INSTANCE_RUNNING ? "running" : "awaiting_allocation", "created_at",
		(json_int_t)i->created_at, "end_at", render_minute(end));

	json_object_set_new(node, "network", render_id(IDENT_POOL, np_work_network(e, i)));
	np_put_resources(node, s);
	return node;
}

static json_t *np_work_tls(const struct tlskeys *k)
{
	json_t *list = json_array();

	if (*k->now)
		json_array_append_new(list, json_string(k->now));
	if (*k->next)
		json_array_append_new(list, json_string(k->next));
	return list;
}

static json_t *work_json(const struct api *api, const struct agent *a, const char *version)
{
	const struct engine *e = market_engine(api->market);
	json_t *hosts = json_array(), *nodes = json_array();
	bool open = np_recheck_open(api, a->id); /* an agent starts what it hears of: nothing before it measured */

	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		const struct instance *i = engine_host_instance(e, h->id);

		json_t *host = np_host_brief(e, h), *wanted = np_verify_wanted(api, h);

		if (wanted)
			json_object_set_new(host, "verification", wanted);
		json_array_append_new(hosts, host);
		if (i && (!open || i->status == INSTANCE_RUNNING))
			json_array_append_new(nodes, np_work_node_json(e, h, i));
	}
	return json_pack("{s:s, s:s, s:I, s:b, s:{s:o, s:o}, s:o, s:o, s:o, s:o}", "object", "work", "version", version,
		"now", (json_int_t)market_now(api->market), "test_clock", (int)api->test_clock, "agent", "id",
		render_id(IDENT_AGENT, a->id), "name", render_text(a->name), "tls_keys", np_work_tls(&api->keys),
		"hosts", hosts, "nodes", nodes, "volumes", np_volumes_work(e, a));
}

static int get_work(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = the_agent(api, q, r);
	const char *have = api_query(q, "have");
	char version[24 + TLSKEYS_VERSION], keys[TLSKEYS_VERSION];
	int64_t wait;

	if (!a || !api_query_int(q, r, "wait", 0, WAIT_MAX, 0, &wait))
		return r->status;
	np_recheck_look(api);
	r->version = engine_agent_version(market_engine(api->market), a->id);
	tlskeys_version(&api->keys, keys);
	snprintf(version, sizeof version, "%" PRIu64 "%s", r->version, keys);
	if (have && strcmp(have, version) == 0 && api_query(q, "keys")) /* older agents pass over tls_keys */
		tlskeys_heard(&api->keys, a->id);
	if (have && strcmp(have, version) == 0 && wait > 0 && !q->last_ask) {
		r->wait = true;
		r->wait_ms = wait * 1000;
		return r->status = 200;
	}
	return api_json(q, r, 200, work_json(api, a, version));
}

/* ---- Reports --------------------------------------------------------------------------------- */

json_t *np_report(const struct instance *i)
{
	return i->detail && i->detail[0] == '{' ? json_loads(i->detail, 0, NULL) : NULL;
}

/* Whether the caller is the host's agent or owner. A buyer's report does not count. */
static bool has_host(const struct request *q, const struct host *h)
{
	if (q->local && !q->account)
		return true;
	return h && h->account == q->account && (!q->agent || h->agent == q->agent);
}

/* The last lines of a console come after the node's end: its former host may send them for a while. */
static const struct host *console_host(struct api *api, const struct instance *i)
{
	bool lately = market_now(api->market) - i->updated_at < CONSOLE_AFTER;

	return engine_host(market_engine(api->market), i->host ? i->host : lately ? i->had : 0);
}

/* The instance of the path, if the caller has its host. NULL: refused. */
static const struct instance *np_work_reported(struct api *api, const struct request *q, struct reply *r, bool console)
{
	const struct engine *e = market_engine(api->market);
	const struct instance *i = NULL;
	uint64_t id;

	if (ident_parse(IDENT_INSTANCE, q->parts[0], &id))
		i = engine_instance(e, id);
	if (i && has_host(q, console ? console_host(api, i) : i->host ? engine_host(e, i->host) : NULL))
		return i;
	api_refuse(q, r, REASON_NOT_FOUND, "id", "no instance '%s' on your hosts", q->parts[0]);
	return NULL;
}

static json_t *keys_of(const json_t *given)
{
	json_t *list = json_array();
	const json_t *key;
	size_t n;

	json_array_foreach(given, n, key) {
		const char *type = body_text(key, "type");

		json_array_append_new(list,
			json_pack("{s:s, s:s}", "key_type", type ? type : body_text(key, "key_type"), "key",
				body_text(key, "key")));
	}
	return list;
}

/* The stored form of a report, always written the same way; NULL: out of memory. */
static char *report_text(const json_t *body, bool fault)
{
	static const char *const copied[] = { "hostname", "port", "user", "driver", "fault" };
	const char *message = body_text(body, "message");
	json_t *o = json_object();
	char *text;

	if (!message)
		message = body_text(body, "detail");
	if (message)
		json_object_set_new(o, "detail", json_string(message));
	for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
		json_t *value = json_object_get(body, copied[i]);

		if (value && !json_is_null(value) && (fault || strcmp(copied[i], "fault") != 0))
			json_object_set(o, copied[i], value);
	}
	if (json_array_size(json_object_get(body, "gpus")))
		json_object_set(o, "gpus", json_object_get(body, "gpus"));
	if (json_is_array(json_object_get(body, "host_keys")))
		json_object_set_new(o, "host_keys", keys_of(json_object_get(body, "host_keys")));
	text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(o);
	return text;
}

static bool np_work_keys(const struct request *q, struct reply *r)
{
	const json_t *key;
	size_t n;

	json_array_foreach(json_object_get(q->body, "host_keys"), n, key)
		if (!body_text(key, "type") && !body_text(key, "key_type")) {
			api_refuse(q, r, REASON_INVALID, "host_keys", "a host key has a 'type'");
			return false;
		}
	return true;
}

/* What a buyer needs to reach a node, and to know that it is his. */
static bool np_work_reachable(const struct request *q, struct reply *r)
{
	if (!body_text(q->body, "hostname"))
		api_refuse(q, r, REASON_INVALID, "hostname", "a node that runs has an address");
	else if (json_array_size(json_object_get(q->body, "host_keys")) == 0)
		api_refuse(q, r, REASON_INVALID, "host_keys",
			"a node that runs has host keys, by which its buyer knows it: those in its "
			"/etc/ssh/ssh_host_*_key.pub");
	else
		return true;
	return false;
}

static int post_report(struct api *api, const struct request *q, struct reply *r)
{
	const struct instance *i = np_work_reported(api, q, r, false);
	bool failed = strcmp(body_text(q->body, "status"), "failed") == 0;
	struct event ev = { .kind = EVENT_REPORT };
	struct fail why = { 0 };
	uint64_t host, pool;
	int64_t since;
	bool own_fault;
	char *text;
	int rc = 0;

	if (!i || !np_work_keys(q, r) || (!failed && !np_work_reachable(q, r)))
		return r->status;
	host = i->host;
	pool = i->pool;
	since = watch_awaits(market_engine(api->market), i) / 60; /* it never ran: from then on nothing was delivered */
	/* A seller is not paid for a node that nobody saw run, whatever he says of its buyer; an agent may know. */
	text = report_text(q->body, i->status == INSTANCE_RUNNING || q->agent);
	ev.account = i->account;
	ev.subject = i->id;
	ev.text = text;
	ev.u.report.status = failed ? INSTANCE_FAILED : INSTANCE_RUNNING;
	/* A repeated report changes nothing, so that reports every minute do not fill the journal. */
	if (!text)
		rc = fail_set(&why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	else if (failed || i->status != INSTANCE_RUNNING || !i->detail || strcmp(i->detail, text) != 0)
		rc = api_apply(api, q, &ev, NULL, &why);
	own_fault = watch_own_fault(text);
	free(text);
	if (rc)
		return api_failed(q, r, rc, "status", &why);
	/* The host does not pay for what the buyer does to the node. */
	if (failed && !own_fault && api->watch)
		watch_failed(api->watch, host, pool, since);
	return api_nothing(r);
}

/* ---- Consoles -------------------------------------------------------------------------------- */

static int np_work_gap(const struct request *q, struct reply *r, uint64_t next)
{
	char text[128];

	snprintf(text, sizeof text, "lines are missing: the next line of this node's console is %" PRIu64, next);
	return api_json(q, r, 409,
		json_pack("{s:{s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:I}]}, s:s}", "error", "type", "conflict", "message",
			text, "code", "conflict", "details", "field", "first", "code", "conflict", "message", text,
			"next", (json_int_t)next, "request_id", q->id ? q->id : ""));
}

struct console {
	struct log_line lines[CONSOLE_LINES];
	size_t count, used;
	char room[CONSOLE_BYTES];
};

/* Takes the lines that are new. 0, or a reason. */
static int read_lines(const json_t *given, uint64_t first, uint64_t next, struct console *c, struct fail *why)
{
	const json_t *line;
	size_t n;

	json_array_foreach(given, n, line) {
		const char *text = body_text(line, "data");
		int64_t size = base64_size(text);

		if (size < 0)
			return fail_set(why, REASON_INVALID, "the data of line %zu is not base64", n);
		if ((size_t)size > sizeof c->room - c->used)
			return fail_set(why, REASON_TOO_LARGE, "a request may have up to %d bytes of a console",
				CONSOLE_BYTES);
		if (base64_read(text, c->room + c->used, (size_t)size))
			return fail_set(why, REASON_INVALID, "the data of line %zu is not base64", n);
		if (first + n >= next)
			c->lines[c->count++] = (struct log_line){ .seq = first + n, .at = body_int(line, "at", 0),
				.data = c->room + c->used, .len = (size_t)size };
		c->used += (size_t)size;
	}
	return 0;
}

static int keep_lines(struct api *api, const struct request *q, struct reply *r, uint64_t instance, uint64_t next)
{
	uint64_t first = (uint64_t)body_int(q->body, "first", 1);
	struct console *c = calloc(1, sizeof *c);
	struct fail why = { 0 };
	int rc = c ? 0 : fail_set(&why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");

	if (!rc)
		rc = read_lines(json_object_get(q->body, "lines"), first, next, c, &why);
	if (!rc && c->count) {
		rc = market_log(api->market, instance, c->lines, c->count, &why);
		next += c->count;
		r->changed = true;
	}
	free(c);
	if (rc)
		return api_failed(q, r, rc, "lines", &why);
	return api_json(q, r, 200, json_pack("{s:I}", "next", (json_int_t)next));
}

static int post_console(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = the_agent(api, q, r);
	const struct instance *i = a ? np_work_reported(api, q, r, true) : NULL;
	struct store *store = market_store(api->market);
	struct log_head head = { .next = 1 };
	struct fail why = { 0 };
	int rc;

	if (!i)
		return r->status;
	rc = store->calls->log_end(store, i->id, &head, &why);
	if (rc < 0)
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	if ((uint64_t)body_int(q->body, "first", 1) > head.next)
		return np_work_gap(q, r, head.next);
	return keep_lines(api, q, r, i->id, head.next);
}

/* ---- The agent itself ------------------------------------------------------------------------------- */

static int put_inventory(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = the_agent(api, q, r);
	struct fail why = { 0 };
	int rc;

	if (!a)
		return r->status;
	rc = np_take_inventory(api, q, a, q->body, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

static int post_status(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = the_agent(api, q, r);
	const char *message = body_text(q->body, "message"), *driver = body_text(q->body, "driver");
	struct agent_status s = { .health = health_read(body_text(q->body, "health")),
		.at = market_now(api->market),
		.at_ms = api->now_ms,
		.nodes = body_int(q->body, "nodes", 0),
		.unknown = body_int(q->body, "unknown", 0),
		.oldest_unknown = body_int(q->body, "oldest_unknown_seconds", 0),
		.rss = body_int(q->body, "rss_bytes", -1) };

	if (!a)
		return r->status;
	snprintf(s.message, sizeof s.message, "%s", message ? message : "");
	snprintf(s.driver, sizeof s.driver, "%s", driver ? driver : "");
	if (api->watch) {
		watch_told(api->watch, a->id, &s);
		np_take_health(api, q, a);
	}
	return api_nothing(r);
}

/* The same request again returns the same host. */
static int post_agent_host(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct agent *a = the_agent(api, q, r);
	const char *name = body_text(q->body, "name");
	const struct sku *s;

	if (!a)
		return r->status;
	s = find_sku(e, body_text(q->body, "instance_sku"));
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h && s;
		h = engine_host_of_agent(e, a->id, h->id))
		if (h->sku == s->id && strcmp(h->name, name) == 0)
			return api_json(q, r, 200, np_host(e, h));
	return np_make_host(api, q, r, a->account, a->id);
}

static int np_work_leave(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = the_agent(api, q, r);

	return a ? np_agent_leave(api, q, r, a) : r->status;
}

const struct route api_np_work_routes[] = {
	{ METHOD_GET, "/np/v1/agent/work", get_work, SCOPE_AGENT, ROUTE_STREAM,
		"Get all of an agent's work; with have=VERSION and "
		"wait=SECONDS wait until it changes",
		"have:string,wait:integer,keys:boolean", NULL, "np.Work", 200 },
	{ METHOD_PUT, "/np/v1/agent/inventory", put_inventory, SCOPE_AGENT, 0, "Report what an agent's machine has",
		NULL, "np.Inventory", NULL, 204 },
	{ METHOD_POST, "/np/v1/agent/status", post_status, SCOPE_AGENT, 0, "Report an agent's health", NULL,
		"np.AgentStatusRequest", NULL, 204 },
	{ METHOD_POST, "/np/v1/agent/hosts", post_agent_host, SCOPE_AGENT, 0,
		"Register a host whose nodes this agent makes; "
		"the same request again returns the same host",
		NULL, "np.AgentHostRequest", "np.Host", 201 },
	{ METHOD_DELETE, "/np/v1/agent", np_work_leave, SCOPE_AGENT, 0, "Leave the market with this machine", NULL,
		NULL, NULL, 204 },
	{ METHOD_POST, "/np/v1/instances/{id}/report", post_report, SCOPE_HOST | SCOPE_AGENT, 0,
		"Report on an instance on the agent's host", NULL, "np.ReportRequest", NULL, 204 },
	{ METHOD_POST, "/np/v1/instances/{id}/console", post_console, SCOPE_AGENT, 0,
		"Send lines of a node's console; lines already known "
		"are skipped",
		NULL, "np.ConsoleRequest", "np.Console", 200 },
	{ 0 },
};
