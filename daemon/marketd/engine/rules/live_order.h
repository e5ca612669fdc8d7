/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open order in its lists: of its account, its pool, its SKU, and the minute in which it is to
 * be looked at. What a sell has on sale lies in the hosts' pieces; it remembers on which.
 */
#ifndef MARKETD_ENGINE_RULES_LIVE_ORDER_H
#define MARKETD_ENGINE_RULES_LIVE_ORDER_H

#include "marketd/engine/live/world.h"

/* An order that is not in the lists (yet): on the stack, with all looked up. */
void live_order_init(const struct engine *e, struct live_order *t, const struct order *o);

/* The same on the heap and in the lists. `hosts` is taken over. */
struct live_order *live_order_open(struct engine *e, const struct live_order *from, uint64_t *hosts, size_t host_count);
void live_order_shut(struct engine *e, struct live_order *o); /* out of the lists, and freed */

void live_order_set_rest(struct live_order *o, const struct span *rest, size_t count);
int64_t live_order_rest_minutes(const struct live_order *o); /* node-minutes */

/* Minutes of a host are on sale by it from now on. */
void live_order_on_sale(struct engine *e, struct live_order *o, const struct live_host *h, int64_t start, int64_t end);

/* Minutes up to `end` of a host are not any more: looks again for what is. False: nothing is. */
bool live_order_still(struct engine *e, struct live_order *o);
void live_order_off_sale(struct engine *e, struct live_order *o); /* all of it */
void live_order_schedule(struct engine *e, struct live_order *o);

/* Its row is to be told, and whether it is closed looked at, when the trade is done. */
void live_order_touch(struct engine *e, struct live_order *o);

#endif
