/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people type them. Where somebody else's program guesses, this one refuses. */
#include <errno.h>
#include <time.h>

#include "../lib/tap.h"
#include "market/when.h"

enum { NOW = 1795204810 }; /* 2026-11-20T20:00:10Z, a Friday */

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

static void durations(void)
{
	static const struct { const char *text; int64_t seconds;
	} good[] = {
		{ "90m", 5400 },
		{ "24h", 86400 },
		{ "1d12h", 129600 },
		{ "1d 12h", 129600 },
		{ "2w", 1209600 },
		{ "1.5h", 5400 },
		{ "0.5d", 43200 },
		{ "45s", 45 },
		{ "1h30m15s", 5415 },
		{ "0h1m", 60 },
		{ "2.25h", 8100 },
	};
	static const char *const bad[] = { "", "60", "1.5", "0", "0h", "-1h", "+1h", "1", "1hour", "1h ", " 1h", "1m1h",
		"1h1h", "h", "1.h", ".5h", "1h-", "1 h", "0.0001s", "1.0001s", "10000000w", "99999999999999999999h",
		"1mo", "1y", "60 minutes", "1,5h", "1H", "1d  2h" };
	struct fail f;
	int64_t n;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		n = -1;
		ok(when_duration(good[i].text, &n, NULL) == 0 && n == good[i].seconds, "'%s' is %" PRId64 " s",
			good[i].text, n);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		n = 77;
		f = (struct fail){ 0 };
		ok(when_duration(bad[i], &n, &f) == -EINVAL && n == 77 && strstr(f.text, "1d12h"),
			"'%s' is refused: %s", bad[i], f.text);
	}
}

static void starts(void)
{
	static const struct { const char *text; int64_t at;
	} good[] = {
		{ "now", NOW },
		{ "+3h", NOW + 10800 },
		{ "+90m", NOW + 5400 },
		{ "in 3 hours", NOW + 10800 },
		{ "in 3h", NOW + 10800 },
		{ "in 1 day", NOW + 86400 },
		{ "in 1.5 hours", NOW + 5400 },
		{ "in 20 minutes", NOW + 1200 },
		{ "@1795208400", 1795208400 },
		{ "2026-11-20T22:00:00Z", 1795212000 },
		{ "2026-11-20T22:00Z", 1795212000 },
		{ "2026-11-20 22:00 Z", 1795212000 },
		{ "2026-11-20T23:00:00+01:00", 1795212000 },
		{ "2026-11-20T23:00+0100", 1795212000 },
		{ "2026-11-20T16:30:00-05:30", 1795212000 },
		{ "2026-11-20 22:00", 1795212000 },
		{ "22:00", 1795212000 },
		{ "today 22:00", 1795212000 },
		{ "tomorrow 09:00", 1795251600 },
		{ "tomorrow 9:00", 1795251600 },
		{ "2028-02-29T00:00Z", 1835395200 },
	};
	static const char *const bad[] = { "", "3 hours from now", "now+3h", "from now", "tomorrow", "yesterday",
		"yesterday 09:00", "soon", "NOW", "25:00", "18:60", "18", "6pm", "18:00x", "+3", "+0h", "+-3h", "in",
		"in 3", "in three hours", "in 3hours x", "1795208400", "@", "@-1", "@17.5", "@1795208400x",
		"2026-11-20", "2026-11-31 09:00", "2027-02-29T09:00Z", "2026-13-01 09:00", "2026-11-20T22:00:00Zx",
		"2026-11-20T22:00+1", "20:00", "@1795204809", "2026-11-20T20:00:09Z", "2020-01-01 00:00",
		"tomorrow 24:00", "9999-12-31T00:00Z", "in 99999999999 hours", "+9999w" };
	struct fail f;
	int64_t n;

	zone("UTC");
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		n = -1;
		ok(when_start(good[i].text, NOW, &n, NULL) == 0 && n == good[i].at, "'%s' is %" PRId64, good[i].text,
			n);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		n = 77;
		f = (struct fail){ 0 };
		ok(when_start(bad[i], NOW, &n, &f) == -EINVAL && n == 77 && *f.text, "'%s' is refused: %s", bad[i],
			f.text);
	}
	has_str((when_start("19:00", NOW, &n, &f), f.text), "tomorrow 19:00",
		"a time of day that is past says what may be meant");
	has_str((when_start("soon", NOW, &n, &f), f.text), "tomorrow 09:00, 2026-11-21T09:00Z or @1795251600",
		"examples are times to come");
	has_str((when_start("2020-01-01", NOW, &n, &f), f.text), "'2020-01-01' is past",
		"a day that is past is no example of a time");
	has_str((when_start("2026-11-20", NOW, &n, &f), f.text), "try '2026-11-20 23:59'", "today has one to come");
	has_str((when_start("2026-11-22", NOW, &n, &f), f.text), "try '2026-11-22 09:00'", "a day needs a time");
	is_int(when_end("now", NOW, &n, &f), -EINVAL, "nothing ends now");
	ok(when_end("+1h", NOW, &n, &f) == 0 && n == NOW + 3600, "ends are told in the same forms");
	is_int(when_end("@1795204810", NOW, &n, &f), -EINVAL, "an end is later than now");
}

