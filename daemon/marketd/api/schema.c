/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/schema.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "market/reason.h"

enum { DEPTH_MAX = 48, WORD_MAX = 128 };

struct schemas {
	const struct schema *const *tables;
	struct table by_name;   /* const struct schema */
	struct table patterns;  /* regex_t */
};

/* The path to the value being checked: names joined by points, cut back for the next one. */
struct place {
	struct schemas *s;
	struct schema_fault *why;
	size_t len;
	int depth;
};

static const struct { const char *word; enum schema_type type; } words[] = {
	{ "string", SCHEMA_STRING }, { "integer", SCHEMA_INTEGER }, { "number", SCHEMA_NUMBER },
	{ "boolean", SCHEMA_BOOLEAN }, { "any", SCHEMA_ANY },
};

static enum schema_type word_type(const char *word)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].type;
	return SCHEMA_END;
}

const struct schema *schemas_find(const struct schemas *s, const char *name)
{
	return table_get(&s->by_name, name);
}

const struct schema *const *schemas_tables(const struct schemas *s)
{
	return s->tables;
}

const struct schema_field *schema_field_at(const struct schemas *s, const struct schema *of, size_t i)
{
	for (int depth = 0; of && depth < DEPTH_MAX; depth++) {
		const struct schema *base = of->base ? schemas_find(s, of->base) : NULL;
		size_t before = 0;

		if (base)
			while (schema_field_at(s, base, before))
				before++;
		if (i >= before) {
			for (size_t n = 0; of->fields && of->fields[n].type != SCHEMA_END; n++)
				if (n == i - before)
					return &of->fields[n];
			return NULL;
		}
		of = base;
	}
	return NULL;
}

/* ---- Making ready ----------------------------------------------------------------------- */

static int add_pattern(struct schemas *s, const char *pattern, struct fail *f)
{
	regex_t *re;

	if (!pattern || table_get(&s->patterns, pattern))
		return 0;
	re = malloc(sizeof *re);
	if (!re)
		return fail_set(f, -ENOMEM, "out of memory");
	if (regcomp(re, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
		free(re);
		return fail_set(f, -EINVAL, "'%s' is not a pattern", pattern);
	}
	if (table_set(&s->patterns, pattern, re) != 0) {
		regfree(re);
		free(re);
		return fail_set(f, -ENOMEM, "out of memory");
	}
	return 0;
}

/* The n-th of "a|b|c" into room; false past the end. */
static bool nth_word(const char *list, size_t n, char room[WORD_MAX])
{
	for (size_t i = 0; list; i++) {
		const char *bar = strchr(list, '|');
		size_t len = bar ? (size_t)(bar - list) : strlen(list);

		if (i == n) {
			snprintf(room, WORD_MAX, "%.*s", (int)len, list);
			return true;
		}
		list = bar ? bar + 1 : NULL;
	}
	return false;
}

static int schema_known(struct schemas *s, const char *owner, const char *name, struct fail *f)
{
	if (!name || (word_type(name) == SCHEMA_END && !schemas_find(s, name)))
		return fail_set(f, -EINVAL, "'%s' refers to the unknown schema '%s'", owner, name ? name : "nothing");
	return 0;
}

static int ready_type(struct schemas *s, const char *owner, enum schema_type type, const char *of, struct fail *f)
{
	char word[WORD_MAX];
	int rc = 0;

	switch (type) {
	case SCHEMA_STRING:
		return add_pattern(s, of, f);
	case SCHEMA_REF:
	case SCHEMA_MAP:
	case SCHEMA_ARRAY:
		return schema_known(s, owner, of, f);
	case SCHEMA_ONE_OF:
		for (size_t i = 0; rc == 0 && nth_word(of, i, word); i++)
			rc = schema_known(s, owner, word, f);
		return rc;
	case SCHEMA_ENUM:
		return of ? 0 : fail_set(f, -EINVAL, "'%s' has an enum without words", owner);
	default:
		return 0;
	}
}

static int schema_ready(struct schemas *s, const struct schema *of, struct fail *f)
{
	int rc = ready_type(s, of->name, of->type, of->of, f);

	if (rc == 0 && of->base)
		rc = schema_known(s, of->name, of->base, f);
	for (const struct schema_field *d = of->fields; rc == 0 && d && d->type != SCHEMA_END; d++)
		rc = ready_type(s, of->name, d->type, d->of, f);
	return rc;
}

int schemas_new(const struct schema *const *tables, struct schemas **out, struct fail *f)
{
	struct schemas *s = calloc(1, sizeof *s);
	int rc = 0;

	if (!s)
		return fail_set(f, -ENOMEM, "out of memory");
	s->tables = tables;
	table_init(&s->by_name);
	table_init(&s->patterns);
	for (size_t t = 0; rc == 0 && tables[t]; t++)
		for (const struct schema *of = tables[t]; rc == 0 && of->name; of++) {
			if (table_get(&s->by_name, of->name))
				rc = fail_set(f, -EINVAL, "the schema '%s' exists twice", of->name);
			else if (table_set(&s->by_name, of->name, (void *)(uintptr_t)of) != 0)
				rc = fail_set(f, -ENOMEM, "out of memory");
		}
	for (size_t t = 0; rc == 0 && tables[t]; t++)
		for (const struct schema *of = tables[t]; rc == 0 && of->name; of++)
			rc = schema_ready(s, of, f);
	if (rc != 0) {
		schemas_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void schemas_free(struct schemas *s)
{
	const char *key;
	void *value;

	if (!s)
		return;
	for (size_t at = 0; table_next(&s->patterns, &at, &key, &value);) {
		regfree(value);
		free(value);
	}
	table_release(&s->patterns);
	table_release(&s->by_name);
	free(s);
}

/* ---- Checking --------------------------------------------------------------------------- */

static int check_named(struct place *p, const char *name, const json_t *v);

static int __attribute__((format(printf, 3, 4))) schema_wrong(struct place *p, int reason, const char *fmt, ...)
{
	va_list ap;

	p->why->reason = reason;
	va_start(ap, fmt);
	vsnprintf(p->why->text, sizeof p->why->text, fmt, ap);
	va_end(ap);
	return reason;
}

/* A client's field names may be anything: only printable characters go back to it. */
static size_t schema_enter(struct place *p, const char *name)
{
	size_t old = p->len, at = old;
	char *field = p->why->field;

	if (at && at + 1 < SCHEMA_PATH_MAX)
		field[at++] = '.';
	for (; *name && at + 1 < SCHEMA_PATH_MAX; name++)
		field[at++] = *name > ' ' && *name < 127 ? *name : '?';
	field[at] = '\0';
	p->len = at;
	return old;
}

static void schema_leave(struct place *p, size_t old)
{
	p->len = old;
	p->why->field[old] = '\0';
}

static int check_string(struct place *p, const char *pattern, int64_t min, int64_t max, const json_t *v)
{
	int64_t len = (int64_t)json_string_length(v);

	if (!json_is_string(v))
		return schema_wrong(p, REASON_INVALID, "must be a string");
	if (max == 0)
		max = SCHEMA_TEXT_MAX;
	if (len < min)
		return schema_wrong(p, REASON_INVALID, "must have at least %lld bytes", (long long)min);
	if (len > max)
		return schema_wrong(p, REASON_INVALID, "must have up to %lld bytes", (long long)max);
	if (pattern && regexec(table_get(&p->s->patterns, pattern), json_string_value(v), 0, NULL, 0) != 0)
		return schema_wrong(p, REASON_INVALID, "must match %s", pattern);
	return 0;
}

static int check_integer(struct place *p, int64_t min, int64_t max, const json_t *v)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v))
		return schema_wrong(p, REASON_INVALID, "must be a whole number");
	if ((min != 0 || max != 0) && (n < min || n > max))
		return schema_wrong(p, REASON_INVALID, "must be between %lld and %lld", (long long)min, (long long)max);
	return 0;
}

