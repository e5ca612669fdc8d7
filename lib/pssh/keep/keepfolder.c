/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/keepfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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
	int fd = keepfolder_try(folder, name);

	/* Under the lock, as another process may just have replaced it. */
	if (fd == -ECONNREFUSED && flock(folder, LOCK_EX | LOCK_NB) == 0) {
		fd = keepfolder_try(folder, name);
		if (fd == -ECONNREFUSED)
			unlinkat(folder, name, 0);
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

int keepfolder_listen(int folder, const char *key, char name[KEEPFOLDER_NAME], int *out)
{
	struct sockaddr_un a;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	for (unsigned slot = 0; fd >= 0 && slot < KEEPFOLDER_SLOTS; slot++) {
		int there;

		snprintf(name, KEEPFOLDER_NAME, "%s.%u", key, slot);
		if (!keepfolder_address(folder, name, &a))
			break;
		there = keepfolder_connect(folder, name); /* removes a dead one */
		if (there >= 0)
			close(there);
		else if (bind(fd, (const struct sockaddr *)&a, sizeof a) == 0 && listen(fd, KEEPFOLDER_BACKLOG) == 0) {
			*out = fd;
			return 0;
		}
	}
	if (fd >= 0)
		close(fd);
	return -1;
}
