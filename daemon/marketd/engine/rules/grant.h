/* SPDX-License-Identifier: Apache-2.0 */
/* Grants: money of one account that pays a part of what another buys; and what is known of accounts. */
#ifndef MARKETD_ENGINE_RULES_GRANT_H
#define MARKETD_ENGINE_RULES_GRANT_H

#include "base/fail.h"
#include "marketd/engine/live/world.h"

int grant_make(struct engine *e, const struct event *ev, struct fail *why);
int grant_end(struct engine *e, const struct event *ev, struct fail *why);
int facts_set(struct engine *e, const struct event *ev, struct fail *why);

/* Adds one that was read or made; takes it. */
void grant_add(struct engine *e, struct grant *g);

/* Whether what a lease says of its grant can be. */
bool grant_fits(const struct engine *e, const struct lease *l);

/* The account that pays a part of the lease's price; NULL: none does. */
struct live_account *grant_sponsor(const struct engine *e, uint64_t grant);

/* What the grant pays a minute of an order's node at this price. */
int64_t grant_price(const struct order *o, int64_t price);

/* Whether an event's grant may pay for an order. */
int grant_check_named(const struct engine *e, const struct event *ev, struct fail *why);
int grant_check_shape(const struct engine *e, const struct event *ev, struct fail *why);

/* What the order's grant pays of all of this cost, in millionths: of a plan first what is included. */
int32_t grant_part(const struct engine *e, const struct order *o, int64_t cost);

/* It pays for nothing new. */
void grant_over(struct engine *e, struct grant *g);

/* Whether it and its sponsor have that much left. */
int grant_check_funds(const struct engine *e, uint64_t grant, int64_t amount, struct fail *why);

/* It paid so much more; less, where the amount is below 0. */
void grant_spend(struct engine *e, uint64_t grant, int64_t amount);

#endif
