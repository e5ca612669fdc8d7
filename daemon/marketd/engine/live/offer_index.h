/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of what a SKU has on sale, so that a buy looks at few hosts: a bit per hour and host, and
 * the hosts in order of their lowest price. Both may list a host too many, never one too few.
 */
#ifndef MARKETD_ENGINE_LIVE_OFFER_INDEX_H
#define MARKETD_ENGINE_LIVE_OFFER_INDEX_H

#include "marketd/engine/live/world.h"

void offer_index_add(struct live_sku *s, struct live_host *h);
void offer_index_drop(struct live_sku *s, struct live_host *h);

/* What the host has on sale changed in [start, end). */
void offer_index_update(struct live_host *h, int64_t start, int64_t end);
void offer_index_turn(struct live_sku *s, int64_t minute); /* the market's minute moved on */

/* Into p->bits: the hosts that may have all (some) of [start, end) on sale. Returns how many. */
size_t offer_index_all(const struct live_sku *s, struct plan *p, int64_t start, int64_t end);
size_t offer_index_some(const struct live_sku *s, struct plan *p, int64_t start, int64_t end);

static inline bool offer_index_bit(const struct plan *p, size_t slot)
{
	return p->bits[slot / 64] >> (slot % 64) & 1;
}

/* The next slot whose bit is set, from *at on; false at the end. */
bool offer_index_next(const struct live_sku *s, const struct plan *p, size_t *at);

#endif
