/* SPDX-License-Identifier: Apache-2.0 */
/* What the schema tables let through, and what they say of the rest. */
#include <jansson.h>

#include "market/reason.h"
#include "marketd/api/schema.h"

#include "../../lib/tap.h"

static const struct schema_field base[] = {
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, "^x_[a-z]+$", 0, 20, NULL },
	{ 0 },
};
static const struct schema_field buy[] = {
	{ "side", SCHEMA_ENUM, FIELD_REQUIRED, "buy", 0, 0, NULL },
	{ "limit", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 1, 10, NULL },
	{ 0 },
};
static const struct schema_field sell[] = {
	{ "side", SCHEMA_ENUM, FIELD_REQUIRED, "sell", 0, 0, NULL },
	{ "floor", SCHEMA_INTEGER, 0, NULL, 0, 0, NULL },
	{ 0 },
};
static const struct schema_field whole[] = {
	{ "kind", SCHEMA_ENUM, 0, "red|green", 0, 0, NULL },
	{ "on", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ "list", SCHEMA_ARRAY, 0, "Word", 1, 2, NULL },
	{ "tags", SCHEMA_MAP, 0, "Word", 0, 3, NULL },
	{ "order", SCHEMA_ONE_OF, 0, "Buy|Sell", 0, 0, NULL },
	{ "target", SCHEMA_ONE_OF, 0, "Word|integer", 0, 0, NULL },
	{ "any", SCHEMA_ANY, 0, NULL, 0, 0, NULL },
	{ "rate", SCHEMA_NUMBER, 0, NULL, 0, 0, NULL },
	{ "self", SCHEMA_REF, 0, "Whole", 0, 0, NULL },
	{ 0 },
};
static const struct schema rows[] = {
	{ "Word", SCHEMA_STRING, NULL, 1, 5, NULL, NULL, NULL },
	{ "Base", SCHEMA_OBJECT, NULL, 0, 0, NULL, base, NULL },
	{ "Buy", SCHEMA_OBJECT, NULL, 0, 0, NULL, buy, NULL },
	{ "Sell", SCHEMA_OBJECT, NULL, 0, 0, NULL, sell, NULL },
	{ "Whole", SCHEMA_OBJECT, NULL, 0, 0, "Base", whole, NULL },
	{ 0 },
};
static const struct schema *const tables[] = { rows, NULL };

static const struct { const char *json; int reason; const char *field, *text;
} cases[] = {
	{ "{\"id\":\"x_a\"}", 0, "", "" },
	{ "{}", REASON_INVALID, "id", "is required" },
	{ "[]", REASON_INVALID, "", "must be an object" },
	{ "{\"id\":\"y_a\"}", REASON_INVALID, "id", "must match" },
	{ "{\"id\":7}", REASON_INVALID, "id", "must be a string" },
	{ "{\"id\":null}", REASON_INVALID, "id", "must be a string" },
	{ "{\"id\":\"x_aaaaaaaaaaaaaaaaaaaaaaaaa\"}", REASON_INVALID, "id", "up to 20 bytes" },
	{ "{\"id\":\"x_a\",\"colour\":1}", REASON_UNKNOWN_FIELD, "colour", "is an unknown field" },
	{ "{\"id\":\"x_a\",\"a\\u0007b\":1}", REASON_UNKNOWN_FIELD, "a?b", "is an unknown field" },
	{ "{\"id\":\"x_a\",\"kind\":\"green\"}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"kind\":\"gree\"}", REASON_INVALID, "kind", "one of red|green" },
	{ "{\"id\":\"x_a\",\"on\":null}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"on\":1}", REASON_INVALID, "on", "true or false" },
	{ "{\"id\":\"x_a\",\"list\":[\"a\",\"b\"]}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"list\":[]}", REASON_INVALID, "list", "at least 1 members" },
	{ "{\"id\":\"x_a\",\"list\":[\"a\",\"b\",\"c\"]}", REASON_INVALID, "list", "up to 2 members" },
	{ "{\"id\":\"x_a\",\"list\":[\"a\",\"bbbbbb\"]}", REASON_INVALID, "list.1", "up to 5 bytes" },
	{ "{\"id\":\"x_a\",\"tags\":{\"k\":\"v\"}}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"tags\":{\"k\":\"\"}}", REASON_INVALID, "tags.k", "at least 1 bytes" },
	{ "{\"id\":\"x_a\",\"order\":{\"side\":\"buy\",\"limit\":3}}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"order\":{\"side\":\"sell\"}}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"order\":{\"side\":\"sell\",\"limit\":3}}", REASON_UNKNOWN_FIELD, "order.limit",
		"is an unknown field" },
	{ "{\"id\":\"x_a\",\"order\":{\"side\":\"buy\",\"limit\":30}}", REASON_INVALID, "order.limit",
		"between 1 and 10" },
	{ "{\"id\":\"x_a\",\"order\":{\"side\":\"buy\",\"limit\":3.0}}", REASON_INVALID, "order.limit",
		"a whole number" },
	{ "{\"id\":\"x_a\",\"target\":5}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"target\":\"five\"}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"target\":[]}", REASON_INVALID, "target", "must be a string" },
	{ "{\"id\":\"x_a\",\"any\":[{\"x\":1}]}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"rate\":1.5}", 0, "", "" },
	{ "{\"id\":\"x_a\",\"rate\":\"1.5\"}", REASON_INVALID, "rate", "a number" },
	{ "{\"id\":\"x_a\",\"self\":{\"id\":\"x_b\",\"self\":{\"id\":\"x_c\",\"on\":3}}}", REASON_INVALID,
		"self.self.on", "true or false" },
};