static int check_enum(struct place *p, const char *list, const json_t *v)
{
	const char *text = json_string_value(v);
	char word[WORD_MAX];

	for (size_t i = 0; text && nth_word(list, i, word); i++)
		if (strcmp(word, text) == 0)
			return 0;
	return strchr(list, '|') ? schema_wrong(p, REASON_INVALID, "must be one of %s", list)
				 : schema_wrong(p, REASON_INVALID, "must be '%s'", list);
}

static int schema_check_count(struct place *p, int64_t min, int64_t max, size_t count, const char *what)
{
	if ((int64_t)count < min)
		return schema_wrong(p, REASON_INVALID, "must have at least %lld %s", (long long)min, what);
	if (max && (int64_t)count > max)
		return schema_wrong(p, REASON_INVALID, "must have up to %lld %s", (long long)max, what);
	return 0;
}

static int check_array(struct place *p, const char *of, int64_t min, int64_t max, const json_t *v)
{
	int rc;

	if (!json_is_array(v))
		return schema_wrong(p, REASON_INVALID, "must be an array");
	rc = schema_check_count(p, min, max, json_array_size(v), "members");
	for (size_t i = 0; rc == 0 && i < json_array_size(v); i++) {
		char number[24];
		size_t old;

		snprintf(number, sizeof number, "%zu", i);
		old = schema_enter(p, number);
		rc = check_named(p, of, json_array_get(v, i));
		if (rc == 0)
			schema_leave(p, old);
	}
	return rc;
}

static int schema_check_map(struct place *p, const char *of, int64_t min, int64_t max, const json_t *v)
{
	json_t *map = (json_t *)(uintptr_t)v; /* jansson iterates over non-const objects only */
	int rc;

	if (!json_is_object(v))
		return schema_wrong(p, REASON_INVALID, "must be an object");
	rc = schema_check_count(p, min, max, json_object_size(v), "members");
	for (void *at = json_object_iter(map); rc == 0 && at; at = json_object_iter_next(map, at)) {
		size_t old = schema_enter(p, json_object_iter_key(at));

		rc = check_named(p, of, json_object_iter_value(at));
		if (rc == 0)
			schema_leave(p, old);
	}
	return rc;
}

