/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI 3.1 document, made from the same tables that route and check requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "marketd/api/routes.h"

enum { WORD = 128 };

/* A list "a|b" or "a,b", word by word. */
static const char *openapi_next_word(const char *list, char by, char word[WORD])
{
	const char *end;

	if (!list || !*list)
		return NULL;
	end = strchr(list, by);
	snprintf(word, WORD, "%.*s", (int)(end ? (size_t)(end - list) : strlen(list)), list);
	return end ? end + 1 : "";
}

static json_t *openapi_named(const struct routes *rs, const char *name)
{
	char ref[WORD + 32];

	if (strcmp(name, "any") == 0)
		return json_object();
	if (!schemas_find(rs->schemas, name))
		return json_pack("{s:s}", "type", name);
	snprintf(ref, sizeof ref, "#/components/schemas/%s", name);
	return json_pack("{s:s}", "$ref", ref);
}

static json_t *openapi_bounds(json_t *o, const char *least, const char *most, int64_t min, int64_t max)
{
	if (min != 0 || max != 0) {
		json_object_set_new(o, least, json_integer(min));
		if (max != INT64_MAX && max != 0)
			json_object_set_new(o, most, json_integer(max));
	}
	return o;
}

static json_t *of_enum(const char *list)
{
	json_t *o = json_pack("{s:s}", "type", "string"), *words = json_array();
	char word[WORD];

	if (!strchr(list, '|')) {
		json_decref(words);
		json_object_set_new(o, "const", json_string(list));
		return o;
	}
	while ((list = openapi_next_word(list, '|', word)) != NULL)
		json_array_append_new(words, json_string(word));
	json_object_set_new(o, "enum", words);
	return o;
}

static json_t *of_one_of(const struct routes *rs, const char *list)
{
	json_t *forms = json_array();
	char word[WORD];

	while ((list = openapi_next_word(list, '|', word)) != NULL)
		json_array_append_new(forms, openapi_named(rs, word));
	return json_pack("{s:o}", "anyOf", forms);
}

static json_t *of_string(const char *pattern, int64_t min, int64_t max)
{
	json_t *o = openapi_bounds(json_pack("{s:s}", "type", "string"), "minLength", "maxLength", min, max);

	if (pattern)
		json_object_set_new(o, "pattern", json_string(pattern));
	return o;
}

/* An integer's bound may really be 0 ({-5, 0}); for other types a bound is a count. */
static json_t *of_integer(int64_t min, int64_t max)
{
	json_t *o = json_pack("{s:s}", "type", "integer");

	if (min != 0 || max != 0) {
		if (min != INT64_MIN)
			json_object_set_new(o, "minimum", json_integer(min));
		if (max != INT64_MAX)
			json_object_set_new(o, "maximum", json_integer(max));
	}
	return o;
}

static json_t *of_type(const struct routes *rs, enum schema_type type, const char *of, int64_t min, int64_t max)
{
	switch (type) {
	case SCHEMA_STRING:
		return of_string(of, min, max);
	case SCHEMA_INTEGER:
		return of_integer(min, max);
	case SCHEMA_NUMBER:
		return json_pack("{s:s}", "type", "number");
	case SCHEMA_BOOLEAN:
		return json_pack("{s:s}", "type", "boolean");
	case SCHEMA_ENUM:
		return of_enum(of);
	case SCHEMA_MAP:
		return openapi_bounds(
			json_pack("{s:s, s:o}", "type", "object", "additionalProperties", openapi_named(rs, of)),
			"minProperties", "maxProperties", min, max);
	case SCHEMA_ARRAY:
		return openapi_bounds(json_pack("{s:s, s:o}", "type", "array", "items", openapi_named(rs, of)),
			"minItems", "maxItems", min, max);
	case SCHEMA_REF:
		return openapi_named(rs, of);
	case SCHEMA_ONE_OF:
		return of_one_of(rs, of);
	default:
		return json_object();
	}
}

static json_t *with_text(json_t *o, const char *text)
{
	if (text)
		json_object_set_new(o, "description", json_string(text));
	return o;
}

static json_t *of_field(const struct routes *rs, const struct schema_field *d)
{
	json_t *o = of_type(rs, d->type, d->of, d->min, d->max);

	if (d->flags & FIELD_NULL)
		o = json_pack("{s:[o, {s:s}]}", "anyOf", o, "type", "null");
	return with_text(o, d->text);
}

static json_t *of_object(const struct routes *rs, const struct schema *of)
{
	json_t *fields = json_object(), *required = json_array(), *o;
	const struct schema_field *d;

	for (size_t i = 0; (d = schema_field_at(rs->schemas, of, i)) != NULL; i++) {
		if (d->flags & FIELD_HIDDEN)
			continue;
		json_object_set_new(fields, d->name, of_field(rs, d));
		if (d->flags & FIELD_REQUIRED)
			json_array_append_new(required, json_string(d->name));
	}
	o = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", fields, "additionalProperties", 0);
	if (json_array_size(required))
		json_object_set_new(o, "required", required);
	else
		json_decref(required);
	return o;
}

