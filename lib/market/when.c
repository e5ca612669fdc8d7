/* SPDX-License-Identifier: Apache-2.0 */
#include "market/when.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, HALF_YEAR = 183 * DAY, YEARS_MAX = 10 };

static const char duration_forms[] = "try 90m, 24h, 1.5h, 1d12h or 2w";

/* How times are typed, with one to come as the example. */
enum { FORMS_TEXT = 160 };
static const char *when_forms(bool start, int64_t now, char room[FORMS_TEXT])
{
	time_t t = (time_t)((now / DAY + 1) * DAY + 9 * HOUR);
	char iso[32] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(iso, sizeof iso, "%Y-%m-%dT%H:%MZ", &tm);
	snprintf(room, FORMS_TEXT, "try %s+3h, 18:00, tomorrow 09:00, %s or @%" PRId64, start ? "now, " : "", iso,
		(int64_t)t);
	return room;
}

/* ---- Durations ------------------------------------------------------------------------- */

static const struct {
	char letter;
	int64_t seconds;
	const char *one, *many;
} units[] = {
	{ 'w', 7 * DAY, "week", "weeks" }, { 'd', DAY, "day", "days" }, { 'h', HOUR, "hour", "hours" },
	{ 'm', MINUTE, "minute", "minutes" }, { 's', 1, "second", "seconds" },
};

enum { UNITS = sizeof units / sizeof *units };

/* Reads "12" or "1.5" at *s: the whole part and millionths. */
static int when_read_number(const char **s, int64_t *whole, int64_t *part)
{
	const char *p = *s;
	int64_t scale = 1000000;

	*whole = *part = 0;
	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(*whole, 10, whole) || __builtin_add_overflow(*whole, *p - '0', whole))
			return -ERANGE;
	if (*p == '.') {
		if (!isdigit((unsigned char)p[1]))
			return -EINVAL;
		for (p++; isdigit((unsigned char)*p); p++) {
			scale /= 10;
			if (!scale && *p != '0')
				return -EDOM;
			*part += (*p - '0') * scale;
		}
	}
	*s = p;
	return 0;
}

/* The count at *s of a unit; -EDOM where it is not a whole number of seconds. */
static int read_units(int64_t whole, int64_t part, int64_t unit, int64_t *sum)
{
	int64_t n;

	if (part * unit % 1000000)
		return -EDOM;
	if (__builtin_mul_overflow(whole, unit, &n) || __builtin_add_overflow(n, part * unit / 1000000, &n) ||
	    __builtin_add_overflow(n, *sum, sum))
		return -ERANGE;
	return 0;
}

/* Units may only get smaller: "1m1h" is something that nobody means. Blanks may part them. */
static int when_read_duration(const char *s, int64_t *seconds)
{
	int64_t sum = 0, whole, part;
	size_t next = 0;
	int rc = *s ? 0 : -EINVAL;

	while (!rc && *s) {
		size_t i = next;

		rc = when_read_number(&s, &whole, &part);
		if (rc)
			return rc;
		while (i < UNITS && units[i].letter != *s)
			i++;
		if (i == UNITS || !*s)
			return -EINVAL;
		rc = read_units(whole, part, units[i].seconds, &sum);
		next = i + 1;
		s++;
		if (*s == ' ' && isdigit((unsigned char)s[1]))
			s++;
	}
	if (!rc)
		*seconds = sum;
	return rc;
}

int when_duration(const char *text, int64_t *seconds, struct fail *f)
{
	int64_t n = 0;
	int rc = when_read_duration(text, &n);

	if (rc == -EDOM)
		return fail_set(f, -EINVAL, "'%.60s' is not a whole number of seconds: %s", text, duration_forms);
	if (*text && !text[strspn(text, "0123456789.")])
		return fail_set(f, -EINVAL, "'%.60s' has no unit: %s", text, duration_forms);
	if (rc == -EINVAL)
		return fail_set(f, rc, "'%.60s' is not a duration: %s", text, duration_forms);
	if (rc || n > (int64_t)YEARS_MAX * 366 * DAY)
		return fail_set(f, -EINVAL, "'%.60s' is too long: %s", text, duration_forms);
	if (!n)
		return fail_set(f, -EINVAL, "'%.60s' is 0: %s", text, duration_forms);
	*seconds = n;
	return 0;
}

/* ---- Points in time -------------------------------------------------------------------- */

struct civil {
	int year, month, day, hour, minute, second;
};

