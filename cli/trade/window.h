/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window that -s, -e, -d and --round speak of, on the market's grid. "Now" is the next whole
 * minute that is still far enough away for a request to reach the market before it begins.
 */
#ifndef CLI_TRADE_WINDOW_H
#define CLI_TRADE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { WINDOW_STEP = 60, WINDOW_TEXT = 200 };

struct window {
	int64_t start, end; /* Unix seconds, whole minutes */
	bool now;           /* starts as soon as can be: window_move() moves it along */
	bool fixed_end;     /* by --end: what starts later is shorter */
	bool rounded;       /* --round changed something: worth a word */
};

/* What was typed; NULL: not. start NULL is "now"; exactly one of end and duration. */
struct window_words {
	const char *start, *end, *duration, *round;
};

/* The first second that can still be bought at this time. */
int64_t window_first(int64_t now);

/*
 * The sentence of a failure begins with the option it is about. *field: that option, for JSON errors.
 */
int window_parse(const struct window_words *words, int64_t now, struct window *out, const char **field, struct fail *f);

/* Time has passed: one that starts now starts later, and is as long as before. False: nothing changed. */
bool window_move(struct window *w, int64_t now);
bool window_past(const struct window *w, int64_t now); /* its start cannot be bought any more */

int64_t window_minutes(const struct window *w);

/* "Sat 21 Nov 18:01 to Sun 22 Nov 18:01 CET (Sat 17:01 to Sun 17:01 UTC), 24h" */
const char *window_show(const struct window *w, char room[WINDOW_TEXT]);
const char *window_span(int64_t seconds, char room[WINDOW_TEXT]); /* "24h", "3d 2h", "1h 30m" */

#endif
