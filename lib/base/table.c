/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing; removal closes the gap, so there are no tombstones. */
#include "base/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_text(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ (h >> 15);
}

void table_init(struct table *t)
{
	*t = (struct table){ 0 };
}

void table_release(struct table *t)
{
	for (size_t i = 0; i < t->cap; i++)
		free(t->slots[i].key);
	free(t->slots);
	table_init(t);
}

/* The slot that holds key, or the free one where it would go. A full table would never end the search. */
static size_t table_find(const struct table *t, const char *key, uint32_t hash)
{
	size_t i = hash & (t->cap - 1);

	assert(t->count < t->cap);
	while (t->slots[i].key && (t->slots[i].hash != hash || strcmp(t->slots[i].key, key) != 0))
		i = (i + 1) & (t->cap - 1);
	return i;
}

static int table_grow(struct table *t)
{
	struct table big = { .cap = t->cap ? t->cap * 2 : 16, .count = t->count };

	assert(t->count <= t->cap);
	big.slots = calloc(big.cap, sizeof *big.slots);
	if (!big.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->cap; i++)
		if (t->slots[i].key)
			big.slots[table_find(&big, t->slots[i].key, t->slots[i].hash)] = t->slots[i];
	free(t->slots);
	*t = big;
	return 0;
}

int table_set(struct table *t, const char *key, void *value)
{
	uint32_t hash = hash_text(key);
	size_t i;

	if ((t->count + 1) * 4 > t->cap * 3 && table_grow(t) != 0)
		return -ENOMEM;
	i = table_find(t, key, hash);
	if (!t->slots[i].key) {
		char *copy = strdup(key);

		if (!copy)
			return -ENOMEM;
		t->slots[i] = (struct table_slot){ .key = copy, .hash = hash };
		t->count++;
	}
	t->slots[i].value = value;
	return 0;
}

void *table_get(const struct table *t, const char *key)
{
	return t->cap ? t->slots[table_find(t, key, hash_text(key))].value : NULL;
}

void *table_remove(struct table *t, const char *key)
{
	size_t i, j;
	void *value;

	if (!t->cap)
		return NULL;
	i = table_find(t, key, hash_text(key));
	if (!t->slots[i].key)
		return NULL;
	value = t->slots[i].value;
	free(t->slots[i].key);
	for (j = (i + 1) & (t->cap - 1); t->slots[j].key; j = (j + 1) & (t->cap - 1)) {
		size_t home = t->slots[j].hash & (t->cap - 1);

		if (((j - home) & (t->cap - 1)) >= ((j - i) & (t->cap - 1))) {
			t->slots[i] = t->slots[j];
			i = j;
		}
	}
	t->slots[i] = (struct table_slot){ 0 };
	t->count--;
	return value;
}

int table_next(const struct table *t, size_t *at, const char **key, void **value)
{
	for (; *at < t->cap; ++*at) {
		if (t->slots[*at].key) {
			if (key)
				*key = t->slots[*at].key;
			if (value)
				*value = t->slots[*at].value;
			++*at;
			return 1;
		}
	}
	return 0;
}
