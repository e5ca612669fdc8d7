/* SPDX-License-Identifier: Apache-2.0 */
/* One accelerator: what the PCI bus shows of it, what its driver adds, and what the market calls it. */
#ifndef AGENTD_MACHINE_GPU_H
#define AGENTD_MACHINE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/machine/pci.h"

#define GPU_UNKNOWN INT64_MIN

enum { GPU_NVIDIA = 0x10de, GPU_AMD = 0x1002, GPU_INTEL = 0x8086, GPU_NAME = 96, GPU_SLICES = 24 };

/* How many slices of one kind it holds that is cut into nothing else. */
struct gpu_slices {
	char profile[32]; /* "1g.10gb" */
	unsigned count;
	int64_t memory; /* of each, in bytes */
};

struct gpu {
	struct pci pci;
	char name[GPU_NAME];         /* "NVIDIA H100 80GB HBM3" */
	const char *name_from;       /* "driver", "table", "ids" */
	char market[64];             /* "h100"; "nvidia-10de:2330" if it is not in the table */
	const char *form_factor;     /* "sxm", "oam", "pcie"; "": unknown */
	bool known;                  /* it is in the table */
	bool integrated;             /* graphics of the processor: not sold */
	bool asleep;                 /* suspended: we read only what does not wake it */
	bool lost;                   /* NVIDIA's library has it and cannot reach it */
	int64_t memory;              /* bytes; GPU_UNKNOWN */
	const char *memory_from;     /* "driver", "nvml", "table", "bar"; "" */
	int64_t memory_used;         /* bytes */
	int64_t temperature;         /* thousandths of a degree Celsius */
	int64_t power, power_limit, power_min, power_max; /* milliwatts */
	int64_t use;                                      /* percent of the last moment */
	int64_t clock;                                    /* MHz, of its processors */
	int64_t throttled;           /* 1: slowed down by heat, or power beyond what was set; 0; GPU_UNKNOWN */
	int64_t ecc;                 /* 1, 0, GPU_UNKNOWN */
	int64_t uncorrected;         /* ECC errors since the driver started */
	int64_t mig;                 /* 1, 0, GPU_UNKNOWN */
	struct gpu_slices slices[GPU_SLICES];
	size_t slice_count;
	bool slices_known;           /* else nobody looked, or could */
	char partition[32];          /* AMD: "SPX/NPS1" */
	char uuid[64];               /* never sent to the market */
	char driver_version[64];
};

/* Is it an accelerator? Decided by class and vendor; virtual functions that a card lends to guests are none. */
bool gpu_is(const struct pci *p);

/* Fills all but what only NVML knows. root: as in inventory.h. */
void gpu_read(const char *root, const struct pci *p, struct gpu *out);

/* ---- The table of known accelerators, in gpu_table.c --------------------------------------- */

struct gpu_known {
	uint16_t vendor, device;
	const char *market, *name, *form_factor;
	unsigned gib;                /* 0: sold in several sizes */
};

const struct gpu_known *gpu_known(unsigned vendor, unsigned device); /* NULL */

/* Bytes a second of the memory of a model, in gpu_bandwidth.c; false: unknown. */
bool gpu_bandwidth(const char *market, int64_t *slowest, int64_t *fastest);

#endif
