/* SPDX-License-Identifier: Apache-2.0 */
/* A driver's calls, killed at any instruction: what they left is repaired by calling again, or destroyed to nothing. */
#ifndef TESTS_DRIVERKILL_H
#define TESTS_DRIVERKILL_H

#include "driverway.h"

struct kills {
	int64_t make_ms, end_ms;   /* undisturbed; -1: failed */
	unsigned broken, dirty;    /* could not be repaired; were not clean after destroy */
	unsigned opened, silent;   /* asked by SSH after a repair; did not answer */
};

/* What breaks is shown. */
void driver_kills(struct way *w, unsigned points, int64_t boot_ms, struct kills *out);

#endif
