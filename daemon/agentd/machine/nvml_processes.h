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
		int64_t memory; /* all of it, in bytes */
	} gpus[NVML_GPUS];
	struct nvml_process list[NVML_PROCESSES]; /* a process is once in it for each GPU */
};

/*
 * root: in front of /lib; "" or NULL: this machine's library. 0; -ENOENT: none is installed; -ENOTSUP: it does not tell
 * how much each process holds; -ETIMEDOUT, -EIO as nvml_read().
 */
int nvml_processes_read(const char *root, struct nvml_processes *out, struct fail *f);

#endif
