/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the GPU there, with the memory that it claims? Fills nearly all of its memory with numbers derived from a random
 * seed and reads them back, and compares sums derived from the seed with this machine's own. Uses CUDA's driver
 * interface, loaded at run time and never linked. Call it in a child: it hangs where the GPU does. Written from the
 * interface's documentation: it was run against a stand-in only, never on a GPU.
 */
#ifndef AGENTD_MACHINE_GPU_CHALLENGE_H
#define AGENTD_MACHINE_GPU_CHALLENGE_H

#include <stdint.h>

#include "agentd/machine/speed.h"
#include "base/fail.h"

struct gpu_challenge {
	char name[96];
	int64_t memory;              /* bytes, as the GPU claims */
	int64_t tested;              /* bytes that were filled and read back */
	struct speed write, read;    /* bytes a second */
	struct speed sums;           /* multiplications a second */
};

struct cuda;

/* library: NULL is libcuda.so.1. *count GPUs. 0, -ENOENT (no library), -ENOSYS (it lacks a function), -EIO. */
int gpu_challenge_open(const char *library, struct cuda **out, int *count, struct fail *f);
void gpu_challenge_close(struct cuda *c);

/* 0; -EBADMSG: it lacks the memory, or computes wrong sums; -EIO: a call failed. */
int gpu_challenge_run(struct cuda *c, int index, uint64_t seed, struct gpu_challenge *out, struct fail *f);

#endif
