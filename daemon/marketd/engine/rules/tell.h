/* SPDX-License-Identifier: Apache-2.0 */
/* What an event did, as it is told to whoever applied it: appended to its effects. */
#ifndef MARKETD_ENGINE_RULES_TELL_H
#define MARKETD_ENGINE_RULES_TELL_H

#include "marketd/engine/live/world.h"

void tell_made(struct engine *e, uint64_t id);
void tell_order(struct engine *e, const struct order *o);
void tell_lease(struct engine *e, const struct lease *l, bool is_new, bool over);
void tell_posting(struct engine *e, const struct posting *p);
void tell_notice(struct engine *e, const struct notice *n);
void tell_seal(struct effects *out); /* lets the orders in it point to their spans */

#endif
