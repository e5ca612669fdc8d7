/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's disk: an ext4 of its own size and number of files, in a file below the data folder. A promised disk holds
 * its space from the start; another one only what is written. Nodes of machines without loop devices, and those made
 * before, write into the machine's own file system.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agentd/ns/ns.h"
#include "agentd/os/cgroup.h"
#include "agentd/os/disk.h"
#include "agentd/os/mount.h"

enum { NODE_DISK_PIDS = 64 };

int ns_disk(const struct node_spec *n, struct fail *f)
{
	static const char *const names[] = { "upper", "work", "root", "shifted", "disk" };
	char path[NS_PATH];
	int rc = 0;

	/* upper becomes the node's '/': the node's root user must be able to write to it. */
	for (size_t i = 0; !rc && i < sizeof names / sizeof *names; i++) {
		rc = ns_path(n, names[i], path, f);
		if (!rc)
			rc = ns_folder(path, 0755, i < 2 ? ns_first_id(n) : 0, f);
	}
	if (!rc)
		rc = ns_path(n, "disk.img", path, f);
	if (rc || n->disk <= 0 || access(path, F_OK) == 0)
		return rc;
	rc = mount_file_works(n->disk_taken ? f : NULL);
	if (rc)
		return n->disk_taken ? rc : 0;
	return disk_ext4(path,
		&(struct disk_ext4){ .bytes = n->disk,
			.inodes = n->inodes,
			.owner = ns_first_id(n),
			.take = n->disk_taken },
		f);
}

/* ---- How full it is -------------------------------------------------------------------------- */

/* In our process namespace, as systemd-nspawn is: what it sees no tenant has put there. */
static bool node_disk_outside(pid_t pid)
{
	char path[64], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof path, "/proc/%ld/ns/pid", (long)pid);
	return readlink("/proc/self/ns/pid", ours, sizeof ours - 1) > 0 &&
		readlink(path, theirs, sizeof theirs - 1) > 0 && strcmp(ours, theirs) == 0;
}

/* What is mounted for systemd-nspawn alone is looked at through that. */
pid_t ns_outer(const struct node_spec *n, const char *path, char seen[static NS_SEEN])
{
	pid_t pids[NODE_DISK_PIDS];
	struct stat here, there;
	size_t count;

	if (stat(path, &here) != 0)
		return 0;
	count = cgroup_pids(n, CGROUP_NODE, pids, NODE_DISK_PIDS);
	for (size_t i = 0; i < count && i < NODE_DISK_PIDS; i++) {
		if (!node_disk_outside(pids[i]))
			continue;
		snprintf(seen, NS_SEEN, "/proc/%ld/root%s", (long)pids[i], path);
		if (stat(seen, &there) == 0 && there.st_dev != here.st_dev)
			return pids[i];
	}
	return 0;
}

int ns_disk_use(const struct node_spec *n, int64_t *used, int64_t *size)
{
	char path[NS_PATH], seen[NS_SEEN];
	struct statvfs v;

	if (ns_path(n, "disk", path, NULL) || !ns_outer(n, path, seen) || statvfs(seen, &v) != 0 || !v.f_blocks)
		return -ENOENT;
	*size = (int64_t)(v.f_blocks * v.f_frsize);
	*used = (int64_t)((v.f_blocks - v.f_bfree) * v.f_frsize);
	return 0;
}
