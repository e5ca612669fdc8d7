/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/keepfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "pssh/pssh_types.h"

enum { KEEPFOLDER_BACKLOG = 16 };

int keepfolder_open(const char *path, int *out, struct fail *f)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return fail_errno(f, PSSH_ELOCAL, errno, "cannot make the folder '%.300s'", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(f, PSSH_ELOCAL, errno, "cannot open the folder '%.300s'", path);
	if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
		close(fd);
		return fail_set(f, PSSH_ELOCAL,
			"the folder '%.300s' must belong to you, and nobody else may enter it (mode 0700)", path);
	}
	*out = fd;
	return 0;
}

/* By the open folder, so that it is the one that was checked, and so that a long path fits. */
static bool keepfolder_address(int folder, const char *name, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s", folder, name) < (int)sizeof a->sun_path;
}

/* Whether it is a name of keepfolder_listen(): the folder may hold files of other programs. */
static bool keepfolder_ours(const char *name)
{
	static const char sum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t len = strspn(name, sum);

	return len == KEEPKEY_SUM && name[len] == '.' && name[len + 1] >= '0' &&
		name[len + 1] < '0' + KEEPFOLDER_SLOTS && !name[len + 2];
}

/* Nobody listens on it. A file that is no socket refuses a connection as well. */
static void keepfolder_clean(int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
		unlinkat(folder, name, 0);
}

/* A socket or -errno. */
static int keepfolder_try(int folder, const char *name)
{
	struct sockaddr_un a;
	struct ucred who;
	socklen_t len = sizeof who;
	int fd, error = EACCES;

	if (!keepfolder_address(folder, name, &a))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&a, sizeof a) != 0)
		error = errno;
	else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid())
		return fd;
	close(fd);
	return -error;
}

int keepfolder_connect(int folder, const char *name)
{
	int fd;

	if (!keepfolder_ours(name))
		return -1;
	fd = keepfolder_try(folder, name);
	/* Under the lock, as another process may just have replaced it. */
	if (fd == -ECONNREFUSED && flock(folder, LOCK_EX | LOCK_NB) == 0) {
		fd = keepfolder_try(folder, name);
		if (fd == -ECONNREFUSED)
			keepfolder_clean(folder, name);
		flock(folder, LOCK_UN);
	}
	return fd < 0 ? -1 : fd;
}

int keepfolder_find(int folder, const char *key, unsigned slot)
{
	char name[KEEPFOLDER_NAME];

	snprintf(name, sizeof name, "%s.%u", key, slot);
	return keepfolder_connect(folder, name);
}

void keepfolder_sweep(int folder, const char *name)
{
	long pid;

	if (*name == '.' && str_to_long(name + 1, 1, INT32_MAX, &pid) == 0 && kill((pid_t)pid, 0) != 0 &&
		errno == ESRCH)
		keepfolder_clean(folder, name);
}

/* Listens on a name that nobody looks at yet. 0, or -1. */
static int keepfolder_bind(int folder, const char *name, int *out)
{
	struct sockaddr_un a;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	unlinkat(folder, name, 0);
	if (fd >= 0 && keepfolder_address(folder, name, &a) && bind(fd, (const struct sockaddr *)&a, sizeof a) == 0 &&
		listen(fd, KEEPFOLDER_BACKLOG) == 0) {
		*out = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int keepfolder_listen(int folder, const char *key, char name[KEEPFOLDER_NAME], int *out)
{
	char hidden[32];
	int fd = -1, rc;

	snprintf(hidden, sizeof hidden, ".%d", (int)getpid());
	rc = keepfolder_bind(folder, hidden, &fd);
	/* A socket gets its name when it listens: others remove one that refuses them. */
	for (unsigned slot = 0; !rc && slot < KEEPFOLDER_SLOTS; slot++) {
		int there;

		snprintf(name, KEEPFOLDER_NAME, "%s.%u", key, slot);
		there = keepfolder_connect(folder, name); /* removes a dead one */
		if (there >= 0)
			close(there);
		else if (linkat(folder, hidden, folder, name, 0) == 0)
			break;
		rc = slot + 1 < KEEPFOLDER_SLOTS ? 0 : -1;
	}
	unlinkat(folder, hidden, 0);
	if (rc && fd >= 0)
		close(fd);
	if (!rc)
		*out = fd;
	return rc;
}
