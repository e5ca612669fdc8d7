/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/supply.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { RATED_MOST = 20 * 1000 * 1000, WALL_MOST = 1000 * 1000 * 1000 };

/* At 115 V: what each class promises at 20, 50 and 100 % of its rating. */
static const struct {
	const char *name;
	int at[3];
} classes[] = {
	{ "white", { 80, 80, 80 } },
	{ "bronze", { 82, 85, 82 } },
	{ "silver", { 85, 88, 85 } },
	{ "gold", { 87, 90, 87 } },
	{ "platinum", { 90, 92, 89 } },
	{ "titanium", { 92, 94, 90 } },
};

int supply_watts(const char *text, int64_t *milliwatts)
{
	int64_t n = 0, part = 100;
	const char *at = text;
	bool dot = false, kilo;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; isdigit((unsigned char)*at) || (*at == '.' && !dot); at++) {
		if (*at == '.') {
			dot = true;
		} else if (!dot) {
			n = n * 10 + (*at - '0') * 1000;
		} else {
			n += (*at - '0') * part;
			part /= 10;
		}
		if (n > WALL_MOST)
			return -EINVAL;
	}
	kilo = *at == 'k' && at[1] == 'W';
	n *= kilo ? 1000 : 1;
	at += kilo ? 2 : *at == 'W';
	if (*at || n < 1000 || n > WALL_MOST)
		return -EINVAL;
	*milliwatts = n;
	return 0;
}

static bool supply_class(const char *name, size_t len, struct supply *s)
{
	static const int loads[] = { 20, 50, 100 };

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (strlen(classes[i].name) == len && strncmp(classes[i].name, name, len) == 0) {
			for (s->count = 0; s->count < 3; s->count++)
				s->points[s->count] = (struct supply_point){ loads[s->count], classes[i].at[s->count] };
			return true;
		}
	return false;
}

/* One "LOAD=EFFICIENCY", loads rising. */
static bool supply_point(const char *text, size_t len, struct supply *s)
{
	char word[16], *sign;
	long load, efficiency;

	if (len >= sizeof word || s->count == SUPPLY_POINTS)
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	sign = strchr(word, '=');
	if (!sign)
		return false;
	*sign = '\0';
	if (str_to_long(word, 1, 100, &load) || str_to_long(sign + 1, 30, 100, &efficiency))
		return false;
	if (s->count && load <= s->points[s->count - 1].load)
		return false;
	s->points[s->count++] = (struct supply_point){ (int)load, (int)efficiency };
	return true;
}

int supply_parse(const char *text, struct supply *out, struct fail *f)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	struct supply s = { .count = 0 };
	bool good = strlen(text) < sizeof s.text && len > 0;

	if (good && !supply_class(text, len, &s))
		for (size_t at = 0, n; good && at <= len; at += n + 1) {
			n = strcspn(text + at, ",:");
			good = supply_point(text + at, n, &s);
		}
	if (good && colon)
		good = supply_watts(colon + 1, &s.rated) == 0 && s.rated <= RATED_MOST;
	if (!good)
		return fail_set(f, -EINVAL,
			"'%.60s' is no power supply; use " SUPPLY_CLASSES
			", with its rating if you know it (gold:1600W), or points like 20=87,50=90,100=87",
			text);
	snprintf(s.text, sizeof s.text, "%s", text);
	*out = s;
	return 0;
}

/* Rounds up: more at the wall, never less. */
static int64_t supply_at(int64_t behind, int efficiency)
{
	return (behind * 100 + efficiency - 1) / efficiency;
}

int64_t supply_wall(const struct supply *s, int64_t behind)
{
	int64_t load0 = 0, wall0 = 0, load1, wall1;
	int worst = 100;

	for (size_t i = 0; i < s->count; i++)
		worst = s->points[i].efficiency < worst ? s->points[i].efficiency : worst;
	if (behind < 0 || behind > WALL_MOST || (s->rated && behind > s->rated))
		return behind < 0 ? 0 : SUPPLY_TOO_MUCH;
	if (!s->rated)
		return supply_at(behind, worst);
	for (size_t i = 0; i < s->count; i++, load0 = load1, wall0 = wall1) {
		load1 = s->rated * s->points[i].load / 100;
		wall1 = supply_at(load1, s->points[i].efficiency);
		wall1 = wall1 > wall0 ? wall1 : wall0;
		if (behind <= load1 && load1 > load0)
			return wall0 + ((wall1 - wall0) * (behind - load0) + load1 - load0 - 1) / (load1 - load0);
	}
	wall1 = supply_at(behind, worst); /* above the last point */
	return wall1 > wall0 ? wall1 : wall0;
}

int64_t supply_behind(const struct supply *s, int64_t wall)
{
	int64_t low = 0, high = s->rated ? s->rated : WALL_MOST;

	while (low < high) {
		int64_t middle = low + (high - low + 1) / 2;

		if (supply_wall(s, middle) <= wall)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
