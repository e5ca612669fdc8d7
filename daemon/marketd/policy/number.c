/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 40 };

static size_t number_digits(const char *text)
{
	return strspn(text, "0123456789");
}

bool number_read(const char *text, struct number *out)
{
	struct number n = { .negative = *text == '-' };

	n.whole = text + n.negative;
	n.whole_len = number_digits(n.whole);
	if (n.whole_len == 0 || (n.whole_len > 1 && *n.whole == '0'))
		return false;
	n.part = n.whole + n.whole_len;
	if (*n.part == '.') {
		n.part_len = number_digits(++n.part);
		if (n.part_len == 0)
			return false;
	}
	if (n.part[n.part_len])
		return false;
	if (*n.whole == '0')
		n.whole_len = 0;
	while (n.part_len && n.part[n.part_len - 1] == '0')
		n.part_len--;
	if (!n.whole_len && !n.part_len)
		n.negative = false;
	*out = n;
	return true;
}

static int number_order(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_size(const struct number *a, const struct number *b)
{
	size_t both = a->part_len < b->part_len ? a->part_len : b->part_len;
	int order = number_order(a->whole_len, b->whole_len);

	order = order ? order : memcmp(a->whole, b->whole, a->whole_len);
	order = order ? order : memcmp(a->part, b->part, both);
	return order ? order : number_order(a->part_len, b->part_len);
}

int number_compare(const struct number *a, const struct number *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? compare_size(b, a) : compare_size(a, b);
}

static const char *number_of_real(double value, char room[NUMBER_TEXT])
{
	int places = 0;

	do
		snprintf(room, NUMBER_TEXT, "%.*f", places, value);
	while (strtod(room, NULL) != value && ++places <= PLACES_MAX);
	return room;
}

const char *number_scalar(const json_t *value, char room[NUMBER_TEXT])
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		/* A text with a NUL would end early for us and not for another policy server. */
		return strlen(json_string_value(value)) == json_string_length(value) ? json_string_value(value) : NULL;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_REAL:
		return number_of_real(json_real_value(value), room);
	case JSON_INTEGER:
		snprintf(room, NUMBER_TEXT, "%" PRId64, (int64_t)json_integer_value(value));
		return room;
	default:
		return NULL;
	}
}
