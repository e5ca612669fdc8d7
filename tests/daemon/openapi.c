/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document that the market serves, held against the market that serves it: every route of it is
 * asked, with a body made from its schema, and every answer must be as documented; what is not in it
 * must not be there.
 */
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "../lib/web.h"
#include "jsonschema.h"

enum { PATH_TEXT = 1024, DEPTH_MAX = 12 };

static struct proc market;
static struct stage stage;
static json_t *doc;
static int asked, documented, went_well, misfits, strangers;

/* Whose things a path is about. */
static const char *account_of(const char *path)
{
	return strncmp(path, "/np/v1/hosts", 12) == 0 ? "seller" : "buyer";
}

static char *call(const char *method, const char *path, const char *query, const char *body, int *status)
{
	char full[PATH_TEXT * 2];

	snprintf(full, sizeof full, "%s?account=%s%s%s", path, account_of(path), query ? "&" : "", query ? query : "");
	return proc_call(&market, method, full, body, status);
}

/* ---- Bodies made from schemas --------------------------------------------------------------- */

/* What fields of these names are about; "{…}" and "[…]" are JSON. */
static const char *known_value(const char *name)
{
	static char span[256];
	static const struct { const char *name, *value;
	} rows[] = {
		{ "workspace", "sfc:workspace:buyer:default" },
		{ "image", "debian-12" },
		{ "name", NULL },
		{ "alias", NULL },
		{ "amount_dollars", "5.00" },
		{ "floor_dollars", "-5.00" },
		{ "scopes", "[\"read\"]" },
		{ "properties", "{}" },
		{ "limit_price_dollars_per_node_hour", "9.000000" },
		{ "price_dollars_per_node_hour", "6.000000" },
		{ "min_sell_price_dollars_per_node_hour", "1.500000" },
		{ "max_buy_price_dollars_per_node_hour", "9.000000" },
		{ "requirements", "{}" },
		{ "duration_seconds", "3600" },
		{ "node_count", "1" },
		{ "managed_window_minutes", "60" },
		{ "target", "1" },
		{ "side", "buy" },
		{ "account", "seller" },
		{ "tags", "{\"a\":\"b\"}" },
	};

	if (strcmp(name, "pool") == 0)
		return stage.pool;
	if (strcmp(name, "instance_sku") == 0)
		return stage.sku;
	if (strcmp(name, "start_at") == 0 || strcmp(name, "at") == 0)
		return "1800090000";
	if (strcmp(name, "end_at") == 0)
		return "1800093600";
	if (strcmp(name, "allocation_schedule_delta") == 0) {
		snprintf(span, sizeof span, "[{\"start_at\":%d,\"end_at\":%d,\"node_count\":1}]", 1800090000,
			1800093600);
		return span;
	}
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].value;
	return NULL;
}

static json_t *from_text(const char *text, const json_t *schema)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);
	char why[SCHEMA_WHY];

	/* Digits may be meant as a number or as a string: the schema says. */
	if (v && jsonschema_fits(doc, schema, v, why))
		return v;
	json_decref(v);
	return json_string(text);
}

static json_t *make(const char *name, const json_t *schema, int depth)
{
	const char *known = name ? known_value(name) : NULL, *type;
	json_t *o, *word, *forms;
	size_t i;
	static int fresh;
	char text[32];

	schema = jsonschema_resolve(doc, schema);
	if (known)
		return from_text(known, schema);
	if ((o = json_object_get(schema, "const")) != NULL)
		return json_deep_copy(o);
	if ((o = json_object_get(schema, "enum")) != NULL)
		return json_deep_copy(json_array_get(o, 0));
	if ((forms = json_object_get(schema, "anyOf")) != NULL && depth < DEPTH_MAX)
		return make(name, json_array_get(forms, 0), depth + 1);
	type = json_string_value(json_object_get(schema, "type"));
	if (!type || depth >= DEPTH_MAX)
		return json_object();
	if (strcmp(type, "object") == 0) {
		o = json_object();
		json_array_foreach(json_object_get(schema, "required"), i, word)
			json_object_set_new(o, json_string_value(word),
				make(json_string_value(word),
					json_object_get(json_object_get(schema, "properties"), json_string_value(word)),
					depth + 1));
		return o;
	}
	if (strcmp(type, "array") == 0)
		return json_array();
	if (strcmp(type, "boolean") == 0)
		return json_true();
	if (strcmp(type, "string") != 0)
		return json_integer(json_integer_value(json_object_get(schema, "minimum")));
	snprintf(text, sizeof text, "made-%d", ++fresh);
	return json_string(text);
}

