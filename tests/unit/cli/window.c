/* SPDX-License-Identifier: Apache-2.0 */
/* The window that was typed is bought, or it is an error: nothing is rounded silently. */
#include "../../lib/tap.h"

#include <time.h>

#include "cli/trade/window.h"

enum { NOON = 1795262400, MINUTE = 60, HOUR = 3600 }; /* 2026-11-21 12:00:00 UTC */

static int parse(struct window *w, int64_t now, const char *start, const char *end, const char *duration,
	const char *round, const char **field, struct fail *f)
{
	struct window_words words = { start, end, duration, round };

	return window_parse(&words, now, w, field, f);
}

static void good(void)
{
	static const struct { const char *start, *end, *duration, *round; int64_t from, until; } rows[] = {
		{ NULL, NULL, "24h", NULL, NOON + MINUTE, NOON + MINUTE + 24 * HOUR },
		{ "now", NULL, "1.5h", NULL, NOON + MINUTE, NOON + MINUTE + 90 * MINUTE },
		{ "+3h", NULL, "1h", NULL, NOON + MINUTE + 3 * HOUR, NOON + MINUTE + 4 * HOUR },
		{ "in 3 hours", NULL, "1h", NULL, NOON + MINUTE + 3 * HOUR, NOON + MINUTE + 4 * HOUR },
		{ "18:00", NULL, "2h", NULL, NOON + 6 * HOUR, NOON + 8 * HOUR },
		{ "18:00", "19:30", NULL, NULL, NOON + 6 * HOUR, NOON + 7 * HOUR + 1800 },
		{ "@1795262461", NULL, "1h", "up", NOON + 2 * MINUTE, NOON + 2 * MINUTE + HOUR },
		{ "@1795262489", NULL, "90s", "down", NOON + MINUTE, NOON + 2 * MINUTE },
		{ "18:00", NULL, "90s", "up", NOON + 6 * HOUR, NOON + 6 * HOUR + 2 * MINUTE },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct window w = { 0 };
		const char *field = NULL;
		struct fail f = { 0 };

		is_int(parse(&w, NOON + 20, rows[i].start, rows[i].end, rows[i].duration, rows[i].round, &field, &f), 0,
			"'%s' for '%s' is taken %s", rows[i].start ? rows[i].start : "",
			rows[i].duration ? rows[i].duration : rows[i].end, f.text);
		is_int(w.start, rows[i].from, "its start");
		is_int(w.end, rows[i].until, "its end");
		is_int(w.rounded, rows[i].round != NULL, "whether it was rounded is told");
	}
}

