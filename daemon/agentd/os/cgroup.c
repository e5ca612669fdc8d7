/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/cgroup_part.h"
#include "agentd/os/device_guard.h"
#include "base/str.h"

/* Most groups of one node, and most processes where its share is not known: far more than work needs. */
#define GROUPS_LIMIT "16384"
#define DEPTH_LIMIT "64"
enum { PIDS_LIMIT = 16384, GROUP_ROOM = 192, PERIOD_US = 100000, QUOTA_MIN_US = 1000, IO_LEAST = 10, IO_MOST = 1000 };

static const char *const part_names[] = { [CGROUP_NODE] = "/node", [CGROUP_DOOR] = "/door", [CGROUP_ALL] = "" };

static void name_group(const struct node_spec *n, enum cgroup_part part, char room[static GROUP_ROOM])
{
	snprintf(room, GROUP_ROOM, "%s-n-%s%s", n->setup->prefix, n->id, part_names[part]);
}

int cgroup_probe(unsigned *holds, struct fail *f)
{
	struct cgroup_trees trees;
	unsigned have = 0;

	cgroup_trees(&trees);
	if (!trees.count)
		return fail_set(f, -ENOTSUP,
			"no control groups can be made here: none is mounted below '/sys/fs/cgroup', or not for this "
			"user");
	for (size_t i = 0; i < trees.count; i++)
		have |= (trees.tree[i].cpu ? HOLDS_CPU : 0) | (trees.tree[i].memory ? HOLDS_MEMORY : 0);
	*holds = have;
	return 0;
}

/* ---- Limits --------------------------------------------------------------------------------- */

static int cgroup_limit_pids(const struct cgroup_tree *t, const char *group, const struct node_spec *n)
{
	char text[32];

	snprintf(text, sizeof text, "%u", n->pids ? n->pids : PIDS_LIMIT);
	return cgroup_write(t, group, "pids.max", text);
}

/*
 * While the disk is busy, each node gets a part of it as large as its part of the processors; an idle disk is
 * anybody's. The machine's own groups have 100. Kernels have the one file or the other, and none where no scheduler
 * weighs.
 */
static void cgroup_weigh_io(const struct cgroup_tree *t, const char *group, const struct node_spec *n)
{
	static const char *const files[] = { "io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight" };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned weight = n->cpu_milli / (unsigned)(cpus > 0 ? cpus : 1);
	char text[32];

	if (!n->cpu_milli || weight > IO_MOST)
		weight = IO_MOST;
	if (weight < IO_LEAST)
		weight = IO_LEAST;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(text, sizeof text, "%s%u", t->v2 ? "default " : "", weight);
		if (cgroup_has(t, group, files[i]))
			cgroup_write(t, group, files[i], text);
	}
}

static int cgroup_limit_v2(const struct cgroup_tree *t, const char *group, const struct node_spec *n, int64_t quota)
{
	char text[64];
	int rc = 0;

	if (t->memory) {
		snprintf(text, sizeof text, "%lld", (long long)n->memory);
		rc = cgroup_write(t, group, "memory.max", n->memory ? text : "max");
	}
	if (!rc && t->cpu) {
		snprintf(text, sizeof text, "%lld %d", (long long)quota, PERIOD_US);
		rc = cgroup_write(t, group, "cpu.max", quota > 0 ? text : "max");
	}
	if (!rc && t->pids)
		rc = cgroup_limit_pids(t, group, n);
	if (cgroup_has(t, group, "cgroup.max.descendants"))
		cgroup_write(t, group, "cgroup.max.descendants", GROUPS_LIMIT);
	if (cgroup_has(t, group, "cgroup.max.depth"))
		cgroup_write(t, group, "cgroup.max.depth", DEPTH_LIMIT);
	return rc;
}

static int cgroup_limit_v1(const struct cgroup_tree *t, const char *group, const struct node_spec *n, int64_t quota)
{
	char text[64];
	int rc = 0;

	if (t->memory) {
		snprintf(text, sizeof text, "%lld", n->memory ? (long long)n->memory : -1LL);
		if (cgroup_has(t, group, "memory.memsw.limit_in_bytes"))
			cgroup_write(t, group, "memory.memsw.limit_in_bytes", "-1");
		rc = cgroup_write(t, group, "memory.limit_in_bytes", text);
		if (!rc && cgroup_has(t, group, "memory.memsw.limit_in_bytes"))
			rc = cgroup_write(t, group, "memory.memsw.limit_in_bytes", text);
	}
	if (!rc && t->cpu) {
		snprintf(text, sizeof text, "%lld", (long long)quota);
		rc = cgroup_write(t, group, "cpu.cfs_quota_us", text);
	}
	if (!rc && t->pids)
		rc = cgroup_limit_pids(t, group, n);
	return rc;
}

