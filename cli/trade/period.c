/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/period.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAY_SECONDS = 86400, YEAR_FIRST = 1970, YEAR_LAST = 2400 };

static int64_t period_seconds(int year, int month, int day)
{
	struct tm t = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };

	return (int64_t)timegm(&t);
}

/* Digits, so many, at *text, which moves behind them. False: there are others. */
static bool period_digits(const char **text, int count, int *out)
{
	int n = 0;

	for (; count > 0; count--, (*text)++) {
		if (**text < '0' || **text > '9')
			return false;
		n = 10 * n + (**text - '0');
	}
	*out = n;
	return true;
}

static bool period_clock(const char *p, int64_t *seconds)
{
	int hour, minute, second = 0;

	if (*p++ != 'T' || !period_digits(&p, 2, &hour) || *p++ != ':' || !period_digits(&p, 2, &minute) ||
		(*p == ':' && (p++, !period_digits(&p, 2, &second))) || strcmp(p, "Z") != 0)
		return false;
	*seconds = (hour * 60 + minute) * 60 + second;
	return hour < 24 && minute < 60 && second < 60;
}

static bool period_date(const char *p, struct period *out)
{
	int year, month, day;
	int64_t clock;

	if (!period_digits(&p, 4, &year) || year < YEAR_FIRST || year > YEAR_LAST || *p++ != '-' ||
		!period_digits(&p, 2, &month) || month < 1 || month > 12)
		return false;
	if (!*p) {
		out->from = period_seconds(year, month, 1);
		out->to = period_seconds(year, month + 1, 1);
		return true;
	}
	if (*p++ != '-' || !period_digits(&p, 2, &day) || day < 1 ||
		period_seconds(year, month, day) >= period_seconds(year, month + 1, 1))
		return false;
	out->from = period_seconds(year, month, day);
	out->to = out->from + DAY_SECONDS;
	if (!*p)
		return true;
	if (!period_clock(p, &clock))
		return false;
	out->from += clock;
	out->to = out->from;
	return true;
}

int period_read(const char *text, struct period *out, struct fail *f)
{
	char *end;

	if (*text == '@' && text[1] >= '0' && text[1] <= '9') {
		errno = 0;
		out->from = out->to = strtoll(text + 1, &end, 10);
		if (!errno && !*end)
			return 0;
	} else if (period_date(text, out)) {
		return 0;
	}
	return fail_set(f, -EINVAL,
		"'%.40s' is neither a month (2026-10) nor a day (2026-10-05) nor a time in UTC (2026-10-05T09:00:00Z)",
		text);
}

int period_read_month(const char *text, struct period *out, struct fail *f)
{
	if (strlen(text) == strlen("2026-10") && period_date(text, out))
		return 0;
	return fail_set(f, -EINVAL, "'%.40s' is no month such as 2026-10", text);
}

static struct tm period_tm(int64_t at)
{
	time_t t = (time_t)at;
	struct tm out = { 0 };

	gmtime_r(&t, &out);
	return out;
}

struct period period_month_of(int64_t at)
{
	struct tm t = period_tm(at);
	int year = t.tm_year + 1900, month = t.tm_mon + 1;

	return (struct period){ period_seconds(year, month, 1), period_seconds(year, month + 1, 1) };
}

const char *period_month(int64_t at, char room[PERIOD_TEXT])
{
	struct tm t = period_tm(at);

	snprintf(room, PERIOD_TEXT, "%04d-%02d", t.tm_year + 1900, t.tm_mon + 1);
	return room;
}

const char *period_day(int64_t at, char room[PERIOD_TEXT])
{
	struct tm t = period_tm(at);

	snprintf(room, PERIOD_TEXT, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
	return room;
}

const char *period_title(int64_t at, char room[PERIOD_TEXT])
{
	static const char *const months[] = { "January", "February", "March", "April", "May", "June", "July", "August",
		"September", "October", "November", "December" };
	struct tm t = period_tm(at);

	snprintf(room, PERIOD_TEXT, "%s %d", months[t.tm_mon % 12], t.tm_year + 1900);
	return room;
}
