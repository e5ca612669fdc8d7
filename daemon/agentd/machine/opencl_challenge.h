/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a device of OpenCL have the memory that it claims, and does it compute? Fills nearly all of its memory with
 * numbers derived from a seed, lets the device compare them, reads back places that are chosen only afterwards, and
 * compares sums with this machine's own. Measures each three times. Call it in a child: it hangs where the device does.
 */
#ifndef AGENTD_MACHINE_OPENCL_CHALLENGE_H
#define AGENTD_MACHINE_OPENCL_CHALLENGE_H

#include <stdint.h>

#include "agentd/machine/gpu_challenge.h"
#include "agentd/machine/opencl.h"

/*
 * most: bytes to fill at most; 0: nine tenths of what it claims. 0; -EBADMSG: it lacks the memory, or computes wrong
 * sums; -EPROTO: what it claims cannot be; -EIO: a call failed.
 */
int opencl_challenge_run(struct opencl *c, size_t index, uint64_t seed, int64_t most, struct gpu_challenge *out,
	struct fail *f);

#endif
