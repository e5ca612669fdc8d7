/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is wrong with the nodes, each alone and compared with the others, before anything is changed. A pure
 * function of their facts, the cluster, and what its airgap folder was made for.
 */
#ifndef CLI_PROVISION_MODEL_GATE_H
#define CLI_PROVISION_MODEL_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/provision/model/cluster.h"
#include "cli/provision/model/facts.h"

/* X(name, word): the subject of a finding; a stack lists the word in `gates`. */
#define GATES(X) \
	X(GATE_REACH, "reach")        /* not reached, or no facts: always checked, like the next seven */ \
	X(GATE_NAME, "name")          /* an invalid host name, or one that two nodes have */ \
	X(GATE_MACHINE, "machine-id") /* none, or the same on two nodes: one was cloned from the other */ \
	X(GATE_ADDRESS, "address")    /* none, or the same on two nodes */ \
	X(GATE_CLOCK, "clock")        /* over 60 s from the median of all: stops; over 2 s: warns */ \
	X(GATE_ROOT, "root")          /* the user is neither root nor may use sudo */ \
	X(GATE_CLUSTER, "cluster")    /* another cluster has it */ \
	X(GATE_SYSTEM, "system")      /* not Debian or Ubuntu; or architectures or releases differ */ \
	X(GATE_DISK, "disk")          /* less free than the stack's setting `disk-mb` (default 1024) */ \
	X(GATE_DPKG, "dpkg")          /* somebody holds its lock, or an installation was interrupted */ \
	X(GATE_ROUTE, "route")        /* no default route */ \
	X(GATE_MTU, "mtu")            /* differ */ \
	X(GATE_NAMES, "names")        /* a name cannot be resolved */ \
	X(GATE_CGROUP, "cgroup")      /* neither v1 nor v2 is usable */ \
	X(GATE_GPU, "gpu")            /* on PCI but not usable: no driver, nouveau, or fewer than on PCI */ \
	X(GATE_BOOT, "secure-boot") \
	X(GATE_HEADERS, "kernel-headers") \
	X(GATE_RDMA, "rdma") \
	X(GATE_OTHER, "other") /* a Kubernetes or Slurm that nanopod did not install */ \
	X(GATE_SWAP, "swap") \
	X(GATE_MEMORY, "memory")   /* less than the stack's setting `memory-mb` */ \
	X(GATE_NFS, "nfs")         /* the kernel can neither serve nor mount it: containers, mostly */ \
	X(GATE_FUSE, "fuse")       /* programs cannot be file systems there, as that of a bucket is */ \
	X(GATE_VERSION, "version") /* nodes would get package versions that are incompatible */

enum gate {
#define GATE_X(name, word) name,
	GATES(GATE_X)
#undef GATE_X
	GATE_COUNT
};

const char *gate_name(enum gate g);

/* Whether a gate has that name. 0, or -EINVAL with the names that there are. */
int gate_check_name(const char *word, struct fail *f);

struct finding {
	enum gate gate;
	bool stops;        /* true: nothing starts on that node; false: a warning */
	size_t member;     /* index in the cluster; GATE_ALL: all members */
	char *text, *hint; /* a sentence; what to type, or NULL */
};
#define GATE_ALL ((size_t)-1)

struct findings {
	struct finding *at;
	size_t count;
};

/* skipped: words of --skip-gate, ends with NULL; their findings become warnings. */
void gate_look(const struct cluster *c, const struct facts *all, const char *const *skipped, struct findings *out);
void gate_release(struct findings *f);

#endif
