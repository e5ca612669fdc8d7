/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is due when: a heap by (minute, id). Its members know their place, so each can be moved or
 * removed without a search.
 */
#ifndef MARKETD_ENGINE_LIVE_DUE_H
#define MARKETD_ENGINE_LIVE_DUE_H

#include <stddef.h>
#include <stdint.h>

struct due {
	int64_t minute;
	uint64_t id;
	size_t place; /* in the heap, from 1; 0: not in it */
};

/* Copies what is compared, so that a comparison follows no pointer. */
struct due_row {
	int64_t minute;
	uint64_t id;
	struct due *due;
};

struct due_heap {
	struct due_row *list;
	size_t count, cap;
};

void due_release(struct due_heap *h);
void due_set(struct due_heap *h, struct due *d, uint64_t id, int64_t minute); /* adds or moves */
void due_drop(struct due_heap *h, struct due *d);                             /* no effect where it is not in */

static inline struct due *due_first(const struct due_heap *h)
{
	return h->count ? h->list[0].due : NULL;
}

#endif
