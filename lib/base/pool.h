/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for many small things that live and go together. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

struct pool;

struct pool *pool_new(void);                      /* NULL: out of memory */
void pool_free(struct pool *p);
void *pool_get(struct pool *p, size_t size);      /* zeroed, aligned; NULL: out of memory */
char *pool_text(struct pool *p, const char *s, size_t len); /* a copy that ends with NUL */

#endif
