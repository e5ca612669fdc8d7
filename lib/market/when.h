/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time as people type and read it. The market's grid is whole minutes since the epoch; seconds
 * are Unix time. The caller says what time it is: nothing here reads a clock.
 */
#ifndef MARKET_WHEN_H
#define MARKET_WHEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { WHEN_TEXT = 64 };

/* "90m", "24h", "1d12h", "2w", "1.5h": seconds, whole. Bare numbers, 0, negative, garbage: -EINVAL with the forms. */
int when_duration(const char *text, int64_t *seconds, struct fail *f);

/*
 * "now", "+3h", "in 3 hours", "tomorrow 09:00", "18:00", "2026-11-21 09:00", ISO 8601 with or
 * without zone (without: local), "@1795204800". Past: -EINVAL. All else: -EINVAL with the forms.
 */
int when_start(const char *text, int64_t now, int64_t *seconds, struct fail *f);

/* The same forms for an end, which may not be "now". */
int when_end(const char *text, int64_t now, int64_t *seconds, struct fail *f);

enum when_round { WHEN_NO, WHEN_UP, WHEN_DOWN };
/* To the grid (a multiple of step seconds); WHEN_NO: -EINVAL where it is none, with both neighbours in the sentence. */
int when_grid(int64_t seconds, int64_t step, enum when_round how, int64_t *out, struct fail *f);

const char *when_iso(int64_t seconds, char room[WHEN_TEXT]);             /* "2026-11-21T09:00:00Z" */
/* "Sat 21 Nov 09:00 CET"; half a year or more away from now: "Sun 21 Nov 2027 09:00 CET". */
const char *when_local(int64_t seconds, int64_t now, char room[WHEN_TEXT]);
bool when_far(int64_t seconds, int64_t now); /* so far away that a person needs the year */
const char *when_relative(int64_t seconds, int64_t now, char room[WHEN_TEXT]); /* "in 3h 20m", "2d ago", "now" */
const char *when_span(int64_t seconds, char room[WHEN_TEXT]);            /* "1d 12h", "90m" as "1h 30m" */

#endif
