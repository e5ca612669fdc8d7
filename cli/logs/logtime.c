/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/logs/logtime.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define SECOND ((int64_t)1000000)

struct at {
	const char *s, *end;
};

/* Reads exactly so many digits. */
static bool logtime_digits(struct at *a, int count, int *out)
{
	int n = 0;

	if (a->end - a->s < count)
		return false;
	for (int i = 0; i < count; i++) {
		if (!isdigit((unsigned char)a->s[i]))
			return false;
		n = n * 10 + (a->s[i] - '0');
	}
	a->s += count;
	*out = n;
	return true;
}

static bool logtime_one_of(struct at *a, const char *set)
{
	if (a->s >= a->end || !*a->s || !strchr(set, *a->s))
		return false;
	a->s++;
	return true;
}

/* HH:MM:SS and what follows the seconds. */
static bool clock_of_day(struct at *a, struct tm *t, int64_t *micros)
{
	int64_t unit = SECOND / 10;

	*micros = 0;
	if (!logtime_digits(a, 2, &t->tm_hour) || !logtime_one_of(a, ":") || !logtime_digits(a, 2, &t->tm_min) ||
		!logtime_one_of(a, ":") || !logtime_digits(a, 2, &t->tm_sec) || t->tm_hour > 23 || t->tm_min > 59 ||
		t->tm_sec > 60)
		return false;
	if (a->end - a->s > 1 && (*a->s == '.' || *a->s == ',') && isdigit((unsigned char)a->s[1]))
		for (a->s++; a->s < a->end && isdigit((unsigned char)*a->s); a->s++, unit /= 10)
			*micros += (*a->s - '0') * unit;
	return true;
}

/* "Z", "+0100", "+01:00", " +0100"; else the writer's zone. */
static bool logtime_zone(struct at *a, int *east)
{
	struct at b = *a;
	int hours, minutes, sign;

	if (logtime_one_of(a, "Z"))
		*east = 0;
	else if (logtime_one_of(&b, " "), b.s < b.end && (*b.s == '+' || *b.s == '-')) {
		sign = *b.s++ == '-' ? -1 : 1;
		if (!logtime_digits(&b, 2, &hours) || (logtime_one_of(&b, ":"), !logtime_digits(&b, 2, &minutes)))
			return true;
		*east = sign * (hours * 3600 + minutes * 60);
		a->s = b.s;
	}
	return true;
}

static bool logtime_made(struct tm *t, int east, int64_t micros, int64_t *us)
{
	time_t seconds;

	if (t->tm_mon < 0 || t->tm_mon > 11 || t->tm_mday < 1 || t->tm_mday > 31)
		return false;
	seconds = timegm(t);
	*us = ((int64_t)seconds - east) * SECOND + micros;
	return true;
}

/* 2026-11-21T09:00:00.5Z, 2026-11-21 09:00:00,500, 2026/11/21 09:00:00 */
static bool logtime_dated(struct at *from, int east, int64_t *us)
{
	struct at a = *from;
	struct tm t = { 0 };
	int64_t micros;

	if (!logtime_digits(&a, 4, &t.tm_year) || !logtime_one_of(&a, "-/") || !logtime_digits(&a, 2, &t.tm_mon) ||
		!logtime_one_of(&a, "-/") || !logtime_digits(&a, 2, &t.tm_mday) || !logtime_one_of(&a, "T _") ||
		!clock_of_day(&a, &t, &micros) || !logtime_zone(&a, &east))
		return false;
	t.tm_year -= 1900;
	t.tm_mon--;
	from->s = a.s;
	return logtime_made(&t, east, micros, us);
}

/* Without a year: takes the one that brings it nearest to now, and not much later than now. */
static bool this_year(struct tm *t, int64_t now_us, int east, int64_t micros, int64_t *us)
{
	time_t now = (time_t)(now_us / SECOND) + east;
	struct tm today;

	gmtime_r(&now, &today);
	t->tm_year = today.tm_year;
	if (!logtime_made(t, east, micros, us))
		return false;
	if (*us > now_us + 2 * 86400 * SECOND) {
		struct tm before = *t;

		before.tm_year = today.tm_year - 1;
		return logtime_made(&before, east, micros, us);
	}
	return true;
}

/* Nov 21 09:00:00, Nov  1 09:00:00 */
static bool syslog_way(struct at *from, int64_t now_us, int east, int64_t *us)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct at a = *from;
	struct tm t = { .tm_mon = -1 };
	int64_t micros;

	if (a.end - a.s < 15)
		return false;
	for (int i = 0; i < 12; i++)
		if (memcmp(a.s, months + (size_t)i * 3, 3) == 0)
			t.tm_mon = i;
	a.s += 3;
	if (t.tm_mon < 0 || !logtime_one_of(&a, " ") ||
		!(logtime_one_of(&a, " ") ? logtime_digits(&a, 1, &t.tm_mday) : logtime_digits(&a, 2, &t.tm_mday)) ||
		!logtime_one_of(&a, " ") || !clock_of_day(&a, &t, &micros))
		return false;
	from->s = a.s;
	return this_year(&t, now_us, east, micros, us);
}

/* I1121 09:00:00.123456 */
static bool klog_way(struct at *from, int64_t now_us, int east, int64_t *us)
{
	struct at a = *from;
	struct tm t = { 0 };
	int64_t micros;

	if (!logtime_one_of(&a, "IWEF") || !logtime_digits(&a, 2, &t.tm_mon) || !logtime_digits(&a, 2, &t.tm_mday) ||
		!logtime_one_of(&a, " ") || !clock_of_day(&a, &t, &micros))
		return false;
	t.tm_mon--;
	from->s = a.s;
	return this_year(&t, now_us, east, micros, us);
}

/* Logrus and the like: time="2026-11-21T09:00:00Z" level=info …, ts=… */
static bool logtime_named(struct at *a)
{
	static const char *const names[] = { "time=", "ts=", "t=" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t len = strlen(names[i]);

		if ((size_t)(a->end - a->s) > len && memcmp(a->s, names[i], len) == 0) {
			a->s += len;
			logtime_one_of(a, "\"");
			return true;
		}
	}
	return false;
}

size_t logtime_parse(const char *line, size_t len, int64_t now_us, int east, int64_t *us)
{
	struct at a = { line, line + len };
	bool quoted;

	/* Some have "<34>" or "[" before them. */
	if (logtime_one_of(&a, "<")) {
		while (a.s < a.end && isdigit((unsigned char)*a.s))
			a.s++;
		if (!logtime_one_of(&a, ">"))
			return 0;
	}
	quoted = logtime_named(&a) || logtime_one_of(&a, "[");
	if (!logtime_dated(&a, east, us) && !syslog_way(&a, now_us, east, us) && !klog_way(&a, now_us, east, us))
		return 0;
	if (quoted)
		logtime_one_of(&a, "]\"");
	return (size_t)(a.s - line);
}

bool logtime_read(const char *line, size_t len, int64_t now_us, int east, int64_t *us)
{
	return logtime_parse(line, len, now_us, east, us) > 0;
}
