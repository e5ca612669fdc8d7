/* SPDX-License-Identifier: Apache-2.0 */
/* A file of rules, read with an eye for slips: a rule that never matches spares or costs money in silence. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "marketd/policy/number.h"
#include "marketd/policy/rules_own.h"

/* What the input document has. Accounts have facts of any name. */
static const char *const field_names[] = { "account", "person", "person.id", "person.roles", "request",
	"request.action", "request.tier", "request.sku", "request.nodes", "request.hours", "request.start",
	"request.price", "request.total", "request.host", "request.method", "request.path", "grant", "grant.id",
	"grant.name", "grant.left", "time", NULL };

static const char *const condition_words[] = {
#define CONDITION_X(name, word) word,
	CONDITIONS(CONDITION_X)
#undef CONDITION_X
		NULL
};

struct rules_reader {
	const struct conf_file *file;
	const char *rule; /* its name, for errors */
	struct fail *f;
};

static int rules_complain(struct rules_reader *r, const struct conf *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int rules_complain(struct rules_reader *r, const struct conf *at, const char *fmt, ...)
{
	char why[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return r->rule ? conf_fail(r->file, at, r->f, "rule '%.64s': %s", r->rule, why)
		       : conf_fail(r->file, at, r->f, "%s", why);
}

/* conf_known(), which names the rule. */
static int rules_known(struct rules_reader *r, const struct conf *map, const char *const *keys)
{
	struct fail why = { 0 };
	const char *colon;

	if (conf_known(r->file, map, keys, &why) == 0)
		return 0;
	for (size_t i = 0; r->rule && i < map->count; i++)
		if (!str_among((char *const *)(uintptr_t)keys, map->items[i].key)) {
			colon = strstr(why.text, "unknown setting");
			return rules_complain(r, &map->items[i], "%s", colon ? colon : why.text);
		}
	if (r->f)
		*r->f = why;
	return -EINVAL;
}

/* ---- Conditions ------------------------------------------------------------------------- */

static bool field_known(const char *field)
{
	char part[FIELD_PART];
	const char *rest = field;

	while (rest && *rest)
		rest = field_part(rest, part);
	if (!rest || !*field || field[strlen(field) - 1] == '.')
		return false;
	return str_starts(field, "account.") || str_among((char *const *)(uintptr_t)field_names, field);
}

static int field_complain(struct rules_reader *r, const struct conf *at)
{
	const char *near = NULL;
	size_t best = 4;

	for (size_t i = 0; field_names[i]; i++) {
		size_t far = str_distance(at->key, field_names[i]);

		if (strchr(field_names[i], '.') && far < best) {
			best = far;
			near = field_names[i];
		}
	}
	if (near)
		return rules_complain(r, at, "unknown field '%.64s'; did you mean '%s'?", at->key, near);
	return rules_complain(r, at, "unknown field '%.64s'; write e.g. account.reputation_score or request.nodes",
		at->key);
}

static int condition_check_list(struct rules_reader *r, const struct conf *field, const struct conf *value)
{
	if (value->type != CONF_LIST || value->count == 0)
		return rules_complain(r, value, "'%.64s: %s' needs a list, e.g. {%s: [spot, reserved]}", field->key,
			value->key, value->key);
	for (size_t i = 0; i < value->count; i++)
		if (value->items[i].type != CONF_TEXT)
			return rules_complain(r, &value->items[i], "'%.64s: %s' needs texts or numbers in its list",
				field->key, value->key);
	return 0;
}

static int condition_check(struct rules_reader *r, const struct conf *field, const struct conf *value,
	enum condition_kind kind)
{
	struct number n;

	if (kind == CONDITION_IN || kind == CONDITION_NOT_IN)
		return condition_check_list(r, field, value);
	if (value->type != CONF_TEXT)
		return rules_complain(r, value, "'%.64s: %s' needs one text or number; for any of a list: in, not-in",
			field->key, condition_words[kind]);
	if (kind >= CONDITION_ABOVE && kind <= CONDITION_AT_MOST && !number_read(value->text, &n))
		return rules_complain(r, value, "'%.64s: %s' needs a number, e.g. 50 or 2.5, not '%.40s'", field->key,
			value->key, value->text);
	return 0;
}

static int condition_add(struct rules_reader *r, struct rule *to, const struct conf *field, const struct conf *value,
	enum condition_kind kind)
{
	struct condition *more;
	int rc = condition_check(r, field, value, kind);

	if (rc)
		return rc;
	more = realloc(to->conditions, (to->count + 1) * sizeof *more);
	if (!more)
		return fail_set(r->f, -ENOMEM, "cannot read '%s': out of memory", r->file->name);
	to->conditions = more;
	more[to->count++] = (struct condition){ .kind = kind, .field = field->key, .value = value };
	return 0;
}

/* "field: value" or "field: {above: 50, at-most: 100}". */
static int condition_read(struct rules_reader *r, struct rule *to, const struct conf *field)
{
	int rc = field_known(field->key) ? 0 : field_complain(r, field);

	if (rc == 0 && field->type != CONF_MAP)
		return condition_add(r, to, field, field, CONDITION_IS);
	if (rc == 0 && field->count == 0)
		return rules_complain(r, field, "'%.64s' needs a condition, e.g. {above: 50}", field->key);
	for (size_t i = 0; rc == 0 && i < field->count; i++) {
		const struct conf *value = &field->items[i];
		int kind = 0;

		while (condition_words[kind] && strcmp(condition_words[kind], value->key) != 0)
			kind++;
		if (kind == CONDITION_KINDS)
			return rules_complain(r, value,
				"'%.64s' has no condition '%.40s'; write is, not, in, not-in, above, below, "
				"at-least, at-most, has or lacks",
				field->key, value->key);
		rc = condition_add(r, to, field, value, (enum condition_kind)kind);
	}
	return rc;
}

static int rules_read_when(struct rules_reader *r, struct rule *to, const struct conf *when)
{
	int rc = 0;

	if (!when || when->type != CONF_MAP || when->count == 0)
		return rules_complain(r, when ? when : &r->file->root,
			"'when' needs conditions, e.g. 'when: {account.grant_active: true}'");
	for (size_t i = 0; rc == 0 && i < when->count; i++)
		rc = condition_read(r, to, &when->items[i]);
	return rc;
}

/* ---- What a rule gives ------------------------------------------------------------------ */

static int outcome_set(struct rules_reader *r, struct decision *d, const struct conf *value, bool limit)
{
	const char *form = decision_set(d, value->key, limit, value->text, NULL);

	return form ? rules_complain(r, value, "'%s' must be %s", value->key, form) : 0;
}

static int outcome_limits(struct rules_reader *r, struct decision *d, const struct conf *limits)
{
#define GATE_X(name, word) word,
	static const char *const keys[] = { "nodes", "hours", "price", GATES(GATE_X) NULL };
#undef GATE_X
	int rc;

	if (limits->type != CONF_MAP || limits->count == 0)
		return rules_complain(r, limits, "'limits' needs nodes, hours or price, e.g. 'limits: {nodes: 8}'");
	rc = rules_known(r, limits, keys);
	for (size_t i = 0; rc == 0 && i < limits->count; i++)
		rc = outcome_set(r, d, &limits->items[i], true);
	return rc;
}

static int outcome_deny(struct rules_reader *r, struct decision *d, const struct conf *map, const struct conf *deny)
{
	if (conf_get(map, "allow") || conf_get(map, "rate") || conf_get(map, "limits") || conf_get(map, "reason"))
		return rules_complain(r, deny, "'deny' stands alone: remove allow, rate, limits and reason");
	d->allow = false;
	if (!deny->text || !*deny->text || decision_set(d, "reason", false, deny->text, NULL))
		return rules_complain(r, deny,
			"'deny' needs the reason that the buyer reads, in one line of up to 255 bytes");
	return 0;
}

static int outcome_read(struct rules_reader *r, struct decision *d, const struct conf *map)
{
	const struct conf *allow = conf_get(map, "allow"), *deny = conf_get(map, "deny"), *rate = conf_get(map, "rate"),
			  *limits = conf_get(map, "limits"), *reason = conf_get(map, "reason");
	int rc = 0;

	d->allow = true;
	d->rate_ppm = RATE_FULL;
	if (deny)
		return outcome_deny(r, d, map, deny);
	if (!allow && !rate && !limits)
		return rules_complain(r, map,
			"a decision is missing; write 'allow: true', 'rate: 0.5', 'limits: "
			"{nodes: 8}' or 'deny: REASON'");
	if (allow && (!allow->text || strcmp(allow->text, "true") != 0))
		return rules_complain(r, allow, "'allow' must be true; to refuse, write 'deny: REASON'");
	rc = rate ? outcome_set(r, d, rate, false) : 0;
	rc = rc || !limits ? rc : outcome_limits(r, d, limits);
	return rc || !reason ? rc : outcome_set(r, d, reason, false);
}

/* ---- The file --------------------------------------------------------------------------- */

static int rules_read_name(struct rules_reader *r, const struct rules *rules, const struct conf *rule, struct rule *to)
{
	const struct conf *name = conf_get(rule, "name");
	const char *form;

	if (!name || !name->text || !*name->text)
		return rules_complain(r, rule, "this rule needs a name, e.g. 'name: students'");
	form = decision_set(&to->gives, "rule", false, name->text, NULL);
	if (form)
		return rules_complain(r, name, "the name '%.64s' must be %s", name->text, form);
	if (strcmp(name->text, "default") == 0)
		return rules_complain(r, name, "'default' is what no rule decides; give this rule another name");
	for (const struct rule *other = rules->rules; other < to; other++)
		if (strcmp(other->gives.rule, name->text) == 0)
			return rules_complain(r, name, "two rules have the name '%s'", name->text);
	r->rule = name->text;
	return 0;
}

static int rules_read_rule(struct rules_reader *r, struct rules *rules, const struct conf *rule)
{
	static const char *const keys[] = { "name", "when", "allow", "deny", "rate", "limits", "reason", NULL };
	struct rule *to = &rules->rules[rules->count];
	int rc;

	r->rule = NULL;
	if (rule->type != CONF_MAP)
		return rules_complain(r, rule, "a rule needs 'name', 'when' and what it decides");
	rc = rules_read_name(r, rules, rule, to);
	rules->count++;
	rc = rc ? rc : rules_known(r, rule, keys);
	rc = rc || conf_get(rule, "when") ? rc
					  : rules_complain(r, rule,
						    "'when' is missing; write e.g. "
						    "'when: {account.grant_active: true}'");
	rc = rc ? rc : rules_read_when(r, to, conf_get(rule, "when"));
	return rc ? rc : outcome_read(r, &to->gives, rule);
}

static int rules_read_file(struct rules_reader *r, struct rules *rules)
{
	static const char *const keys[] = { "rules", "default", "vectors", NULL };
	static const char *const ends[] = { "allow", "deny", "rate", "limits", "reason", NULL };
	const struct conf *root = &r->file->root, *list = conf_get(root, "rules"), *end = conf_get(root, "default");
	int rc = rules_known(r, root, keys);

	if (rc == 0 && list && list->type != CONF_LIST)
		rc = rules_complain(r, list, "'rules' needs a list, each with '- name: …'");
	if (rc == 0 && list && list->count) {
		rules->rules = calloc(list->count, sizeof *rules->rules);
		if (!rules->rules)
			return fail_set(r->f, -ENOMEM, "cannot read '%s': out of memory", r->file->name);
	}
	for (size_t i = 0; rc == 0 && list && i < list->count; i++)
		rc = rules_read_rule(r, rules, &list->items[i]);
	r->rule = NULL;
	if (rc == 0 && (!end || end->type != CONF_MAP))
		rc = conf_fail(r->file, end ? end : root, r->f,
			"'default' is missing; write 'default: {allow: true}' or 'default: {deny: REASON}'");
	r->rule = "default";
	rc = rc ? rc : rules_known(r, end, ends);
	rc = rc ? rc : outcome_read(r, &rules->otherwise, end);
	snprintf(rules->otherwise.rule, sizeof rules->otherwise.rule, "default");
	return rc;
}

int rules_take(struct rules **out, struct conf_file *file, struct fail *f)
{
	struct rules_reader r = { .file = file, .f = f };
	struct rules *rules = calloc(1, sizeof *rules);
	int rc = rules ? rules_read_file(&r, rules) : fail_set(f, -ENOMEM, "out of memory");

	if (rc == 0) {
		rules->file = file;
		*out = rules;
	} else {
		rules_free(rules);
	}
	return rc;
}

static int rules_take_or_free(struct rules **out, struct conf_file *file, struct fail *f)
{
	int rc = rules_take(out, file, f);

	if (rc)
		conf_free(file);
	return rc;
}

int rules_read(struct rules **out, const char *path, struct fail *f)
{
	struct conf_file *file;
	int rc = conf_read(path, &file, f);

	return rc ? rc : rules_take_or_free(out, file, f);
}

int rules_parse(struct rules **out, const char *name, const char *text, size_t len, struct fail *f)
{
	struct conf_file *file;
	int rc = conf_parse(name, text, len, &file, f);

	return rc ? rc : rules_take_or_free(out, file, f);
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		free(r->rules[i].conditions);
	free(r->rules);
	conf_free(r->file);
	free(r);
}
