/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent's machine has, and what of it the types of its hosts promise. Memory, disk and GPUs are never promised
 * twice, nor more vCPUs than `overcommit` allows. A request is checked before it becomes an event, so a replay never
 * depends on what a machine has today.
 */
#ifndef MARKETD_API_TALLY_H
#define MARKETD_API_TALLY_H

#include "marketd/api/api.h"
#include "marketd/api/promise.h"

enum {
	TALLY_GPU_PART =
		10,      /* of its memory a GPU's driver and error correction take up to a tenth: 80 GB show as 79.6 */
	TALLY_KINDS = 6, /* kinds of GPU in one machine; more are not counted */
	TALLY_CORE = 720720, /* parts of a core: every overcommit divides it */
	TALLY_SLICES = 24,   /* kinds of slices of one kind of GPU */
	TALLY_SORTS = 64,    /* kinds of slices that the hosts of one machine may have; others do not fit */
};

/* As the agent reports it, less what the machine keeps for itself. */
struct capacity {
	int64_t vcpus, memory, disk;
	struct capacity_gpu {
		char vendor[16], model[72];
		int64_t memory, count;
		struct capacity_slices {
			char profile[SHARE_SLICE];
			int64_t count; /* that a GPU holds which is cut into nothing else */
		} slices[TALLY_SLICES];
		size_t slice_count;
	} gpus[TALLY_KINDS];
	size_t kinds;
	char driver[32];
	char shares[16];     /* the vendor whose GPUs several nodes can share; "": none */
	bool devices;        /* the driver can give GPUs to nodes */
	char no_gpus[240];   /* or what its machine lacks for that; "": it says nothing */
	bool no_rate;        /* and cannot limit a node's network */
	bool shared;         /* nodes of a reservation can share a folder */
	int64_t node_memory; /* what each node takes beside its own */
};

/* false: the inventory has none (an older agent). What is not of the right kind counts as 0. */
bool tally_capacity(const json_t *inventory, struct capacity *out);

/* Less what its volumes take, whether somebody has them or not. */
bool tally_capacity_of(const struct agent *a, struct capacity *out);

/* Bytes of a machine's disk that volumes of so many GiB take, with their file systems. */
int64_t tally_volumes(int64_t gib);
int tally_check_volumes(const struct engine *e, const struct event *ev, struct fail *why); /* an offer of more */

/*
 * The inventory as it counts from now on, a new object: members of `capacity` that this report lacks stay as the agent
 * reported them last. Unknown is not none, and what was reported once cannot be taken back by silence.
 */
json_t *tally_merge(const char *known, const json_t *given);

/* What is needed, of one kind each: the order in which a shortage is told. */
enum tally_part { TALLY_GPUS, TALLY_RATE, TALLY_SHARED, TALLY_VCPUS, TALLY_MEMORY, TALLY_DISK, TALLY_PARTS };

struct tally {
	struct capacity has;
	int64_t cores, memory, disk;    /* promised; cores in parts */
	int64_t gpus[1 << TALLY_KINDS]; /* promised, by the set of kinds that would do; those cut into shares, too */
	int64_t shares[1 << TALLY_KINDS][SHARE_PARTS_MAX + 1]; /* promised, by that set and their size */
	struct tally_slices {
		char profile[SHARE_SLICE];
		unsigned set;
		int64_t count;
	} slices[TALLY_SORTS]; /* the same of slices */
	size_t sorts;
	size_t hosts[TALLY_PARTS];                             /* how many were promised of this */
	const char *first[TALLY_PARTS];                        /* the first one's name */
};

void tally_init(struct tally *r, const struct capacity *has);
/* TALLY_PARTS: it fits. Else what is missing. */
enum tally_part tally_lacks(const struct tally *r, const struct promise *p);
void tally_take(struct tally *r, const struct promise *p, const char *host); /* whether it fits or not */
int64_t tally_count(const struct capacity *has, const struct promise *p);    /* nodes that an empty machine holds */
int64_t tally_per_gpu(const struct capacity *has, const struct promise *p);  /* shares of one; 0: it has none */

/*
 * Whether machines hold what the event promises: a new host of an agent, an offer of its time, another promise of a
 * type. 0 or a reason with its sentence. Nobody checks hosts without an agent. One that never reported a capacity, as
 * an older one does not, registers none that promise something; those that it has are unchecked.
 */
int tally_check(const struct api *api, const struct event *ev, struct fail *why);
/*
 * The agent's hosts that its machine does not hold beside the others, ascending: those that are sold come first, then
 * those on sale, then the rest. None where the agent does not report its capacity. malloc'd. 0 or -ENOMEM.
 */
int tally_misfits(const struct engine *e, const struct agent *a, uint64_t **ids, size_t *count);
bool tally_among(const uint64_t *ids, size_t count, uint64_t id);
/* np.Room of an agent: what its machine has, what of it is promised, what is left; null: it does not report it. */
json_t *tally_json(const struct engine *e, const struct agent *a);

/* Time of the host is sold that is not over. */
bool tally_sold(const struct engine *e, const struct host *h);
/* Some is on sale. */
bool tally_offered(const struct engine *e, const struct host *h);

#endif
