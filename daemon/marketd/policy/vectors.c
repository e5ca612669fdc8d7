/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/vectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/policy/number.h"
#include "marketd/policy/rules_own.h"

struct vectors_run {
	const struct vectors *v;
	const struct conf_file *file;
	const struct rules *rules;
	size_t count, failed;
	struct fail f;
};

/* ---- Input ------------------------------------------------------------------------------ */

static json_t *vectors_value(const struct conf *value);

/* Puts the value at "account.groups"; takes it. */
static int vectors_put(json_t *into, const char *field, json_t *value)
{
	char part[FIELD_PART];
	const char *rest = field_part(field, part);
	json_t *next;

	while (rest && *rest) {
		next = json_object_get(into, part);
		if (!next) {
			next = json_object();
			json_object_set_new(into, part, next);
		}
		into = next;
		rest = field_part(rest, part);
	}
	if (!rest || !json_is_object(into) || json_object_get(into, part)) {
		json_decref(value);
		return -EINVAL;
	}
	return json_object_set_new(into, part, value);
}

static json_t *vectors_collection(const struct conf *value)
{
	json_t *made = value->type == CONF_LIST ? json_array() : json_object();
	int rc = made ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < value->count; i++) {
		json_t *one = vectors_value(&value->items[i]);

		rc = !one                     ? -EINVAL
			: value->items[i].key ? vectors_put(made, value->items[i].key, one)
					      : json_array_append_new(made, one);
	}
	if (rc == 0)
		return made;
	json_decref(made);
	return NULL;
}

/* What stands without quotes and is written as JSON's, is JSON's. */
static json_t *vectors_value(const struct conf *value)
{
	struct number n;

	if (value->type == CONF_NULL)
		return json_null();
	if (value->type != CONF_TEXT)
		return vectors_collection(value);
	if (value->plain && strcmp(value->text, "true") == 0)
		return json_true();
	if (value->plain && strcmp(value->text, "false") == 0)
		return json_false();
	if (value->plain && number_read(value->text, &n))
		return json_loads(value->text, JSON_DECODE_ANY, NULL);
	return json_string(value->text);
}

/* ---- What is wanted --------------------------------------------------------------------- */

static bool vectors_is_limit(const char *key)
{
	return strcmp(key, "nodes") == 0 || strcmp(key, "hours") == 0 || strcmp(key, "price") == 0;
}

static void vectors_no_limit(struct decision *d, const char *key)
{
	if (*key == 'n')
		d->nodes = 0;
	else if (*key == 'h')
		d->minutes = 0;
	else
		d->price = 0;
}

/* NULL, or what to write. */
static const char *vectors_want_one(struct decision *d, const struct conf *one)
{
	const char *text = one->text ? one->text : "";

	if (strcmp(one->key, "allow") == 0) {
		d->allow = strcmp(text, "true") == 0;
		return d->allow || strcmp(text, "false") == 0 ? NULL : "true or false";
	}
	if (vectors_is_limit(one->key) && strcmp(text, "none") == 0) {
		vectors_no_limit(d, one->key);
		return NULL;
	}
	return decision_set(d, one->key, vectors_is_limit(one->key), text, NULL);
}

/* Changes the decision that was got to the wanted one: what the vector does not say is as good as wanted. */
static int vectors_want(struct vectors_run *t, const struct conf *want, struct decision *d)
{
	static const char *const keys[] = { "rule", "allow", "rate", "nodes", "hours", "price", "reason", NULL };
	int rc = conf_expect(t->file, want, CONF_MAP, &t->f);

	rc = rc ? rc : conf_known(t->file, want, keys, &t->f);
	for (size_t i = 0; rc == 0 && i < want->count; i++) {
		const char *form = vectors_want_one(d, &want->items[i]);

		if (form)
			rc = conf_fail(t->file, &want->items[i], &t->f, "'%s' must be %s", want->items[i].key, form);
	}
	return rc;
}

/* ---- One after another ------------------------------------------------------------------- */

static void vectors_print(FILE *out, const char *label, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

	fprintf(out, "  %-6s  %s\n", label, text ? text : "?");
	free(text);
	json_decref(value);
}

