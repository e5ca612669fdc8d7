/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from text keys to pointers. It copies the keys and does not own the values. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_slot {
	char *key;
	void *value;
	uint32_t hash;
};

struct table {
	struct table_slot *slots;
	size_t count, cap;
};

void table_init(struct table *t);
void table_release(struct table *t);
int table_set(struct table *t, const char *key, void *value); /* replaces; 0 or -ENOMEM */
void *table_get(const struct table *t, const char *key);      /* NULL where absent */
void *table_remove(struct table *t, const char *key);         /* what was there */

/* Walks in no order: start with *at = 0; false at the end. */
int table_next(const struct table *t, size_t *at, const char **key, void **value);

#endif
