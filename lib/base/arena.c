/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = _Alignof(max_align_t), CHUNK = 16384 };

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

struct arena {
	struct chunk *chunks;
};

struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *p)
{
	struct chunk *next;

	if (!p)
		return;
	for (struct chunk *c = p->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(p);
}

void *arena_get(struct arena *p, size_t size)
{
	struct chunk *c = p->chunks;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!c || c->size - c->used < size) {
		size_t room = size > CHUNK / 4 ? size : CHUNK;

		c = calloc(1, sizeof *c + room);
		if (!c)
			return NULL;
		c->size = room;
		/* A big piece goes behind the first chunk, which small ones still fill. */
		if (room == size && p->chunks) {
			c->next = p->chunks->next;
			p->chunks->next = c;
		} else {
			c->next = p->chunks;
			p->chunks = c;
		}
	}
	c->used += size;
	assert(c->used <= c->size);
	return c->data + c->used - size;
}

char *arena_text(struct arena *p, const char *s, size_t len)
{
	char *copy = arena_get(p, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}
