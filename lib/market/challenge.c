/* SPDX-License-Identifier: Apache-2.0 */
#include "market/challenge.h"

#include <openssl/sha.h>
#include <stdio.h>

#define SPREAD 0x9e3779b97f4a7c15ULL

uint64_t challenge_seed(const char *nonce, const char *test)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	char text[256];
	uint64_t seed = 0;
	int n = snprintf(text, sizeof text, "nanopod-challenge\n%.*s\n%.64s\n", CHALLENGE_NONCE, nonce, test);

	SHA256((const unsigned char *)text, (size_t)n, hash);
	for (int i = 7; i >= 0; i--)
		seed = seed << 8 | hash[i];
	return seed;
}

uint64_t challenge_next(uint64_t seed)
{
	return seed * CHALLENGE_MULTIPLIER + CHALLENGE_INCREMENT;
}

static uint64_t challenge_step(uint64_t v)
{
	return (v ^ v >> 29) * CHALLENGE_MULTIPLIER + CHALLENGE_INCREMENT;
}

uint64_t challenge_sum(uint64_t seed, uint64_t lane, uint64_t rounds)
{
	uint64_t v = seed + lane;

	for (uint64_t i = 0; i < rounds; i++)
		v = challenge_step(v);
	return v;
}

uint64_t challenge_lane(uint64_t seed, uint64_t k)
{
	return (seed + k * SPREAD) % CHALLENGE_LANES;
}

/* All lanes at once: one alone would wait for each of its own multiplications. */
uint64_t challenge_answer(uint64_t seed, uint64_t rounds)
{
	uint64_t lanes[CHALLENGE_SAMPLES], all = 0;

	for (uint64_t k = 0; k < CHALLENGE_SAMPLES; k++)
		lanes[k] = seed + challenge_lane(seed, k);
	for (uint64_t i = 0; i < rounds; i++)
		for (uint64_t k = 0; k < CHALLENGE_SAMPLES; k++)
			lanes[k] = challenge_step(lanes[k]);
	for (uint64_t k = 0; k < CHALLENGE_SAMPLES; k++)
		all = (all << 7 | all >> 57) ^ lanes[k];
	return all;
}