/* Chooses the object whose constants ("side": "buy") all match the value. */
static bool constants_fit(struct schemas *s, const char *name, const json_t *v)
{
	const struct schema *of = schemas_find(s, name);
	const struct schema_field *d;
	bool some = false;

	for (int depth = 0; of && of->type == SCHEMA_REF && depth < DEPTH_MAX; depth++)
		of = schemas_find(s, of->of);
	if (!of || of->type != SCHEMA_OBJECT || !json_is_object(v))
		return false;
	for (size_t i = 0; (d = schema_field_at(s, of, i)) != NULL; i++) {
		const char *text = json_string_value(json_object_get(v, d->name));

		if (d->type != SCHEMA_ENUM || !(d->flags & FIELD_REQUIRED) || strchr(d->of, '|'))
			continue;
		if (!text || strcmp(text, d->of) != 0)
			return false;
		some = true;
	}
	return some;
}

static int check_one_of(struct place *p, const char *list, const json_t *v)
{
	struct schema_fault first = { 0 };
	char word[WORD_MAX];
	size_t old = p->len;

	for (size_t i = 0; nth_word(list, i, word); i++)
		if (constants_fit(p->s, word, v))
			return check_named(p, word, v);
	for (size_t i = 0; nth_word(list, i, word); i++) {
		if (check_named(p, word, v) == 0)
			return 0;
		if (i == 0)
			first = *p->why;
		schema_leave(p, old);
	}
	*p->why = first;
	p->len = strlen(first.field);
	return first.reason;
}

static int check_type(struct place *p, enum schema_type type, const char *of, int64_t min, int64_t max, const json_t *v)
{
	switch (type) {
	case SCHEMA_STRING:
		return check_string(p, of, min, max, v);
	case SCHEMA_INTEGER:
		return check_integer(p, min, max, v);
	case SCHEMA_NUMBER:
		return json_is_number(v) ? 0 : schema_wrong(p, REASON_INVALID, "must be a number");
	case SCHEMA_BOOLEAN:
		return json_is_boolean(v) ? 0 : schema_wrong(p, REASON_INVALID, "must be true or false");
	case SCHEMA_ENUM:
		return check_enum(p, of, v);
	case SCHEMA_MAP:
		return schema_check_map(p, of, min, max, v);
	case SCHEMA_ARRAY:
		return check_array(p, of, min, max, v);
	case SCHEMA_REF:
		return check_named(p, of, v);
	case SCHEMA_ONE_OF:
		return check_one_of(p, of, v);
	case SCHEMA_ANY:
		return 0;
	case SCHEMA_OBJECT:
	case SCHEMA_END:
		break;
	}
	return schema_wrong(p, REASON_INTERNAL, "a schema of the market is wrong");
}

static const struct schema_field *field_named(struct schemas *s, const struct schema *of, const char *name)
{
	const struct schema_field *d;

	for (size_t i = 0; (d = schema_field_at(s, of, i)) != NULL; i++)
		if (strcmp(d->name, name) == 0)
			return d;
	return NULL;
}

static int check_field(struct place *p, const struct schema_field *d, const json_t *v)
{
	size_t old = schema_enter(p, d->name);
	int rc = 0;

	if (!v)
		rc = d->flags & FIELD_REQUIRED ? schema_wrong(p, REASON_INVALID, "is required") : 0;
	else if (!json_is_null(v) || !(d->flags & FIELD_NULL))
		rc = check_type(p, d->type, d->of, d->min, d->max, v);
	if (rc == 0)
		schema_leave(p, old);
	return rc;
}

static int check_object(struct place *p, const struct schema *of, const json_t *v)
{
	json_t *object = (json_t *)(uintptr_t)v;
	const struct schema_field *d;
	int rc = 0;

	if (!json_is_object(v))
		return schema_wrong(p, REASON_INVALID, "must be an object");
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
		if (!field_named(p->s, of, json_object_iter_key(at))) {
			schema_enter(p, json_object_iter_key(at));
			return schema_wrong(p, REASON_UNKNOWN_FIELD, "is an unknown field");
		}
	for (size_t i = 0; rc == 0 && (d = schema_field_at(p->s, of, i)) != NULL; i++)
		rc = check_field(p, d, json_object_get(v, d->name));
	return rc;
}

static int check_named(struct place *p, const char *name, const json_t *v)
{
	enum schema_type word = word_type(name);
	const struct schema *of = schemas_find(p->s, name);
	int rc;

	if (p->depth >= DEPTH_MAX)
		return schema_wrong(p, REASON_INVALID, "is nested too deep");
	p->depth++;
	if (of)
		rc = of->type == SCHEMA_OBJECT ? check_object(p, of, v)
					       : check_type(p, of->type, of->of, of->min, of->max, v);
	else
		rc = check_type(p, word, NULL, 0, 0, v);
	p->depth--;
	return rc;
}

int schema_check(struct schemas *s, const char *name, const json_t *value, struct schema_fault *why)
{
	struct place p = { .s = s, .why = why };

	memset(why, 0, sizeof *why);
	return check_named(&p, name, value);
}
