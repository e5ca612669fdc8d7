/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases: made by a trade, paid minute by minute, split where a part of one goes its own way,
 * taken back with notice, given back, over. Each step with its money and its capacity.
 */
#ifndef MARKETD_ENGINE_RULES_LEASE_H
#define MARKETD_ENGINE_RULES_LEASE_H

#include "marketd/engine/live/world.h"

/* The pool that its minutes came from. */
struct live_pool *lease_source(const struct engine *e, const struct live_lease *l);

void lease_schedule(struct engine *e, struct live_lease *l); /* when it is due */

/* Splits at a minute within; the ancestors first. Returns the tail. */
struct live_lease *lease_split(struct engine *e, struct live_lease *l, int64_t at);

/* Pays (gives back, while the host is down) what has passed before `minute`. Is it over, it stays in the lists. */
void lease_settle(struct engine *e, struct live_lease *l, int64_t minute);

/* Is over: told, and forgotten. */
void lease_end(struct engine *e, struct live_lease *l);

/* An interruptible lease loses its minutes from c on; they are its seller's again. */
void lease_interrupt(struct engine *e, struct live_lease *l, int64_t c);

/* What its buyer gets for giving it back from `from` on (the lease's start where that is later). */
int64_t lease_refund(const struct engine *e, const struct lease *l, int64_t from);

/* The whole lease, which has not begun, goes back to its seller. */
int64_t lease_give_back(struct engine *e, struct live_lease *l);

#endif
