/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "market/when.h"

/* A request that leaves in the last seconds of a minute may arrive in the next. */
enum { MARGIN_S = 3, HOUR = 3600, DAY = 86400, WEEK = 7 * DAY, LONG_AGO = 5 * 366 * DAY };

int64_t window_first(int64_t now)
{
	return (now + MARGIN_S) / WINDOW_STEP * WINDOW_STEP + WINDOW_STEP;
}

int64_t window_minutes(const struct window *w)
{
	return (w->end - w->start) / WINDOW_STEP;
}

static int window_wrong(const char **field, const char *option, struct fail *f, const char *why)
{
	*field = option;
	return fail_set(f, -EINVAL, "cannot use '%s': %s", option, why);
}

static int read_round(const char *text, enum when_round *how)
{
	static const char *const words[] = { [WHEN_NO] = "no", [WHEN_UP] = "up", [WHEN_DOWN] = "down" };

	*how = WHEN_NO;
	for (int i = WHEN_NO; text && i <= WHEN_DOWN; i++)
		if (strcmp(words[i], text) == 0)
			*how = (enum when_round)i;
	return !text || strcmp(words[*how], text) == 0 ? 0 : -EINVAL;
}

/* "+3h" counts from the first minute that can be bought, so that it is a whole minute. */
static int64_t window_base_of(const char *text, int64_t now)
{
	return *text == '+' || str_starts(text, "in ") ? window_first(now) : now;
}

static int on_grid(int64_t at, enum when_round how, const char *option, int64_t *out, bool *rounded, const char **field,
	struct fail *f)
{
	struct fail why = { 0 };
	char text[sizeof why.text + 80];

	if (when_grid(at, WINDOW_STEP, how, out, &why)) {
		snprintf(text, sizeof text, "%s; '--round up' or '--round down' chooses one of them", why.text);
		return window_wrong(field, option, f, text);
	}
	*rounded |= *out != at;
	return 0;
}

static int read_start(const struct window_words *words, int64_t now, enum when_round how, struct window *w,
	const char **field, struct fail *f)
{
	struct fail why = { 0 };
	char room[WHEN_TEXT], text[256];
	int rc;

	w->now = !words->start || strcmp(words->start, "now") == 0;
	w->start = window_first(now);
	if (w->now)
		return 0;
	if (when_start(words->start, window_base_of(words->start, now), &w->start, &why))
		return window_wrong(field, "--start", f, why.text);
	rc = on_grid(w->start, how, "--start", &w->start, &w->rounded, field, f);
	if (!rc && w->start <= now) {
		snprintf(text, sizeof text, "'%.60s' has passed; the first minute on sale is %s, or type 'now'",
			words->start, when_local(window_first(now), now, room));
		rc = window_wrong(field, "--start", f, text);
	}
	return rc;
}

static int window_read_duration(const char *typed, enum when_round how, int64_t *out, bool *rounded, const char **field,
	struct fail *f)
{
	struct fail why = { 0 };
	char a[WHEN_TEXT], b[WHEN_TEXT], text[256];
	int64_t seconds, down, up;

	if (when_duration(typed, &seconds, &why))
		return window_wrong(field, "--duration", f, why.text);
	down = seconds / WINDOW_STEP * WINDOW_STEP;
	up = down + (down == seconds ? 0 : WINDOW_STEP);
	*out = how == WHEN_DOWN ? down : up;
	*rounded |= *out != seconds;
	if (*out != seconds && how == WHEN_NO) {
		snprintf(text, sizeof text, "'%.60s' is not a whole number of minutes; '--round up' makes it %s%s%s",
			typed, when_span(up, a), down ? ", '--round down' " : "", down ? when_span(down, b) : "");
		return window_wrong(field, "--duration", f, text);
	}
	if (*out == 0)
		return window_wrong(field, "--duration", f, "it is less than a minute");
	return 0;
}

static int window_read(const struct window_words *words, int64_t now, struct window *out, const char **field,
	struct fail *f)
{
	struct window w = { 0 };
	struct fail why = { 0 };
	enum when_round how;
	int64_t seconds = 0;
	int rc;