static void bad(void)
{
	static const struct { const char *start, *end, *duration, *round, *field, *says; } rows[] = {
		{ NULL, NULL, NULL, NULL, "--duration", "--duration is required" },
		{ NULL, "18:00", "2h", NULL, "--duration", "'--end' is given too" },
		{ NULL, NULL, "24", NULL, "--duration", "no unit" },
		{ NULL, NULL, "0h", NULL, "--duration", "is 0: try" },
		{ NULL, NULL, "-1h", NULL, "--duration", "not a duration" },
		{ NULL, NULL, "1hx", NULL, "--duration", "not a duration" },
		{ NULL, NULL, "90s", NULL, "--duration", "--round up" },
		{ NULL, NULL, "90s", "no", "--duration", "--round up" },
		{ NULL, NULL, "30s", "down", "--duration", "less than a minute" },
		{ NULL, NULL, "1h", "sideways", "--round", "up, down or no" },
		{ "3 hours from now", NULL, "1h", NULL, "--start", "not a time" },
		{ "now+3h", NULL, "1h", NULL, "--start", "not a time" },
		{ "yesterday", NULL, "1h", NULL, "--start", "not a time" },
		{ "11:00", NULL, "1h", NULL, "--start", "past" },
		{ "@1795262461", NULL, "1h", NULL, "--start", "--round up" },
		{ "@1795262435", NULL, "1h", "down", "--start", "has passed" },
		{ "18:00", "17:00", NULL, NULL, "--end", "not after" },
		{ "18:00", "18:00", NULL, NULL, "--end", "not after" },
		{ NULL, "now", NULL, NULL, "--end", "cannot be 'now'" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct window w = { .start = 7 };
		const char *field = "";
		struct fail f = { 0 };

		ok(parse(&w, NOON + 20, rows[i].start, rows[i].end, rows[i].duration, rows[i].round, &field, &f) < 0 &&
				w.start == 7,
			"'%s' '%s' is refused", rows[i].start ? rows[i].start : "",
			rows[i].duration ? rows[i].duration : "");
		is_str(field, rows[i].field, "the option is named");
		has_str(f.text, rows[i].says, "and why");
	}
}

/* The market's clock decides what is past. */
static void early(void)
{
	int64_t at = ((int64_t)time(NULL) / MINUTE - 2000) * MINUTE;
	char date[32];
	struct window_words words = { date, NULL, "1h", NULL };
	struct window w = { 0 };
	const char *field = NULL;
	struct fail f = { 0 };

	snprintf(date, sizeof date, "@%" PRId64, at);
	is_int(window_parse(&words, 0, &w, &field, &f), 0, "a date that is past here may be to come there");
	is_int(w.start, at, "it is that date");
	words = (struct window_words){ NULL, date, NULL, NULL };
	is_int(window_parse(&words, 0, &w, &field, &f), 0, "an end, too");
	is_int(w.end, at, "and that one");
	words = (struct window_words){ "yesterday", NULL, "1h", NULL };
	ok(window_parse(&words, 0, &w, &field, &f) < 0, "what is no time is none anywhere");
	has_str(f.text, "'yesterday' is not a time", "and that is said");
}

static void moving(void)
{
	struct window w = { 0 }, fixed = { 0 };
	const char *field;

	is_int(window_first(NOON), NOON + MINUTE, "the minute under way is never sold");
	is_int(window_first(NOON + 56), NOON + MINUTE, "nor one that begins in 4 s");
	is_int(window_first(NOON + 57), NOON + 2 * MINUTE, "one in 3 s might begin before the request is there");
	parse(&w, NOON, NULL, NULL, "90m", NULL, &field, NULL);
	ok(!window_move(&w, NOON + 30), "half a minute later nothing moved");
	ok(window_move(&w, NOON + 130), "two minutes later it did");
	is_int(w.start, NOON + 3 * MINUTE, "to the next minute");
	is_int(window_minutes(&w), 90, "and is as long as before");
	parse(&fixed, NOON, NULL, "18:00", NULL, NULL, &field, NULL);
	ok(window_move(&fixed, NOON + 130) && fixed.end == NOON + 6 * HOUR, "an end that was named stays");
	parse(&w, NOON, "12:05", NULL, "90m", NULL, &field, NULL);
	ok(!window_move(&w, NOON + 600) && window_past(&w, NOON + 600),
		"a start that was named does not move: it is past");
}

static void showing(void)
{
	struct window w = { .start = NOON, .end = NOON + 24 * HOUR };
	char room[WINDOW_TEXT];

	is_str(window_show(&w, NOON, room), "Sat 21 Nov 12:00 to Sun 22 Nov 12:00 UTC, 24h", "UTC is said once");
	w.end = NOON + 90 * MINUTE;
	is_str(window_show(&w, NOON, room), "Sat 21 Nov 12:00 to 13:30 UTC, 1h 30m", "a day is said once");
	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	is_str(window_show(&w, NOON, room), "Sat 21 Nov 17:30 to 19:00 IST (Sat 12:00 to 13:30 UTC), 1h 30m",
		"elsewhere both are said");
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	good();
	bad();
	early();
	moving();
	showing();
	return done();
}
