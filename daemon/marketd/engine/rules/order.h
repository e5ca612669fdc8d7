/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a requested order before the market looks for what would fill it. */
#ifndef MARKETD_ENGINE_RULES_ORDER_H
#define MARKETD_ENGINE_RULES_ORDER_H

#include "marketd/engine/live/world.h"

#define ORDER_PRICE_MAX INT64_C(1000000000000)

/*
 * 0 and the order (without an id, `start` raised), or a reason. For a quote (`asking`) a buy's pool
 * may be 0: an empty one.
 */
int order_check(const struct engine *e, const struct event *ev, bool asking, struct order *out, struct fail *why);

/* Another price for a sell; what it has on sale, and until when, stays. 0 without effect where it has that price. */
int order_price(struct engine *e, const struct event *ev, struct fail *why);

int order_price_check(const struct engine *e, const struct event *ev, struct live_order **out, struct fail *why);

int order_cancel(struct engine *e, const struct event *ev, struct fail *why);

#endif
