/* SPDX-License-Identifier: Apache-2.0 */
/* How /v0 writes times and types of hardware. */
#include "marketd/api/old/v0.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "market/when.h"

static bool v0_word_digits(const char **p, int count, int *out)
{
	*out = 0;
	for (int i = 0; i < count; i++, (*p)++) {
		if (!isdigit((unsigned char)**p))
			return false;
		*out = *out * 10 + (**p - '0');
	}
	return true;
}

static bool v0_word_literal(const char **p, char c)
{
	return *(*p)++ == c;
}

/* "Z" or "+hh:mm" to the end; seconds east. */
static bool v0_word_zone(const char *p, int *east)
{
	int sign = *p == '-' ? -1 : 1, h, m;

	*east = 0;
	if (*p == 'Z' || *p == 'z')
		return !p[1];
	if (*p != '+' && *p != '-')
		return false;
	p++;
	if (!v0_word_digits(&p, 2, &h) || !v0_word_literal(&p, ':') || !v0_word_digits(&p, 2, &m) || *p || h > 14 ||
		m > 59)
		return false;
	*east = sign * (h * 3600 + m * 60);
	return true;
}

bool v0_time(const char *text, int64_t now, int64_t *seconds)
{
	struct tm tm = { 0 }, back;
	const char *p = text;
	int east;
	time_t at;

	if (strcmp(text, "NOW") == 0) {
		*seconds = now;
		return true;
	}
	if (!v0_word_digits(&p, 4, &tm.tm_year) || !v0_word_literal(&p, '-') || !v0_word_digits(&p, 2, &tm.tm_mon) ||
		!v0_word_literal(&p, '-') || !v0_word_digits(&p, 2, &tm.tm_mday) || (*p != 'T' && *p != 't') || !p++ ||
		!v0_word_digits(&p, 2, &tm.tm_hour) || !v0_word_literal(&p, ':') ||
		!v0_word_digits(&p, 2, &tm.tm_min) || !v0_word_literal(&p, ':') || !v0_word_digits(&p, 2, &tm.tm_sec))
		return false;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++)
			if (*p != '0')
				return false; /* not on a whole minute */
	if (!v0_word_zone(p, &east))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	back = tm;
	at = timegm(&back);
	if (back.tm_mday != tm.tm_mday || back.tm_mon != tm.tm_mon || back.tm_hour != tm.tm_hour ||
		back.tm_min != tm.tm_min)
		return false;
	*seconds = at - east;
	return true;
}

json_t *v0_iso(int64_t seconds)
{
	char room[WHEN_TEXT];

	return json_string(when_iso(seconds, room));
}

const char *v0_type(const struct sku *s)
{
	return s ? s->alias : "";
}

static bool fact_is(const json_t *facts, const char *name, const char *want, size_t len)
{
	const char *word = json_string_value(json_object_get(facts, name));

	return word && strlen(word) == len && strncasecmp(word, want, len) == 0;
}

bool v0_type_is(const struct sku *s, const char *type)
{
	json_t *facts;
	bool is;

	if (!type)
		return s->gpus > 0;
	if (strcmp(type, s->alias) == 0)
		return true;
	facts = s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	if (strcasecmp(type, "h100i") == 0)
		is = fact_is(facts, "accelerator", "h100", 4) && fact_is(facts, "rdma_type", "infiniband", 10);
	else if (strcasecmp(type, "h100v") == 0 || strcasecmp(type, "h200ki") == 0)
		is = fact_is(facts, "accelerator", type, 4);
	else
		is = fact_is(facts, "accelerator", type, strlen(type));
	json_decref(facts);
	return is;
}

static bool type_fits(const struct sku *s, const void *type)
{
	return v0_type_is(s, type);
}

uint64_t v0_pick(const struct engine *e, const struct event *order, enum old_wait wait, const char *type,
	const char *cluster)
{
	const struct sku *named = cluster ? find_sku(e, cluster) : NULL;

	if (cluster)
		return named ? named->id : 0;
	return old_pick(e, order, wait, type_fits, type);
}
