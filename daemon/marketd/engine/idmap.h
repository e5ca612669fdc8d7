/* SPDX-License-Identifier: Apache-2.0 */
/* Maps an id to its thing. Open addressing; removal closes the gap. Nothing walks it, so its order never shows. */
#ifndef MARKETD_ENGINE_IDMAP_H
#define MARKETD_ENGINE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
	uint64_t id; /* 0: free */
	void *thing;
};

struct idmap {
	struct idmap_slot *slots;
	size_t count, cap;
};

void idmap_release(struct idmap *m);
void idmap_add(struct idmap *m, uint64_t id, void *thing);
void idmap_remove(struct idmap *m, uint64_t id);

static inline size_t idmap_home(const struct idmap *m, uint64_t id)
{
	return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->cap - 1);
}

static inline void *idmap_get(const struct idmap *m, uint64_t id)
{
	size_t i;

	if (!m->cap || !id)
		return NULL;
	for (i = idmap_home(m, id); m->slots[i].id; i = (i + 1) & (m->cap - 1))
		if (m->slots[i].id == id)
			return m->slots[i].thing;
	return NULL;
}

#endif
