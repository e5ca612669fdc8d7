/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things in order of id. Ids only grow, so new things go to the end. What leaves becomes a gap; the
 * list closes its gaps once they are the greater part.
 */
#ifndef MARKETD_ENGINE_LIVE_RANK_H
#define MARKETD_ENGINE_LIVE_RANK_H

#include <stddef.h>
#include <stdint.h>

struct rank_row {
	uint64_t id;
	void *thing; /* NULL: it left */
};

struct rank {
	struct rank_row *rows;
	size_t count, dead, cap; /* count has the dead in it */
};

void rank_release(struct rank *r);
void rank_add(struct rank *r, uint64_t id, void *thing); /* id: above all in the list */
void rank_put(struct rank *r, uint64_t id, void *thing); /* one that was never in it, wherever its place is */
void rank_remove(struct rank *r, uint64_t id);
void *rank_after(const struct rank *r, uint64_t id);  /* the first with an id above; NULL */
void *rank_before(const struct rank *r, uint64_t id); /* the last with an id below; NULL */

/* From *at = 0 on; NULL at the end. */
static inline void *rank_next(const struct rank *r, size_t *at)
{
	while (*at < r->count) {
		void *thing = r->rows[(*at)++].thing;

		if (thing)
			return thing;
	}
	return NULL;
}

static inline size_t rank_live(const struct rank *r)
{
	return r->count - r->dead;
}

#endif
