/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/host/hours.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { DAY_MINUTES = 24 * 60 };

/* "HH:MM"; -1: it is none. */
static int hours_minute(const char *s)
{
	static const char digits[] = "0123456789";
	int hour, minute;

	if (strspn(s, digits) != 2 || s[2] != ':' || strspn(s + 3, digits) != 2)
		return -1;
	hour = (s[0] - '0') * 10 + s[1] - '0';
	minute = (s[3] - '0') * 10 + s[4] - '0';
	return minute > 59 || hour * 60 + minute > DAY_MINUTES ? -1 : hour * 60 + minute;
}

int hours_parse(const char *text, struct hours *out, struct fail *f)
{
	size_t len = strlen(text);

	out->from = len == 11 && text[5] == '-' ? hours_minute(text) : -1;
	out->to = out->from >= 0 ? hours_minute(text + 6) : -1;
	if (out->to < 0 || out->from == DAY_MINUTES || out->from == out->to)
		return fail_set(f, -EINVAL, "hours are two local times of a day, e.g. 22:00-06:00");
	return 0;
}

/* That minute of the day that is so many days after `day`. */
static int64_t hours_at(const struct tm *day, int days, int minute)
{
	struct tm t = { .tm_year = day->tm_year,
		.tm_mon = day->tm_mon,
		.tm_mday = day->tm_mday + days,
		.tm_hour = minute / 60,
		.tm_min = minute % 60,
		.tm_isdst = -1 };

	return mktime(&t);
}

size_t hours_windows(const struct hours *h, int64_t from, int64_t until, struct hours_window *out, size_t most)
{
	time_t first = from;
	struct tm day;
	size_t n = 0;

	localtime_r(&first, &day);
	for (int i = -1; n < most; i++) {
		int64_t start = hours_at(&day, i, h->from), end = hours_at(&day, i + (h->to <= h->from), h->to);

		if (start >= until)
			break;
		start = start > from ? start : from;
		end = end < until ? end : until;
		if (start < end)
			out[n++] = (struct hours_window){ start, end };
	}
	return n;
}
