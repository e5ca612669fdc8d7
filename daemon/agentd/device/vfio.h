/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lends functions of the PCI bus to a guest by the kernel's vfio-pci, and gives them back to the drivers that they had.
 * Every call can be repeated, whatever an earlier one left half done.
 */
#ifndef AGENTD_DEVICE_VFIO_H
#define AGENTD_DEVICE_VFIO_H

#include <stddef.h>

#include "agentd/machine/pci.h"
#include "agentd/os/pci_function.h"
#include "base/fail.h"

#define VFIO_DRIVER "vfio-pci"

/* What a function had before it was lent. */
struct vfio_function {
	char address[PCI_ADDRESS];
	int group;                    /* of the IOMMU */
	char driver[FUNCTION_NAME];   /* "": none */
	char override[FUNCTION_NAME]; /* the only driver that might take it; "": any */
};

/* Fills in the driver and the override that the function at f->address has now. */
void vfio_remember(const char *root, struct vfio_function *f);

/* Loads vfio-pci. -ENOTSUP: this kernel has none. */
int vfio_ready(const char *root, struct fail *f);

/* All or an error; those that were taken stay so, for vfio_give_back(). */
int vfio_take(const char *root, const struct vfio_function *list, size_t count, struct fail *f);

/*
 * Resets the GPU, the first of the list, whose functions vfio-pci has and nobody uses: by its own function where the
 * kernel knows how, else by the bus that they are alone on. Else a sentence.
 */
int vfio_reset(const char *root, const struct vfio_function *list, size_t count, struct fail *f);

/* To the drivers that they had: the functions of one slot. All are tried; the first failure is told. */
int vfio_give_back(const char *root, const struct vfio_function *list, size_t count, struct fail *f);

#endif
