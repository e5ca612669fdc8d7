/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for many small things that are all freed together. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);                      /* NULL: out of memory */
void arena_free(struct arena *p);
void *arena_get(struct arena *p, size_t size);      /* zeroed, aligned; NULL: out of memory */
char *arena_text(struct arena *p, const char *s, size_t len); /* a copy that ends with NUL */

#endif
