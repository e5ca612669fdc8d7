/* SPDX-License-Identifier: Apache-2.0 */
/* What a node needs to use one GPU: from the CDI files of the vendor's tool, else from what the kernel shows. */
#ifndef AGENTD_DEVICE_GPU_NEEDS_H
#define AGENTD_DEVICE_GPU_NEEDS_H

#include "agentd/machine/nvml_mig.h"
#include "agentd/os/devices.h"
#include "base/buf.h"
#include "base/fail.h"

/*
 * Adds to *out what the GPU at this PCI address needs, with the numbers of its device nodes. root: as in
 * machine/inventory.h, for CDI files and their paths, too. -ENODEV: the GPU is gone, or its driver is not loaded.
 */
int gpu_needs(const char *root, const char *address, struct node_devices *out, struct fail *f);

/* The same of a slice of it: no other slice can be used with that. */
int gpu_needs_slice(const char *root, const char *address, const struct mig_instance *slice, struct node_devices *out,
	struct fail *f);

/* The same, from the kernel alone. */
int gpu_needs_kernel(const char *root, const char *address, struct node_devices *out, struct fail *f);

/* All GPUs of this machine as one CDI file (JSON). -ENODEV: none whose driver is loaded. */
int gpu_needs_cdi(const char *root, struct buf *out, struct fail *f);

#endif
