/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans what a buy would take now; changes nothing. trade.c carries the plan out, or it is dropped.
 * match.c: N hosts for the whole window; partial.c: whatever there is.
 */
#ifndef MARKETD_ENGINE_RULES_MATCH_H
#define MARKETD_ENGINE_RULES_MATCH_H

#include "marketd/engine/live/world.h"

struct want {
	struct live_sku *sku;
	const struct live_pool *pool; /* NULL: a pool that has nothing */
	uint64_t beneficiary, id;  /* id UINT64_MAX: younger than every sell */
	int32_t flags, nodes;
	int64_t start, end, limit;
	const struct span *rest;   /* of a PARTIAL buy: its need */
	size_t rest_count;
	bool procures;             /* fewer hosts do where there are not so many, and none that the pool has already */
	bool stays;                /* the pool has these hosts in the minute before: they go on without a new proof */
	bool resting;              /* nobody asks why it does not fill: leave plan->more unset */
};

void want_of(struct want *w, const struct live_order *o, uint64_t id);

/* May the buy use this piece, whatever its price? */
bool want_may(const struct engine *e, const struct want *w, const struct piece *p);

/* May the buy use the host at all: is it up, and proven where that is asked for? */
bool want_trusts(const struct engine *e, const struct want *w, const struct live_host *h);

static inline int64_t want_price(const struct want *w, uint64_t place, int64_t ask)
{
	return place < w->id ? ask : w->limit;
}

/* plan->list is empty where nothing is taken; then (or where something is left) plan->more may say why. */
void match_whole(const struct engine *e, const struct want *w, struct plan *plan);
void match_partial(const struct engine *e, const struct want *w, struct plan *plan);
void match_find(const struct engine *e, const struct want *w, struct plan *plan); /* the one that it asks for */

/* An extend. 0 with the plan, or REASON_NOT_OWNED, HOSTS_SOLD, PRICE_TOO_LOW. */
int match_extend(const struct engine *e, const struct want *w, struct plan *plan);

/*
 * For a procurement, which takes whole hosts. Up to w->nodes hosts that have the whole window, as a buy without
 * PARTIAL takes them; the one that has most of it from its start on, which then is w->end. How many were found.
 */
size_t match_some(const struct engine *e, const struct want *w, struct plan *plan);
size_t match_longest(const struct engine *e, struct want *w, struct plan *plan);

/* Until when the buy can use the host from its start on (its start: not at all), and what that costs up to w->end. */
int64_t match_reach(const struct engine *e, const struct want *w, const struct live_host *h);
int64_t match_cost(const struct want *w, const struct live_host *h);

bool match_any(const struct engine *e,
	const struct want *w); /* could it use a host in its first minute at any price? */
int64_t match_next(const struct engine *e, const struct want *w,
	struct plan *plan); /* the next in which it can; w->end */

void plan_clear(struct plan *plan);
void plan_host(struct plan *plan, const struct want *w, struct live_host *h);
void plan_drop(struct plan *plan, size_t hosts); /* all but the first hosts */
void plan_add(struct plan *plan, struct live_host *h, int64_t start, int64_t end, int64_t price, uint64_t order);

#endif
