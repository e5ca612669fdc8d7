/* SPDX-License-Identifier: Apache-2.0 */
/* Kills a driver's calls at any instruction, then repairs what they left by calling again, or destroys all of it. */
#ifndef TESTS_DRIVERKILL_H
#define TESTS_DRIVERKILL_H

#include "driverway.h"

struct kills {
	int64_t make_ms, end_ms;   /* undisturbed; -1: failed */
	unsigned broken, dirty;    /* repair failed; not clean after destroy */
	unsigned opened, silent;   /* tried by SSH after a repair; no answer */
};

/* Prints what breaks. */
void driver_kills(struct way *w, unsigned points, int64_t boot_ms, struct kills *out);

#endif
