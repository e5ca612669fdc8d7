/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agentd/os/spawn.h"

enum { DISK_MIB = 1 << 20, DISK_BLOCK = 512, DISK_PART = 20, DISK_PATH = 1024, DISK_FORMAT_MS = 24 * 3600 * 1000 };
enum {
	DISK_INODE = 256,
	DISK_PER_INODE = 16384,
	DISK_INODES_OWN = 16,
	DISK_MAPS = 1024,
	DISK_SPARE_MIB = 4,
	JOURNAL_PART = 32,
	JOURNAL_LEAST = 4,
	JOURNAL_MOST = 64
};

static const int64_t disk_reserve_least = (int64_t)5 << 30;

int64_t disk_reserve(int64_t size)
{
	return size / DISK_PART > disk_reserve_least ? size / DISK_PART : disk_reserve_least;
}

int disk_room(const char *folder, int64_t *bytes)
{
	char at[DISK_PATH], *slash;
	struct statvfs v;
	int64_t unit, left;

	snprintf(at, sizeof at, "%s", folder);
	while (statvfs(*at ? at : "/", &v) != 0) {
		if (errno != ENOENT || !(slash = strrchr(at, '/')))
			return -errno;
		*slash = '\0';
	}
	unit = (int64_t)v.f_frsize;
	left = (int64_t)v.f_bavail * unit - disk_reserve((int64_t)v.f_blocks * unit);
	*bytes = left < 0 ? 0 : left;
	return 0;
}

int64_t disk_held(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_blocks * DISK_BLOCK : 0;
}

/* A small disk has a small journal, which mkfs.ext4 would refuse otherwise: 1/32 of it, from 4 to 64 MiB. */
static unsigned disk_journal_mib(int64_t bytes)
{
	int64_t mib = bytes / DISK_MIB / JOURNAL_PART;

	return mib < JOURNAL_LEAST ? JOURNAL_LEAST : mib > JOURNAL_MOST ? JOURNAL_MOST : (unsigned)mib;
}

/* Some are the file system's own. */
int64_t disk_inodes(int64_t bytes, int64_t inodes)
{
	return (inodes ? inodes : bytes / DISK_PER_INODE) + DISK_INODES_OWN;
}

int64_t disk_file_size(int64_t bytes, int64_t inodes)
{
	int64_t tables = disk_inodes(bytes, inodes) * DISK_INODE + bytes / DISK_MAPS;

	return ((bytes + tables + DISK_MIB - 1) / DISK_MIB + disk_journal_mib(bytes) + DISK_SPARE_MIB) * DISK_MIB;
}

/* A file system that cannot take space ahead makes a sparse file: then the sum of promises alone protects it. */
static int disk_take(int fd, int mode, int64_t bytes)
{
	if (fallocate(fd, mode, 0, bytes) == 0)
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
}

static int disk_check(const char *path, int64_t bytes, struct fail *f)
{
	char folder[DISK_PATH];
	int64_t room = 0;
	int rc;

	snprintf(folder, sizeof folder, "%s", path);
	if (strrchr(folder, '/'))
		*strrchr(folder, '/') = '\0';
	rc = disk_room(folder, &room);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot see how much space '%s' has", folder);
	return bytes <= room
		? 0
		: fail_set(f, -ENOSPC, "its disk of %lld MiB does not fit: nodes may take %lld MiB more of '%s'",
			  (long long)(bytes / DISK_MIB), (long long)(room / DISK_MIB), folder);
}

int disk_make(const char *path, int64_t bytes, bool take, struct fail *f)
{
	int rc = take ? disk_check(path, bytes, f) : 0, fd = -1;

	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		rc = -errno;
	else if (take)
		rc = disk_take(fd, 0, bytes);
	if (fd >= 0)
		close(fd);
	if (rc)
		unlink(path);
	return rc ? fail_errno(f, rc, -rc, "cannot make the disk '%s'", path) : 0;
}

static int disk_format(const char *path, const struct disk_ext4 *how, struct fail *f)
{
	char owner[128], files[32], journal[32];
	const char *argv[24] = { "mkfs.ext4", "-q", "-F", "-m", "0", "-I", "256", "-J", journal, "-E", owner };
	size_t n = 11;

	snprintf(owner, sizeof owner, "root_owner=%u:%u,lazy_itable_init=1,lazy_journal_init=1,nodiscard", how->owner,
		how->owner);
	snprintf(files, sizeof files, "%lld", (long long)disk_inodes(how->bytes, how->inodes));
	snprintf(journal, sizeof journal, "size=%u", disk_journal_mib(how->bytes));
	if (how->grows) { /* blocks of one size, room in its tables, and with each block as many files as is usual */
		argv[n++] = "-b";
		argv[n++] = "4096";
	} else {
		argv[n++] = "-O";
		argv[n++] = "^resize_inode";
		argv[n++] = "-N";
		argv[n++] = files;
	}
	argv[n] = path;
	return spawn_run(&(struct spawn){ .argv = argv }, DISK_FORMAT_MS, NULL, f);
}

int disk_ext4(const char *path, const struct disk_ext4 *how, struct fail *f)
{
	char fresh[DISK_PATH];
	int rc;

	if (snprintf(fresh, sizeof fresh, "%s.new", path) >= DISK_PATH)
		return fail_errno(f, -ENAMETOOLONG, ENAMETOOLONG, "cannot make the disk '%s'", path);
	unlink(fresh);
	rc = disk_make(fresh, disk_file_size(how->bytes, how->inodes), how->take, f);
	if (!rc)
		rc = disk_format(fresh, how, f);
	if (!rc && rename(fresh, path) != 0)
		rc = fail_errno(f, -errno, errno, "cannot keep the disk '%s'", path);
	if (rc)
		unlink(fresh);
	return rc;
}

int disk_hold(const char *path, int64_t bytes, struct fail *f)
{
	int rc = disk_check(path, bytes - disk_held(path), f), fd;

	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	rc = fd < 0 ? -errno : disk_take(fd, FALLOC_FL_KEEP_SIZE, bytes);
	if (fd >= 0)
		close(fd);
	return rc ? fail_errno(f, rc, -rc, "cannot take the space of the disk '%s'", path) : 0;
}
