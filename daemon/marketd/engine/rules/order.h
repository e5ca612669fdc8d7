/* SPDX-License-Identifier: Apache-2.0 */
/* An order at the door: all that is asked of it before it is looked at what would fill. */
#ifndef MARKETD_ENGINE_RULES_ORDER_H
#define MARKETD_ENGINE_RULES_ORDER_H

#include "marketd/engine/live/world.h"

/*
 * 0 and the order (without an id, `start` raised), or a reason. Where it is only asked what would
 * be (asking), a buy's pool may be 0: one that has nothing.
 */
int order_check(const struct engine *e, const struct event *ev, bool asking, struct order *out, struct fail *why);

int order_cancel(struct engine *e, const struct event *ev, struct fail *why);

#endif
