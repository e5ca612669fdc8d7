/* SPDX-License-Identifier: Apache-2.0 */
/* A sell: hosts of its pool go on sale, and resting buys are tried at once. */
#ifndef MARKETD_ENGINE_RULES_SELL_H
#define MARKETD_ENGINE_RULES_SELL_H

#include "marketd/engine/live/world.h"

struct pick {
	struct live_host **list;
	size_t count, cap;
};

/* In the order in which a sell (a release) takes hosts of a pool: those that it would miss least first. */
void pick_sort(struct pick *p, const struct engine *e, uint64_t pool);
void pick_release(struct pick *p);

/* 0 and the hosts (the caller releases), NOT_OWNED, or BELOW_FLOOR where they are too dear for its price. */
int sell_plan(const struct engine *e, const struct live_order *o, struct pick *out, struct fail *why);

/* Puts those hosts on sale by a new order, which takes the next id. */
void sell_do(struct engine *e, struct live_order *o, const struct pick *hosts);

/* sell_preview.c: what the resting buys would take of a sell if it were placed now. */
struct sell_preview {
	int64_t cost, minutes, lowest; /* lowest: of the prices that they pay */
	int32_t nodes;                 /* hosts of which something is sold */
	bool whole;
};

/* Counts only minutes of these hosts; together with other offers a buy may take more. */
void sell_preview_find(const struct engine *e, const struct order *o, const struct pick *hosts,
	struct sell_preview *out);

#endif
