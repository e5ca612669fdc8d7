/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPU is which host's, and which node has it: DATA/gpus.json, under a lock, since the children that make and end
 * nodes change it. A GPU belongs to one host until the market drops the host, and to one node until it was reset after
 * it; or it is cut into equal shares, which belong to as many hosts and nodes, and is reset when no node has one. After
 * the others nobody but who has a share may hold memory of it. What could not be cleared so is kept back until its
 * owner says otherwise.
 */
#ifndef AGENTD_DEVICE_HOST_GPUS_H
#define AGENTD_DEVICE_HOST_GPUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentd/os/devices.h"
#include "base/buf.h"
#include "base/fail.h"

/* What a host was promised. */
struct host_want {
	const char *host, *vendor, *model; /* vendor "nvidia", model "h100"; "": any */
	unsigned count;
	int64_t memory; /* of each; 0: any */
	unsigned parts; /* not whole GPUs, but one such part of each: 4 is a quarter. 0: whole */
	const char *slice; /* or a slice of this profile; NULL or "": none */
	bool guests;       /* its nodes are guests, so the GPU's IOMMU groups must hold nothing else */
};

/* A node that comes to its host's GPUs. */
struct host_taker {
	const char *host, *node;
	unsigned parts;    /* as its contract says */
	const char *slice; /* so, too; NULL or "": none */
	bool nodes;        /* device nodes and files are wanted, not only which GPUs it has */
	bool guest;        /* it is one: guest_gpus_take() follows, and nothing happens to the GPUs before */
};

/*
 * Gives each host GPUs of its own, once: those it has stay. Hosts that are not in the list lose theirs, unless a node
 * has them. -ENODEV: some host lacks some, with the first such host in the sentence; the others have theirs.
 */
int host_gpus_fix(const char *data, const char *root, const struct host_want *hosts, size_t count, struct fail *f);

/*
 * Which GPUs the host lacks, or has but for one that is kept back, as a sentence with the reason; false: none. gpus:
 * host_gpus_json().
 */
bool host_gpus_lack(const json_t *gpus, const char *root, const struct host_want *w, char *room, size_t size);

/*
 * Takes the host's GPUs for the node (again, too). Adds them to *out; with nodes, what the node needs of them, too, and
 * makes its slices. -ENODEV: one is gone, or kept back; -EBUSY: another node has one, or it is cut for another type,
 * whose node has ended only now. A host without GPUs: 0, and nothing is added.
 */
int host_gpus_take(const char *data, const char *root, const struct host_taker *who, struct node_devices *out,
	struct fail *f);

/* Adds those that the node has. */
int host_gpus_of(const char *data, const char *node, struct node_devices *out, struct fail *f);

/* After the node's end: resets its GPUs. Those that could not be reset are kept back; 0 then, too. */
int host_gpus_give_back(const char *data, const char *root, const char *node, struct fail *f);

/*
 * How many GPUs this machine's hosts have, in shares or whole, those that are gone too; 0 where nothing is known. Not
 * what they lack: the market sells no such host.
 */
int64_t host_gpus_promised(const char *data);

/* The GPUs that the node has, alike ones together: [{"model":"h100","count":8,"memory_bytes":…}]; NULL: no memory. */
json_t *host_gpus_report(const char *data, const char *node);

/* What a GPU's host and node are, and why it is kept back: an array of objects; NULL: no memory, or unreadable. */
json_t *host_gpus_json(const char *data, struct fail *f);

/* The owner says that the GPU is good. -ENOENT: it is not kept back. */
int host_gpus_release(const char *data, const char *address, struct fail *f);

/* The first GPU that is kept back, as a sentence; false: none. */
bool host_gpus_problem(const char *data, char *room, size_t size);

#endif
