/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: a fee a month, for which its seller pays for included node time. A month of it is a grant, which the seller
 * sponsors and which ends with the month. Here a plan is a tariff: a plan is what a buy takes (world.h).
 */
#ifndef MARKETD_ENGINE_MONEY_TARIFF_H
#define MARKETD_ENGINE_MONEY_TARIFF_H

#include "base/fail.h"
#include "marketd/engine/live/world.h"

int tariff_make(struct engine *e, const struct event *ev, struct fail *why);
int subscription_set(struct engine *e, const struct event *ev, struct fail *why);

void subscription_turn(struct engine *e);         /* in each minute of a tick: a month may begin in it */
int64_t subscription_due(const struct engine *e); /* the minute in which the next fee is due */

struct subscription *subscription_of(const struct engine *e, uint64_t account); /* NULL: it has none */
/* What its next month costs, 0 where none follows; why that would not be paid as things are now, 0: it would be. */
int64_t subscription_next_fee(const struct engine *e, const struct subscription *s, int32_t *lapses);
/* Whether that plan would begin at once in place of the account's. */
bool subscription_begins_now(const struct engine *e, uint64_t account, const struct tariff *t);
int64_t subscription_fee(const struct engine *e, uint64_t account, const struct tariff *t); /* to be paid at once */

/* Whether one that was read can be; adds it. */
bool tariff_fits(const struct engine *e, const struct tariff *t);
void tariff_add(struct engine *e, struct tariff *t);
bool subscription_fits(const struct engine *e, const struct subscription *s);
bool tariff_grants_fit(const struct engine *e); /* grants are read before plans */

#endif
