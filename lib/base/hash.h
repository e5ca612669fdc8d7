/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a of 64 bits: for names and marks that must not collide by chance, against nobody's malice. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* Goes on from h, which is HASH_BEGIN or the result of an earlier call. */
static inline uint64_t hash_more(uint64_t h, const void *data, size_t len)
{
	for (const unsigned char *p = data; len--; p++)
		h = (h ^ *p) * UINT64_C(1099511628211);
	return h;
}

#endif
