/* SPDX-License-Identifier: Apache-2.0 */
/* A buy: what it would take is planned, paid for, and done; what is left rests or is cancelled. */
#ifndef MARKETD_ENGINE_RULES_BUY_H
#define MARKETD_ENGINE_RULES_BUY_H

#include "marketd/engine/live/world.h"

/*
 * 0: it can be placed; the plan is what it takes, t->pub.hold what it would hold for the rest. Else a
 * reason; for FUNDS and OVER_MAX_TOTAL the plan stands all the same.
 */
int buy_plan(const struct engine *e, struct live_order *o, struct plan *plan, struct fail *why);

/* Why what is left of a plan did not fill. */
int32_t buy_reason(const struct plan *plan);

/* Placed, as planned; the order gets the next id. Returns it. */
uint64_t buy_do(struct engine *e, struct live_order *o, const struct plan *plan);

#endif
