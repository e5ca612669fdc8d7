/* SPDX-License-Identifier: Apache-2.0 */
/* Caps: what a person, and a token, may spend in a calendar month (UTC), and what each has spent in this one. */
#ifndef MARKETD_ENGINE_MONEY_CAP_H
#define MARKETD_ENGINE_MONEY_CAP_H

#include "base/fail.h"
#include "marketd/engine/live/world.h"

/* The month in which what a token buys now counts for it; 0: it counts for nobody. */
int64_t cap_counts(const struct engine *e, uint64_t token);

/* Whether what a token buys counts there. */
bool cap_is_of(const struct engine *e, uint64_t token, const struct spending *s);

/* What a buy of that month by the token may still cost. */
int64_t cap_left(const struct engine *e, uint64_t token, int64_t month);
int cap_check(const struct engine *e, const struct order *o, int64_t need, struct fail *why);

/* It cost so much more; came back, where the amount is below 0. Of earlier months nothing changes. */
void cap_spend(struct engine *e, uint64_t token, int64_t month, int64_t amount);

/* The person is removed: what still buys for the token goes on by that person's cap, and has spent as much. */
void cap_inherit(struct token *t, const struct person *x);

int64_t cap_spent(const struct engine *e, const struct spending *s); /* in this month */

/* Months since the beginning of 1970, of which January is 1; the minute in which that month begins. */
int64_t cap_month(int64_t minute);
int64_t cap_month_start(int64_t month);

#endif
