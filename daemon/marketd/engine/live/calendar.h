/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns each minute of a host: a sorted array of pieces without gaps. Like neighbours are joined,
 * past pieces forgotten.
 */
#ifndef MARKETD_ENGINE_LIVE_CALENDAR_H
#define MARKETD_ENGINE_LIVE_CALENDAR_H

#include "marketd/engine/live/world.h"

/* The first piece that ends after this minute; piece_count where there is none. */
static inline size_t calendar_find(const struct live_host *h, int64_t minute)
{
	const int32_t *ends = h->ends + (h->ends ? h->room_off : 0);
	size_t low = 0, high = h->pub.piece_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ends[mid] <= minute)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct piece *calendar_at(const struct live_host *h, int64_t minute); /* the one that has it; NULL */

/* Makes all minutes of [start, end) like `how`. */
void calendar_put(struct live_host *h, int64_t start, int64_t end, const struct piece *how);

void calendar_off_sale(struct live_host *h, int64_t start, int64_t end, uint64_t order);
/* What the order has on sale of the host gets its price and its place. */
void calendar_reprice(struct live_host *h, const struct order *o);
void calendar_relabel(struct live_host *h, int64_t start, int64_t end, uint64_t from, uint64_t to); /* leases */

bool calendar_owned(const struct live_host *h, uint64_t pool, int64_t minute);
int64_t calendar_last(const struct live_host *h, uint64_t order, int64_t before); /* end of its last piece; 0 */

void calendar_trim(struct live_host *h, int64_t minute);
void calendar_clear(struct live_host *h);
void calendar_start(struct live_host *h, const struct piece *list, size_t count);

#endif
