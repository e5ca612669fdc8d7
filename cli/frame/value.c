/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

int value_int(const char *text, long min, long max, long *out, struct fail *f)
{
	int rc = str_to_long(text, min, max, out);

	if (rc == -ERANGE)
		return fail_set(f, rc, "'%s' is not between %ld and %ld", text, min, max);
	if (rc)
		return fail_set(f, rc, "'%s' is not a whole number", text);
	return 0;
}

int value_bool(const char *text, bool *out, struct fail *f)
{
	static const char words[] = "false|true|no|yes|off|on|0|1";
	size_t at;

	if (value_enum(text, words, &at, NULL))
		return fail_set(f, -EINVAL, "'%s' is neither true nor false", text);
	*out = at % 2;
	return 0;
}

/*
 * Reads "12" or "1.5" at *s as a count of `unit`. Refuses what does not give a whole number, or does not fit.
 */
static int read_count(const char **s, uint64_t unit, uint64_t *out)
{
	uint64_t whole = 0, part = 0, scale = 1;
	const char *p = *s;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
			__builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return -ERANGE;
	if (*p == '.') {
		if (p[1] < '0' || p[1] > '9')
			return -EINVAL;
		for (p++; *p >= '0' && *p <= '9'; p++) {
			if (scale >= 1000000)
				return -ERANGE;
			part = part * 10 + (uint64_t)(*p - '0');
			scale *= 10;
		}
	}
	if (__builtin_mul_overflow(whole, unit, &whole) || __builtin_mul_overflow(part, unit, &part))
		return -ERANGE;
	if (part % scale)
		return -EDOM;
	if (__builtin_add_overflow(whole, part / scale, out))
		return -ERANGE;
	*s = p;
	return 0;
}

/* Finds the unit first: the count is scaled by it. */
static const char *unit_of(const char *s)
{
	return s + strspn(s, "0123456789.");
}

int value_size(const char *text, uint64_t *out, struct fail *f)
{
	static const char letters[] = "kmgt";
	const char *unit = unit_of(text), *s = text;
	uint64_t factor = 1, n;

	if (*unit && *unit != 'b' && *unit != 'B') {
		const char *at = strchr(letters, *unit | 0x20);

		if (!at || !*at)
			return fail_set(f, -EINVAL, "'%s' is not a size: try 4096, 64k, 1.5M or 2GiB", text);
		factor = (uint64_t)1 << (10 * (at - letters + 1));
		unit++;
		if (*unit == 'i' && unit[1] == 'B')
			unit++;
	}
	if (*unit == 'b' || *unit == 'B')
		unit++;
	if (*unit || read_count(&s, factor, &n))
		return fail_set(f, -EINVAL, "'%s' is not a size: try 4096, 64k, 1.5M or 2GiB", text);
	*out = n;
	return 0;
}

static const struct {
	const char *name;
	uint64_t ms;
} units[] = {
	{ "w", 604800000 }, { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
};

/* Units must get smaller: nobody means "1m1h". */
static int value_read_duration(const char *s, uint64_t *out)
{
	size_t next = 0;
	uint64_t sum = 0;

	while (*s) {
		const char *unit = unit_of(s);
		size_t len = strspn(unit, "wdhms"), i = next;
		uint64_t n;
		int rc;

		while (i < sizeof units / sizeof *units &&
			(strlen(units[i].name) != len || memcmp(units[i].name, unit, len)))
			i++;
		if (i == sizeof units / sizeof *units)
			return -EINVAL;
		rc = read_count(&s, units[i].ms, &n);
		if (rc)
			return rc;
		if (s != unit || __builtin_add_overflow(sum, n, &sum))
			return -EINVAL;
		s += len;
		next = i + 1;
	}
	*out = sum;
	return 0;
}

int value_duration(const char *text, int64_t *out, struct fail *f)
{
	static const char forms[] = "try 90s, 15m, 1.5h, 1d12h or 2w";
	uint64_t ms = 0;
	int rc = *text ? value_read_duration(text, &ms) : -EINVAL;

	if (rc == -EDOM)
		return fail_set(f, rc, "'%s' is finer than a millisecond: %s", text, forms);
	if (rc && *text && !text[strspn(text, "0123456789")])
		return fail_set(f, rc, "'%s' has no unit: %s", text, forms);
	if (rc)
		return fail_set(f, rc, "'%s' is not a duration: %s", text, forms);
	if (ms == 0 || ms > INT32_MAX * (uint64_t)1000)
		return fail_set(f, -ERANGE, "'%s' is too %s: %s", text, ms ? "long" : "short", forms);
	*out = (int64_t)ms;
	return 0;
}

void value_show_duration(int64_t ms, char *room, size_t size)
{
	size_t at = 0;

	snprintf(room, size, ms ? "" : "none");
	for (size_t i = 0; i < sizeof units / sizeof *units && at < size; i++) {
		int64_t n = ms / (int64_t)units[i].ms;

		/* Weeks and days only for whole multiples: 25h stays 25h. */
		if (n == 0 || (i < 2 && ms % (int64_t)units[i].ms))
			continue;
		at += (size_t)snprintf(room + at, size - at, "%" PRId64 "%s", n, units[i].name);
		ms -= n * (int64_t)units[i].ms;
	}
}

bool value_word(const char *values, size_t i, const char **start, size_t *len)
{
	while (i-- > 0) {
		values = strchr(values, '|');
		if (!values)
			return false;
		values++;
	}
	*start = values;
	*len = strcspn(values, "|");
	return true;
}

int value_enum(const char *text, const char *values, size_t *out, struct fail *f)
{
	size_t len, best = SIZE_MAX, far;
	const char *word;
	char near[64] = "";

	for (size_t i = 0; value_word(values, i, &word, &len); i++) {
		char known[64];

		if (strlen(text) == len && memcmp(text, word, len) == 0) {
			*out = i;
			return 0;
		}
		snprintf(known, sizeof known, "%.*s", (int)len, word);
		if (value_near(text, known, &far) && far < best) {
			best = far;
			memcpy(near, known, sizeof near);
		}
	}
	if (*near)
		return fail_set(f, -EINVAL, "'%s' is not one of %s; did you mean '%s'?", text, values, near);
	return fail_set(f, -EINVAL, "'%s' is not one of %s", text, values);
}

bool value_near(const char *typed, const char *known, size_t *distance)
{
	size_t len = strlen(known), typed_len = strlen(typed), most = len < 4 ? 1 : len / 3;

	if (typed_len >= 2 && str_starts(known, typed)) {
		*distance = 0;
		return true;
	}
	*distance = str_distance(typed, known);
	return *distance <= most;
}