static json_t *openapi_components(const struct routes *rs)
{
	const struct schema *const *tables = schemas_tables(rs->schemas);
	json_t *all = json_object();

	for (size_t t = 0; tables[t]; t++)
		for (const struct schema *of = tables[t]; of->name; of++) {
			json_t *o = of->type == SCHEMA_OBJECT ? of_object(rs, of)
							      : of_type(rs, of->type, of->of, of->min, of->max);

			json_object_set_new(all, of->name, with_text(o, of->text));
		}
	return json_pack("{s:o, s:{s:{s:s, s:s}}}", "schemas", all, "securitySchemes", "token", "type", "http",
		"scheme", "bearer");
}

/* ---- Routes ----------------------------------------------------------------------------- */

static void add_path_parts(json_t *list, const char *path)
{
	for (const char *open = strchr(path, '{'); open; open = strchr(open + 1, '{'))
		json_array_append_new(list,
			json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name", open + 1, strcspn(open + 1, "}"), "in", "path",
				"required", 1, "schema", "type", "string"));
}

static json_t *query_schema(const char *type)
{
	if (strcmp(type, "array") == 0)
		return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
	return json_pack("{s:s}", "type", type);
}

static json_t *openapi_parameters(const struct route *r)
{
	json_t *list = json_array();
	const char *rest = r->query;
	char word[WORD];
	bool account = false;

	add_path_parts(list, r->path);
	while ((rest = openapi_next_word(rest, ',', word)) != NULL) {
		char *colon = strchr(word, ':');

		if (!colon)
			continue;
		*colon = '\0';
		account |= strcmp(word, "account") == 0;
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", word, "in", "query", "schema",
			query_schema(colon + 1)));
	}
	if (!account && !(r->flags & ROUTE_OPEN))
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:{s:s}}", "name", "account", "in", "query", "description",
				"the account, by id or name; only for the operator and tokens with the scope admin",
				"schema", "type", "string"));
	if ((r->flags & ROUTE_CREATES) && !(r->flags & ROUTE_SECRET))
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:{s:s, s:i, s:i}}", "name", "Idempotency-Key", "in", "header",
				"description", "a request repeated under the same key is not done twice", "schema",
				"type", "string", "minLength", 1, "maxLength", 255));
	return list;
}

static json_t *openapi_answers(const struct routes *rs, const struct route *r)
{
	json_t *all = json_object(), *ok;
	char status[12];
	const char *type = strcmp(r->path, "/metrics") == 0  ? "text/plain"
		: str_starts(r->path, "/opa/")               ? "application/gzip"
		: strcmp(r->path, "/catalog-info.yaml") == 0 ? "application/yaml"
		: r->flags & ROUTE_STREAM                    ? "application/x-ndjson"
							     : "application/json";

	snprintf(status, sizeof status, "%d", r->ok ? r->ok : 200);
	ok = json_pack("{s:s}", "description", r->answer ? "done" : "done; no content");
	if (r->answer)
		json_object_set_new(ok, "content",
			json_pack("{s:{s:o}}", type, "schema", openapi_named(rs, r->answer)));
	if (r->answer && (r->flags & ROUTE_STREAM))
		json_object_set_new(json_object_get(ok, "content"), "text/event-stream",
			json_pack("{s:{s:s}}", "schema", "type", "string"));
	json_object_set_new(all, status, ok);
	json_object_set_new(all, "default",
		json_pack("{s:s, s:{s:{s:o}}}", "description", "why not", "content", "application/json", "schema",
			openapi_named(rs, "Error")));
	return all;
}

static json_t *openapi_scopes(int32_t bits)
{
	static const char *const names[] = { "read", "trade", "nodes", "tokens", "host", "admin", "join", "agent" };
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (bits & (1 << i))
			json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *openapi_operation(const struct routes *rs, const struct route *r)
{
	json_t *o = json_pack("{s:s, s:o, s:o}", "summary", r->summary ? r->summary : "", "parameters",
		openapi_parameters(r), "responses", openapi_answers(rs, r));

	if (r->body)
		json_object_set_new(o, "requestBody",
			json_pack("{s:{s:{s:o}}}", "content", "application/json", "schema",
				openapi_named(rs, r->body)));
	if (r->flags & ROUTE_OPEN)
		json_object_set_new(o, "security", json_array());
	else
		json_object_set_new(o, "x-scopes", openapi_scopes(r->scopes));
	return o;
}

static json_t *openapi_paths(const struct routes *rs)
{
	static const struct { enum method method; const char *word;
	} methods[] = {
		{ METHOD_GET, "get" },
		{ METHOD_POST, "post" },
		{ METHOD_PATCH, "patch" },
		{ METHOD_PUT, "put" },
		{ METHOD_DELETE, "delete" },
	};
	json_t *all = json_object();

	for (size_t i = 0; i < rs->count; i++) {
		const struct route *r = rs->rows[i].route;
		json_t *path = json_object_get(all, r->path);

		if (!path) {
			path = json_object();
			json_object_set_new(all, r->path, path);
		}
		for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
			if (methods[m].method == r->method)
				json_object_set_new(path, methods[m].word, openapi_operation(rs, r));
	}
	return all;
}

char *openapi_text(const struct routes *rs, const char *name)
{
	json_t *doc = json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:o, s:o, s:[{s:[]}]}", "openapi", "3.1.0",
		"info", "title", name, "version", PACKAGE_VERSION, "description",
		"All paths under /v2 also exist under /preview/v2. The market refuses fields and query names that are "
		"not in this document.",
		"license", "name", "Apache-2.0", "identifier", "Apache-2.0", "paths", openapi_paths(rs), "components",
		openapi_components(rs), "security", "token");
	char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

	json_decref(doc);
	return text;
}
