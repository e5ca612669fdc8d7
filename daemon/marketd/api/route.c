/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request to its handler. What holds for all routes is decided here, so that no handler can forget
 * it: who may call, which names the query has, the shape of the body, and that nothing is done twice
 * under one key.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/nonces.h"
#include "marketd/api/auditlog.h"
#include "marketd/api/authorize.h"
#include "marketd/api/idempotency.h"
#include "marketd/api/may/requestgate.h"
#include "marketd/api/may/quota.h"
#include "marketd/api/routes.h"
#include "marketd/api/takings.h"
#include "marketd/policy/opa.h"
#include "marketd/store/watch.h"

#define PREVIEW "/preview/v2/"
#define ALL_ACCOUNTS "*"

/* The decoded parts of a path, for as long as the handler runs. */
struct parts {
	char room[4096 + 64];
};

static int fill_parts(struct request *q, const struct path_shape *shape, const struct path_shape *asked,
	struct parts *p)
{
	size_t at = 0, n = 0;

	memset(q->parts, 0, sizeof q->parts);
	for (int i = 0; i < shape->count; i++) {
		size_t len = asked->segments[i].len;

		if (!shape->segments[i].part)
			continue;
		if (len + 1 > sizeof p->room - at)
			return -E2BIG;
		memcpy(p->room + at, asked->segments[i].text, len);
		p->room[at + len] = '\0';
		q->parts[n++] = p->room + at;
		at += len + 1;
	}
	return 0;
}

/* The first of the scopes that would do. */
static const char *scope_needed(int32_t scopes)
{
	static const char *const words[] = { "read", "trade", "nodes", "tokens", "host", "admin", "join", "agent" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (scopes & (1 << i))
			return words[i];
	return "admin";
}

static int check_who(struct request *q, const struct route *route, struct reply *r)
{
	if (q->local)
		q->scopes = AUTH_ALL;
	if ((route->flags & ROUTE_OPEN) || (q->joined && (route->scopes & SCOPE_JOIN)))
		return 0;
	if (!q->scopes)
		return api_refuse(q, r, q->refused ? q->refused : REASON_UNAUTHENTICATED, NULL, "%s",
			reason_row(q->refused ? q->refused : REASON_UNAUTHENTICATED)->text);
	if (!(q->scopes & (route->scopes | SCOPE_ADMIN)))
		return api_refuse(q, r, REASON_FORBIDDEN, NULL, "%s needs a token with the scope '%s'", route->path,
			scope_needed(route->scopes));
	return 0;
}

/* The word after "name:" in the route's list ("limit:integer,status:array"); NULL: no such name. */
static const char *query_type(const char *list, const char *name, size_t *len)
{
	size_t name_len = strlen(name);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word > name_len && list[name_len] == ':' && memcmp(list, name, name_len) == 0) {
			*len = word - name_len - 1;
			return list + name_len + 1;
		}
		list += word + (list[word] == ',');
	}
	return NULL;
}

static bool is_type(const char *type, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(type, word, len) == 0;
}

static bool whole_number(const char *text)
{
	char *end;

	errno = 0;
	strtoll(text, &end, 10);
	return errno == 0 && *text && !*end && (*text == '-' || (*text >= '0' && *text <= '9'));
}

static int check_query_value(const struct request *q, const struct route *route, size_t i, struct reply *r)
{
	const char *name = q->query[i].name, *value = q->query[i].value;
	size_t len = 0;
	const char *type = query_type(route->query, name, &len);

	if (!type)
		return api_refuse(q, r, REASON_UNKNOWN_FIELD, name, "'%s' is not a parameter of %s", name, route->path);
	for (size_t k = 0; k < i && !is_type(type, len, "array"); k++)
		if (strcmp(q->query[k].name, name) == 0)
			return api_refuse(q, r, REASON_INVALID, name, "'%s' is repeated", name);
	if (is_type(type, len, "integer") && !whole_number(value))
		return api_refuse(q, r, REASON_INVALID, name, "'%s' must be a whole number", name);
	if (is_type(type, len, "boolean") && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		return api_refuse(q, r, REASON_INVALID, name, "'%s' must be true or false", name);
	return 0;
}

/* ?account=, for those who may act for any account; * is all of them, as on the operator's socket without it. */
static int take_account(struct api *api, struct request *q, const char *text, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = NULL;
	uint64_t id;

	if (strcmp(text, ALL_ACCOUNTS) == 0) {
		q->account = 0;
		return 0;
	}
	if (ident_parse(IDENT_ACCOUNT, text, &id))
		a = engine_account(e, id);
	if (!a)
		a = engine_account_named(e, text);
	if (!a)
		return api_refuse(q, r, REASON_NOT_FOUND, "account", "no account '%s'", text);
	q->account = a->id;
	return 0;
}

static int check_query(struct api *api, struct request *q, const struct route *route, struct reply *r)
{
	bool operator = q->scopes & SCOPE_ADMIN;
	size_t len;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < q->query_count; i++) {
		if (operator && strcmp(q->query[i].name, "account") == 0)
			rc = take_account(api, q, q->query[i].value, r);
		else if (!operator&& strcmp(q->query[i].name, "account") == 0 &&
			!query_type(route->query, "account", &len))
			rc = api_refuse(q, r, REASON_FORBIDDEN, "account",
				"another account needs a token with the scope admin");
		else
			rc = check_query_value(q, route, i, r);
	}
	return rc;
}

