/* SPDX-License-Identifier: Apache-2.0 */
/* Reports what an event did: appends to the effects of the event being applied. */
#ifndef MARKETD_ENGINE_RULES_EMIT_H
#define MARKETD_ENGINE_RULES_EMIT_H

#include "marketd/engine/live/world.h"

void emit_made(struct engine *e, uint64_t id);
void emit_order(struct engine *e, const struct order *o);
void emit_lease(struct engine *e, const struct lease *l, bool is_new, bool over);
void emit_posting(struct engine *e, const struct posting *p);
void emit_notice(struct engine *e, const struct notice *n);
void emit_seal(struct effects *out); /* lets the orders in it point to their spans */

#endif