static bool cgroup_binds(const struct cgroup_trees *trees)
{
	for (size_t i = 0; i < trees->count; i++)
		if (trees->tree[i].cpuset)
			return true;
	return false;
}

/* Processors of its own need no other limit; what is left of them is shared, each with its quota. */
static int64_t cgroup_quota(const struct cgroup_trees *trees, const struct node_spec *n)
{
	int64_t quota = (int64_t)n->cpu_milli * PERIOD_US / 1000;

	if (!n->cpu_milli || (n->cores_own && n->cores && *n->cores && cgroup_binds(trees)))
		return -1;
	return quota < QUOTA_MIN_US ? QUOTA_MIN_US : quota;
}

/* must: a node that has no quota, as its processors are its own, has to get them. */
static int cgroup_bind(const struct cgroup_trees *trees, const char *group, const struct node_spec *n, bool must,
	struct fail *f)
{
	for (size_t i = 0; i < trees->count; i++) {
		const struct cgroup_tree *t = &trees->tree[i];
		bool can = t->cpuset && (cgroup_has(t, group, "cpuset.cpus") || (must && n->cores_own));
		int rc = can ? cgroup_cores_set(t, group, n->cores ? n->cores : "") : 0;

		if (rc)
			return fail_errno(f, rc, -rc, "cannot give '%s' the processors '%s' in '%s'", group,
				n->cores ? n->cores : "", t->at);
	}
	return 0;
}

/* The limits are set on the group above the node's part, where the node can neither see nor change them. */
static int cgroup_set_limits(const struct cgroup_trees *trees, const char *group, const struct node_spec *n,
	struct fail *f)
{
	int64_t quota = cgroup_quota(trees, n);

	for (size_t i = 0; i < trees->count; i++) {
		const struct cgroup_tree *t = &trees->tree[i];
		int rc = t->v2 ? cgroup_limit_v2(t, group, n, quota) : cgroup_limit_v1(t, group, n, quota);

		if (!rc && t->io)
			cgroup_weigh_io(t, group, n);
		if (rc)
			return fail_errno(f, rc, -rc, "cannot limit '%s' in '%s'", group, t->at);
	}
	return cgroup_bind(trees, group, n, true, f);
}

int cgroup_rebind(const struct node_spec *n, struct fail *f)
{
	struct cgroup_trees trees;
	char group[GROUP_ROOM];

	name_group(n, CGROUP_ALL, group);
	cgroup_trees(&trees);
	return cgroup_bind(&trees, group, n, false, f);
}

/* ---- Making --------------------------------------------------------------------------------- */

/* In v2 a group limits only what its parent enables. What the parent cannot enable shows when the limit is set. */
static void cgroup_pass_on(const struct cgroup_trees *trees, const char *group)
{
	static const char *const words[] = { "+cpu", "+memory", "+pids", "+cpuset", "+io" };

	for (size_t i = 0; i < trees->count; i++)
		for (size_t w = 0; trees->tree[i].v2 && w < sizeof words / sizeof *words; w++)
			cgroup_write(&trees->tree[i], group, "cgroup.subtree_control", words[w]);
}

/* The systemd of the node makes groups below the node's part, as the root of its user namespace. */
static int cgroup_give_to(const struct cgroup_trees *trees, const char *group, uid_t owner, struct fail *f)
{
	static const char *const files[] = { "", "/cgroup.procs", "/tasks", "/cgroup.threads",
		"/cgroup.subtree_control", "/cgroup.clone_children", "/notify_on_release" };
	char path[CGROUP_PATH];

	for (size_t i = 0; i < trees->count; i++)
		for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
			snprintf(path, sizeof path, "%s/%s%s", trees->tree[i].at, group, files[k]);
			if (chown(path, owner, owner) != 0 && errno != ENOENT)
				return fail_errno(f, -errno, errno, "cannot change the owner of '%s'", path);
		}
	return 0;
}

