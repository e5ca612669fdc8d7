/* SPDX-License-Identifier: Apache-2.0 */
/* A month or a day in UTC, or the time between two of them, for what looks back: reports and statements. */
#ifndef CLI_TRADE_PERIOD_H
#define CLI_TRADE_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct period {
	int64_t from, to; /* Unix seconds, [from, to) */
};

enum { PERIOD_TEXT = 40 };

/* "2026-10", "2026-10-05" (UTC), "2026-10-05T09:00:00Z", "@1795204800". The last two have no length. -EINVAL. */
int period_read(const char *text, struct period *out, struct fail *f);

/* "2026-10", which is what statements are of; -EINVAL. */
int period_read_month(const char *text, struct period *out, struct fail *f);

struct period period_month_of(int64_t at);
const char *period_month(int64_t at, char room[PERIOD_TEXT]); /* "2026-10" */
const char *period_day(int64_t at, char room[PERIOD_TEXT]);   /* "2026-10-05" */
const char *period_title(int64_t at, char room[PERIOD_TEXT]); /* "October 2026" */

#endif