static bool when_leap(int y)
{
	return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

static bool when_possible(const struct civil *c)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return c->year >= 1970 && c->year <= 9999 && c->month >= 1 && c->month <= 12 && c->day >= 1 &&
		c->day <= days[c->month - 1] + (c->month == 2 && when_leap(c->year)) && c->hour < 24 &&
		c->minute < 60 && c->second < 60;
}

static struct tm to_tm(const struct civil *c, int dst)
{
	return (struct tm){ .tm_year = c->year - 1900, .tm_mon = c->month - 1, .tm_mday = c->day, .tm_hour = c->hour,
		.tm_min = c->minute, .tm_sec = c->second, .tm_isdst = dst };
}

static bool when_shows(int64_t at, const struct civil *c)
{
	time_t t = (time_t)at;
	struct tm tm;

	return localtime_r(&t, &tm) && tm.tm_year == c->year - 1900 && tm.tm_mon == c->month - 1 &&
		tm.tm_mday == c->day && tm.tm_hour == c->hour && tm.tm_min == c->minute;
}

/* Where clocks are put forward a time is missing, where they are put back it is there twice: neither is guessed. */
static int from_local(const struct civil *c, const char *text, int64_t *seconds, struct fail *f)
{
	struct tm with = to_tm(c, 1), without = to_tm(c, 0), either = to_tm(c, -1);
	int64_t a = mktime(&with), b = mktime(&without), e = mktime(&either);
	bool both = when_shows(a, c) && when_shows(b, c) && a != b;

	if (both)
		return fail_set(f, -EINVAL,
			"'%.60s' exists twice, as clocks go back: give the zone, as in %04d-%02d-%02dT%02d:%02dZ", text,
			c->year, c->month, c->day, c->hour, c->minute);
	if (!when_shows(e, c))
		return fail_set(f, -EINVAL,
			"'%.60s' does not exist, as clocks go forward: give the zone, as in "
			"%04d-%02d-%02dT%02d:%02dZ",
			text, c->year, c->month, c->day, c->hour, c->minute);
	*seconds = e;
	return 0;
}

/* Exactly n digits at *s. */
static bool when_digits(const char **s, int n, int *out)
{
	int v = 0;

	for (int i = 0; i < n; i++) {
		if (!isdigit((unsigned char)(*s)[i]))
			return false;
		v = v * 10 + (*s)[i] - '0';
	}
	*s += n;
	*out = v;
	return true;
}

static bool when_take(const char **s, char c)
{
	if (**s != c)
		return false;
	++*s;
	return true;
}

/* "09:00" or "09:00:30", and "9:00" as people write it. */
static bool read_clock(const char **s, struct civil *c)
{
	if (!when_digits(s, 2, &c->hour) && !when_digits(s, 1, &c->hour))
		return false;
	if (!when_take(s, ':') || !when_digits(s, 2, &c->minute))
		return false;
	return !when_take(s, ':') || when_digits(s, 2, &c->second);
}

/* "Z", "+01:00", "-0530": seconds east of UTC. */
static bool when_read_zone(const char **s, int64_t *east)
{
	int hours, minutes, sign = **s == '-' ? -1 : 1;

	if (when_take(s, 'Z') || when_take(s, 'z')) {
		*east = 0;
		return true;
	}
	if ((!when_take(s, '+') && !when_take(s, '-')) || !when_digits(s, 2, &hours))
		return false;
	when_take(s, ':');
	if (!when_digits(s, 2, &minutes) || hours > 15 || minutes > 59)
		return false;
	*east = (int64_t)sign * (hours * HOUR + minutes * MINUTE);
	return true;
}

static int when_past(const char *text, int64_t now, struct fail *f)
{
	char room[WHEN_TEXT];

	if (strchr(text, ':') && strlen(text) <= 5) /* a bare time of day: what was meant is told */
		return fail_set(f, -EINVAL, "'%.60s' is past (it is %s): try 'tomorrow %.60s'", text,
			when_local(now, now, room), text);
	return fail_set(f, -EINVAL, "'%.60s' is past (it is %s)", text, when_local(now, now, room));
}

/* A date alone; the time of day in the example is to come. */
static int when_no_time(struct civil *c, const char *text, int64_t now, struct fail *f)
{
	int64_t morning = INT64_MAX, last = INT64_MAX;

	c->hour = 9;
	if (when_possible(c) && from_local(c, text, &morning, NULL) == 0 && morning < now) {
		c->hour = 23;
		c->minute = 59;
		if (from_local(c, text, &last, NULL) == 0 && last < now)
			return when_past(text, now, f);
	}
	return fail_set(f, -EINVAL, "'%.60s' has no time of day: try '%.60s %s'", text, text,
		morning < now ? "23:59" : "09:00");
}

