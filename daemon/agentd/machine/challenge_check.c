/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/challenge_check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "market/challenge.h"

#define SPREAD 0x9e3779b97f4a7c15ULL /* as the programs for devices have it */

enum { LOOKS = 64 };

int64_t challenge_per_second(uint64_t n, int64_t us)
{
	double rate = (double)n * 1e6 / (double)(us > 0 ? us : 1);

	return rate < 1e18 ? (int64_t)rate : (int64_t)1e18;
}

int challenge_wrong_words(const struct challenge_device *d, uint64_t wrong)
{
	if (!wrong)
		return 0;
	return fail_set(d->f, -EBADMSG,
		"of %" PRIu64 " MiB of its memory, %" PRIu64 " words do not hold what was written", d->words >> 17,
		wrong);
}

int challenge_look_by_chance(const struct challenge_device *d, uint64_t seed)
{
	uint64_t chance[LOOKS], got = 0;
	int rc = 0;

	if (getrandom(chance, sizeof chance, 0) != sizeof chance)
		return fail_set(d->f, -EIO, "no random numbers available");
	for (size_t k = 0; !rc && k < LOOKS; k++) {
		uint64_t at = chance[k] % d->words;

		rc = d->fetch(d->run, at * 8, &got, sizeof got);
		if (!rc && got != (at ^ seed) * SPREAD)
			rc = fail_set(d->f, -EBADMSG, "its memory at %" PRIu64 " MiB does not hold what was written",
				at >> 17);
	}
	return rc;
}

int challenge_compare_sums(const struct challenge_device *d, uint64_t seed, uint64_t rounds)
{
	uint64_t got = 0;
	int rc = 0;

	for (uint64_t k = 0; !rc && k < CHALLENGE_SAMPLES; k++) {
		uint64_t lane = challenge_lane(seed, k);

		rc = d->fetch(d->run, lane * 8, &got, sizeof got);
		if (!rc && got != challenge_sum(seed, lane, rounds))
			rc = fail_set(d->f, -EBADMSG, "it computes wrong sums");
	}
	return rc;
}

int challenge_link(const struct challenge_device *d, struct speed *up, struct speed *down)
{
	size_t bytes = d->first * 8 < CHALLENGE_LINK_BYTES ? d->first * 8 : CHALLENGE_LINK_BYTES;
	int64_t there[SPEED_RUNS], back[SPEED_RUNS], began;
	int rc = 0;

	for (int i = 0; !rc && i < SPEED_RUNS; i++) {
		memset(d->host, i + 1, bytes);
		began = clock_us();
		rc = d->send(d->run, d->host, bytes);
		there[i] = challenge_per_second(bytes, clock_us() - began);
		memset(d->host, 0, bytes);
		began = clock_us();
		rc = rc ? rc : d->fetch(d->run, 0, d->host, bytes);
		back[i] = challenge_per_second(bytes, clock_us() - began);
		for (size_t k = 0; !rc && k < bytes; k += 4099)
			if (d->host[k] != (char)(i + 1))
				rc = fail_set(d->f, -EBADMSG, "data that goes to it and back is changed");
	}
	if (rc)
		return rc;
	speed_of(there, up);
	speed_of(back, down);
	return 0;
}
