/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind cgroup.h: the hierarchies of this machine, and groups by their path below them. */
#ifndef AGENTD_OS_CGROUP_PART_H
#define AGENTD_OS_CGROUP_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fail.h"

enum { CGROUP_PATH = 512, CGROUP_TREES = 24 };

struct cgroup_tree {
	char at[128];              /* mount point */
	bool v2, cpu, memory, pids, cpuset, io, devices; /* devices: of version 1 */
};

struct cgroup_trees {
	struct cgroup_tree tree[CGROUP_TREES];
	size_t count;
};

/* Finds the mounted, writable hierarchies in the text of /proc/self/mounts. */
void cgroup_trees(struct cgroup_trees *out);
void cgroup_trees_in(struct cgroup_trees *out, const char *mounts);

/* Writes into a file of a group: 0 or -errno. */
int cgroup_write(const struct cgroup_tree *t, const char *group, const char *file, const char *text);
bool cgroup_has(const struct cgroup_tree *t, const char *group, const char *file);

/* Binds the group and all below it, running or not, to these processors; "": to all. 0 or -errno. */
int cgroup_cores_set(const struct cgroup_tree *t, const char *group, const char *cores);

/* Makes the group in every hierarchy, ready to take processes. */
int cgroup_path_make(const struct cgroup_trees *trees, const char *group, struct fail *f);
int cgroup_path_enter(const char *group);
size_t cgroup_path_pids(const char *group, pid_t *pids, size_t max);
/* Kills the process unless it is outside the group: a pid that was read earlier may be another's by now. */
void cgroup_path_kill_one(const char *group, pid_t pid);
int cgroup_path_kill(const char *group, int64_t deadline_ms, struct fail *f);
int cgroup_path_remove(const char *group, struct fail *f);

#endif
