/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine has, read from sysfs and procfs below a root, so that the tree of another machine
 * can be read too. What cannot be read is absent and noted, never zero; nothing here wakes a GPU that sleeps.
 */
#ifndef AGENTD_MACHINE_INVENTORY_H
#define AGENTD_MACHINE_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agentd/machine/gpu.h"
#include "base/buf.h"

enum {
	INVENTORY_GPUS = 64, INVENTORY_DISKS = 128, INVENTORY_NICS = 64, INVENTORY_NOTES = 64,
	INVENTORY_NAME = 128, INVENTORY_NOTE = 240,
	INVENTORY_JSON_MAX = 256 * 1024,
};

struct inventory_cpu {
	char model[INVENTORY_NAME], arch[32];
	int64_t threads, cores, sockets;       /* GPU_UNKNOWN where it is not told */
};

struct inventory_disk {
	char name[32], model[INVENTORY_NAME];
	int64_t bytes;
	int rotational;                        /* 1, 0; -1: not told */
};

struct inventory_nic {
	char name[32], driver[32], state[16], rdma[32];
	int64_t speed;                         /* Mbit/s; GPU_UNKNOWN: not told (no cable) */
	int numa;                              /* -1: not told */
};

struct inventory {
	struct inventory_cpu cpu;
	int64_t memory;                        /* bytes, as the kernel counts them */
	char kernel[64];
	int cgroup;                            /* 2, 1; 0: none seen */
	int64_t iommu_groups, numa_nodes;
	struct gpu gpus[INVENTORY_GPUS];       /* integrated graphics are here too, marked */
	struct inventory_disk disks[INVENTORY_DISKS];
	struct inventory_nic nics[INVENTORY_NICS];
	size_t gpu_count, disk_count, nic_count, note_count;
	int nvml;                              /* of nvml_read(); 1: it was not asked */
	size_t nvml_lost;                      /* GPUs that it cannot reach */
	char notes[INVENTORY_NOTES][INVENTORY_NOTE];
};

struct inventory_setup {
	const char *root;                      /* "" or NULL: this machine; a folder with sys/ and proc/ else */
	const char *nvml; /* library to ask; NULL: libnvidia-ml.so.1, and only where root is this machine; "": none */
	int64_t deadline_ms;                   /* for that library; 0: 10 s */
};

/* Takes a second at most, or until the deadline. 0 or -ENOMEM. free() it. */
int inventory_read(const struct inventory_setup *s, struct inventory **out);
void inventory_note(struct inventory *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What goes to the market, on one line (no serial numbers, no addresses); and the same for people. 0, -ENOMEM or -EFBIG. */
int inventory_json(const struct inventory *v, struct buf *out);
int inventory_text(const struct inventory *v, struct buf *out);

/* ---- What it would be sold as ------------------------------------------------------------- */

/* A kind of node, as this machine could be one or several of. A machine without GPU is "none", 0. */
struct inventory_kind {
	char accelerator[64], form_factor[16]; /* form_factor "": not known */
	int64_t gpus;
};

/*
 * This machine as so many nodes of one kind. 0, or -EINVAL and why not: GPUs that differ, or do not
 * divide by the nodes.
 */
int inventory_kind(const struct inventory *v, int64_t nodes, struct inventory_kind *out, struct fail *f);

/* "8x h100 sxm", "0x none" */
void inventory_kind_text(const struct inventory_kind *k, char *room, size_t size);

/* One of the market's, as plain data. Texts may be NULL. */
struct inventory_sku {
	const char *id, *alias, *accelerator, *form_factor;
	int64_t gpus;
};

/* The place of the one that fits best (all that it says is true of k, most of it said first), or -1. */
long inventory_match(const struct inventory_kind *k, const struct inventory_sku *skus, size_t count);

/* `nanopod-agentd inventory`: an exit status. */
int inventory_verb(const char *sysfs_root, bool json, FILE *out, FILE *err);

#endif
