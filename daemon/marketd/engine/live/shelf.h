/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a SKU has on sale, so that a buy looks at few hosts: for each hour a bit a host, and the
 * hosts in order of their lowest price. Both may promise too much and never too little.
 */
#ifndef MARKETD_ENGINE_LIVE_SHELF_H
#define MARKETD_ENGINE_LIVE_SHELF_H

#include "marketd/engine/live/world.h"

void shelf_add(struct ware *w, struct unit *u);
void shelf_drop(struct ware *w, struct unit *u);

/* What the host has on sale changed in [start, end). */
void shelf_update(struct unit *u, int64_t start, int64_t end);
void shelf_turn(struct ware *w, int64_t minute); /* time went on */

/* Into p->bits: the hosts that may have all (some) of [start, end) on sale. Returns how many. */
size_t shelf_all(const struct ware *w, struct plan *p, int64_t start, int64_t end);
size_t shelf_some(const struct ware *w, struct plan *p, int64_t start, int64_t end);

static inline bool shelf_bit(const struct plan *p, size_t slot)
{
	return p->bits[slot / 64] >> (slot % 64) & 1;
}

/* The next slot whose bit is set, from *at on; false at the end. */
bool shelf_next(const struct ware *w, const struct plan *p, size_t *at);

#endif
