/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/process/newroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

enum { SECRET_DEPTH = 6, RECURSIVE = 0x8000, READ_ONLY = 1, NO_SUID = 2 };

/* The argument of mount_setattr(2); not every C library declares it. */
struct attributes {
	uint64_t set, clear, propagation, userns;
};

static int newroot_fix(const char *path, unsigned flags, uint64_t set, struct fail *f)
{
	struct attributes a = { .set = set };

	if (syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &a, sizeof a) != 0)
		return fail_errno(f, -errno, errno, "'%s' cannot be made read-only", path);
	return 0;
}

static int newroot_full(const struct mounter *m, const char *at, char room[PATH_MAX], struct fail *f)
{
	int n = snprintf(room, PATH_MAX, "%s/%s", m->path, at);

	return n > 0 && n < PATH_MAX ? 0 : fail_set(f, -ENAMETOOLONG, "the path '%s' is too long", at);
}

int mounter_init(struct mounter *m, const char *path, struct fail *f)
{
	int n = snprintf(m->path, sizeof m->path, "%s", path);

	m->root = -1;
	if (n < 0 || (size_t)n >= sizeof m->path)
		return fail_set(f, -ENAMETOOLONG, "the path '%s' is too long", path);
	if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=16m") != 0)
		return fail_errno(f, -errno, errno, "cannot mount a new root on '%s'", path);
	m->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return m->root >= 0 ? 0 : fail_errno(f, -errno, errno, "cannot open '%s'", path);
}

int mounter_close(struct mounter *m, struct fail *f)
{
	close(m->root);
	m->root = -1;
	return newroot_fix("/", 0, READ_ONLY, f);
}

/* Makes all folders of the path; those that exist stay. */
static int newroot_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		int rc = mkdir(path, 0755) != 0 && errno != EEXIST && errno != EROFS ? -errno : 0;

		*p = '/';
		if (rc)
			return rc;
	}
	return 0;
}

int mounter_folder(struct mounter *m, const char *at, struct fail *f)
{
	char path[PATH_MAX];
	int rc = newroot_full(m, at, path, f);

	if (rc)
		return rc;
	rc = newroot_folders(path);
	if (!rc && mkdir(path, 0755) != 0 && errno != EEXIST)
		rc = -errno;
	return rc ? fail_errno(f, rc, -rc, "cannot make '%s'", path) : 0;
}

/* Makes a mount point: a folder or an empty file. */
static int newroot_target(const char *at, char *path, bool folder, struct fail *f)
{
	struct stat st;
	int rc = newroot_folders(path);

	if (!rc && stat(path, &st) != 0) {
		int fd = folder ? mkdir(path, 0755)
				: open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

		rc = fd < 0 ? -errno : 0;
		if (fd >= 0 && !folder)
			close(fd);
	}
	return rc ? fail_errno(f, rc, -rc, "cannot make the mount point '/%s'", at) : 0;
}

int mounter_touch(struct mounter *m, const char *at, struct fail *f)
{
	char path[PATH_MAX];
	int rc = newroot_full(m, at, path, f);

	return rc ? rc : newroot_target(at, path, false, f);
}

int mounter_link(struct mounter *m, const char *to, const char *at, struct fail *f)
{
	char path[PATH_MAX];
	int rc = newroot_full(m, at, path, f);

	if (rc)
		return rc;
	rc = newroot_folders(path);
	if (!rc && symlink(to, path) != 0 && errno != EEXIST)
		rc = -errno;
	return rc ? fail_errno(f, rc, -rc, "cannot make '%s'", path) : 0;
}

int mounter_bind(struct mounter *m, const char *from, const char *at, int flags, struct fail *f)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = newroot_full(m, at, path, f);

	if (!rc && stat(from, &st) != 0)
		rc = fail_errno(f, -errno, errno, "cannot open '%s'", from);
	if (!rc)
		rc = newroot_target(at, path, S_ISDIR(st.st_mode), f);
	if (!rc && mount(from, path, NULL, MS_BIND | MS_REC, NULL) != 0)
		rc = fail_errno(f, -errno, errno, "cannot mount '%s'", from);
	return rc || !(flags & MOUNTER_FIXED) ? rc : newroot_fix(path, RECURSIVE, READ_ONLY, f);
}

int mounter_fresh(struct mounter *m, const char *type, const char *at, const char *options, struct fail *f)
{
	char path[PATH_MAX];
	int rc = mounter_folder(m, at, f);

	if (!rc)
		rc = newroot_full(m, at, path, f);
	if (!rc &&
		mount(type, path, type, MS_NOSUID | (strcmp(type, "proc") == 0 ? MS_NODEV | MS_NOEXEC : 0), options) !=
			0)
		rc = fail_errno(f, -errno, errno, "cannot mount a new '/%s'", at);
	return rc;
}

int mounter_system(struct mounter *m, const char *name, struct fail *f)
{
	char path[64], to[PATH_MAX];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof path, "/%s", name);
	if (lstat(path, &st) != 0)
		return 0;
	if (!S_ISLNK(st.st_mode))
		return mounter_bind(m, path, name, MOUNTER_FIXED, f);
	n = readlink(path, to, sizeof to - 1);
	if (n < 0)
		return fail_errno(f, -errno, errno, "cannot read '%s'", path);
	to[n] = '\0';
	return mounter_link(m, to, name, f);
}

