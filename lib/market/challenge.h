/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums that a GPU computes to show that it can: what a seed leads to, for the agent that compares them and for the
 * market that gave the nonce. A recorded answer is worthless, because every nonce has other seeds.
 */
#ifndef MARKET_CHALLENGE_H
#define MARKET_CHALLENGE_H

#include <stdint.h>

enum { CHALLENGE_LANES = 1024 * 256, CHALLENGE_SAMPLES = 64, CHALLENGE_NONCE = 64 };

/* Rounds of an answer that counts: fewer are no work, more would keep who compares them too long. */
enum { CHALLENGE_ROUNDS_LEAST = 256, CHALLENGE_ROUNDS_MOST = 65536 };

/* Of one machine so many count: the market computes what each of them did, a few milliseconds long. */
enum { CHALLENGE_GPUS = 32 };

/* The seed of one test ("opencl 0000:19:00.0") of one nonce: the first 8 bytes, lowest first, of a SHA-256 of both. */
uint64_t challenge_seed(const char *nonce, const char *test);

/* The next seed: each run of a test has its own. */
uint64_t challenge_next(uint64_t seed);

/* What a lane ends with: rounds times v = (v ^ v >> 29) * multiplier + increment, from seed + lane. */
#define CHALLENGE_MULTIPLIER 6364136223846793005ULL
#define CHALLENGE_INCREMENT 1442695040888963407ULL
uint64_t challenge_sum(uint64_t seed, uint64_t lane, uint64_t rounds);

/* The lanes that a seed has compared; k: 0 to CHALLENGE_SAMPLES - 1. */
uint64_t challenge_lane(uint64_t seed, uint64_t k);

/* One number that stands for all compared lanes. */
uint64_t challenge_answer(uint64_t seed, uint64_t rounds);

#endif
