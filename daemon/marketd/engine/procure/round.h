/* SPDX-License-Identifier: Apache-2.0 */
/* One try of one procurement to bring its pool to the target: what it starts from. */
#ifndef MARKETD_ENGINE_PROCURE_ROUND_H
#define MARKETD_ENGINE_PROCURE_ROUND_H

#include "marketd/engine/live/world.h"

/* From `at` on the pool owns so many nodes and has so many of them on sale by this procurement. */
struct step {
	int64_t at;
	int32_t own, sale;
	bool ends; /* here the pool stops owning a host */
};

struct steps {
	struct step *list;
	size_t count, cap;
};

struct round {
	struct engine *e;
	struct procurement *p;
	int64_t start, window_end, end; /* what must be covered, and how far it looks: by edition 2 a full hour */
	int32_t target;
	int32_t reason; /* the first */
};

struct round round_of(struct engine *e, struct procurement *p);

/* Levels in order of time over [start, end); the caller frees the list. */
struct steps round_survey(const struct round *r);
int64_t round_level_end(const struct round *r, const struct steps *s, size_t i);

/* What it may spend now, and the reason where that does not do. */
int64_t round_funds(const struct round *r, int32_t *reason);

void round_keep_reason(struct round *r, int32_t reason);
struct live_order round_order(const struct round *r, enum side side, int64_t start, int64_t end, int32_t nodes);

/* Cancels all that this procurement has on sale, and says so, if some of it is no longer too much. */
bool round_cancel_excess(struct round *r);
void round_cancel_orders(struct engine *e, const struct procurement *p);
void round_tell(struct round *r); /* keeps the reason, and says so where it is another */

#endif