int mounter_maybe(struct mounter *m, const char *path, struct fail *f)
{
	return access(path, F_OK) == 0 ? mounter_bind(m, path, path + 1, MOUNTER_FIXED, f) : 0;
}

/* ---- Hiding ---------------------------------------------------------------------------------------- */

int mounter_fix(struct mounter *m, const char *at, struct fail *f)
{
	char path[PATH_MAX];
	int rc = newroot_full(m, at, path, f);

	if (rc || access(path, F_OK) != 0)
		return rc;
	if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) != 0)
		return fail_errno(f, -errno, errno, "cannot mount '%s'", path);
	return newroot_fix(path, RECURSIVE, READ_ONLY, f);
}

int mounter_empty(struct mounter *m, const char *at, struct fail *f)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = newroot_full(m, at, path, f);

	if (rc || lstat(path, &st) != 0)
		return rc;
	rc = S_ISDIR(st.st_mode) ? mount("tmpfs", path, "tmpfs", MS_RDONLY | MS_NOSUID, "mode=755,size=4k")
		: mount("/dev/null", path, NULL, MS_BIND, NULL);
	return rc ? fail_errno(f, -errno, errno, "cannot hide '/%s'", at) : 0;
}

static int newroot_secrets(struct mounter *m, const char *at, int depth, struct fail *f)
{
	char path[PATH_MAX], below[PATH_MAX];
	DIR *d = newroot_full(m, at, path, f) ? NULL : opendir(path);
	struct dirent *e;
	int rc = 0;

	while (d && !rc && (e = readdir(d))) {
		struct stat st;
		int n = snprintf(below, sizeof below, "%s/%s", at, e->d_name);

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || n < 0 || (size_t)n >= sizeof below)
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			!(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
			continue;
		if (!(st.st_mode & S_IROTH))
			rc = mounter_empty(m, below, f);
		else if (S_ISDIR(st.st_mode) && depth < SECRET_DEPTH)
			rc = newroot_secrets(m, below, depth + 1, f);
	}
	if (d)
		closedir(d);
	return rc;
}

int mounter_secrets(struct mounter *m, const char *at, struct fail *f)
{
	return newroot_secrets(m, at, 0, f);
}

/* ---- Of this machine ---------------------------------------------------------------------------------- */

int mounter_accelerators(struct mounter *m, struct fail *f)
{
	static const char *const names[] = { "nvidia", "kfd", "dri", "dxg", "accel" };
	DIR *d = opendir("/dev");
	struct dirent *e;
	char path[PATH_MAX];
	int rc = 0;

	while (d && !rc && (e = readdir(d)))
		for (size_t i = 0; !rc && i < sizeof names / sizeof *names; i++)
			if (str_starts(e->d_name, names[i])) {
				snprintf(path, sizeof path, "/dev/%s", e->d_name);
				rc = mounter_bind(m, path, path + 1, 0, f);
				break;
			}
	if (d)
		closedir(d);
	return rc;
}

int mounter_resolver(struct mounter *m, struct fail *f)
{
	char path[PATH_MAX];

	if (!realpath("/etc/resolv.conf", path) || str_starts(path, "/etc/") || str_starts(path, "/usr/"))
		return 0;
	return mounter_maybe(m, path, f);
}

/* Shows this text as the file `at`. */
static int newroot_text(struct mounter *m, const char *name, const char *at, const char *data, size_t len, mode_t mode,
	struct fail *f)
{
	char path[PATH_MAX];
	int fd, rc = newroot_full(m, name, path, f);

	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	rc = fd < 0 || write(fd, data, len) != (ssize_t)len ? -EIO : 0;
	if (fd >= 0)
		close(fd);
	return rc ? fail_set(f, rc, "cannot write '/%s'", name) : mounter_bind(m, path, at, MOUNTER_FIXED, f);
}

int mounter_groups(struct mounter *m, struct fail *f)
{
	struct buf all, kept;
	int rc;

	buf_init(&all, 4 << 20);
	buf_init(&kept, 4 << 20);
	rc = buf_read_file(&all, "/etc/group");
	for (const char *p = buf_text(&all), *end; !rc && *p; p = end) {
		end = strchr(p, '\n') ? strchr(p, '\n') + 1 : p + strlen(p);
		if (!str_starts(p, "tty:"))
			rc = buf_add(&kept, p, (size_t)(end - p));
	}
	rc = rc ? fail_errno(f, rc, -rc, "cannot read '/etc/group'")
		: newroot_text(m, "run/group", "etc/group", buf_text(&kept), kept.len, 0444, f);
	buf_release(&all);
	buf_release(&kept);
	return rc;
}

int mounter_shadow(struct mounter *m, struct fail *f)
{
	static const char root[] = "root:*:19000:0:99999:7:::\n";

	return newroot_text(m, "run/shadow", "etc/shadow", root, sizeof root - 1, 0600, f);
}
