/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that all nodes of a reservation on this machine share: data/shared/POOL has disk.img, an ext4 as large as
 * the sum of what these nodes were promised, and nodes/ID for each of them, with its part in bytes. It grows while
 * nodes run, never shrinks, and stays SHARED_KEPT seconds after the last of them, for a node that replaces another.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agentd/ns/ns.h"
#include "agentd/os/disk.h"
#include "agentd/os/mount.h"
#include "agentd/os/spawn.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"

enum { SHARED_KEPT = 900, SHARED_PATH = 1024, SHARED_FIT_MS = 24 * 3600 * 1000, SHARED_SIZE = 32 };

/* It names a file: the market gave it. */
static bool shared_named(const char *id)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return id && *id && !id[strspn(id, good)];
}

static int shared_path(const struct driver_setup *s, char room[static SHARED_PATH], const char *folder,
	const char *name)
{
	int n = snprintf(room, SHARED_PATH, "%s/shared%s%s%s%s", s->data, *folder ? "/" : "", folder, *name ? "/" : "",
		name);

	return n < SHARED_PATH ? 0 : -ENAMETOOLONG;
}

/* One at a time looks at these folders or mounts one. Closing the descriptor ends it. -EWOULDBLOCK: somebody does. */
static int shared_lock(const struct driver_setup *s, bool wait, struct fail *f)
{
	char path[SHARED_PATH];
	int rc = shared_path(s, path, "", ""), fd;

	if (!rc)
		rc = ns_folder(path, 0700, 0, f);
	if (rc)
		return rc;
	shared_path(s, path, "", "lock");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	while (fd >= 0 && flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0)
		if (errno != EINTR) {
			close(fd);
			fd = -1;
		}
	return fd >= 0 ? fd : fail_errno(f, -errno, errno, "cannot lock '%s'", path);
}

/* ---- Its nodes ------------------------------------------------------------------------------- */

/* What its nodes were promised in all, and how many they are. */
static int64_t shared_sum(const char *nodes, size_t *count)
{
	char path[SHARED_PATH + NAME_MAX + 2];
	DIR *d = opendir(nodes);
	int64_t sum = 0;
	struct dirent *e;
	struct buf b;
	long part;

	*count = 0;
	buf_init(&b, SHARED_SIZE);
	while (d && (e = readdir(d))) {
		if (strchr(e->d_name, '.')) /* no node's id has one; that of a file which is being written has */
			continue;
		++*count;
		buf_clear(&b);
		snprintf(path, sizeof path, "%s/%s", nodes, e->d_name);
		if (buf_read_file(&b, path) == 0 && str_to_long(buf_text(&b), 1, INT64_MAX / 4, &part) == 0 &&
			sum < INT64_MAX / 2)
			sum += part;
	}
	if (d)
		closedir(d);
	buf_release(&b);
	return sum;
}

static int shared_join(const struct node_spec *n, struct fail *f)
{
	char folder[SHARED_PATH], nodes[SHARED_PATH], one[2 * SHARED_PATH], size[SHARED_SIZE];
	int rc = shared_path(n->setup, nodes, n->shared_id, "nodes");

	if (rc)
		return fail_errno(f, rc, -rc, "cannot name the folder that the node shares");
	shared_path(n->setup, folder, n->shared_id, "");
	rc = ns_folder(folder, 0700, 0, f);
	if (!rc)
		rc = ns_folder(nodes, 0700, 0, f);
	snprintf(one, sizeof one, "%s/%s", nodes, n->id);
	snprintf(size, sizeof size, "%" PRId64, n->shared);
	return rc ? rc : ns_write(one, size, 0600, 0, f);
}

/* ---- Its disk -------------------------------------------------------------------------------- */

/* Where nobody has it mounted, its file system can grow without a right that some machines take from root. */
static void shared_fit(const char *file)
{
	enum { SUPER = 1024, BLOCKS = 4, BLOCK = 4096 };
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unsigned char super[8] = { 0 };
	struct stat st;
	int64_t blocks;

	if (fd < 0)
		return;
	if (fstat(fd, &st) != 0 || pread(fd, super, sizeof super, SUPER) != (ssize_t)sizeof super)
		st.st_size = 0;
	close(fd);
	blocks = super[BLOCKS] | super[BLOCKS + 1] << 8 | super[BLOCKS + 2] << 16 | (int64_t)super[BLOCKS + 3] << 24;
	if (blocks >= st.st_size / BLOCK || mount_file_busy(file))
		return;
	spawn_words(SHARED_FIT_MS, NULL, "e2fsck", "-f", "-p", file,
		NULL); /* which says that it mended something, too */
	spawn_words(SHARED_FIT_MS, NULL, "resize2fs", file, NULL);
}

/* What is mounted grows at the next mount. */
static int shared_lengthen(const char *file, int64_t size, struct fail *f)
{
	int rc = disk_hold(file, size, f);

	return rc || truncate(file, (off_t)size) == 0
		? rc
		: fail_errno(f, -errno, errno, "cannot enlarge the disk '%s'", file);
}

