/* SPDX-License-Identifier: Apache-2.0 */
/* One function on the PCI bus, as sysfs shows it without touching the device. */
#ifndef AGENTD_MACHINE_PCI_H
#define AGENTD_MACHINE_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { PCI_BARS = 6, PCI_MAX = 4096, PCI_ADDRESS = 20 };

struct pci {
	char address[PCI_ADDRESS];   /* "0000:19:00.0" */
	unsigned vendor, device, sub_vendor, sub_device;
	uint32_t class;              /* 24 bits */
	char driver[32];             /* "nvidia", "vfio-pci"; "": none */
	int gen, gen_max;            /* of the link; 0: unknown */
	int width, width_max;
	int width_slot;              /* of the port above it; 0: unknown */
	int numa;                    /* -1: unknown */
	int iommu_group;             /* -1: none */
	uint64_t bars[PCI_BARS];     /* bytes; 0: none */
	uint64_t bar_max;            /* the largest prefetchable one */
	char power_state[16];        /* "D0", "D3cold"; "" */
	bool asleep;                 /* runtime suspended, or in D3 */
	int sriov_total, sriov_now;  /* virtual functions that it supports, and has now; -1: none supported */
	bool lent;                   /* it is a virtual function */
};

/* Reads the function at this address. 0, or -ENOENT where it is gone or has no vendor. */
int pci_read(const char *root, const char *address, struct pci *out);

/* The addresses of all, in order: 0 or -errno. free() *out. */
int pci_list(const char *root, char (**out)[PCI_ADDRESS], size_t *count);

#endif
