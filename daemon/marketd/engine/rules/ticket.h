/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open order in its lists: of its account, its pool, its SKU, and the minute in which it is to
 * be looked at. What a sell has on sale lies in the hosts' pieces; it remembers on which.
 */
#ifndef MARKETD_ENGINE_RULES_TICKET_H
#define MARKETD_ENGINE_RULES_TICKET_H

#include "marketd/engine/live/world.h"

/* An order that is not in the lists (yet): on the stack, with all looked up. */
void ticket_init(const struct engine *e, struct ticket *t, const struct order *o);

/* The same on the heap and in the lists. `hosts` is taken over. */
struct ticket *ticket_open(struct engine *e, const struct ticket *from, uint64_t *hosts, size_t host_count);
void ticket_shut(struct engine *e, struct ticket *t); /* out of the lists, and freed */

void ticket_set_rest(struct ticket *t, const struct span *rest, size_t count);
int64_t ticket_rest_minutes(const struct ticket *t); /* node-minutes */

/* Minutes of a host are on sale by it from now on. */
void ticket_on_sale(struct engine *e, struct ticket *t, const struct unit *u, int64_t start, int64_t end);

/* Minutes up to `end` of a host are not any more: looks again for what is. False: nothing is. */
bool ticket_still(struct engine *e, struct ticket *t);
void ticket_off_sale(struct engine *e, struct ticket *t); /* all of it */
void ticket_schedule(struct engine *e, struct ticket *t);

/* Its row is to be told, and whether it is closed looked at, when the trade is done. */
void ticket_touch(struct engine *e, struct ticket *t);

#endif
