/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/wipe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Trees deeper than this are cut: what is below moves to the top and is removed from there. */
enum { WIPE_DEPTH = 24, WIPE_ROUNDS = 64 };

struct wipe {
	int top;
	dev_t dev;
	unsigned long moved;
	bool again;       /* something was moved to the top */
};

static int wipe_contents(struct wipe *w, int fd, int depth, const char *const *keep);

/* Opens a folder whatever its rights were. */
static int wipe_enter(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		fchmod(fd, 0700);
	if (fd >= 0 || errno != EACCES || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return fd;
	/* A link may have replaced it: then this changes the link's target, as far as our own rights allow. */
	if (fchmodat(at, name, 0700, 0) != 0)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int wipe_tree(struct wipe *w, int at, const char *name, int depth)
{
	char fresh[48];
	struct stat st;
	int fd = wipe_enter(at, name), rc;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) != 0 || st.st_dev != w->dev) {
		close(fd);
		return -EBUSY;
	}
	if (depth >= WIPE_DEPTH) {
		close(fd);
		do
			snprintf(fresh, sizeof fresh, "wipe.%lu", w->moved++);
		while (faccessat(w->top, fresh, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
		w->again = true;
		return renameat(at, name, w->top, fresh) == 0 || errno == ENOENT ? 0 : -errno;
	}
	rc = wipe_contents(w, fd, depth + 1, NULL);
	close(fd);
	if (!rc && unlinkat(at, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

static bool wipe_is_kept(const char *name, const char *const *keep)
{
	for (; keep && *keep; keep++)
		if (strcmp(name, *keep) == 0)
			return true;
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* fd stays the caller's. Tries everything, then returns the first failure. */
static int wipe_contents(struct wipe *w, int fd, int depth, const char *const *keep)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), first = 0;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!d) {
		int rc = -errno;

		if (copy >= 0)
			close(copy);
		return rc;
	}
	while ((e = readdir(d))) {
		int rc = 0;

		if (wipe_is_kept(e->d_name, keep))
			continue;
		if (unlinkat(fd, e->d_name, 0) != 0) {
			if (errno == EISDIR || errno == EPERM)
				rc = wipe_tree(w, fd, e->d_name, depth);
			else if (errno != ENOENT)
				rc = -errno;
		}
		first = first ? first : rc;
	}
	closedir(d);
	return first;
}

int wipe_folder(const char *dir, const char *const *keep, struct fail *f)
{
	struct wipe w = { .top = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) };
	struct stat st;
	int rc = 0;

	if (w.top < 0 && errno == ENOENT)
		return 0;
	if (w.top < 0 || fstat(w.top, &st) != 0) {
		rc = -errno;
	} else {
		w.dev = st.st_dev;
		/* A last process of the node may still write into a folder emptied a moment ago: try again. */
		for (int i = 0; i < WIPE_ROUNDS; i++) {
			w.again = false;
			rc = wipe_contents(&w, w.top, 0, keep);
			if (!w.again && rc != -ENOTEMPTY)
				break;
			i -= w.again;
		}
	}
	if (w.top >= 0)
		close(w.top);
	return rc ? fail_errno(f, rc, -rc, "cannot remove all of '%s'", dir) : 0;
}
