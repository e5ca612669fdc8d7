/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces by name: opens them, enters them for a moment, runs `ip` in them. */
#include "agentd/ns/net_part.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agentd/os/spawn.h"

#ifndef NSFS_MAGIC
#define NSFS_MAGIC 0x6e736673
#endif

int net_inside(int space, int (*inside)(void *arg), void *arg)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), rc;

	if (own < 0)
		return -errno;
	if (setns(space, CLONE_NEWNET) != 0) {
		rc = -errno;
		close(own);
		return rc;
	}
	rc = inside(arg);
	if (setns(own, CLONE_NEWNET) != 0)
		abort();   /* to continue in a tenant's network would be worse */
	close(own);
	return rc;
}

int net_space_open(const char *hub, int *fd)
{
	char path[NET_PATH];
	struct statfs st;
	int space;

	snprintf(path, sizeof path, "/run/netns/%s", hub);
	space = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (space < 0)
		return -errno;
	if (fstatfs(space, &st) != 0 || (unsigned long)st.f_type != NSFS_MAGIC) {
		close(space);
		return -ENOENT;
	}
	*fd = space;
	return 0;
}

bool net_is_in(pid_t pid, int space)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
	return stat(path, &theirs) == 0 && fstat(space, &ours) == 0 && theirs.st_ino == ours.st_ino &&
		theirs.st_dev == ours.st_dev;
}

int net_batch(const char *hub, const struct buf *lines, struct fail *f)
{
	const char *argv[] = { "ip", "-n", hub, "-batch", "-", NULL };
	int fd = memfd_create("ip", MFD_CLOEXEC), rc;

	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot pass commands to 'ip'");
	if (write(fd, buf_text(lines), lines->len) != (ssize_t)lines->len || lseek(fd, 0, SEEK_SET) != 0)
		rc = fail_errno(f, -EIO, errno, "cannot pass commands to 'ip'");
	else
		rc = spawn_run(&(struct spawn){ .argv = argv, .in = fd }, NET_COMMAND_MS, NULL, f);
	close(fd);
	return rc;
}
