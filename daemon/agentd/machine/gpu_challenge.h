/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the GPU there, with the memory that it claims? Fills nearly all of its memory with numbers derived from a seed,
 * lets the GPU compare them, reads back places that are chosen only afterwards, and compares sums with this machine's
 * own. Uses CUDA's driver interface, loaded at run time and never linked. Call it in a child: it hangs where the GPU
 * does. Written from the interface's documentation: the program was assembled for GPUs, but ran on a stand-in only.
 */
#ifndef AGENTD_MACHINE_GPU_CHALLENGE_H
#define AGENTD_MACHINE_GPU_CHALLENGE_H

#include <stdint.h>

#include "agentd/machine/pci.h"
#include "agentd/machine/speed.h"
#include "base/fail.h"

/* What was measured of a device, through any library. */
struct gpu_challenge {
	int64_t memory;                /* bytes, as the device claims */
	int64_t tested;                /* bytes that were filled, compared and read back */
	struct speed write, read;      /* its memory, bytes a second */
	struct speed sums;             /* multiplications a second */
	struct speed upload, download; /* between this machine's memory and the device's, bytes a second */
	int64_t rounds;                /* multiplications of each lane */
	uint64_t answer;               /* sums of places that the seed chooses, folded: challenge_answer() */
};

struct cuda;

/* library: NULL is libcuda.so.1. *count GPUs. 0, -ENOENT (no library), -ENOSYS (it lacks a function), -EIO. */
int gpu_challenge_open(const char *library, struct cuda **out, int *count, struct fail *f);
void gpu_challenge_close(struct cuda *c);

/* Where a GPU is ("0000:19:00.0"; "": it does not say) and its name. 0 or -EIO. */
int gpu_challenge_name(struct cuda *c, int index, char *name, size_t size, char address[PCI_ADDRESS], struct fail *f);

/* 0; -EBADMSG: it lacks the memory, or computes wrong sums; -EIO: a call failed; -ENOMEM. */
int gpu_challenge_run(struct cuda *c, int index, uint64_t seed, struct gpu_challenge *out, struct fail *f);

#endif
