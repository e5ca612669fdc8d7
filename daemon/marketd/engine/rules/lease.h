/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases: a trade makes them; they are paid by the minute, split where only a part changes,
 * interrupted with notice, released, and ended. Each step moves its money and its capacity.
 */
#ifndef MARKETD_ENGINE_RULES_LEASE_H
#define MARKETD_ENGINE_RULES_LEASE_H

#include "marketd/engine/live/world.h"

/* The pool that its minutes came from. */
struct live_pool *lease_source(const struct engine *e, const struct live_lease *l);

void lease_schedule(struct engine *e, struct live_lease *l); /* when it is due */

/* Splits at a minute within; the ancestors first. Returns the tail. */
struct live_lease *lease_split(struct engine *e, struct live_lease *l, int64_t at);

/* Its buyer asked for a proven host, and the host has no proof that was valid when he came, or since. */
bool lease_unproven(const struct engine *e, const struct lease *l);

/* Pays (refunds, while the host is down) the minutes before `minute`. A lease that is over stays in the lists. */
void lease_settle(struct engine *e, struct live_lease *l, int64_t minute);

/* Ends the lease: tells the buyer and forgets it. */
void lease_end(struct engine *e, struct live_lease *l);

/* Takes the minutes of an interruptible lease from c on back to its seller. */
void lease_interrupt(struct engine *e, struct live_lease *l, int64_t c);

/* What its buyer paid for its time from `from` on (the lease's start where that is later). */
int64_t lease_unused(const struct lease *l, int64_t from);

/* What its buyer gets for giving it back from `from` on (the lease's start where that is later). */
int64_t lease_refund(const struct engine *e, const struct lease *l, int64_t from);

/* Gives a whole lease, which has not begun, back to its seller. */
void lease_give_back(struct engine *e, struct live_lease *l);

/* The same by the host's owner: the buyer gets back all that it costs. `told`: the lease that the buyer knows. */
void lease_shorten(struct engine *e, struct live_lease *l, uint64_t told);

#endif
