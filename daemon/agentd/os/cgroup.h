/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's control groups: <prefix>-n-<id> in every hierarchy (v1) or in the only one (v2). This group carries the
 * node's limits; below it are one group for the node itself and one for its door. They tell what runs when all
 * other records are lost.
 */
#ifndef AGENTD_OS_CGROUP_H
#define AGENTD_OS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentd/driver.h"

enum cgroup_part { CGROUP_NODE, CGROUP_DOOR, CGROUP_ALL };

/* The hierarchies that this machine lets us write: HOLDS_CPU | HOLDS_MEMORY of those that limit. -ENOTSUP: none. */
int cgroup_probe(unsigned *holds, struct fail *f);

/*
 * Makes the groups and sets the spec's memory, cores, cpu_milli and pids as limits; a second call sets them again.
 * cpu_milli limits nothing more where the node has processors of its own, but is also its weight at the disk.
 * owner (0: root) may manage the node's part.
 */
int cgroup_make(const struct node_spec *n, uid_t owner, struct fail *f);

/* Binds what runs of the node to the spec's cores. No groups: 0. */
int cgroup_rebind(const struct node_spec *n, struct fail *f);

/*
 * Opens the spec's devices and the standard ones to the node's part, and no others: at its first mounts' end, since
 * these need loop devices. -ENOTSUP: this machine cannot close devices; an error only for a node that has some.
 */
int cgroup_guard(const struct node_spec *n, struct fail *f);

/* Removes the node's part, whose processes must have ended: what was closed to it is open to the next. */
int cgroup_fresh(const struct node_spec *n, struct fail *f);

/* Moves the calling process into the group: for spawn's prepare. 0 or -errno. */
int cgroup_enter(const struct node_spec *n, enum cgroup_part part);

/* Counts the processes in the group; stores the first of them, up to max, in pids. */
size_t cgroup_pids(const struct node_spec *n, enum cgroup_part part, pid_t *pids, size_t max);

/* What a node's part has used so far and holds now; INT64_MIN: unknown here. */
struct cgroup_use {
	int64_t cpu_us; /* microseconds of a processor */
	int64_t memory; /* bytes, without what the kernel only keeps of files */
	int64_t processes;
};

void cgroup_use(const struct node_spec *n, struct cgroup_use *out);

/* Kills all processes of the group and waits for their end. -ETIMEDOUT: some did not end within deadline_ms. */
int cgroup_kill(const struct node_spec *n, enum cgroup_part part, int64_t deadline_ms, struct fail *f);

/* Removes the groups and those that the node made below them. Their processes must have ended. No such group: 0. */
int cgroup_remove(const struct node_spec *n, struct fail *f);

/* Lists the ids of all nodes of this setup that have groups. */
int cgroup_list(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg, struct fail *f);

/* A group that belongs to no single node, by its full name. Removing it kills its processes. */
int cgroup_own(const char *group, struct fail *f);
int cgroup_own_enter(const char *group);
size_t cgroup_own_pids(const char *group, pid_t *pids, size_t max);
int cgroup_own_remove(const char *group, int64_t deadline_ms, struct fail *f);

#endif
