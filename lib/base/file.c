/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

int file_folders(const char *path)
{
	char folder[PATH_MAX];

	if (strlen(path) >= sizeof folder)
		return -ENAMETOOLONG;
	memcpy(folder, path, strlen(path) + 1);
	for (char *p = strchr(folder + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(folder, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

int file_write(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int file_replace(const char *path, const void *data, size_t len, mode_t mode)
{
	char temporary[PATH_MAX + 8];
	int rc, fd;

	if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
		return -ENAMETOOLONG;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fchmod(fd, mode) < 0 ? -errno : file_write(fd, data, len);
	if (!rc && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && !rc)
		rc = -errno;
	if (!rc && rename(temporary, path) < 0)
		rc = -errno;
	if (rc)
		unlink(temporary);
	return rc;
}

/* Into what is there, after what it has; makes the target of a link. */
static int file_append(const char *path, const void *data, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, mode), rc;

	if (fd < 0)
		return -errno;
	rc = file_write(fd, data, len);
	return close(fd) < 0 && !rc ? -errno : rc;
}

int file_put(const char *path, const void *data, size_t len, mode_t mode)
{
	char real[PATH_MAX];
	struct stat st;
	bool there = lstat(path, &st) == 0, link = there && S_ISLNK(st.st_mode);
	mode_t mask = umask(077);

	umask(mask);
	mode &= ~mask;
	if (!there)
		return file_replace(path, data, len, mode);
	/* Links in /dev lead to what this process has open: there is no name to replace. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || str_starts(path, "/dev/"))
		return file_append(path, data, len, mode);
	if (st.st_uid == geteuid())
		mode = st.st_mode & 07777;
	if (link && !realpath(path, real))
		return -errno;
	/* What was no link is not followed, should it be one by now. */
	return file_replace(link ? real : path, data, len, mode);
}

int file_sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd, rc;

	if (slash && slash - path + 1 >= PATH_MAX)
		return -ENAMETOOLONG;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return rc;
}
