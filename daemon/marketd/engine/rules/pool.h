/* SPDX-License-Identifier: Apache-2.0 */
/* SKUs, hosts and pools: made, changed, deleted. */
#ifndef MARKETD_ENGINE_RULES_POOL_H
#define MARKETD_ENGINE_RULES_POOL_H

#include "marketd/engine/live/world.h"

int sku_make(struct engine *e, const struct event *ev, struct fail *why);
int pool_make(struct engine *e, const struct event *ev, struct fail *why);
int pool_change(struct engine *e, const struct event *ev, struct fail *why);
int pool_delete(struct engine *e, const struct event *ev, struct fail *why);
int host_register(struct engine *e, const struct event *ev, struct fail *why);
int host_set_state(struct engine *e, const struct event *ev, struct fail *why);
int host_retire(struct engine *e, const struct event *ev, struct fail *why);

/* The host that the event is about, of the account that it names. */
int pool_find_host(const struct engine *e, const struct event *ev, struct live_host **out, struct fail *why);

/*
 * Settles the leases under way on a host up to `since`: this minute's and those that it was sold on
 * from. What is settled past `since` stays as it is; the rest will settle by the new state.
 */
void pool_settle_running(struct engine *e, const struct live_host *h, int64_t since);

/* Adds a host to the lists of its SKU and its pool. */
struct live_host *pool_add_host(struct engine *e, const struct host *h, const struct piece *pieces, size_t count);
void host_pass_due(struct engine *e, struct live_host *h); /* when its minutes begin, then when they end */

/* ---- The lowest price of a host: its owner sells no minute of it for less --------------------- */

/* Whether an order of this pool may sell the host at this price. Buyers resell at any. */
static inline bool floor_allows(const struct live_host *h, uint64_t pool, int64_t price)
{
	return pool != h->pub.pool || price >= h->pub.floor;
}

int floor_refuse(const struct live_host *h, struct fail *why); /* REASON_BELOW_FLOOR, and what it is */

/* Whether all that the order has on sale may have this price: 0 or REASON_BELOW_FLOOR. */
int floor_check_order(const struct engine *e, const struct live_order *o, int64_t price, struct fail *why);

int floor_check(const struct engine *e, const struct event *ev, struct live_host **out, struct fail *why);
int host_floor(struct engine *e, const struct event *ev, struct fail *why);

#endif
