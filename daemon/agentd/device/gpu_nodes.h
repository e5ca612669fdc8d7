/* SPDX-License-Identifier: Apache-2.0 */
/* The device nodes and driver libraries of a GPU, as the kernel and the file system show them. */
#ifndef AGENTD_DEVICE_GPU_NODES_H
#define AGENTD_DEVICE_GPU_NODES_H

#include "agentd/machine/gpu.h"
#include "agentd/os/devices.h"
#include "base/fail.h"

/* The node that stands for this GPU alone: "/dev/nvidia0", "/dev/dri/renderD128". -ENODEV: its driver has none. */
int gpu_nodes_own(const char *root, const struct gpu *g, char out[DEVICES_PATH], struct fail *f);

/* All of them, with their numbers; for NVIDIA with the driver's libraries, which have to match its kernel module. */
int gpu_nodes_kernel(const char *root, const struct gpu *g, struct node_devices *out, struct fail *f);

/* Those of one slice, beside the GPU's own: by the numbers of its GPU instance and its compute instance. */
int gpu_nodes_slice(const char *root, const char *address, unsigned instance, unsigned part, struct node_devices *out,
	struct fail *f);

#endif
