/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/idmap.h"

#include <assert.h>
#include <stdlib.h>

#include "marketd/engine/ensure.h"

void idmap_release(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){ 0 };
}

static void idmap_put(struct idmap *m, uint64_t id, void *thing)
{
	size_t i = idmap_home(m, id);

	assert((m->cap & (m->cap - 1)) == 0 && m->count < m->cap);
	while (m->slots[i].id)
		i = (i + 1) & (m->cap - 1);
	m->slots[i] = (struct idmap_slot){ .id = id, .thing = thing };
}

void idmap_add(struct idmap *m, uint64_t id, void *thing)
{
	assert(id && thing && !idmap_get(m, id));
	if ((m->count + 1) * 2 > m->cap) {
		struct idmap big = { .cap = m->cap ? m->cap * 2 : 64, .count = m->count };

		big.slots = must_zalloc(big.cap * sizeof *big.slots);
		for (size_t i = 0; i < m->cap; i++)
			if (m->slots[i].id)
				idmap_put(&big, m->slots[i].id, m->slots[i].thing);
		free(m->slots);
		*m = big;
	}
	idmap_put(m, id, thing);
	m->count++;
}

void idmap_remove(struct idmap *m, uint64_t id)
{
	size_t mask = m->cap - 1, hole, i;

	if (!m->cap)
		return;
	hole = idmap_home(m, id);
	while (m->slots[hole].id && m->slots[hole].id != id)
		hole = (hole + 1) & mask;
	if (!m->slots[hole].id)
		return;
	m->count--;
	for (i = (hole + 1) & mask; m->slots[i].id; i = (i + 1) & mask) {
		size_t home = idmap_home(m, m->slots[i].id);

		/* An entry may move back into the hole unless the hole is before its home slot. */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole] = (struct idmap_slot){ 0 };
}
