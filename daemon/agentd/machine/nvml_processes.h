/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes hold memory of NVIDIA's GPUs, and how much, by the vendor's library. */
#ifndef AGENTD_MACHINE_NVML_PROCESSES_H
#define AGENTD_MACHINE_NVML_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentd/machine/nvml.h"
#include "base/fail.h"

enum { NVML_PROCESSES = 2048 };

struct nvml_process {
	char address[20]; /* of the GPU: "0000:19:00.0" */
	pid_t pid;        /* of this machine */
	int64_t bytes;
};

struct nvml_processes {
	size_t gpu_count, count;
	struct {
		char address[20];
		int64_t memory; /* of processes, in bytes: all of it, less what the driver keeps, where it tells so */
		int code;       /* 0, or why it does not tell who holds it; then the list has none of its processes */
		char why[120];
	} gpus[NVML_GPUS];
	struct nvml_process list[NVML_PROCESSES]; /* a process is once in it for each GPU */
};

/*
 * root: in front of /lib; "" or NULL: this machine's library. 0; -ENOENT: none is installed; -ENOTSUP: it lacks a
 * function; -ETIMEDOUT, -EIO as nvml_read().
 */
int nvml_processes_read(const char *root, struct nvml_processes *out, struct fail *f);

/*
 * 0: it tells who holds memory of this GPU; *memory, where not NULL: how much that has. -ENODEV: the library does not
 * reach it; -ENOTSUP: it never tells how much it has, or how much each process holds; -EIO, -E2BIG.
 */
int nvml_processes_of(const struct nvml_processes *n, const char *address, int64_t *memory, struct fail *f);

#endif
