/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's hardware, read from sysfs and procfs below a root, so that another machine's tree can be read too. What
 * cannot be read is absent and noted, never zero; nothing here wakes a sleeping GPU.
 */
#ifndef AGENTD_MACHINE_INVENTORY_H
#define AGENTD_MACHINE_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agentd/machine/capacity.h"
#include "agentd/machine/gpu.h"
#include "base/buf.h"

enum {
	INVENTORY_GPUS = 64, INVENTORY_DISKS = 128, INVENTORY_NICS = 64, INVENTORY_NOTES = 64,
	INVENTORY_NAME = 128, INVENTORY_NOTE = 240,
	INVENTORY_JSON_MAX = 256 * 1024,
};

struct inventory_cpu {
	char model[INVENTORY_NAME], arch[32];
	int64_t threads, cores, sockets;       /* GPU_UNKNOWN if unknown */
};

struct inventory_disk {
	char name[32], model[INVENTORY_NAME];
	int64_t bytes;
	int rotational;                        /* 1, 0; -1: unknown */
};

struct inventory_nic {
	char name[32], driver[32], state[16], rdma[32];
	int64_t speed;                         /* Mbit/s; GPU_UNKNOWN: unknown (no cable) */
	int numa;                              /* -1: unknown */
};

struct inventory {
	struct inventory_cpu cpu;
	int64_t memory;                        /* bytes, as the kernel counts them */
	char kernel[64];
	int cgroup;                            /* 2, 1; 0: none found */
	int64_t iommu_groups, numa_nodes;
	struct gpu gpus[INVENTORY_GPUS];       /* including integrated graphics, marked as such */
	struct inventory_disk disks[INVENTORY_DISKS];
	struct inventory_nic nics[INVENTORY_NICS];
	size_t gpu_count, disk_count, nic_count, note_count;
	int nvml;                              /* result of nvml_read(); 1: not called */
	size_t nvml_lost;                      /* GPUs that NVML cannot reach */
	char notes[INVENTORY_NOTES][INVENTORY_NOTE];
	struct capacity capacity;
	char driver[16];     /* that makes nodes here; "": not known */
	bool devices;        /* and can give them GPUs */
	char no_gpus
		[INVENTORY_NOTE];   /* why its nodes, which are guests, can have none; "": they can, or are no guests */
	bool unfit[INVENTORY_GPUS]; /* but not this one: its nodes are guests */
	int shares;          /* or shares of NVIDIA's: 1; 0: it cannot; -1: nobody could look */
	int64_t node_memory; /* what each takes beside its own */
	bool no_rate;        /* and cannot limit their network */
	bool shared;         /* and those of a reservation can share a folder */
};

struct inventory_setup {
	const char *root;                      /* "" or NULL: this machine; else a folder with sys/ and proc/ */
	const char *nvml; /* NULL: libnvidia-ml.so.1, only if root is this machine; "": none */
	int64_t deadline_ms;                   /* for that library; 0: 10 s */
	const char *data;                      /* the agent's folder; NULL: the disk that nodes get is not known */
	const char *driver;                    /* NULL: not known */
	bool shares;                           /* the driver can give several nodes one GPU */
	bool functions;                        /* the driver's nodes are guests: GPUs need an IOMMU */
	bool devices, no_rate, shared;         /* all but devices, and node_memory: as in driver_terms */
	int64_t node_memory;
};

/* Takes up to a second, or until the deadline. 0 or -ENOMEM. free() it. */
int inventory_read(const struct inventory_setup *s, struct inventory **out);
void inventory_note(struct inventory *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints it for the market, on one line (no serial numbers, no addresses); and for people. 0, -ENOMEM or -EFBIG. */
int inventory_json(const struct inventory *v, struct buf *out);
int inventory_text(const struct inventory *v, struct buf *out);

/* ---- What the machine is sold as ----------------------------------------------------------- */

/* A kind of node that this machine could be one or several of. A machine without GPU is "none", 0. */
struct inventory_kind {
	char accelerator[64], form_factor[16]; /* form_factor "": unknown */
	int64_t gpus;
};

/*
 * The kind of node if this machine is divided into so many. 0, or -EINVAL and why not: GPUs that differ, or whose
 * number does not divide by the nodes.
 */
int inventory_kind(const struct inventory *v, int64_t nodes, struct inventory_kind *out, struct fail *f);

/* "8x h100 sxm", "0x none" */
void inventory_kind_text(const struct inventory_kind *k, char *room, size_t size);

/* A kind of node that the market knows, as plain data. Texts may be NULL. */
struct inventory_sku {
	const char *id, *alias, *accelerator, *form_factor;
	int64_t gpus;
};

/* The index of the best match (everything that it states is true of k; the most specific wins), or -1. */
long inventory_match(const struct inventory_kind *k, const struct inventory_sku *skus, size_t count);

/* `nanopod-agentd inventory`; returns the exit status. */
int inventory_verb(const struct inventory_setup *s, bool json, FILE *out, FILE *err);

#endif
