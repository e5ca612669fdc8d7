/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/statefile.h"
#include "base/file.h"
#include "base/str.h"

int datadir_open(const char *data, bool make, struct fail *f)
{
	struct stat st;

	if (make) {
		int rc = file_folders(data);

		if (rc)
			return fail_errno(f, rc, -rc, "cannot make the folders above '%s'", data);
		if (mkdir(data, 0700) != 0 && errno != EEXIST)
			return fail_errno(f, -errno, errno, "cannot make the folder '%s'", data);
	}
	if (stat(data, &st) != 0)
		return fail_errno(f, -errno, errno, "cannot inspect '%s'", data);
	if (!S_ISDIR(st.st_mode))
		return fail_set(f, -ENOTDIR, "'%s' is not a folder", data);
	if (st.st_uid != geteuid())
		return fail_set(f, -EPERM, "'%s' belongs to another user", data);
	if (st.st_mode & 077)
		return fail_set(f, -EPERM, "others may enter '%s'; fix that with 'chmod 700 %s'", data, data);
	return 0;
}

static long datadir_pid_in(int fd)
{
	char text[32] = "";
	long pid = 0;
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	return n > 0 && str_to_long(text, 1, 1L << 30, &pid) == 0 ? pid : 0;
}

/* A lock of fcntl: children do not inherit it, so it is free once this process is gone, whatever they still do. */
int datadir_lock(const char *data, int *out, struct fail *f)
{
	char path[STATEFILE_PATH], text[32];
	int fd, n;

	if (statefile_path(path, data, "lock", NULL) != 0)
		return fail_set(f, -ENAMETOOLONG, "the path of '%s' is too long", data);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	if (fcntl(fd, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET }) != 0) {
		long pid = datadir_pid_in(fd);

		close(fd);
		return fail_set(f, -EBUSY, "another nanopod-agentd (process %ld) uses '%s'", pid, data);
	}
	n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n) {
		int error = errno;

		close(fd);
		return fail_errno(f, -error, error, "cannot write '%s'", path);
	}
	*out = fd;
	return 0;
}

bool datadir_held(const char *data, long *pid)
{
	char path[STATEFILE_PATH];
	int fd = statefile_path(path, data, "lock", NULL) == 0 ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool held;

	*pid = 0;
	if (fd < 0)
		return false;
	held = fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
	if (held)
		*pid = datadir_pid_in(fd);
	close(fd);
	return held;
}

void datadir_setup(struct datadir_setup *p, const struct flags *o, const struct identity *i)
{
	memset(p, 0, sizeof *p);
	if (i)
		identity_prefix(i, p->prefix);
	else
		snprintf(p->prefix, sizeof p->prefix, "npprobe");
	p->setup = (struct driver_setup){ .data = o->data,
		.images = o->images,
		.prefix = p->prefix,
		.listen = o->listen,
		.first_port = (unsigned)o->first_port,
		.uplink = o->uplink,
		.open = o->open,
		.open_count = o->open_count,

		.sysfs_root = o->sysfs_root };
}
