/* SPDX-License-Identifier: Apache-2.0 */
/* Asks rules. Nothing here fails: what the input lacks, or has in another type, makes a condition false. */
#include "marketd/policy/rules.h"

#include <stdio.h>
#include <string.h>

#include "marketd/policy/number.h"
#include "marketd/policy/rules_own.h"

static const struct decision decision_free = { .allow = true, .rate_ppm = RATE_FULL };

const char *field_part(const char *field, char part[FIELD_PART])
{
	size_t len = strcspn(field, ".");

	if (len == 0 || len >= FIELD_PART)
		return NULL;
	memcpy(part, field, len);
	part[len] = '\0';
	return field + len + (field[len] == '.');
}

static const json_t *rules_find(const json_t *input, const char *field)
{
	char part[FIELD_PART];

	while (input && field && *field) {
		field = field_part(field, part);
		input = field ? json_object_get(input, part) : NULL;
	}
	return input;
}

/* Numbers by their value, all else by its bytes. */
static bool condition_same(const char *has, const char *wanted)
{
	struct number a, b;

	if (number_read(has, &a) && number_read(wanted, &b))
		return number_compare(&a, &b) == 0;
	return strcmp(has, wanted) == 0;
}

static bool condition_in(const char *has, const struct conf *list)
{
	bool in = false;

	for (size_t i = 0; !in && i < list->count; i++)
		in = condition_same(has, list->items[i].text);
	return in;
}

static bool condition_list_has(const json_t *list, const char *wanted)
{
	char room[NUMBER_TEXT];
	const char *has;
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		has = number_scalar(one, room);
		if (has && condition_same(has, wanted))
			return true;
	}
	return false;
}

/* How the field compares with the value; false: one of both is no number. */
static bool condition_order(const char *has, const char *wanted, int *order)
{
	struct number a, b;

	if (!number_read(has, &a) || !number_read(wanted, &b))
		return false;
	*order = number_compare(&a, &b);
	return true;
}

static bool condition_scalar(const struct condition *c, const char *has)
{
	const char *wanted = c->value->text;
	int order;

	switch (c->kind) {
	case CONDITION_IS:
		return condition_same(has, wanted);
	case CONDITION_NOT:
		return !condition_same(has, wanted);
	case CONDITION_IN:
		return condition_in(has, c->value);
	case CONDITION_NOT_IN:
		return !condition_in(has, c->value);
	case CONDITION_ABOVE:
		return condition_order(has, wanted, &order) && order > 0;
	case CONDITION_BELOW:
		return condition_order(has, wanted, &order) && order < 0;
	case CONDITION_AT_LEAST:
		return condition_order(has, wanted, &order) && order >= 0;
	case CONDITION_AT_MOST:
		return condition_order(has, wanted, &order) && order <= 0;
	default:
		return false;
	}
}

static bool condition_holds(const struct condition *c, const json_t *input)
{
	const json_t *value = rules_find(input, c->field);
	char room[NUMBER_TEXT];
	const char *has;

	if (c->kind == CONDITION_HAS || c->kind == CONDITION_LACKS)
		return json_is_array(value) && condition_list_has(value, c->value->text) == (c->kind == CONDITION_HAS);
	has = number_scalar(value, room);
	return has && condition_scalar(c, has);
}

static bool rule_holds(const struct rule *r, const json_t *input)
{
	bool all = true;

	for (size_t i = 0; all && i < r->count; i++)
		all = condition_holds(&r->conditions[i], input);
	return all;
}

void rules_decide(const struct rules *r, const json_t *input, struct decision *out)
{
	*out = r ? r->otherwise : decision_free;
	for (size_t i = 0; r && i < r->count; i++)
		if (rule_holds(&r->rules[i], input)) {
			*out = r->rules[i].gives;
			return;
		}
}