static void test_cases(struct schemas *s)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *v = json_loads(cases[i].json, 0, NULL);
		struct schema_fault why;
		int rc = schema_check(s, "Whole", v, &why);

		ok(rc == cases[i].reason && strcmp(why.field, cases[i].field) == 0 && strstr(why.text, cases[i].text),
			"%s: %d '%s' %s", cases[i].json, rc, why.field, why.text);
		json_decref(v);
	}
}

/* However deep and long it is, it ends, and the place fits its room. */
static void test_depth(struct schemas *s)
{
	json_t *v = json_pack("{s:s, s:i}", "id", "x_a", "on", 1);
	struct schema_fault why;

	for (int i = 0; i < 200; i++)
		v = json_pack("{s:s, s:o}", "id", "x_a", "self", v);
	is_int(schema_check(s, "Whole", v, &why), REASON_INVALID, "what is nested too deep is refused");
	has_str(why.text, "too deep", "and told: %s", why.text);
	ok(strlen(why.field) < SCHEMA_PATH_MAX, "with a place that fits (%zu)", strlen(why.field));
	json_decref(v);
}

static void test_tables(void)
{
	static const struct schema twice[] = { { "A", SCHEMA_ANY, NULL, 0, 0, NULL, NULL, NULL },
		{ "A", SCHEMA_ANY, NULL, 0, 0, NULL, NULL, NULL }, { 0 } };
	static const struct schema nowhere[] = { { "A", SCHEMA_REF, "B", 0, 0, NULL, NULL, NULL }, { 0 } };
	static const struct schema bent[] = { { "A", SCHEMA_STRING, "^[a$", 0, 0, NULL, NULL, NULL }, { 0 } };
	const struct schema *bad[] = { twice, NULL };
	struct schemas *s = NULL;
	struct fail f;

	ok(schemas_new(bad, &s, &f) < 0, "a name that is there twice is found: %s", f.text);
	bad[0] = nowhere;
	ok(schemas_new(bad, &s, &f) < 0, "a reference to nothing too: %s", f.text);
	bad[0] = bent;
	ok(schemas_new(bad, &s, &f) < 0, "and a pattern that is none: %s", f.text);
}

int main(void)
{
	struct schemas *s = NULL;
	struct fail f = { 0 };

	if (!ok(schemas_new(tables, &s, &f) == 0, "the tables are good %s", f.text))
		return done();
	is_str(schema_field_at(s, schemas_find(s, "Whole"), 0)->name, "id", "the base's fields come first");
	is_str(schema_field_at(s, schemas_find(s, "Whole"), 1)->name, "kind", "then its own");
	ok(!schema_field_at(s, schemas_find(s, "Whole"), 10), "then none");
	test_cases(s);
	test_depth(s);
	test_tables();
	schemas_free(s);
	return done();
}
