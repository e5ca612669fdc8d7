/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node is made real: one table of functions a driver. Each call may block, is made in a child
 * of the agent that can be killed at any instruction, and is repeatable: called again, or `destroy`
 * called, it goes on from whatever the first call left. One call at a time for a node (its folder is locked).
 */
#ifndef AGENTD_DRIVER_H
#define AGENTD_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/* Of this agent; the same for all its nodes. */
struct driver_setup {
	const char *data;          /* its folder, absolute; nodes are in data/nodes/ID */
	const char *images;        /* folder of root images, absolute */
	const char *
		prefix; /* up to 8 letters and digits, its own on this machine: begins names of cgroups, interfaces, namespaces */
	const char *listen;        /* the address on which nodes' SSH ports are opened: "127.0.0.1" */
	unsigned first_port;       /* the port of a node is first_port + slot */
	bool uplink;               /* nodes may reach out to the network */
};

/* One node. Texts are the caller's. */
struct node_spec {
	const struct driver_setup *setup;
	const char *id;            /* "inst_…": letters, digits, '_' and '-'; a file name */
	const char *name;          /* its host name: letters, digits and '-' */
	const char
		*dir; /* data/nodes/ID: is there; the driver makes and removes what is in it but node.json and lock */
	const char *tenant;        /* nodes of one tenant may see each other on the network, others may not */
	const char *image;         /* "debian-12"; NULL: the driver's own */
	unsigned slot;             /* from 0, below 4096, no other node's on this machine: makes addresses and ports */
	const char *keys;          /* authorized_keys, one a line, checked; "" for none */
	const char *script;        /* run once at the first boot; NULL */
	int64_t memory, disk;      /* bytes; 0: no limit */
	unsigned cpu_milli;        /* thousandths of a processor; 0: no limit */
};

enum node_is { NODE_ABSENT, NODE_STOPPED, NODE_RUNNING };

/* What a node's isolation holds, where the driver works as it does now (probe says). */
enum driver_holds {
	HOLDS_PROCESSES = 1,       /* tenants neither see nor signal each other's processes */
	HOLDS_FILES = 2,           /* nor read each other's files, nor the agent's */
	HOLDS_NETWORK = 4,         /* own address; the market's and the agent's loopback are out of reach */
	HOLDS_CPU = 8, HOLDS_MEMORY = 16, HOLDS_DISK = 32,
	HOLDS_KERNEL = 64,         /* a kernel of its own */
	HOLDS_SYSTEM = 128,        /* a Debian of its own: root, packages, services */
};

struct driver {
	const char *name;          /* "ns" */
	const char *about;         /* "systemd-nspawn: a Debian of its own on this kernel" */

	/*
	 * 0: it works here (proved by trying what could fail, within a few seconds), *holds is set.
	 * -ENOTSUP: not here; the sentence says what is missing and the command that would mend it.
	 */
	int (*probe)(const struct driver_setup *s, unsigned *holds, struct fail *f);

	/* All that it needs to start is there: disk, host key, keys, name. Made already: 0. */
	int (*create)(const struct node_spec *n, struct fail *f);
	/*
	 * It runs (SSH may still be coming up). Runs already: 0, unless a stop was cut off half-way: what that asked to
	 * end is ended first. Its processes outlive the agent.
	 */
	int (*start)(const struct node_spec *n, struct fail *f);
	/* authorized_keys are n->keys from now on, running or not. */
	int (*rekey)(const struct node_spec *n, struct fail *f);
	/* Nothing of it runs any more: first asked, after grace_ms killed. Does not run: 0. Its files stay. */
	int (*stop)(const struct node_spec *n, int64_t grace_ms, struct fail *f);
	/* Nothing of it is left: processes, mounts, interfaces, namespaces, cgroups, files (in dir: but node.json and lock). */
	int (*destroy)(const struct node_spec *n, struct fail *f);
	int (*inspect)(const struct node_spec *n, enum node_is *out, struct fail *f);

	/* Ids of whatever runs, is mounted or is named as if it were a node of this setup, known or not. */
	int (*list)(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg, struct fail *f);
	/* What does not belong to one node (a tenant's bridge, an uplink) and is used by none any more is taken away. */
	int (*tidy)(const struct driver_setup *s, struct fail *f);
};

/*
 * Files that every driver keeps in dir:
 *   hostkey, hostkey.pub   the node's SSH host key, ed25519, made by `create` (driver `host`: hostkey.pub alone)
 *   console                what the node's console said, appended to; the agent reads it and may cut it to nothing
 *   user                   who signs in, one line ("root")
 */

extern const struct driver driver_host, driver_ns, driver_vm, driver_process;

#endif