/* 1: another form. */
static int when_read_date(const char *text, int64_t now, int64_t *seconds, struct fail *f)
{
	const char *s = text;
	struct civil c = { 0 };
	struct tm tm;
	int64_t east;

	if (!when_digits(&s, 4, &c.year) || !when_take(&s, '-') || !when_digits(&s, 2, &c.month) ||
		!when_take(&s, '-') || !when_digits(&s, 2, &c.day))
		return 1;
	if (!*s)
		return when_no_time(&c, text, now, f);
	if (!when_take(&s, ' ') && !when_take(&s, 'T') && !when_take(&s, 't'))
		return 1;
	if (!read_clock(&s, &c))
		return 1;
	if (!when_possible(&c))
		return fail_set(f, -EINVAL, "'%.60s' is not a date", text);
	if (!*s)
		return from_local(&c, text, seconds, f);
	when_take(&s, ' ');
	if (!when_read_zone(&s, &east) || *s)
		return 1;
	tm = to_tm(&c, 0);
	*seconds = (int64_t)timegm(&tm) - east;
	return 0;
}

/* "18:00", "today 18:00", "tomorrow 09:00", in local time. 1: another form. */
static int read_day(const char *text, int64_t now, int64_t *seconds, struct fail *f)
{
	const char *s = text;
	struct civil c = { 0 };
	time_t t = (time_t)now;
	struct tm tm;
	bool tomorrow = strncmp(s, "tomorrow ", 9) == 0;

	s += tomorrow ? 9 : strncmp(s, "today ", 6) == 0 ? 6 : 0;
	if (!read_clock(&s, &c) || *s)
		return 1;
	if (!localtime_r(&t, &tm))
		return 1;
	if (tomorrow) {
		tm.tm_mday++;
		tm.tm_hour = 12; /* noon is there on every day */
		tm.tm_min = tm.tm_sec = 0;
		tm.tm_isdst = -1;
		t = mktime(&tm);
		localtime_r(&t, &tm);
	}
	c.year = tm.tm_year + 1900;
	c.month = tm.tm_mon + 1;
	c.day = tm.tm_mday;
	if (!when_possible(&c))
		return fail_set(f, -EINVAL, "'%.60s' is not a time of day", text);
	return from_local(&c, text, seconds, f);
}

/* "3 hours", "20 minutes", besides what when_duration takes. */
static int when_read_words(const char *text, int64_t *seconds)
{
	int64_t whole, part, n = 0;
	const char *s = text;

	if (when_read_duration(text, seconds) == 0)
		return 0;
	if (when_read_number(&s, &whole, &part) || !when_take(&s, ' '))
		return -EINVAL;
	for (size_t i = 0; i < UNITS; i++) {
		if (strcmp(s, units[i].one) != 0 && strcmp(s, units[i].many) != 0)
			continue;
		if (read_units(whole, part, units[i].seconds, &n))
			return -EINVAL;
		*seconds = n;
		return 0;
	}
	return -EINVAL;
}

/* "+3h", "in 3h", "in 3 hours". 1: another form. */
static int read_later(const char *text, int64_t now, int64_t *seconds)
{
	int64_t n;
	int rc = 1;

	if (*text == '+')
		rc = when_read_duration(text + 1, &n);
	else if (strncmp(text, "in ", 3) == 0)
		rc = when_read_words(text + 3, &n);
	if (rc || n <= 0 || n > (int64_t)YEARS_MAX * 366 * DAY)
		return 1;
	*seconds = now + n;
	return 0;
}

static int read_unix(const char *text, int64_t *seconds)
{
	const char *s = text + 1;
	int64_t whole, part;

	if (*text != '@' || strlen(s) != strspn(s, "0123456789") || when_read_number(&s, &whole, &part))
		return 1;
	*seconds = whole;
	return 0;
}

static int read_point(const char *text, int64_t now, int64_t *seconds, bool start, struct fail *f)
{
	char forms[FORMS_TEXT];
	int64_t at;
	int rc = read_later(text, now, &at);

	if (rc == 1)
		rc = read_unix(text, &at);
	if (rc == 1)
		rc = when_read_date(text, now, &at, f);
	if (rc == 1)
		rc = read_day(text, now, &at, f);
	if (rc == 1)
		return fail_set(f, -EINVAL, "'%.60s' is not a time: %s", text, when_forms(start, now, forms));
	if (rc)
		return rc;
	if (at > now + (int64_t)YEARS_MAX * 366 * DAY)
		return fail_set(f, -EINVAL, "'%.60s' is too far away: %s", text, when_forms(start, now, forms));
	*seconds = at;
	return 0;
}

