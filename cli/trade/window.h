/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window that -s, -e, -d and --round describe, in whole minutes as the market trades them. "Now" is the
 * next minute that begins late enough for a request to arrive before.
 */
#ifndef CLI_TRADE_WINDOW_H
#define CLI_TRADE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { WINDOW_STEP = 60, WINDOW_TEXT = 200 };

struct window {
	int64_t start, end; /* Unix seconds, whole minutes */
	bool now;           /* starts as soon as possible: window_move() moves it */
	bool fixed_end;     /* by --end: a later start makes it shorter */
	bool rounded;       /* --round changed it, which the plan says */
};

/* The options as typed, NULL where missing. start NULL is "now"; exactly one of end and duration is needed. */
struct window_words {
	const char *start, *end, *duration, *round;
};

/* The first second that can be bought at this time. */
int64_t window_first(int64_t now);

/*
 * 0, or -EINVAL with a sentence that names the option; *field: that option, for JSON errors. now: by the market's
 * clock; 0 before that is known: then a date that is past by this machine's clock alone is left to the market's.
 */
int window_parse(const struct window_words *words, int64_t now, struct window *out, const char **field, struct fail *f);

/* Moves a window that starts "now" to the first minute at this time. False: nothing changed. */
bool window_move(struct window *w, int64_t now);
bool window_past(const struct window *w, int64_t now); /* its start has passed */

int64_t window_minutes(const struct window *w);

/* "Sat 21 Nov 18:01 to Sun 22 Nov 18:01 CET (Sat 17:01 to Sun 17:01 UTC), 24h"; years where when_local() has them */
const char *window_show(const struct window *w, int64_t now, char room[WINDOW_TEXT]);
const char *window_span(int64_t seconds, char room[WINDOW_TEXT]); /* "24h", "3d 2h", "1h 30m" */

/* ---- Hours that come again each day, as 22:00-06:00 in local time ------------------------------- */

struct hours {
	int from, to; /* minutes of a day; `to` is of the next one where it is not above `from` */
};

struct hours_window {
	int64_t start, end; /* Unix seconds */
};

/* "22:00-06:00", "00:00-24:00": 0, or -EINVAL with the form. */
int hours_parse(const char *text, struct hours *out, struct fail *f);

/*
 * What of these hours is from `from` until `until`, the first ones: how many, at most `most`. A day on which clocks
 * change has the hours that its clocks show.
 */
size_t hours_windows(const struct hours *h, int64_t from, int64_t until, struct hours_window *out, size_t most);

#endif
