/* SPDX-License-Identifier: Apache-2.0 */
/* What is traded and where it lies: SKUs, hosts, pools. */
#ifndef MARKETD_ENGINE_RULES_DEPOT_H
#define MARKETD_ENGINE_RULES_DEPOT_H

#include "marketd/engine/live/world.h"

int depot_sku(struct engine *e, const struct event *ev, struct fail *why);
int depot_make(struct engine *e, const struct event *ev, struct fail *why);
int depot_change(struct engine *e, const struct event *ev, struct fail *why);
int depot_delete(struct engine *e, const struct event *ev, struct fail *why);
int depot_host(struct engine *e, const struct event *ev, struct fail *why);
int depot_host_state(struct engine *e, const struct event *ev, struct fail *why);
int depot_host_retire(struct engine *e, const struct event *ev, struct fail *why);

/* A host into its SKU's and its pool's lists. */
struct unit *depot_add_host(struct engine *e, const struct host *h, const struct piece *pieces, size_t count);
void depot_host_due(struct engine *e, struct unit *u); /* when its minutes begin, then when they end */

#endif
