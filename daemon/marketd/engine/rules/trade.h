/* SPDX-License-Identifier: Apache-2.0 */
/* A plan is done: minutes change hands, with their money. And orders are closed, whatever the cause. */
#ifndef MARKETD_ENGINE_RULES_TRADE_H
#define MARKETD_ENGINE_RULES_TRADE_H

#include "marketd/engine/live/world.h"

/* Closed: told; out of the lists where it is in them. A buy's hold goes back, a sell's minutes go off sale. */
void trade_close(struct engine *e, struct live_order *o, enum order_status status, int32_t reason);
void trade_emit_placed(struct engine *e, const struct order *o);

/* All of the plan, paid from what the order holds or from what is available. */
void trade_do(struct engine *e, struct live_order *buy, const struct plan *plan, bool from_hold);

/* Sells of which something was sold or taken back: their rows; those of which nothing is on sale are closed. */
void trade_finish(struct engine *e);

#endif
