/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out a plan: minutes and money change hands. Closes orders, whatever the cause. */
#ifndef MARKETD_ENGINE_RULES_TRADE_H
#define MARKETD_ENGINE_RULES_TRADE_H

#include "marketd/engine/live/world.h"

/* Closes an order: emits it, takes it out of the lists, returns a buy's hold, takes a sell's minutes off sale. */
void trade_close(struct engine *e, struct live_order *o, enum order_status status, int32_t reason);
void trade_emit_placed(struct engine *e, const struct order *o);

/* Carries out the whole plan, paid from what the order holds or from what is available. */
void trade_do(struct engine *e, struct live_order *buy, const struct plan *plan, bool from_hold);

/* For sells of which something was sold or taken back: emits their rows, closes those with nothing on sale. */
void trade_finish(struct engine *e);

#endif
