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

uint64_t challenge_sum(uint64_t seed, uint64_t lane, uint64_t rounds)
{
	uint64_t v = seed + lane;

	for (uint64_t i = 0; i < rounds; i++)
		v = (v ^ v >> 29) * CHALLENGE_MULTIPLIER + CHALLENGE_INCREMENT;
	return v;
}

uint64_t challenge_lane(uint64_t seed, uint64_t k)
{
	return (seed + k * SPREAD) % CHALLENGE_LANES;
}

uint64_t challenge_answer(uint64_t seed, uint64_t rounds)
{
	uint64_t all = 0;

	for (uint64_t k = 0; k < CHALLENGE_SAMPLES; k++)
		all = (all << 7 | all >> 57) ^ challenge_sum(seed, challenge_lane(seed, k), rounds);
	return all;
}
