/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that a seed repeats on every machine: splitmix64, as its author published it for anybody's use. */
#ifndef TESTS_SIM_RNG_H
#define TESTS_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *g)
{
	uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 … n - 1; 0 where n is 0. */
static inline int64_t rng_below(struct rng *g, int64_t n)
{
	return n > 0 ? (int64_t)(rng_next(g) % (uint64_t)n) : 0;
}

/* So many times out of a hundred. */
static inline bool rng_percent(struct rng *g, int percent)
{
	return rng_below(g, 100) < percent;
}

#endif
