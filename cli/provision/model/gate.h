/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before anything is changed: what is wrong with these nodes, alone and side by side. A pure function of their facts and of
 * the cluster, with what its airgap folder says it is for.
 */
#ifndef CLI_PROVISION_MODEL_GATE_H
#define CLI_PROVISION_MODEL_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/provision/model/cluster.h"
#include "cli/provision/model/facts.h"

/* X(name, word): what a finding is about, and what a stack lists in `gates`. */
#define GATES(X) \
	X(GATE_REACH, "reach")        /* not reached, or no facts: always looked at, as the next seven are */ \
	X(GATE_NAME, "name")          /* a host name that is no name, or two nodes have */ \
	X(GATE_MACHINE, "machine-id") /* none, or two nodes have it: one cloned from the other */ \
	X(GATE_ADDRESS, "address")    /* none, or two nodes have it */ \
	X(GATE_CLOCK, "clock")        /* over 60 s from the median of all: refused; over 2 s: said */ \
	X(GATE_ROOT, "root")          /* neither root nor sudo */ \
	X(GATE_CLUSTER, "cluster")    /* it is another cluster's */ \
	X(GATE_SYSTEM, \
		"system") /* not Debian or Ubuntu, architectures or releases differ, or are not the airgap folder's */ \
	X(GATE_DISK, "disk")     /* less free than the stack's setting `disk-mb` (default 1024) */ \
	X(GATE_DPKG, "dpkg")     /* its lock is held, or it was cut off half-way */ \
	X(GATE_ROUTE, "route")   /* no default route */ \
	X(GATE_MTU, "mtu")       /* differ */ \
	X(GATE_NAMES, "names")   /* a name cannot be resolved */ \
	X(GATE_CGROUP, "cgroup") /* neither v1 nor v2 is usable */ \
	X(GATE_GPU, "gpu")       /* on PCI but not to be used: no driver, nouveau, other numbers */ \
	X(GATE_BOOT, "secure-boot") \
	X(GATE_HEADERS, "kernel-headers") \
	X(GATE_RDMA, "rdma") \
	X(GATE_OTHER, "other") /* another Kubernetes or Slurm is there */ \
	X(GATE_SWAP, "swap") \
	X(GATE_MEMORY, "memory")   /* less than the stack's setting `memory-mb` */ \
	X(GATE_VERSION, "version") /* packages of which the nodes would get versions that do not go together */

enum gate {
#define GATE_X(name, word) name,
	GATES(GATE_X)
#undef GATE_X
	GATE_COUNT
};

const char *gate_name(enum gate g);

struct finding {
	enum gate gate;
	bool stops;        /* nothing is begun on that node; else it is said and that is all */
	size_t member;     /* of the cluster; GATE_ALL: of all */
	char *text, *hint; /* a sentence; what to type, or NULL */
};
#define GATE_ALL ((size_t)-1)

struct findings {
	struct finding *at;
	size_t count;
};

/* skipped: words that --skip-gate named, ends with NULL: what they would stop is only said. */
void gate_look(const struct cluster *c, const struct facts *all, const char *const *skipped, struct findings *out);
void gate_release(struct findings *f);

#endif
