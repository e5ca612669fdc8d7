/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a type's nodes were sold for in the last seven days, in steps of six hours. A step's price is the median of what
 * each pair of buyer and seller paid on average, weighted by node-minutes, where no pair weighs more than a third of
 * all: so two accounts that trade with each other, at whatever price and volume, cannot lead it away from what others
 * paid. Of fewer than three pairs it is the mean. Who buys from himself is not counted. The store is read once, a
 * bounded piece for each question, and from then on only what is new.
 */
#ifndef MARKETD_API_NP_PRICE_WEEK_H
#define MARKETD_API_NP_PRICE_WEEK_H

#include "marketd/api/api.h"

enum { WEEK_STEPS = 28, WEEK_STEP = 6 * 3600, WEEK_PAIRS = 128 }; /* seconds, from midnight UTC on */

/* One of more pairs than are kept apart stands for all further ones: of 0 and 0. */
struct week_pair {
	uint64_t low, high; /* accounts */
	int64_t cost, minutes;
};

struct week_step {
	struct week_pair *pairs;
	size_t count, room;
};

struct week_type {
	uint64_t sku;
	struct week_step steps[WEEK_STEPS]; /* the step n at n % WEEK_STEPS */
	int64_t last_price, last_at;        /* of the newest trade; last_at 0: there was none */
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
/* What the step's price is the quotient of; false: nobody traded. Orders its pairs. */
bool price_week_index(struct week_step *s, int64_t *cost, int64_t *minutes);
/* Adds a trade. 0 or -1: out of memory. */
int price_week_add(struct week_step *s, uint64_t buyer, uint64_t seller, int64_t price, int64_t minutes);
struct week_type *price_week_of(const struct price_week *w, uint64_t sku);       /* NULL: it had no trade */
void price_week_release(struct price_week *w);                                   /* as if nothing had been read */

#endif