int ns_grown(const char *file, int64_t bytes, struct fail *f)
{
	struct stat st;
	int rc = 0;

	if (stat(file, &st) != 0) /* nobody's data is overwritten for want of a look at it */
		rc = errno != ENOENT
			? fail_errno(f, -errno, errno, "cannot look at '%s'", file)
			: disk_ext4(file, &(struct disk_ext4){ .bytes = bytes, .take = true, .grows = true }, f);
	else if (st.st_size < disk_file_size(bytes, 0))
		rc = shared_lengthen(file, disk_file_size(bytes, 0), f);
	if (!rc)
		shared_fit(file);
	return rc;
}

/* While nobody else looks at it: the node has its part, and the disk is as large as all parts. *file: that disk. */
static int shared_ready(const struct node_spec *n, char file[static SHARED_PATH], struct fail *f)
{
	int64_t bytes;
	size_t count;
	int rc = shared_join(n, f);

	if (!rc)
		rc = shared_path(n->setup, file, n->shared_id, "nodes");
	if (rc)
		return rc;
	bytes = shared_sum(file, &count);
	shared_path(n->setup, file, n->shared_id, "disk.img");
	return ns_grown(file, bytes, f);
}

static int shared_check_name(const struct node_spec *n, struct fail *f)
{
	return shared_named(n->shared_id)
		? 0
		: fail_set(f, -EINVAL, "'%.60s' names no reservation whose folder the node could share",
			  n->shared_id ? n->shared_id : "");
}

/* Where it is in the node. */
static int shared_layer(const struct node_spec *n, struct fail *f)
{
	char at[NS_PATH];
	int rc = ns_path(n, "layer" NS_SHARED_FOLDER, at, f);

	return rc ? rc : ns_folder(at, 0755, ns_first_id(n), f);
}

int ns_shared(const struct node_spec *n, struct fail *f)
{
	char file[SHARED_PATH];
	int fd, rc;

	if (n->shared <= 0)
		return 0;
	rc = shared_check_name(n, f);
	if (!rc)
		rc = mount_file_works(f);
	fd = rc ? rc : shared_lock(n->setup, true, f);
	if (fd < 0)
		return fd;
	rc = shared_ready(n, file, f);
	close(fd);
	return rc ? rc : shared_layer(n, f);
}

/* What is mounted at `raw` is given to the node at `at`: its root has only what is shifted to it. */
int ns_shift(int users, const char *raw, const char *at, struct fail *f)
{
	int rc = mount_shifted(users, raw, at, true, f);

	if (!rc && umount2(raw, MNT_DETACH) != 0)
		rc = fail_errno(f, -errno, errno, "cannot unmount '%s'", raw);
	return rc;
}

int ns_shared_mount(const struct node_spec *n, int users, struct fail *f)
{
	char file[SHARED_PATH], raw[NS_PATH], at[NS_PATH];
	int fd, rc;

	if (n->shared <= 0)
		return 0;
	rc = shared_check_name(n, f);
	if (!rc)
		rc = shared_layer(n, f);
	if (!rc)
		rc = ns_path(n, "shared.disk", raw, f);
	if (!rc)
		rc = ns_path(n, "shared", at, f);
	if (!rc)
		rc = ns_folder(raw, 0700, 0, f);
	if (!rc)
		rc = ns_folder(at, 0755, 0, f);
	fd = rc ? rc : shared_lock(n->setup, true, f);
	if (fd < 0)
		return fd;
	rc = shared_ready(n, file, f);
	if (!rc)
		rc = mount_file_shared(file, raw, f);
	close(fd);
	return rc ? rc : ns_shift(users, raw, at, f);
}

/* ---- Its end --------------------------------------------------------------------------------- */

/* For each folder of the setup, while nobody else looks at them. */
static int shared_each(const struct driver_setup *s, bool wait, void (*each)(const char *path, const void *arg),
	const void *arg, struct fail *f)
{
	char path[SHARED_PATH], one[SHARED_PATH + NAME_MAX + 2];
	struct dirent *e;
	int fd;
	DIR *d;

	if (shared_path(s, path, "", "") || access(path, F_OK) != 0)
		return 0;
	fd = shared_lock(s, wait, f);
	if (fd < 0)
		return fd;
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lock") != 0) {
			snprintf(one, sizeof one, "%s/%s", path, e->d_name);
			each(one, arg);
		}
	if (d)
		closedir(d);
	close(fd);
	return 0;
}

static void shared_leave_one(const char *path, const void *id)
{
	char at[2 * SHARED_PATH];

	snprintf(at, sizeof at, "%s/nodes/%s", path, (const char *)id);
	unlink(at);
}

/* In all of them: who is destroyed may be known by its id alone. */
int ns_shared_leave(const struct node_spec *n, struct fail *f)
{
	return shared_each(n->setup, true, shared_leave_one, n->id, f);
}

static void shared_end_one(const char *path, const void *kept)
{
	char at[2 * SHARED_PATH];
	struct stat st;
	size_t count;

	snprintf(at, sizeof at, "%s/nodes", path);
	shared_sum(at, &count);
	if (count || (stat(at, &st) == 0 && time(NULL) - st.st_mtime < *(const int64_t *)kept))
		return;
	snprintf(at, sizeof at, "%s/disk.img", path);
	if (mount_file_busy(at))
		return;
	ns_empty(path, NULL, NULL);
	rmdir(path);
}

int ns_shared_tidy(const struct driver_setup *s, bool now, struct fail *f)
{
	int rc = shared_each(s, now, shared_end_one, &(const int64_t){ now ? 0 : SHARED_KEPT }, f);

	return rc == -EWOULDBLOCK ? 0 : rc;
}
