/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node is made real: one table of functions per driver. Each call may block, runs in a child of the agent that
 * may be killed at any instruction, and can be repeated: a second call, or a call of `destroy`, continues from whatever
 * the first one left. One call at a time per node (its folder is locked).
 */
#ifndef AGENTD_DRIVER_H
#define AGENTD_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

struct opening; /* agentd/os/opening.h */
struct node_devices;
struct kept_volume; /* agentd/os/kept_volumes.h */

/* Of this agent; the same for all its nodes. */
struct driver_setup {
	const char *data;          /* its folder, absolute; nodes are in data/nodes/ID */
	const char *images;        /* absolute folder of root images */
	/* Up to 8 letters and digits, unique on this machine: begins names of cgroups, interfaces and namespaces. */
	const char *prefix;
	const char *listen;        /* the address that nodes' SSH ports listen on: "127.0.0.1" */
	unsigned first_port;       /* the port of a node is first_port + slot, unless a program has that */
	bool uplink;               /* nodes may reach other networks */
	const struct opening *open; /* what they reach although it is private */
	size_t open_count;
	bool for_good;          /* no node will come: what waits for one goes, too */
	const char *sysfs_root; /* in front of /sys, /proc, /dev; "" or NULL: this machine's */
	const struct kept_volume *volumes; /* all of the market's last word; NULL: it has not spoken yet */
	size_t volume_count;
};

/* One node. The caller owns the texts. */
struct node_spec {
	const struct driver_setup *setup;
	const char *id;            /* "inst_…": letters, digits, '_' and '-'; a file name */
	const char *name;          /* its host name: letters, digits and '-' */
	const char *dir;           /* data/nodes/ID, which exists; the driver owns all in it but node.json and lock */
	const char *tenant;        /* account and network: only nodes of the same reach each other */
	const char *image;         /* "debian-12"; NULL: the driver's default */
	unsigned slot;             /* 0 to 4095, unique on this machine: determines addresses */
	unsigned port;             /* where setup->listen reaches its SSH */
	const char *keys;          /* authorized_keys, one a line, checked; "" for none */
	const char *script;        /* run once at the first boot; NULL */
	int64_t memory, disk;      /* bytes; 0: no limit */
	unsigned cpu_milli;        /* thousandths of a processor; 0: no limit */
	const char *cores;         /* the processors that it may use, "0-1,4"; NULL or "": all */
	bool cores_own;            /* nobody else uses them, but who was sold a part of the same */
	int64_t inodes;            /* files that its disk can hold; 0: as many as is usual */
	int64_t network_mbps;      /* Mbit/s in each direction; 0: no limit */
	bool disk_taken;           /* its disk was promised: all of its space is taken when it is made */
	const char *shared_id;     /* whose folder it shares: a file name; NULL: nobody's */
	int64_t shared;            /* what it adds to that, bytes; 0: it has none. Only where terms.shared */
	unsigned pids;             /* most processes and threads; 0: 16384 */
	const struct node_devices *devices; /* agentd/os/devices.h; NULL: none. Only for drivers that give them */
};

enum node_is { NODE_ABSENT, NODE_STOPPED, NODE_RUNNING };

/* What a driver isolates, as it works here and now (probe tells). */
enum driver_holds {
	HOLDS_PROCESSES = 1,       /* tenants neither see nor signal each other's processes */
	HOLDS_FILES = 2,           /* nor read each other's files, nor the agent's */
	HOLDS_NETWORK = 4,         /* own address; cannot reach the market's and the agent's loopback */
	HOLDS_CPU = 8, HOLDS_MEMORY = 16, HOLDS_DISK = 32,
	HOLDS_KERNEL = 64,         /* its own kernel */
	HOLDS_SYSTEM = 128,        /* its own Debian: root, packages, services */
};

/* The GPUs that its nodes can have. */
enum driver_devices {
	DEVICES_NONE,
	DEVICES_MACHINE,   /* all of this machine's */
	DEVICES_NODES,     /* those of the spec, by their device nodes */
	DEVICES_FUNCTIONS, /* those of the spec, as functions of the PCI bus */
};

/* What its nodes cost beside what they were promised, and what it cannot promise. */
struct driver_terms {
	int64_t node_memory; /* bytes of this machine that each node takes beside its own */
	bool no_rate;        /* nothing here limits a node's network */
	bool shared;         /* nodes of a reservation can share a folder */
	/* Bytes of this machine that a node's disk takes; NULL: as disk_file_size(). */
	int64_t (*disk_file)(int64_t disk, int64_t inodes);
};

struct driver {
	const char *name;          /* "ns" */
	const char *about;         /* "systemd-nspawn: a full Debian on this machine's kernel" */
	enum driver_devices devices;

	/*
	 * 0: it works here (it tried whatever could fail, within a few seconds), and *holds is set. -ENOTSUP: not here;
	 * the sentence says what is missing and the command that fixes it.
	 */
	int (*probe)(const struct driver_setup *s, unsigned *holds, struct fail *f);

	/* As it works here; NULL: all 0. */
	void (*terms)(const struct driver_setup *s, struct driver_terms *out);

	/* Makes all that a start needs: disk, host key, keys, name. 0 also if made already. */
	int (*create)(const struct node_spec *n, struct fail *f);
	/*
	 * Starts it (SSH may still be coming up). 0 also if it runs, but first ends what a stop that was cut off had
	 * asked to end. Its processes outlive the agent. -EADDRINUSE: another program has its port.
	 */
	int (*start)(const struct node_spec *n, struct fail *f);
	/* Replaces authorized_keys by n->keys, running or not. */
	int (*rekey)(const struct node_spec *n, struct fail *f);
	/*
	 * Bytes in use of the disk that a running node has for itself, and its size; the spec needs setup, id and dir.
	 * -ENOENT: it has none, or does not run. NULL: nobody can tell from outside.
	 */
	int (*disk_use)(const struct node_spec *n, int64_t *used, int64_t *size);
	/* Binds a node, running or not, to the spec's cores, and its account's volumes. NULL: at its next start. */
	int (*rebind)(const struct node_spec *n, struct fail *f);
	/* Ends all that runs of it: asks first, kills after grace_ms. 0 also if nothing runs. Its files stay. */
	int (*stop)(const struct node_spec *n, int64_t grace_ms, struct fail *f);
	/* Removes all of it: processes, mounts, interfaces, namespaces, cgroups, files (but node.json, lock). */
	int (*destroy)(const struct node_spec *n, struct fail *f);
	int (*inspect)(const struct node_spec *n, enum node_is *out, struct fail *f);

	/* Lists the ids of whatever runs, is mounted or is named like a node of this setup, known or not. */
	int (*list)(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg, struct fail *f);
	/* With each look, also beside other calls: adapts what nodes share to this machine's addresses. */
	int (*renew)(const struct driver_setup *s, struct fail *f);
	/* Removes what several nodes share (a tenant's bridge, an uplink) once no node uses it. */
	int (*tidy)(const struct driver_setup *s, struct fail *f);
};

/*
 * Files that every driver keeps in dir:
 *   hostkey, hostkey.pub  the node's SSH host key, ed25519, made by `create` (driver `host`: only hostkey.pub)
 *   console               output of the node's console, appended; the agent reads it and may truncate it
 *   user                  the user to log in as, one line ("root")
 */

extern const struct driver driver_host, driver_ns, driver_vm, driver_process;

#endif
