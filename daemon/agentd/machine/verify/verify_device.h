/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that compute, measured through any library (OpenCL, CUDA), each in a child of its own: one that hangs costs
 * only its result. All libraries measure the same, and what they find is judged and named alike.
 */
#ifndef AGENTD_MACHINE_VERIFY_VERIFY_DEVICE_H
#define AGENTD_MACHINE_VERIFY_VERIFY_DEVICE_H

#include "agentd/machine/gpu_challenge.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/verify/verify_part.h"
#include "market/challenge.h"

/* What a library says of one. */
struct device {
	char name[96], address[PCI_ADDRESS]; /* "0000:19:00.0"; "": it does not say */
	bool is_gpu;                         /* and not a processor */
};

/* What a child tells. */
struct device_told {
	int rc; /* 0; as the library's open and run; or it gave no answer */
	struct fail why;
	int there; /* CUDA: how many GPUs it has; of more than CHALLENGE_GPUS only the first are listed */
	size_t count;
	struct device list[CHALLENGE_GPUS];
	struct gpu_challenge got;
};

struct device_task {
	const struct verify_setup *setup;
	long index;   /* of the device to challenge; -1: only list them */
	int64_t most; /* bytes to fill; 0: nine tenths of its memory */
	uint64_t seed;
};

struct device_library {
	const char *name, *label; /* "OpenCL"; "opencl": its checks are "opencl 0 memory" and so on */
	void (*work)(const struct device_task *t, struct device_told *told); /* in the child */
};

/* Lists its devices: *told is cleared and filled. */
void verify_device_list(const struct device_library *l, const struct verify_setup *s, struct device_told *told);

/* Challenges those of the list: each GPU once, none that setup->before has; processors only where there is no GPU. */
void verify_device_all(const struct device_library *l, const struct verify_setup *s, const struct inventory *v,
	const struct device_told *told, struct claim *list, int *count);

#endif