static int check_body(struct routes *rs, struct request *q, const struct route *route, struct reply *r)
{
	struct schema_fault why;
	int reason;

	if (route->flags & (ROUTE_DROPS | ROUTE_RAW))
		return 0;
	if (!route->body) {
		if (q->body && (!json_is_object(q->body) || json_object_size(q->body) > 0))
			return api_refuse(q, r, REASON_UNKNOWN_FIELD, NULL, "%s takes no body", route->path);
		return 0;
	}
	if (!q->body)
		q->body = rs->empty;
	reason = schema_check(rs->schemas, route->body, q->body, &why);
	if (reason == 0)
		return 0;
	if (!why.field[0])
		return api_refuse(q, r, reason, NULL, "the body %s", why.text);
	return api_refuse(q, r, reason, why.field, "'%s' %s", why.field, why.text);
}

/*
 * Runs the handler and sees whether it changed the market. One that changed nothing, and lacks what the policy server
 * says, is asked again when it has said it.
 */
static int route_handle(struct api *api, const struct route *route, const struct request *q, struct reply *r)
{
	uint64_t before = engine_count(market_engine(api->market));
	int status;

	api->asking = false;
	status = route->handler(api, q, r);
	if (engine_count(market_engine(api->market)) != before)
		r->changed = true;
	if (!api->asking || r->changed || q->last_ask)
		return status;
	buf_clear(&r->body);
	r->wait = r->away = true;
	r->wait_ms = OPA_WAIT_MS;
	return r->status = 0;
}

static int answer_keyed(struct api *api, const struct route *route, const struct request *q, struct reply *r)
{
	uint8_t digest[DIGEST];
	struct fail f = { 0 };
	int rc;

	if (!idempotency_valid(q->idempotency_key))
		return api_refuse(q, r, REASON_INVALID, "Idempotency-Key",
			"the idempotency key must be 1 to %d printable bytes", KEY_MAX);
	if (idempotency_digest(q, digest) != 0)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	rc = idempotency_find(api, q, digest, r, &f);
	if (rc < 0)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the store is not readable now; nothing was done");
	if (rc == 1)
		return r->status;
	route_handle(api, route, q, r);
	if (r->changed)
		quota_charge(api, q, NULL, 0, QUOTA_ANSWER + r->body.len);
	if (r->changed && idempotency_keep(api, q, digest, r, &f) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL,
			"it was done, but its answer could not be stored under the key");
	return r->status;
}

static int answer_route(struct api *api, const struct route *route, struct request *q, struct reply *r)
{
	json_t *body = q->body;
	int status;

	status = check_who(q, route, r);
	if (status == 0 && route->ok == 501) /* whatever it was asked with */
		return route_handle(api, route, q, r);
	if (status == 0 && q->agent && api->watch && !q->waited && !q->last_ask) /* not asked again: a new call */
		watch_heard(api->watch, q->agent, api->now_ms, market_now(api->market));
	if (status == 0)
		status = check_query(api, q, route, r);
	if (status == 0)
		status = check_body(api->routes, q, route, r);
	if (status == 0 && (route->flags & ROUTE_CREATES) && !(route->flags & ROUTE_SECRET) && q->idempotency_key)
		status = answer_keyed(api, route, q, r);
	else if (status == 0)
		status = route_handle(api, route, q, r);
	q->body = body;
	return status;
}

/* GET /healthz and its kind must answer even when the market cannot answer anything else. */
static bool route_always(const struct route *route)
{
	return str_starts(route->path, "/healthz") || str_starts(route->path, "/metrics") ||
		str_starts(route->path, "/openapi.json");
}

/* "/preview/v2/…" is "/v2/…". */
static const char *route_path(const char *path)
{
	return str_starts(path, PREVIEW) ? path + strlen(PREVIEW) - strlen("/v2/") : path;
}

bool api_route_is(struct api *api, const struct request *q, enum route_flags flag)
{
	const struct path_shape *shape;
	const struct route *route;
	struct path_shape asked;
	int allow;

	if ((!api->routes && routes_new(&api->routes, NULL) != 0) || path_split(route_path(q->path), &asked) != 0)
		return false;
	route = routes_find(api->routes, &asked, q->method, &allow, &shape);
	return route && (route->flags & (int)flag);
}

int api_answer(struct api *api, struct request *q, struct reply *r)
{
	const struct path_shape *shape = NULL;
	const struct route *route;
	struct path_shape asked;
	struct parts parts;
	struct fail f = { 0 };

	if (!api->routes && routes_new(&api->routes, &f) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "%s", f.text);
	q->path = route_path(q->path);
	if (path_split(q->path, &asked) != 0)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL, "no such path");
	route = routes_find(api->routes, &asked, q->method, &r->allow, &shape);
	if (!route && r->allow)
		return api_refuse(q, r, REASON_METHOD, NULL, "%s does not take that method", q->path);
	if (!route || fill_parts(q, shape, &asked, &parts) != 0)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL, "no such path");
	r->allow = 0;
	r->route = route;
	quotas_begin(api->quotas);
	if (!market_ready(api->market) && !route_always(route)) {
		r->retry_after = 1;
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market cannot write now; nothing was done");
	}
	return answer_route(api, route, q, r);
}

void api_committed(struct api *api, bool failed)
{
	auditlog_committed(api, failed);
	api->undone += failed;
	if (failed)
		quotas_undone(api->quotas);
	if (api->routes)
		idempotency_forget(api->routes);
}

void api_close(struct api *api)
{
	routes_free(api->routes);
	gates_free(api->gates);
	nonces_free(api->nonces);
	takings_free(api->takings);
	tlskeys_release(&api->keys);
	buf_release(&api->audited);
	api->routes = NULL;
	api->gates = NULL;
	api->nonces = NULL;
	api->takings = NULL;
}
