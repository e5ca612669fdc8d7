/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the challenges of every library do alike: what a device's memory has to hold, the sums that it has to compute,
 * and how fast data goes to it and back.
 */
#ifndef AGENTD_MACHINE_CHALLENGE_CHECK_H
#define AGENTD_MACHINE_CHALLENGE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "agentd/machine/speed.h"
#include "base/fail.h"

enum { CHALLENGE_LINK_BYTES = 64 << 20 };

/* A device, through its library. Both calls answer 0, or -EIO with what failed said in f. */
struct challenge_device {
	int (*send)(void *run, const void *from, size_t size); /* to the beginning of its memory */
	int (*fetch)(void *run, uint64_t at, void *to, size_t size);
	void *run;
	uint64_t words; /* of its memory that were filled */
	uint64_t first; /* of these, so many lie in one piece at the beginning */
	char *host;     /* CHALLENGE_LINK_BYTES of this machine's memory */
	struct fail *f;
};

/* At most 1e18: a device that only pretends may be faster than can be said. */
int64_t challenge_per_second(uint64_t n, int64_t us);

/* That so many words were found to be others than the device was told to write: 0, or -EBADMSG if there are any. */
int challenge_wrong_words(const struct challenge_device *d, uint64_t wrong);

/* Places that nobody could know before: a device that only pretends to store would have to guess them. */
int challenge_look_by_chance(const struct challenge_device *d, uint64_t seed);

/* The lanes that a seed has compared, of sums that the device has left at the beginning of its memory. */
int challenge_compare_sums(const struct challenge_device *d, uint64_t seed, uint64_t rounds);

/* Bytes a second to the device and back; what comes back has to be what went. */
int challenge_link(const struct challenge_device *d, struct speed *up, struct speed *down);

#endif
