/* SPDX-License-Identifier: Apache-2.0 */
/* A decision as JSON, the same whether our rules or another policy server made it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "market/money.h"
#include "marketd/policy/number.h"
#include "marketd/policy/rules_own.h"

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* A number of up to six decimals, in millionths. */
static bool decision_millionths(const char *text, int64_t *out)
{
	struct number n;

	return number_read(text, &n) && !n.negative && money_parse(text, out, NULL) == 0;
}

static bool decision_rate(struct decision *d, const char *text)
{
	int64_t n;

	if (!decision_millionths(text, &n) || n > RATE_FULL)
		return false;
	d->rate_ppm = (int32_t)n;
	return true;
}

static bool decision_nodes(struct decision *d, const char *text)
{
	int64_t n;

	if (!decision_millionths(text, &n) || n % 1000000 || n < 1000000 || n / 1000000 > INT32_MAX)
		return false;
	d->nodes = (int32_t)(n / 1000000);
	return true;
}

static bool decision_hours(struct decision *d, const char *text)
{
	int64_t n;

	if (!decision_millionths(text, &n) || n > INT64_MAX / 60 || n * 60 % 1000000 || n == 0)
		return false;
	d->minutes = n * 60 / 1000000;
	return true;
}

static const char *const gate_words[] = {
#define GATE_X(name, word) word,
	GATES(GATE_X)
#undef GATE_X
};

static bool decision_gate(struct decision *d, const char *name, const char *text)
{
	int64_t n;
	int kind = 0;

	while (strcmp(gate_words[kind], name) != 0)
		kind++;
	if (!decision_millionths(text, &n) || n % 1000000 || n < 1000000)
		return false;
	d->gates[kind] = n / 1000000;
	return true;
}

static bool decision_price(struct decision *d, const char *text)
{
	int64_t n;

	if (!decision_millionths(text, &n) || price_parse(text, 0, &n, NULL) != 0 || n == 0)
		return false;
	d->price = n;
	return true;
}

static bool decision_rule(struct decision *d, const char *text)
{
	size_t len = strlen(text);

	if (len >= sizeof d->rule || strspn(text, NAME_BYTES) != len)
		return false;
	memcpy(d->rule, text, len + 1);
	return true;
}

static bool decision_reason(struct decision *d, const char *text)
{
	size_t len = strlen(text), step = 1;

	for (size_t at = 0; at < len && step; at += step)
		step = utf8_printable(text + at, len - at);
	if (len >= sizeof d->reason || !step)
		return false;
	memcpy(d->reason, text, len + 1);
	return true;
}

/* Millionths without zeros at the end. */
static const char *decision_decimal(int64_t n, char *room, size_t size)
{
	size_t len = (size_t)snprintf(room, size, "%" PRId64 ".%06d", n / 1000000, (int)(n % 1000000));

	while (room[len - 1] == '0')
		len--;
	room[room[len - 1] == '.' ? len - 1 : len] = '\0';
	return room;
}

const char *rate_text(int32_t rate_ppm, char room[RATE_TEXT])
{
	return decision_decimal(rate_ppm, room, RATE_TEXT);
}

json_t *decision_gates(const struct decision *d)
{
	json_t *o = json_object();

	for (int i = 0; i < GATE_KINDS; i++)
		if (d->gates[i])
			json_object_set_new(o, gate_words[i], json_integer(d->gates[i]));
	return o;
}

json_t *decision_json(const struct decision *d)
{
	json_t *limits = decision_gates(d);
	char room[MONEY_TEXT];
	int64_t n;

	if (d->nodes)
		json_object_set_new(limits, "nodes", json_integer(d->nodes));
	/* A limit that was not read from hours may have no exact text: the one below it, so that nobody gets more. */
	if (d->minutes && !__builtin_mul_overflow(d->minutes, (int64_t)1000000, &n))
		json_object_set_new(limits, "hours", json_string(decision_decimal(n / 60, room, sizeof room)));
	if (d->price)
		json_object_set_new(limits, "price", json_string(price_text(d->price, 0, room)));
	return json_pack("{s:b, s:s, s:o, s:s, s:s}", "allow", (int)d->allow, "rate", rate_text(d->rate_ppm, room),
		"limits", limits, "rule", d->rule, "reason", d->reason);
}

static const struct decision_member {
	const char *name;
	bool limit, number;
	bool (*set)(struct decision *d, const char *text);
	const char *form;
} decision_members[] = { { "rate", false, true, decision_rate, "a number from 0 to 1, e.g. 0.5" },
	{ "rule", false, false, decision_rule, "up to 63 letters, digits, '.', '_' or '-'" },
	{ "reason", false, false, decision_reason, "one line of up to 255 bytes" },
	{ "nodes", true, true, decision_nodes, "a whole number from 1, e.g. 8" },
	{ "hours", true, true, decision_hours, "hours above 0 in whole minutes, e.g. 48" },
	{ "price", true, true, decision_price, "dollars per node-hour above 0, e.g. 2.50" },
#define GATE_X(name, word) { word, true, true, NULL, "a whole number from 1, e.g. 1000" },
	GATES(GATE_X)
#undef GATE_X
};

const char *decision_set(struct decision *d, const char *name, bool limit, const char *text, bool *number)
{
	const struct decision_member *m = decision_members, *end = m + sizeof decision_members / sizeof *m;

	while (m < end && (m->limit != limit || strcmp(m->name, name) != 0))
		m++;
	if (m == end)
		return "one of the fields that the manual has";
	if (number)
		*number = m->number;
	return text && (m->set ? m->set(d, text) : decision_gate(d, name, text)) ? NULL : m->form;
}

static int decision_read_member(struct decision *d, const char *name, bool limit, const json_t *value, struct fail *f)
{
	char room[NUMBER_TEXT];
	const char *text = json_is_boolean(value) ? NULL : number_scalar(value, room);
	bool number = false;
	const char *form = decision_set(d, name, limit, text, &number);

	if (!form && !number && json_is_number(value))
		form = "a text";
	return form ? fail_set(f, -EINVAL, "'%.60s' of the policy's answer must be %s", name, form) : 0;
}

int decision_read(const json_t *from, struct decision *out, struct fail *f)
{
	const json_t *allow = json_object_get(from, "allow"), *limits = json_object_get(from, "limits");
	struct decision d = { .rate_ppm = RATE_FULL };
	json_t *value;
	const char *name;
	int rc = 0;

	if (!json_is_boolean(allow))
		return fail_set(f, -EINVAL, "the policy's answer has no 'allow' that is true or false");
	if (limits && !json_is_object(limits))
		return fail_set(f, -EINVAL, "'limits' of the policy's answer must be an object");
	d.allow = json_is_true(allow);
	json_object_foreach((json_t *)(uintptr_t)from, name, value)
	{
		if (rc == 0 && strcmp(name, "allow") != 0 && strcmp(name, "limits") != 0)
			rc = decision_read_member(&d, name, false, value, f);
	}
	json_object_foreach((json_t *)(uintptr_t)limits, name, value)
	{
		rc = rc ? rc : decision_read_member(&d, name, true, value, f);
	}
	if (rc == 0)
		*out = d;
	return rc;
}
