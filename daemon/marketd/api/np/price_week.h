/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a type's nodes were sold for in the last seven days: the mean of each six hours, weighted by node-minutes. The
 * store is read once, a bounded piece for each question, and from then on only what is new.
 */
#ifndef MARKETD_API_NP_PRICE_WEEK_H
#define MARKETD_API_NP_PRICE_WEEK_H

#include "marketd/api/api.h"

enum { WEEK_STEPS = 28, WEEK_STEP = 6 * 3600 }; /* seconds, from midnight UTC on */

struct week_type {
	uint64_t sku;
	int64_t cost[WEEK_STEPS], minutes[WEEK_STEPS]; /* of the step n at n % WEEK_STEPS */
	int64_t last_price, last_at;                   /* of the newest trade; last_at 0: there was none */
};

struct price_week {
	int64_t step;  /* the one that runs, since the epoch; 0: nothing was read yet */
	uint64_t last; /* the last lease that was read */
	bool counted;  /* false: there are older trades that were not read yet */
	struct week_type *types;
	size_t count, cap;
};

/* Goes on reading. 0, or a reason. */
int price_week_read(struct price_week *w, struct store *s, int64_t now, struct fail *f);
const struct week_type *price_week_of(const struct price_week *w, uint64_t sku); /* NULL: it had no trade */
void price_week_release(struct price_week *w);                                   /* as if nothing had been read */

#endif
