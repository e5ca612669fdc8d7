/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of `nanopod top` as people read them, as short as columns are. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/toppage.h"

/* Three digits and a unit. */
const char *top_bytes(double n, char room[TOP_TEXT])
{
	static const char units[] = "BKMGTPE";
	size_t u = 0;

	if (isnan(n))
		return "-";
	for (; n >= 999.5 && u + 2 < sizeof units; u++)
		n /= 1024;
	if (n < 9.95 && u)
		snprintf(room, TOP_TEXT, "%.1f%c", n, units[u]);
	else
		snprintf(room, TOP_TEXT, "%.0f%c", n, units[u]);
	return room;
}

/* The unit stands once where both have the same. */
const char *top_part(double used, double total, char room[TOP_TEXT])
{
	char a[TOP_TEXT], b[TOP_TEXT];
	const char *left = top_bytes(used, a), *right = top_bytes(total, b);
	size_t len = strlen(left);

	if (isnan(used) || isnan(total))
		return isnan(used) ? "-" : top_bytes(used, room);
	len -= left[len - 1] == right[strlen(right) - 1];
	snprintf(room, TOP_TEXT, "%.*s/%s", (int)len, left, right);
	return room;
}

const char *top_ratio(double r, char room[TOP_TEXT])
{
	if (isnan(r))
		return "-";
	snprintf(room, TOP_TEXT, "%.0f%%", r * 100);
	return room;
}

const char *top_number(double n, char room[TOP_TEXT])
{
	if (isnan(n))
		return "-";
	snprintf(room, TOP_TEXT, "%.0f", n);
	return room;
}

const char *top_cores(double n, char room[TOP_TEXT])
{
	if (isnan(n))
		return "-";
	snprintf(room, TOP_TEXT, n < 10 ? "%.2f" : n < 100 ? "%.1f" : "%.0f", n);
	return room;
}

static const char *top_time(int64_t s, char room[TOP_TEXT])
{
	enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

	if (s < MINUTE)
		snprintf(room, TOP_TEXT, "%" PRId64 "s", s);
	else if (s < HOUR)
		snprintf(room, TOP_TEXT, "%" PRId64 "m", s / MINUTE);
	else if (s < DAY)
		snprintf(room, TOP_TEXT, "%" PRId64 "h%02" PRId64 "m", s / HOUR, s % HOUR / MINUTE);
	else
		snprintf(room, TOP_TEXT, "%" PRId64 "d%02" PRId64 "h", s / DAY, s % DAY / HOUR);
	return room;
}

const char *top_left(const struct toprow *r, int64_t now, char room[TOP_TEXT])
{
	char time[TOP_TEXT];

	if (!r->end || r->end == MODEL_NEVER)
		return "-";
	snprintf(room, TOP_TEXT, "%.32s%s", top_time(r->end > now ? r->end - now : 0, time), r->early ? "!" : "");
	return room;
}

const char *top_age(int64_t seconds, char room[TOP_TEXT])
{
	return seconds < 0 ? "-" : top_time(seconds, room);
}