int cgroup_make(const struct node_spec *n, uid_t owner, struct fail *f)
{
	char all[GROUP_ROOM], part[GROUP_ROOM];
	struct cgroup_trees trees;
	int rc;

	name_group(n, CGROUP_ALL, all);
	cgroup_trees(&trees);
	if (!trees.count)
		return fail_set(f, -ENOTSUP, "no control groups can be made here");
	cgroup_pass_on(&trees, "");
	rc = cgroup_path_make(&trees, all, f);
	if (rc)
		return rc;
	cgroup_pass_on(&trees, all);
	rc = cgroup_set_limits(&trees, all, n, f);
	for (enum cgroup_part p = CGROUP_NODE; !rc && p <= CGROUP_DOOR; p++) {
		name_group(n, p, part);
		rc = cgroup_path_make(&trees, part, f);
		if (!rc && p == CGROUP_NODE && owner)
			rc = cgroup_give_to(&trees, part, owner, f);
	}
	return rc;
}

int cgroup_guard(const struct node_spec *n, struct fail *f)
{
	struct guard_rule rules[GUARD_RULES];
	size_t count = guard_rules(n->devices, rules);
	char group[GROUP_ROOM], path[CGROUP_PATH];
	struct fail why = { 0 };
	struct cgroup_trees trees;
	int rc = fail_set(&why, -ENOTSUP, "this machine's control groups cannot close devices");
	bool v1 = false;

	name_group(n, CGROUP_NODE, group);
	cgroup_trees(&trees);
	for (size_t i = 0; i < trees.count; i++)
		v1 |= trees.tree[i].devices;
	/* A machine with both versions closes them in the first. */
	for (size_t i = 0; i < trees.count && rc; i++) {
		const struct cgroup_tree *t = &trees.tree[i];

		snprintf(path, sizeof path, "%s/%s", t->at, group);
		if (t->devices)
			rc = guard_v1(path, rules, count, &why);
		else if (t->v2 && !v1)
			rc = guard_v2(path, rules, count, &why);
	}
	if (rc && n->devices && f)
		*f = why;
	return n->devices ? rc : 0;
}

int cgroup_fresh(const struct node_spec *n, struct fail *f)
{
	char group[GROUP_ROOM];

	name_group(n, CGROUP_NODE, group);
	return cgroup_path_remove(group, f);
}

int cgroup_enter(const struct node_spec *n, enum cgroup_part part)
{
	char group[GROUP_ROOM];

	name_group(n, part, group);
	return cgroup_path_enter(group);
}

size_t cgroup_pids(const struct node_spec *n, enum cgroup_part part, pid_t *pids, size_t max)
{
	char group[GROUP_ROOM];

	name_group(n, part, group);
	return cgroup_path_pids(group, pids, max);
}

int cgroup_kill(const struct node_spec *n, enum cgroup_part part, int64_t deadline_ms, struct fail *f)
{
	char group[GROUP_ROOM];

	name_group(n, part, group);
	return cgroup_path_kill(group, deadline_ms, f);
}

int cgroup_remove(const struct node_spec *n, struct fail *f)
{
	char group[GROUP_ROOM];

	name_group(n, CGROUP_ALL, group);
	return cgroup_path_remove(group, f);
}

/* ---- Looking ---------------------------------------------------------------------------------- */

static bool cgroup_seen_before(const struct cgroup_trees *trees, size_t i, const char *group)
{
	for (size_t k = 0; k < i; k++)
		if (cgroup_has(&trees->tree[k], group, ""))
			return true;
	return false;
}

int cgroup_list(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg, struct fail *f)
{
	struct cgroup_trees trees;
	char begin[32];

	(void)f;
	cgroup_trees(&trees);
	snprintf(begin, sizeof begin, "%s-n-", s->prefix);
	for (size_t i = 0; i < trees.count; i++) {
		DIR *d = opendir(trees.tree[i].at);
		struct dirent *e;

		while (d && (e = readdir(d)))
			if (str_starts(e->d_name, begin) && !cgroup_seen_before(&trees, i, e->d_name))
				found(arg, e->d_name + strlen(begin));
		if (d)
			closedir(d);
	}
	return 0;
}

/* ---- Groups of no node ------------------------------------------------------------------------ */

int cgroup_own(const char *group, struct fail *f)
{
	struct cgroup_trees trees;

	cgroup_trees(&trees);
	return cgroup_path_make(&trees, group, f);
}

int cgroup_own_enter(const char *group)
{
	return cgroup_path_enter(group);
}

size_t cgroup_own_pids(const char *group, pid_t *pids, size_t max)
{
	return cgroup_path_pids(group, pids, max);
}

int cgroup_own_remove(const char *group, int64_t deadline_ms, struct fail *f)
{
	int rc = cgroup_path_kill(group, deadline_ms, f);

	return rc ? rc : cgroup_path_remove(group, f);
}
