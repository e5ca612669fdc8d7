/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's control groups: <prefix>-n-<id> in every hierarchy (v1) or in the one (v2), where its limits are, and
 * below it a part for the node itself and one for its door. They say what runs, whoever else has forgotten it.
 */
#ifndef AGENTD_OS_CGROUP_H
#define AGENTD_OS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentd/driver.h"

enum cgroup_part { CGROUP_NODE, CGROUP_DOOR, CGROUP_ALL };

/* The hierarchies of this machine that can be written: HOLDS_CPU | HOLDS_MEMORY of those that limit. -ENOTSUP: none. */
int cgroup_probe(unsigned *holds, struct fail *f);

/* Made, with the spec's memory and cpu_milli in force. The node's part may be managed by owner (0: root). Again: limits are set again. */
int cgroup_make(const struct node_spec *n, uid_t owner, struct fail *f);

/* The calling process moves in: for spawn's prepare. 0 or -errno. */
int cgroup_enter(const struct node_spec *n, enum cgroup_part part);

/* The processes in it: how many there are, the first of them (up to max) in pids. */
size_t cgroup_pids(const struct node_spec *n, enum cgroup_part part, pid_t *pids, size_t max);

/* All its processes are killed and gone. -ETIMEDOUT: some would not go within deadline_ms. */
int cgroup_kill(const struct node_spec *n, enum cgroup_part part, int64_t deadline_ms, struct fail *f);

/* Groups with what the node made below them are gone; its processes have to be gone before. Not there: 0. */
int cgroup_remove(const struct node_spec *n, struct fail *f);

/* Ids of all nodes of this setup that have groups. */
int cgroup_list(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg, struct fail *f);

/* Of what belongs to no one node: a group by its whole name. Removed with its processes. */
int cgroup_own(const char *group, struct fail *f);
int cgroup_own_enter(const char *group);
size_t cgroup_own_pids(const char *group, pid_t *pids, size_t max);
int cgroup_own_remove(const char *group, int64_t deadline_ms, struct fail *f);

#endif
