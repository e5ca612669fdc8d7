/* SPDX-License-Identifier: Apache-2.0 */
#include "jsonschema.h"

#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct look {
	const json_t *doc;
	char *why, path[256];
	int depth;
};

static bool fits(struct look *l, const json_t *schema, const json_t *v);

static bool bad(struct look *l, const char *what)
{
	snprintf(l->why, SCHEMA_WHY, "%s: %s", l->path[0] ? l->path : "the whole", what);
	return false;
}

const json_t *jsonschema_resolve(const json_t *doc, const json_t *schema)
{
	const char *ref;

	for (int i = 0; i < DEPTH_MAX && schema && (ref = json_string_value(json_object_get(schema, "$ref"))) != NULL;
		i++) {
		if (strncmp(ref, "#/components/schemas/", 21) != 0)
			return NULL;
		schema = json_object_get(json_object_get(json_object_get(doc, "components"), "schemas"), ref + 21);
	}
	return schema;
}

static bool is_type(const char *type, const json_t *v)
{
	return strcmp(type, "object") == 0 ? json_is_object(v) : strcmp(type, "array") == 0 ? json_is_array(v) :
		strcmp(type, "string") == 0 ? json_is_string(v) : strcmp(type, "integer") == 0 ? json_is_integer(v) :
		strcmp(type, "number") == 0 ? json_is_number(v) : strcmp(type, "boolean") == 0 ? json_is_boolean(v) :
		strcmp(type, "null") == 0 && json_is_null(v);
}

static bool matches(const char *pattern, const char *text)
{
	regex_t re;
	bool yes;

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	yes = regexec(&re, text, 0, NULL, 0) == 0;
	regfree(&re);
	return yes;
}

static bool member(struct look *l, const char *name, const json_t *schema, const json_t *v)
{
	size_t at = strlen(l->path);
	bool yes;

	snprintf(l->path + at, sizeof l->path - at, "%s%.60s", at ? "." : "", name);
	yes = fits(l, schema, v);
	l->path[at] = '\0';
	return yes;
}

static bool members(struct look *l, const json_t *schema, json_t *v)
{
	const json_t *fields = json_object_get(schema, "properties"),
		     *more = json_object_get(schema, "additionalProperties");
	const char *name;
	json_t *field, *word;
	size_t i;

	json_object_foreach(v, name, field) {
		const json_t *known = json_object_get(fields, name);

		if (!known && json_is_false(more)) {
			snprintf(l->path + strlen(l->path), sizeof l->path - strlen(l->path), ".%.60s", name);
			return bad(l, "is not in the document");
		}
		if ((known || json_is_object(more)) && !member(l, name, known ? known : more, field))
			return false;
	}
	json_array_foreach(json_object_get(schema, "required"), i, word)
		if (!json_object_get(v, json_string_value(word))) {
		snprintf(l->path + strlen(l->path), sizeof l->path - strlen(l->path), ".%.60s",
			json_string_value(word));
		return bad(l, "is missing");
		}
	return true;
}

static bool any_of(struct look *l, const json_t *forms, const json_t *v)
{
	char first[SCHEMA_WHY] = "", path[sizeof l->path];
	json_t *form;
	size_t i;

	memcpy(path, l->path, sizeof path);
	json_array_foreach(forms, i, form) {
		if (fits(l, form, v))
			return true;
		if (!first[0])
			memcpy(first, l->why, sizeof first);
		memcpy(l->path, path, sizeof path);
	}
	snprintf(l->why, SCHEMA_WHY, "none of the forms; the first: %.300s", first);
	return false;
}

static bool in_list(const json_t *list, const json_t *v)
{
	json_t *word;
	size_t i;

	json_array_foreach(list, i, word)
		if (json_equal(word, v))
			return true;
	return false;
}

static bool bound(const char *key, json_int_t limit, const json_t *v, bool *known)
{
	bool least = strncmp(key, "min", 3) == 0;
	json_int_t n;

	*known = true;
	if (strcmp(key + 3, "imum") == 0)
		n = json_integer_value(v);
	else if (strcmp(key + 3, "Length") == 0)
		n = (json_int_t)json_string_length(v);
	else if (strcmp(key + 3, "Items") == 0)
		n = (json_int_t)json_array_size(v);
	else if (strcmp(key + 3, "Properties") == 0)
		n = (json_int_t)json_object_size(v);
	else
		return *known = false;
	return least ? n >= limit : n <= limit;
}

static bool keyword(struct look *l, const json_t *schema, const char *key, const json_t *rule, const json_t *v)
{
	json_t *value = (json_t *)(uintptr_t)v, *row;
	char number[24];
	size_t i;
	bool known;

	if (strcmp(key, "description") == 0 || strcmp(key, "required") == 0 || strcmp(key, "additionalProperties") == 0)
		return true;
	if (strcmp(key, "type") == 0) {
		if (!is_type(json_string_value(rule), v))
			return bad(l, json_string_value(rule));
		return json_is_object(v) ? members(l, schema, value) : true;
	}
	if (strcmp(key, "properties") == 0)
		return true;  /* with type */
	if (strcmp(key, "items") == 0) {
		json_array_foreach(value, i, row) {
			snprintf(number, sizeof number, "%zu", i);
			if (!member(l, number, rule, row))
				return false;
		}
		return true;
	}
	if (strcmp(key, "anyOf") == 0)
		return any_of(l, rule, v);
	if (strcmp(key, "const") == 0)
		return json_equal(rule, v) || bad(l, "is another constant");
	if (strcmp(key, "enum") == 0)
		return in_list(rule, v) || bad(l, "is none of the words");
	if (strcmp(key, "pattern") == 0)
		return matches(json_string_value(rule), json_string_value(v)) || bad(l, json_string_value(rule));
	if (strncmp(key, "min", 3) == 0 || strncmp(key, "max", 3) == 0)
		return bound(key, json_integer_value(rule), v, &known) ||
			bad(l, known ? key : "a keyword that nobody knows");
	return bad(l, "a keyword that nobody knows");
}

static bool all_keywords(struct look *l, const json_t *schema, const json_t *v)
{
	json_t *rules, *rule;
	const char *key;

	rules = (json_t *)(uintptr_t)schema;
	rule = json_object_get(rules, "type");  /* first: the rest relies on it */
	if (rule && !keyword(l, schema, "type", rule, v))
		return false;
	json_object_foreach(rules, key, rule)
		if (strcmp(key, "type") != 0 && !keyword(l, schema, key, rule, v))
			return false;
	return true;
}

static bool fits(struct look *l, const json_t *schema, const json_t *v)
{
	bool yes;

	schema = jsonschema_resolve(l->doc, schema);
	if (!schema || l->depth >= DEPTH_MAX)
		return bad(l, "a reference that leads nowhere");
	l->depth++;
	yes = all_keywords(l, schema, v);
	l->depth--;
	return yes;
}

bool jsonschema_fits(const json_t *doc, const json_t *schema, const json_t *value, char why[SCHEMA_WHY])
{
	struct look l = { .doc = doc, .why = why };

	why[0] = '\0';
	return fits(&l, schema, value);
}
