/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/builtin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/metrics.h"
#include "marketd/api/routes.h"

static int get_health(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);

	if (!market_ready(api->market)) {
		r->retry_after = 1;
		return api_json(q, r, 503,
			json_pack("{s:s, s:s, s:s}", "object", "health", "status", "unavailable", "reason",
				"the store is not writable"));
	}
	return api_json(q, r, 200, json_pack("{s:s, s:s, s:I, s:I}", "object", "health", "status", "ready",
		"minute", (json_int_t)engine_minute(e), "seq", (json_int_t)engine_count(e)));
}

static int get_metrics(struct api *api, const struct request *q, struct reply *r)
{
	if (!api->metrics)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL, "this market keeps no metrics");
	buf_clear(&r->body);
	if (metrics_print(api->metrics, api, &r->body) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the metrics are too large");
	r->type = "text/plain; version=0.0.4; charset=utf-8";
	return r->status = 200;
}

static int get_openapi(struct api *api, const struct request *q, struct reply *r)
{
	struct routes *rs = api->routes;

	if (!rs->openapi) {
		rs->openapi = openapi_text(rs, api->name ? api->name : "market");
		rs->openapi_len = rs->openapi ? strlen(rs->openapi) : 0;
	}
	buf_clear(&r->body);
	if (!rs->openapi || buf_add(&r->body, rs->openapi, rs->openapi_len) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the document is too large");
	return r->status = 200;
}

/* ---- Backstage's catalogue -------------------------------------------------------------- */

enum { CATALOG_NAME = 64, CATALOG_MAX = 4 << 20 };

#define CATALOG_NOBODY "market"

/* Backstage's names: letters, digits and, not at an end, signs between them. */
static void catalog_name(const char *text, char out[CATALOG_NAME])
{
	size_t len = 0;

	for (; *text && len < CATALOG_NAME - 1; text++) {
		bool plain = (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') ||
			(*text >= 'a' && *text <= 'z');

		if (plain || (len && strchr("._", *text)))
			out[len++] = *text;
		else if (len && out[len - 1] != '-')
			out[len++] = '-';
	}
	while (len && strchr("-._", out[len - 1]))
		len--;
	out[len] = '\0';
	if (!len)
		memcpy(out, CATALOG_NOBODY, sizeof CATALOG_NOBODY);
}

/* JSON is YAML, in which no name can end a word or a line. */
static int catalog_add(struct buf *out, const char *kind, const char *title, const char *about, json_t *spec)
{
	char name[CATALOG_NAME];
	json_t *o;
	char *text;
	int rc;

	catalog_name(title, name);
	o = json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:o}", "apiVersion", "backstage.io/v1alpha1", "kind", kind,
		"metadata", "name", name, "title", title, "description", about, "spec", spec);
	text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
	rc = text ? buf_addf(out, "---\n%s\n", text) : -1;
	free(text);
	json_decref(o);
	return rc;
}

/* $text is fetched by Backstage, from beside this document. */
static int get_catalog(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *title = api->name ? api->name : CATALOG_NOBODY;
	char name[CATALOG_NAME], ref[CATALOG_NAME + 16];
	bool book = q->scopes || q->local || !api->private_book;
	struct buf text;
	int rc;

	catalog_name(title, name);
	snprintf(ref, sizeof ref, "component:%s", name);
	buf_init(&text, CATALOG_MAX);
	rc = catalog_add(&text, "API", title, "SF Compute's API for nodes, and the market's own",
		json_pack("{s:s, s:s, s:s, s:{s:s}}", "type", "openapi", "lifecycle", "production", "owner", name,
			"definition", "$text", "./openapi.json"));
	rc = rc ? rc
		: catalog_add(&text, "Component", title, "A market for computers by the minute",
			  json_pack("{s:s, s:s, s:s, s:[s]}", "type", "service", "lifecycle", "production", "owner",
				  name, "providesApis", name));
	for (const struct sku *s = book ? engine_sku_after(e, 0) : NULL; s && rc == 0; s = engine_sku_after(e, s->id))
		if (s->alias)
			rc = catalog_add(&text, "Resource", s->alias, "A type of node that the market has",
				json_pack("{s:s, s:s, s:[s]}", "type", "compute", "owner", name, "dependencyOf", ref));
	buf_clear(&r->body);
	rc = rc ? rc : buf_add(&r->body, text.data, text.len);
	buf_release(&text);
	if (rc)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the document is too large");
	r->type = "application/yaml";
	return r->status = 200;
}

const struct route builtin_routes[] = {
	{ METHOD_GET, "/healthz", get_health, 0, ROUTE_OPEN, "Whether the market can write now", NULL, NULL, "Health",
		200 },
	{ METHOD_GET, "/metrics", get_metrics, SCOPE_ADMIN, 0, "Metrics for Prometheus, as text", NULL, NULL, "Metrics",
		200 },
	{ METHOD_GET, "/catalog-info.yaml", get_catalog, 0, ROUTE_OPEN,
		"The market for Backstage's catalogue, which is given this URL", NULL, NULL, "Catalog", 200 },
	{ METHOD_GET, "/openapi.json", get_openapi, 0, ROUTE_OPEN, "This document", NULL, NULL, "Document", 200 },
	{ 0 },
};

static const struct schema_field health[] = {
	{ "object", SCHEMA_ENUM, FIELD_REQUIRED, "health", 0, 0, NULL },
	{ "status", SCHEMA_ENUM, FIELD_REQUIRED, "ready|unavailable", 0, 0, NULL },
	{ "reason", SCHEMA_STRING, 0, NULL, 0, 0, "why not" },
	{ "minute", SCHEMA_INTEGER, 0, NULL, 0, 0, "the current minute, since the epoch" },
	{ "seq", SCHEMA_INTEGER, 0, NULL, 0, 0, "number of events so far" },
	{ 0 },
};

static const struct schema_field error_detail[] = {
	{ "field", SCHEMA_STRING, FIELD_NULL, NULL, 0, 0, "the path to it: names and numbers joined by points" },
	{ "code", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "message", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "next", SCHEMA_INTEGER, 0, NULL, 0, 0, "of a console: the next line" },
	{ 0 },
};

static const struct schema_field error_body[] = {
	{ "type", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "SF Compute's word for this kind of error" },
	{ "message", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "for a person" },
	{ "code", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "for a program; from a closed list" },
	{ "details", SCHEMA_ARRAY, FIELD_REQUIRED, "ErrorDetail", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field error[] = {
	{ "error", SCHEMA_REF, FIELD_REQUIRED, "ErrorBody", 0, 0, NULL },
	{ "request_id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "as in the header X-Request-Id" },
	{ 0 },
};

const struct schema schema_builtin[] = {
	{ "Health", SCHEMA_OBJECT, NULL, 0, 0, NULL, health, NULL },
	{ "Metrics", SCHEMA_ANY, NULL, 0, 0, NULL, NULL, "text/plain, not JSON" },
	{ "Catalog", SCHEMA_ANY, NULL, 0, 0, NULL, NULL, "YAML: entities of Backstage, not JSON" },
	{ "Document", SCHEMA_MAP, "any", 0, 0, NULL, NULL, "OpenAPI 3.1" },
	{ "ErrorDetail", SCHEMA_OBJECT, NULL, 0, 0, NULL, error_detail, NULL },
	{ "ErrorBody", SCHEMA_OBJECT, NULL, 0, 0, NULL, error_body, NULL },
	{ "Error", SCHEMA_OBJECT, NULL, 0, 0, NULL, error, "why not" },
	{ 0 },
};