/* ---- Asking -------------------------------------------------------------------------------- */

/* What some paths cannot be asked without, and where the ids are that some take. */
static const struct { const char *path, *query;
} queries[] = {
	{ "/v2/orderbook/windows", "range_start_at=1800003600&range_end_at=1800090000" },
	{ "/v2/orderbook/", "start_at=1800090000&end_at=1800093600" },
	{ "/v2/images", "workspace=sfc:workspace:sfcompute:public" },
	{ "/v0/quote",
		"side=buy&instance_type=h100&quantity=8&min_start_date=2027-01-16T09:00:00Z&max_start_date=2027-01-"
		"16T09:00:00Z"
		"&min_duration=3600&max_duration=3600" },
};
static const struct { const char *path, *list;
} lists[] = {
	{ "/np/v1/pools", "/v2/pools" },
	{ "/np/v1/instances", "/v2/instances" },
	{ "/np/v1/skus", "/v2/instance_skus" },
	{ "/v1/vms/images", "/v2/images" },
};

static const char *query_of(const char *path)
{
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		if (strncmp(queries[i].path, path, strlen(queries[i].path)) == 0 && !strstr(path, "/{"))
			return queries[i].query;
	return NULL;
}

static const char *list_of(const char *path)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (strcmp(lists[i].path, path) == 0)
			return lists[i].list;
	return path;
}

/* "/v2/pools/{id}/x" with the id of the first thing in GET /v2/pools, or with one that nothing has. */
static void fill_path(const char *path, char out[PATH_TEXT])
{
	const char *open = strchr(path, '{'), *close = open ? strchr(open, '}') : NULL;
	char collection[PATH_TEXT], id[PROC_TEXT] = "nosuch", *text;
	json_t *list, *first;
	int status;

	if (!close) {
		snprintf(out, PATH_TEXT, "%s", path);
		return;
	}
	snprintf(collection, sizeof collection, "%.*s", (int)(open - path - 1), path);
	text = call("GET", list_of(collection), query_of(list_of(collection)), NULL, &status);
	list = text ? json_loads(text, 0, NULL) : NULL;
	first = json_array_get(json_object_get(list, "data"), 0);
	if (json_is_string(json_object_get(first, "id")))
		snprintf(id, sizeof id, "%s", json_string_value(json_object_get(first, "id")));
	json_decref(list);
	free(text);
	snprintf(collection, sizeof collection, "%.*s%s%s", (int)(open - path), path, id, close + 1);
	fill_path(collection, out);
}

static bool lines_fit(const json_t *schema, char *text, char why[SCHEMA_WHY])
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *v = json_loads(line, JSON_DECODE_ANY, NULL);
		bool good = v && jsonschema_fits(doc, schema, v, why);

		json_decref(v);
		if (!good)
			return false;
	}
	return true;
}

