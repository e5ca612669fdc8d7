/* SPDX-License-Identifier: Apache-2.0 */
/* A buy: plans what it takes, pays and takes it; what is left rests or is cancelled. */
#ifndef MARKETD_ENGINE_RULES_BUY_H
#define MARKETD_ENGINE_RULES_BUY_H

#include "marketd/engine/live/world.h"

/*
 * Plans a buy. 0: it can be placed; the plan is what it takes, t->pub.hold what it would hold for the
 * rest. Else a reason; with FUNDS and OVER_MAX_TOTAL the plan is filled in, too.
 */
int buy_plan(const struct engine *e, struct live_order *o, struct plan *plan, struct fail *why);

/* What the order's grant pays of a plan. */
int64_t buy_granted(const struct order *o, const struct plan *plan);

/* Why the rest of a plan did not fill. */
int32_t buy_reason(const struct plan *plan);

/* Places the buy as planned; it takes the next id, which is returned. */
uint64_t buy_do(struct engine *e, struct live_order *o, const struct plan *plan);

#endif
