/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processors a node's groups may use, changed while it runs. In version 1 a group's processors must always be
 * among those of the group above it, so all get the new ones beside the old, and then the new ones alone.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agentd/os/cgroup_part.h"
#include "base/buf.h"

enum { CORES_TEXT = 4096, CORES_DEPTH = 16 };

static const char cores_file[] = "cpuset.cpus";

/* Reads the list without its newline. */
static int cores_read(const struct cgroup_tree *t, const char *group, char room[CORES_TEXT])
{
	char path[CGROUP_PATH + 32];
	struct buf b;
	int rc;

	buf_init(&b, CORES_TEXT - 1);
	snprintf(path, sizeof path, "%s/%s/%s", t->at, group, cores_file);
	rc = buf_read_file(&b, path);
	if (!rc)
		snprintf(room, CORES_TEXT, "%.*s", (int)strcspn(buf_text(&b), "\n"), buf_text(&b));
	buf_release(&b);
	return rc;
}

static int cores_widen(const struct cgroup_tree *t, const char *group, const char *cores)
{
	char had[CORES_TEXT], both[CORES_TEXT * 2];
	int rc = cores_read(t, group, had);

	snprintf(both, sizeof both, "%s%s%s", had, *had ? "," : "", cores);
	return rc ? rc : cgroup_write(t, group, cores_file, both);
}

/* Groups that a node made too deep keep what they have, and the kernel refuses to narrow the one above. */
static int cores_set_v1(const struct cgroup_tree *t, const char *group, const char *cores, int depth)
{
	char path[CGROUP_PATH];
	int rc = cores_widen(t, group, cores);
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "%s/%s", t->at, group);
	d = rc || depth == CORES_DEPTH ? NULL : opendir(path);
	while (d && !rc && (e = readdir(d))) {
		char below[CGROUP_PATH];

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (snprintf(below, sizeof below, "%s/%s", group, e->d_name) >= (int)sizeof below)
			rc = -ENAMETOOLONG;
		rc = rc ? rc : cores_set_v1(t, below, cores, depth + 1);
		rc = rc == -ENOENT ? 0 : rc; /* it went meanwhile */
	}
	if (d)
		closedir(d);
	return rc ? rc : cgroup_write(t, group, cores_file, cores);
}

int cgroup_cores_set(const struct cgroup_tree *t, const char *group, const char *cores)
{
	char now[CORES_TEXT], all[CORES_TEXT];
	int rc = cores_read(t, group, now);

	if (!rc && !t->v2 && !*cores) {
		rc = cores_read(t, "", all); /* nodes' groups are at the top */
		cores = all;
	}
	if (rc || strcmp(now, cores) == 0)
		return rc;
	if (t->v2)
		return cgroup_write(t, group, cores_file, *cores ? cores : "\n");
	return cores_set_v1(t, group, cores, 0);
}