static bool answer_fits(const json_t *answers, int status, char *text, char why[SCHEMA_WHY])
{
	char number[12];
	const json_t *answer, *content, *json, *lines;
	json_t *v;
	bool good;

	snprintf(number, sizeof number, "%d", status);
	answer = json_object_get(answers, number);
	if (!answer && status < 400) {
		snprintf(why, SCHEMA_WHY, "this status is not in the document");
		return false;
	}
	content = json_object_get(answer ? answer : json_object_get(answers, "default"), "content");
	json = json_object_get(content, "application/json");
	lines = json_object_get(content, "application/x-ndjson");
	if (!content) {
		snprintf(why, SCHEMA_WHY, "a body where none is documented");
		return !*text;
	}
	if (lines)
		return lines_fit(json_object_get(lines, "schema"), text, why);
	if (!json)
		return true;
	v = json_loads(text, JSON_DECODE_ANY, NULL);
	snprintf(why, SCHEMA_WHY, "no JSON");
	good = v && jsonschema_fits(doc, json_object_get(json, "schema"), v, why);
	json_decref(v);
	return good;
}

static void ask(const char *path, const char *method, const json_t *operation)
{
	const json_t *wants = json_object_get(
		json_object_get(json_object_get(json_object_get(operation, "requestBody"), "content"),
			"application/json"),
		"schema");
	json_t *body = wants ? make(NULL, wants, 0) : NULL;
	char *sent = body ? json_dumps(body, JSON_COMPACT) : NULL, filled[PATH_TEXT], why[SCHEMA_WHY] = "",
	     upper[16] = "";
	char *text;
	int status;

	for (size_t i = 0; method[i] && i + 1 < sizeof upper; i++)
		upper[i] = (char)(method[i] & ~0x20);
	fill_path(path, filled);
	text = call(upper, filled, query_of(path), sent, &status);
	asked++;
	if (!text || status == 0 || (status >= 500 && status != 501) || status == 405 || strstr(text, "no such path") ||
		!answer_fits(json_object_get(operation, "responses"), status, text, why)) {
		misfits++;
		diag("%s %s -> %d %s", upper, filled, status, why);
		diag("  sent %.300s", sent ? sent : "nothing");
		diag("  got  %.400s", text ? text : "nothing");
	} else if (status < 400 || json_object_get(json_object_get(operation, "responses"), "501")) {
		went_well++;
	} else {
		diag("%s %s: %d %.160s", upper, filled, status,
			strstr(text, "\"message\"") ? strstr(text, "\"message\"") : "");
	}
	free(text);
	free(sent);
	json_decref(body);
}

static void ask_all(const char *method)
{
	const char *path;
	json_t *item;

	json_object_foreach(json_object_get(doc, "paths"), path, item)
		if (json_object_get(item, method) && strcmp(path, "/np/v1/admin/clock") != 0)
			ask(path, method, json_object_get(item, method));
}

/* ---- What is not in it --------------------------------------------------------------------- */

static void ask_strangers(void)
{
	static const char *const methods[] = { "get", "post", "patch", "put", "delete" };
	static const char *const upper[] = { "GET", "POST", "PATCH", "PUT", "DELETE" };
	const char *path;
	json_t *item;
	char longer[PATH_TEXT];
	int status;

	json_object_foreach(json_object_get(doc, "paths"), path, item) {
		for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
			if (json_object_get(item, methods[m]))
				continue;
			free(call(upper[m], path, NULL, NULL, &status));
			if (status != 405 && strangers++ < 10)
				diag("%s %s is not in the document, and answers %d", upper[m], path, status);
		}
		snprintf(longer, sizeof longer, "%s/no-such-thing/at/all", path);
		free(call("GET", longer, NULL, NULL, &status));
		if (status != 404 && strangers++ < 10)
			diag("GET %s answers %d", longer, status);
		free(call("GET", path, "no_such_name=1", NULL, &status));
		if (json_object_get(item, "get") && status != 422 && status != 501 && strangers++ < 10)
			diag("GET %s?no_such_name=1 answers %d", path, status);
	}
}

/* ---- The document itself --------------------------------------------------------------------- */