int when_start(const char *text, int64_t now, int64_t *seconds, struct fail *f)
{
	int64_t at = now;
	int rc = strcmp(text, "now") == 0 ? 0 : read_point(text, now, &at, true, f);

	if (rc)
		return rc;
	if (at < now)
		return when_past(text, now, f);
	*seconds = at;
	return 0;
}

int when_end(const char *text, int64_t now, int64_t *seconds, struct fail *f)
{
	char forms[FORMS_TEXT];
	int64_t at;
	int rc;

	if (strcmp(text, "now") == 0)
		return fail_set(f, -EINVAL, "the end cannot be 'now': %s", when_forms(false, now, forms));
	rc = read_point(text, now, &at, false, f);
	if (rc)
		return rc;
	if (at <= now)
		return when_past(text, now, f);
	*seconds = at;
	return 0;
}

int when_grid(int64_t seconds, int64_t step, enum when_round how, int64_t *out, struct fail *f)
{
	int64_t over, down, up;
	char low[WHEN_TEXT], high[WHEN_TEXT], span[WHEN_TEXT];

	if (step <= 0)
		return fail_set(f, -EINVAL, "invalid grid of %" PRId64 " seconds", step);
	over = seconds % step;
	over += over < 0 ? step : 0;
	if (__builtin_sub_overflow(seconds, over, &down) || __builtin_add_overflow(down, over ? step : 0, &up))
		return fail_set(f, -ERANGE, "the time is too far away");
	if (over && how == WHEN_NO)
		return fail_set(f, -EINVAL, "%s is between two steps of %s, %s and %s", when_iso(seconds, span),
			step == MINUTE         ? "a minute"
				: step == HOUR ? "an hour"
					       : "the market's time",
			when_iso(down, low), when_iso(up, high));
	*out = how == WHEN_DOWN ? down : up;
	return 0;
}

/* ---- Showing --------------------------------------------------------------------------- */

const char *when_iso(int64_t seconds, char room[WHEN_TEXT])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || tm.tm_year < -1900 || tm.tm_year > 9999 - 1900 ||
		!strftime(room, WHEN_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(room, WHEN_TEXT, "@%" PRId64, seconds);
	return room;
}

bool when_far(int64_t seconds, int64_t now)
{
	uint64_t away = seconds < now ? (uint64_t)now - (uint64_t)seconds : (uint64_t)seconds - (uint64_t)now;

	return away >= (uint64_t)HALF_YEAR;
}

const char *when_local(int64_t seconds, int64_t now, char room[WHEN_TEXT])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
		!(when_far(seconds, now) ? strftime(room, WHEN_TEXT, "%a %d %b %Y %H:%M %Z", &tm)
					 : strftime(room, WHEN_TEXT, "%a %d %b %H:%M %Z", &tm)))
		snprintf(room, WHEN_TEXT, "@%" PRId64, seconds);
	return room;
}

/* The largest `most` of "1d 2h 3m 4s" that are not 0. */
static void put_span(uint64_t n, int most, char room[WHEN_TEXT])
{
	size_t at = 0;
	int shown = 0;

	for (size_t i = 1; i < UNITS && shown < most; i++) {
		uint64_t unit = (uint64_t)units[i].seconds, count = n / unit;

		n %= unit;
		if (count)
			at += (size_t)snprintf(room + at, WHEN_TEXT - at, "%s%" PRIu64 "%c", at ? " " : "", count,
				units[i].letter);
		shown += count || shown;
	}
	if (!at)
		snprintf(room, WHEN_TEXT, "0s");
}

const char *when_span(int64_t seconds, char room[WHEN_TEXT])
{
	char span[WHEN_TEXT];

	put_span(seconds < 0 ? 0 - (uint64_t)seconds : (uint64_t)seconds, UNITS, span);
	snprintf(room, WHEN_TEXT, "%s%.60s", seconds < 0 ? "-" : "", span);
	return room;
}

const char *when_relative(int64_t seconds, int64_t now, char room[WHEN_TEXT])
{
	bool before = seconds < now;
	uint64_t n = before ? (uint64_t)now - (uint64_t)seconds : (uint64_t)seconds - (uint64_t)now;
	char span[WHEN_TEXT];

	put_span(n, 2, span);
	if (!n)
		snprintf(room, WHEN_TEXT, "now");
	else
		snprintf(room, WHEN_TEXT, before ? "%.40s ago" : "in %.40s", span);
	return room;
}
