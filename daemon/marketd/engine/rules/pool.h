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

#endif
