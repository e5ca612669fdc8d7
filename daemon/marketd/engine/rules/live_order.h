/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open order in its lists: of its account, pool and SKU, and by the minute when it is due. The
 * hosts' pieces say what a sell has on sale; the sell remembers which hosts.
 */
#ifndef MARKETD_ENGINE_RULES_LIVE_ORDER_H
#define MARKETD_ENGINE_RULES_LIVE_ORDER_H

#include "marketd/engine/live/world.h"

/* Fills in an order that is in no list (yet), on the caller's stack; looks up what it names. */
void live_order_init(const struct engine *e, struct live_order *t, const struct order *o);

/* The same on the heap and in the lists. Takes over `hosts`. */
struct live_order *live_order_open(struct engine *e, const struct live_order *from, uint64_t *hosts, size_t host_count);
void live_order_shut(struct engine *e, struct live_order *o); /* out of the lists, and freed */

/* A sell gets another price: what it has on sale goes to the end of those that ask as much. */
void live_order_reprice(struct engine *e, struct live_order *o, int64_t price);

void live_order_set_rest(struct live_order *o, const struct span *rest, size_t count);
int64_t live_order_rest_minutes(const struct live_order *o); /* node-minutes */

/* Puts minutes of a host on sale by this order. */
void live_order_on_sale(struct engine *e, struct live_order *o, const struct live_host *h, int64_t start, int64_t end);

/* Minutes of a host up to `end` went off sale: finds what still is on sale. False: nothing is. */
bool live_order_still(struct engine *e, struct live_order *o);
void live_order_off_sale(struct engine *e, struct live_order *o); /* all of it */
void live_order_schedule(struct engine *e, struct live_order *o);

/* Marks the order: at the end of the trade its row is emitted and, if nothing is left, it is closed. */
void live_order_touch(struct engine *e, struct live_order *o);

#endif