static void vectors_print_json(FILE *out, const char *name, json_t *input, json_t *want, json_t *got)
{
	json_t *line = json_pack("{s:s?, s:O, s:o, s:o}", "name", name, "input", input, "wanted", want, "got", got);
	char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

	fprintf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(line);
}

static bool vectors_equal(const struct decision *a, const struct decision *b)
{
	return a->allow == b->allow && a->rate_ppm == b->rate_ppm && a->nodes == b->nodes && a->minutes == b->minutes &&
		a->price == b->price && strcmp(a->rule, b->rule) == 0 && strcmp(a->reason, b->reason) == 0;
}

static int vectors_ask(struct vectors_run *t, const struct conf *vector, const char *name, json_t *input)
{
	struct decision got, want;
	bool equal;
	int rc;

	rules_decide(t->rules, input, &got);
	want = got;
	rc = vectors_want(t, conf_get(vector, "want"), &want);
	if (rc)
		return rc;
	equal = vectors_equal(&want, &got);
	t->count++;
	t->failed += !equal;
	if (t->v->json) {
		vectors_print_json(t->v->out, name, input, decision_json(&want), decision_json(&got));
	} else if (!equal) {
		fprintf(t->v->out, "'%s', line %u:\n", name ? name : "no name", vector->line);
		vectors_print(t->v->out, "input", json_incref(input));
		vectors_print(t->v->out, "wanted", decision_json(&want));
		vectors_print(t->v->out, "got", decision_json(&got));
	}
	return 0;
}

static int vectors_one(struct vectors_run *t, const struct conf *vector)
{
	static const char *const keys[] = { "name", "input", "want", NULL };
	const struct conf *given = conf_get(vector, "input"), *name = conf_get(vector, "name");
	int rc = conf_expect(t->file, vector, CONF_MAP, &t->f);
	json_t *input;

	rc = rc ? rc : conf_known(t->file, vector, keys, &t->f);
	if (rc == 0 && (!given || given->type != CONF_MAP || !conf_get(vector, "want")))
		rc = conf_fail(t->file, vector, &t->f,
			"a vector needs 'input: {account.reputation_score: 51}' and 'want: {rate: 0}'");
	if (rc)
		return rc;
	input = vectors_value(given);
	rc = input ? vectors_ask(t, vector, name ? name->text : NULL, input)
		   : conf_fail(t->file, given, &t->f,
			     "'input' has a field in a wrong place, twice, or a number of more than 18 digits without "
			     "quotes");
	json_decref(input);
	return rc;
}

static int vectors_all(struct vectors_run *t)
{
	const struct conf *list = conf_get(&t->file->root, "vectors");
	int rc = 0;

	if (!list || list->type != CONF_LIST || list->count == 0)
		return conf_fail(t->file, list ? list : &t->file->root, &t->f,
			"'vectors' is missing; write e.g. 'vectors: [{input: {account.reputation_score: 51}, want: "
			"{rate: "
			"0}}]'");
	for (size_t i = 0; rc == 0 && i < list->count; i++)
		rc = vectors_one(t, &list->items[i]);
	return rc;
}

static int vectors_test(struct vectors_run *t, const struct rules *rules)
{
	struct conf_file *file;
	int rc = conf_read(t->v->path, &file, &t->f);

	if (rc)
		return rc;
	t->file = file;
	t->rules = rules;
	rc = vectors_all(t);
	if (rc == 0 && !t->v->json)
		fprintf(t->v->out, "%zu vectors, %zu failed\n", t->count, t->failed);
	conf_free(file);
	return rc;
}

int vectors_run(const struct vectors *v)
{
	struct vectors_run t = { .v = v };
	bool check = strcmp(v->verb, "check") == 0;
	struct rules *rules = NULL;
	int rc = rules_read(&rules, v->policy ? v->policy : v->path, &t.f);

	if (rc == 0 && check)
		fprintf(v->out, "'%s': %zu rules are right\n", v->path, rules->count);
	else if (rc == 0)
		rc = vectors_test(&t, rules);
	rules_free(rules);
	if (rc)
		fprintf(v->err, "nanopod-marketd: %s\n", t.f.text);
	if (fflush(v->out) != 0)
		rc = -EIO;
	return rc != 0 || t.failed > 0;
}