	if (read_round(words->round, &how))
		return window_wrong(field, "--round", f, "choose up, down or no");
	if (!words->end && !words->duration) {
		*field = "--duration";
		return fail_set(f, -EINVAL, "--duration is required, e.g. -d 24h (or --end)");
	}
	if (words->end && words->duration)
		return window_wrong(field, "--duration", f, "'--end' is given too; use one of them");
	rc = read_start(words, now, how, &w, field, f);
	if (!rc && words->duration) {
		rc = window_read_duration(words->duration, how, &seconds, &w.rounded, field, f);
		w.end = rc ? 0 : w.start + seconds;
	} else if (!rc) {
		w.fixed_end = true;
		rc = when_end(words->end, window_base_of(words->end, now), &w.end, &why);
		rc = rc ? window_wrong(field, "--end", f, why.text)
			: on_grid(w.end, how, "--end", &w.end, &w.rounded, field, f);
		if (!rc && w.end <= w.start)
			rc = window_wrong(field, "--end", f, "it is not after the start");
	}
	if (!rc)
		*out = w;
	return rc;
}

static int window_read_early(const struct window_words *words, struct window *out, const char **field, struct fail *f)
{
	int64_t now = (int64_t)time(NULL), then = now - LONG_AGO;
	int rc = window_read(words, now, out, field, f);
	const char *other = NULL;
	struct fail why = { 0 };
	struct window w;

	/* A date is the same at any time; one of the next days is not. */
	if (rc && window_read(words, then, &w, &other, &why) == 0 && (w.now ? w.end : w.start) > then + WEEK) {
		*out = w;
		rc = 0;
	}
	return rc;
}

int window_parse(const struct window_words *words, int64_t now, struct window *out, const char **field, struct fail *f)
{
	return now ? window_read(words, now, out, field, f) : window_read_early(words, out, field, f);
}

bool window_move(struct window *w, int64_t now)
{
	int64_t first = window_first(now);

	if (!w->now || first <= w->start)
		return false;
	if (!w->fixed_end)
		w->end += first - w->start;
	w->start = first;
	return true;
}

bool window_past(const struct window *w, int64_t now)
{
	return w->start <= now || w->end <= w->start;
}

/* Up to two days in hours, "36h", as people order them; the rest in days. */
const char *window_span(int64_t seconds, char room[WINDOW_TEXT])
{
	char span[WHEN_TEXT];

	if (seconds % HOUR == 0 && seconds <= 2 * DAY)
		snprintf(room, WINDOW_TEXT, "%dh", (int)(seconds / HOUR));
	else
		snprintf(room, WINDOW_TEXT, "%s", when_span(seconds, span));
	return room;
}

/* Names the day once where both are the same, and UTC only where the local zone is another. */
const char *window_show(const struct window *w, int64_t now, char room[WINDOW_TEXT])
{
	char a[WHEN_TEXT], b[WHEN_TEXT], span[WINDOW_TEXT], zulu[2 * WHEN_TEXT + 16] = "";
	time_t start = (time_t)w->start, end = (time_t)w->end;
	struct tm one, two, utc;

	localtime_r(&start, &one);
	localtime_r(&end, &two);
	if (one.tm_gmtoff || two.tm_gmtoff || !one.tm_zone || strcmp(one.tm_zone, "UTC") != 0) {
		gmtime_r(&start, &utc);
		strftime(a, sizeof a, "%a %H:%M", &utc);
		gmtime_r(&end, &utc);
		strftime(b, sizeof b, utc.tm_yday == one.tm_yday ? "%H:%M" : "%a %H:%M", &utc);
		snprintf(zulu, sizeof zulu, " (%s to %s UTC)", a, b);
	}
	strftime(a, sizeof a, when_far(w->start, now) ? "%a %d %b %Y %H:%M" : "%a %d %b %H:%M", &one);
	strftime(b, sizeof b,
		one.tm_yday == two.tm_yday && one.tm_year == two.tm_year ? "%H:%M %Z"
			: when_far(w->end, now)                          ? "%a %d %b %Y %H:%M %Z"
									 : "%a %d %b %H:%M %Z",
		&two);
	snprintf(room, WINDOW_TEXT, "%.40s to %.40s%.60s, %.40s", a, b, zulu, window_span(w->end - w->start, span));
	return room;
}

/* ---- Hours of each day ------------------------------------------------------------------------- */

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
