/* SPDX-License-Identifier: Apache-2.0 */
/* Resting buys: tried where something came on sale, shortened as time passes. */
#ifndef MARKETD_ENGINE_RULES_RESTING_H
#define MARKETD_ENGINE_RULES_RESTING_H

#include "marketd/engine/live/world.h"

/* One pass over the resting buys of a SKU. */
void resting_try(struct engine *e, struct live_sku *s);

/* Passes over the marked SKUs, in order of id, that had no pass in this round (event, minute of a tick) yet. */
void resting_try_marked(struct engine *e);

/* Orders that are due in this minute: buys lose it, sells are over. */
void resting_pass_minute(struct engine *e);

/* All that the order asks for, as one span. */
struct span resting_whole(const struct order *o);

/* Cancels the resting buys of who may not buy any more: what they hold comes back. */
void resting_stop_buying(struct engine *e, struct live_account *a);

#endif
