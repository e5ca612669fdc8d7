/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assertions that stay on in every build, and allocations that end the program when memory is out:
 * a market that continues with a wrong state is worse than one that stops with a sentence and restarts.
 */
#ifndef MARKETD_ENGINE_ENSURE_H
#define MARKETD_ENGINE_ENSURE_H

#include <stddef.h>
#include <stdint.h>

_Noreturn void ensure_failed(const char *sentence, const char *file, int line);

#define ensure(cond, sentence) ((cond) ? (void)0 : ensure_failed((sentence), __FILE__, __LINE__))

void *must_zalloc(size_t size);
void *must_realloc(void *old, size_t count, size_t size);
char *must_copy(const char *text); /* NULL stays NULL */

/* Room for one more in an array that doubles: `list`, `count` and `cap` are lvalues. */
#define must_room(list, count, cap) \
	((count) < (cap) ? (void)0 : \
		(void)((cap) = (cap) ? (cap) * 2 : 8, (list) = must_realloc((list), (cap), sizeof *(list))))

/* Sums that cannot overflow: the checks of each event limit what goes in. */
static inline int64_t sure_add(int64_t a, int64_t b)
{
	int64_t out;

	ensure(!__builtin_add_overflow(a, b, &out), "a sum of money passes 64 bits");
	return out;
}

static inline int64_t sure_mul(int64_t a, int64_t b)
{
	int64_t out;

	ensure(!__builtin_mul_overflow(a, b, &out), "a product of money passes 64 bits");
	return out;
}

#endif
