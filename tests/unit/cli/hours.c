/* SPDX-License-Identifier: Apache-2.0 */
/* Hours that come again each day: what is on sale is within them, on days when clocks change, too. */
#include "../../lib/tap.h"

#include <time.h>

#include "cli/trade/window.h"

enum { HOUR = 3600, DAY = 24 * HOUR, ROOM = 64 };

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

static void words(void)
{
	static const char *const bad[] = { "", "22:00", "22:00-", "22:00-6:00", "24:00-06:00", "22:00-22:00",
		"22:60-06:00", "25:00-06:00", "22:00-24:01", "22.00-06.00", "22:00-06:00 ", "-1:00-06:00",
		"22:00_06:00" };
	struct fail f = { 0 };
	struct hours h;

	ok(!hours_parse("22:00-06:00", &h, &f) && h.from == 1320 && h.to == 360, "hours over midnight");
	ok(!hours_parse("00:00-24:00", &h, &f) && h.from == 0 && h.to == 1440, "a whole day");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		f = (struct fail){ 0 };
		ok(hours_parse(bad[i], &h, &f) < 0 && strstr(f.text, "22:00-06:00"), "'%s' is refused, with the form",
			bad[i]);
	}
}

/* "HH:MM" there, as the clock on the wall shows it. */
static const char *wall(int64_t at, char room[6])
{
	time_t t = at;
	struct tm tm;

	strftime(room, 6, "%H:%M", localtime_r(&t, &tm));
	return room;
}

static void nights(void)
{
	const struct hours h = { 22 * 60, 6 * 60 };
	struct hours_window w[ROOM];
	char a[6], b[6];
	size_t n;
	int64_t noon = 1795262400, sum = 0; /* 2026-11-21 12:00:00 UTC */

	zone("UTC");
	n = hours_windows(&h, noon, noon + 7 * DAY, w, ROOM);
	is_int((long)n, 7, "a week from noon to noon has seven nights");
	ok(w[0].start == noon + 10 * HOUR && w[6].end == noon + 6 * DAY + 18 * HOUR,
		"from the first evening to the last morning");
	n = hours_windows(&h, noon + 13 * HOUR, noon + DAY + 11 * HOUR, w, ROOM);
	is_int((long)n, 2, "within a night it begins at once");
	ok(w[0].start == noon + 13 * HOUR && w[0].end == noon + 18 * HOUR, "with what is left of it");
	ok(w[1].start == noon + DAY + 10 * HOUR && w[1].end == noon + DAY + 11 * HOUR, "and ends in the middle of one");
	is_int((long)hours_windows(&h, noon, noon + HOUR, w, ROOM), 0, "no night, no window");
	is_int((long)hours_windows(&h, noon, noon + 1000 * DAY, w, 5), 5, "no more than there is room for");

	zone("Europe/Berlin"); /* clocks go back on 2026-10-25 and forward on 2027-03-28 */
	for (int64_t from = 1792792800; from < 1792792800 + 400 * (int64_t)DAY; from += DAY) {
		n = hours_windows(&h, from, from + 2 * DAY, w, ROOM);
		for (size_t i = 0; i < n; i++)
			if ((w[i].start != from && strcmp(wall(w[i].start, a), "22:00") != 0) ||
				(w[i].end != from + 2 * DAY && strcmp(wall(w[i].end, b), "06:00") != 0))
				sum++;
	}
	is_int((long)sum, 0, "each night of a year begins and ends as clocks on the wall say");
	n = hours_windows(&h, 1792792800, 1792792800 + 3 * DAY, w, ROOM);
	sum = 0;
	for (size_t i = 0; i < n; i++)
		sum = w[i].end - w[i].start > sum ? w[i].end - w[i].start : sum;
	is_int((long)sum, 9 * HOUR, "the night in which clocks go back is an hour longer");
}

static void days(void)
{
	const struct hours h = { 9 * 60, 17 * 60 };
	struct hours_window w[ROOM];
	size_t n, outside = 0;
	char a[6];

	zone("America/New_York");
	n = hours_windows(&h, 1795262400, 1795262400 + 30 * (int64_t)DAY, w, ROOM);
	for (size_t i = 0; i < n; i++)
		for (int64_t at = w[i].start; at < w[i].end; at += 600)
			outside += strcmp(wall(at, a), "09:00") < 0 || strcmp(a, "17:00") >= 0;
	ok(n >= 30 && !outside, "nothing outside the hours is on sale");
}

int main(void)
{
	words();
	nights();
	days();
	return done();
}
