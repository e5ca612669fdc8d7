/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of NVIDIA's GPUs (MIG: Multi-Instance GPU), by the vendor's library. A slice is a GPU instance with one
 * compute instance over all of it. Each call is made in a child with a deadline, as in nvml.h.
 */
#ifndef AGENTD_MACHINE_NVML_MIG_H
#define AGENTD_MACHINE_NVML_MIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/machine/nvml.h"
#include "base/fail.h"

enum { MIG_PROFILES = 24, MIG_INSTANCES = 32, MIG_PROFILE = 32 };

struct mig_profile {
	char name[MIG_PROFILE]; /* "1g.10gb" */
	unsigned id;            /* the library's */
	unsigned count;         /* how many a GPU holds that is cut into nothing else */
	unsigned slices;        /* of its processors */
	int64_t memory;         /* bytes */
};

struct mig_instance {
	unsigned id, profile; /* profile: its id */
	unsigned part;        /* id of its compute instance, where it has a UUID */
	char uuid[NVML_TEXT]; /* "MIG-…"; "": it has no compute instance, so nobody can use it */
};

struct mig_gpu {
	char address[20]; /* "0000:19:00.0" */
	int code;         /* 0, -ENOTSUP: it has no slices; else why nobody knows */
	bool on;          /* the mode in which it is cut */
	size_t profile_count, instance_count;
	struct mig_profile profiles[MIG_PROFILES];
	struct mig_instance instances[MIG_INSTANCES];
};

struct mig_gpus {
	size_t count;
	struct mig_gpu list[NVML_GPUS];
};

/* root as in nvml_processes_read(). -ENOENT: no library; -ENOTSUP: it is too old for slices; -ETIMEDOUT, -EIO. */
int mig_read(const char *root, struct mig_gpus *out, struct fail *f);

enum mig_act {
	MIG_LOOK,
	MIG_ON,     /* switches the mode */
	MIG_OFF,    /* what failed is switched back, so that nothing is left for the next reset */
	MIG_MAKE,   /* a GPU instance of this profile, with nobody on it */
	MIG_FILL,   /* this instance gets a compute instance over all of it */
	MIG_DESTROY /* this instance with all in it: the driver clears its memory. One that is gone is no error */
};

struct mig_order {
	enum mig_act act;
	const char *root, *address, *profile;
	unsigned instance;
};

/*
 * *out: what the GPU is afterwards; *made: the instance of MIG_MAKE. -ENOTSUP: it has no slices; -ENOSPC: no room for
 * this one; -EBUSY: a process uses it; -EPERM, -ETIMEDOUT, -EIO.
 */
int mig_do(const struct mig_order *o, struct mig_gpu *out, unsigned *made, struct fail *f);

const struct mig_profile *mig_profile_named(const struct mig_gpu *g, const char *name); /* NULL */

#endif
