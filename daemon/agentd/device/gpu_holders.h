/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds memory of a GPU that several nodes share: by the control group of each process that the vendor's library
 * names, so that it counts for its node however it was started.
 */
#ifndef AGENTD_DEVICE_GPU_HOLDERS_H
#define AGENTD_DEVICE_GPU_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentd/machine/nvml_processes.h"
#include "base/buf.h"
#include "base/fail.h"

enum { GPU_HOLDER_NODE = 72, GPU_HOLDER_NAME = 32 };

/* The node that the process belongs to; "": none. */
void gpu_holder_node(const char *root, pid_t pid, char node[static GPU_HOLDER_NODE]);

/* Asks the library when no GPU is being reset, which may take seconds. *out: to be freed. */
int gpu_holders_read(const char *data, const char *root, struct nvml_processes **out, struct fail *f);

/*
 * Waits a little until nobody holds memory of the GPU but nodes that have a share of it, without the one that ended; a
 * look that fails is repeated. 0, too, where another node that ends resets the GPU.
 */
int gpu_holders_gone(const char *data, const char *root, const char *address, const char *ended, struct fail *f);

/* A node that holds more of a GPU than its share. */
struct gpu_excess {
	char node[GPU_HOLDER_NODE], address[20];
	int64_t since_ms;           /* clock_ms() when it was first seen */
	int64_t holds, may;         /* bytes */
	pid_t ended;                /* the process that was killed for it just now; 0: none */
	int64_t freed;              /* what that held */
	char name[GPU_HOLDER_NAME]; /* its name */
};

/*
 * Looks at all shares and adds each excess to out, as it is in memory. Where one of `before` is older than grace_ms,
 * the node's process that holds most of that GPU is killed. What cannot be seen stays as in before; the first reason
 * is the failure, although the shares of other GPUs were looked at.
 */
int gpu_holders_watch(const char *data, const char *root, const struct gpu_excess *before, size_t count,
	int64_t grace_ms, struct buf *out, struct fail *f);

#endif
