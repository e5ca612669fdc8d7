/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a guest gets with a GPU: every function of its slot. The IOMMU parts memory by groups of functions, so nobody
 * else may use anything of the groups that these are in.
 */
#ifndef AGENTD_MACHINE_IOMMU_H
#define AGENTD_MACHINE_IOMMU_H

#include "agentd/machine/pci.h"
#include "base/fail.h"

enum { IOMMU_SLOT = 8, IOMMU_GPUS = 16 };

struct iommu_function {
	char address[PCI_ADDRESS];
	int group;
	uint64_t bars, bar_max; /* bytes that it shows in all, and in its largest part */
};

/* count 0: the GPU is gone. */
struct iommu_slot {
	struct iommu_function functions[IOMMU_SLOT];
	char gpus[IOMMU_GPUS][PCI_ADDRESS]; /* those of the same groups, this one first; more are left out */
	size_t count, gpu_count;
};

/* 0: there is an IOMMU. -ENOTSUP: there is none, and what to turn on. */
int iommu_on(const char *root, struct fail *f);

/*
 * 0: a guest can have the GPU at this address, where it has the other GPUs of its groups, too. -ENOTSUP: no IOMMU.
 * -EBUSY: something else is in a group, and what. guest: the GPUs that this guest has; NULL: any may be in the groups.
 */
int iommu_slot(const char *root, const char *address, const char (*guest)[PCI_ADDRESS], size_t guest_count,
	struct iommu_slot *out, struct fail *f);

/* Is there a GPU here that some guest can have? -ENODEV: there is no GPU. Else the first one's reason. */
int iommu_any(const char *root, struct fail *f);

#endif