static int bad_references(const json_t *node)
{
	json_t *any = (json_t *)(uintptr_t)node, *child;
	const char *key;
	size_t i;
	int bad = 0;

	if (json_is_object(node) && json_object_get(node, "$ref") && !jsonschema_resolve(doc, node)) {
		diag("'%s' leads nowhere", json_string_value(json_object_get(node, "$ref")));
		return 1;
	}
	json_object_foreach(any, key, child)
		bad += bad_references(child);
	json_array_foreach(any, i, child)
		bad += bad_references(child);
	return bad;
}

static int bad_operations(void)
{
	const char *path, *method;
	json_t *item, *operation, *parameter;
	size_t i;
	int bad = 0;

	json_object_foreach(json_object_get(doc, "paths"), path, item)
		json_object_foreach(item, method, operation) {
			int braces = 0, parts = 0;

			for (const char *at = strchr(path, '{'); at; at = strchr(at + 1, '{'))
				braces++;
			json_array_foreach(json_object_get(operation, "parameters"), i, parameter)
				parts += strcmp(json_string_value(json_object_get(parameter, "in")), "path") == 0;
			documented++;
			if (braces == parts && *json_string_value(json_object_get(operation, "summary")) &&
				json_object_size(json_object_get(operation, "responses")) >= 2)
				continue;
			bad++;
			diag("%s %s is not told well", method, path);
		}
	return bad;
}

static void test_document(void)
{
	int status;
	char *text = call("GET", "/openapi.json", NULL, NULL, &status);

	doc = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	free(text);
	if (!ok(doc, "there is a document (%d)", status))
		return;
	is_str(json_string_value(json_object_get(doc, "openapi")), "3.1.0", "of OpenAPI 3.1");
	is_int(bad_references(doc), 0, "all its references lead somewhere");
	is_int(bad_operations(), 0, "every operation has its parameters, a summary and answers");
	ok(documented > 60, "it has %d operations", documented);
}

static void test_validator(void)
{
	json_t *odd = json_pack("{s:s, s:i}", "object", "health", "surprise", 1), *health = json_pack("{s:s}", "$ref",
		"#/components/schemas/Health");
	char why[SCHEMA_WHY];

	ok(!jsonschema_fits(doc, health, odd, why), "(an answer with a field too many would be seen: %s)", why);
	json_object_del(odd, "surprise");
	ok(!jsonschema_fits(doc, health, odd, why), "(so would one that lacks something: %s)", why);
	json_object_set_new(odd, "status", json_string("fine"));
	ok(!jsonschema_fits(doc, health, odd, why), "(and another word: %s)", why);
	json_object_set_new(odd, "status", json_string("ready"));
	ok(jsonschema_fits(doc, health, odd, why), "(and a good one is good)");
	json_decref(odd);
	json_decref(health);
}

static void run(void)
{
	test_document();
	if (!doc)
		return;
	test_validator();
	ask_all("get");
	ask_all("post");
	ask_all("get");
	ask_all("put");
	ask_all("patch");
	ask_strangers();
	ask_all("delete");
	is_int(misfits, 0, "of %d answers, all are as the document says", asked);
	ok(went_well * 2 > asked, "%d of them are no refusals, or say that it is not served", went_well);
	is_int(strangers, 0, "what is not in the document is not there");
	json_decref(doc);
}

int main(void)
{
	static const char *const options[] = { "--test-clock=1800000000", NULL };
	const char *tmp = getenv("TMPDIR");
	char dir[PROC_TEXT - 64], data[PROC_TEXT - 16];

	snprintf(dir, sizeof dir, "%s/nanopod-openapi.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		skip_all("no folder can be made");
	snprintf(data, sizeof data, "%s/market", dir);
	proc_init(&market, data);
	if (ok(proc_start(&market, options), "a market starts") &&
		ok(stage_set(&market, 4, &stage), "with something in it"))
		run();
	is_int(proc_end(&market, SIGTERM), 0, "it ends cleanly");
	proc_clear(&market);
	rmdir(dir);
	return done();
}