static void zones(void)
{
	struct fail f = { 0 };
	int64_t n = 0;
	char room[WHEN_TEXT];

	zone("Europe/Berlin");
	if (when_start("22:00", NOW, &n, &f) != 0 || n != 1795208400) {
		skip("no time zones are installed");
		return;
	}
	ok(true, "a time of day is local");
	is_str(when_local(n, NOW, room), "Fri 20 Nov 22:00 CET", "and shown so, with its zone");
	is_str(when_iso(n, room), "2026-11-20T21:00:00Z", "for programs it is UTC");
	/* Clocks go forward on 2027-03-28 at 02:00, back on 2027-10-31 at 03:00. */
	is_int(when_start("2027-03-28 02:30", NOW, &n, &f), -EINVAL, "a time that is not there is not guessed: %s",
		f.text);
	is_int(when_start("2027-10-31 02:30", NOW, &n, &f), -EINVAL, "nor one that is there twice: %s", f.text);
	ok(when_start("2027-10-31T02:30+02:00", NOW, &n, &f) == 0 && n == 1824942600, "with a zone it is one: %" PRId64,
		n);
	ok(when_start("2027-03-28 03:30", NOW, &n, &f) == 0 && n == 1806197400, "the hour after is: %" PRId64, n);
	zone("UTC");
}

static void grid(void)
{
	struct fail f = { 0 };
	int64_t n = 7;

	ok(when_grid(120, 60, WHEN_NO, &n, &f) == 0 && n == 120, "on the grid");
	n = 7;
	is_int(when_grid(125, 60, WHEN_NO, &n, &f), -EINVAL, "off it");
	is_int(n, 7, "is not rounded behind one's back");
	has_str(f.text, "1970-01-01T00:02:00Z", "the one before is named");
	has_str(f.text, "1970-01-01T00:03:00Z", "and the one after");
	ok(when_grid(125, 60, WHEN_UP, &n, &f) == 0 && n == 180, "up");
	ok(when_grid(125, 60, WHEN_DOWN, &n, &f) == 0 && n == 120, "down");
	ok(when_grid(-1, 60, WHEN_DOWN, &n, &f) == 0 && n == -60, "down before the epoch too");
	is_int(when_grid(INT64_MAX, 60, WHEN_UP, &n, &f), -ERANGE, "not round the end");
	is_int(when_grid(5, 0, WHEN_UP, &n, &f), -EINVAL, "a grid of nothing is none");
}

static void shown(void)
{
	char room[WHEN_TEXT];

	zone("UTC");
	is_str(when_relative(NOW + 12000, NOW, room), "in 3h 20m", "later");
	is_str(when_relative(NOW - 2 * 86400, NOW, room), "2d ago", "before");
	is_str(when_relative(NOW, NOW, room), "now", "now");
	is_str(when_relative(NOW + 86400 + 30, NOW, room), "in 1d", "not finer than the two largest");
	is_str(when_local(NOW + 182 * 86400, NOW, room), "Fri 21 May 20:00 UTC",
		"a day of the next months has no year");
	is_str(when_local(NOW + 183 * 86400, NOW, room), "Sat 22 May 2027 20:00 UTC", "half a year ahead has one");
	is_str(when_local(NOW - 183 * 86400, NOW, room), "Thu 21 May 2026 20:00 UTC", "so has half a year ago");
	is_str(when_span(5400, room), "1h 30m", "ninety minutes");
	is_str(when_span(129600, room), "1d 12h", "a day and a half");
	is_str(when_span(0, room), "0s", "nothing");
	is_str(when_span(-60, room), "-1m", "a negative one");
	ok(strlen(when_span(INT64_MIN, room)) < WHEN_TEXT, "the longest fits: %s", room);
	ok(*when_iso(INT64_MAX, room) == '@' && *when_local(INT64_MIN, NOW, room) == '@',
		"what no calendar has is a number");
	ok(strlen(when_relative(INT64_MIN, INT64_MAX, room)) < WHEN_TEXT, "from one end to the other: %s", room);
}

int main(void)
{
	durations();
	starts();
	zones();
	grid();
	shown();
	return done();
}
