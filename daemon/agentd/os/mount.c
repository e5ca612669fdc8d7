/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* Older C libraries lack some of these. */
enum { CALL_OPEN_TREE = 428, CALL_MOVE_MOUNT = 429, CALL_MOUNT_SETATTR = 442 };
enum { TREE_CLONE = 1, TREE_RECURSIVE = 0x8000, EMPTY_PATH = 0x1000, MOVE_F_EMPTY_PATH = 4 };
enum { ATTR_READ_ONLY = 1, ATTR_IDMAP = 0x100000 };
enum { PATH_ROOM = 512, OPTIONS_ROOM = 4000, LOOP_TRIES = 64, LOOP_DEVICES = 4096 };

/* EXT4_IOC_RESIZE_FS, which no header of user space has. */
#define MOUNT_EXT4_RESIZE _IOW('f', 16, uint64_t)
/* EXT4_IOC_SHUTDOWN, and its way that writes nothing more. */
#define MOUNT_EXT4_SHUTDOWN _IOR('X', 125, uint32_t)
enum { SHUTDOWN_NO_LOG = 2, SHUTDOWN_MS = 2000 };

struct attributes {
	uint64_t set, clear, propagation, users;
};

int mount_alone(struct fail *f)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
		return fail_errno(f, -errno, errno, "cannot make a mount namespace");
	return 0;
}

int mount_enter(pid_t pid, struct fail *f)
{
	char path[64];
	int fd, error = 0;

	snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNS) != 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error ? fail_errno(f, -error, error, "cannot enter the mount namespace of process %ld", (long)pid) : 0;
}

/* ---- Owners --------------------------------------------------------------------------------- */

static int mount_write_map(pid_t pid, const char *file, uid_t first)
{
	char path[64], text[64];
	int fd, error = 0;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	snprintf(text, sizeof text, "0 %u %d", first, MOUNT_IDS);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return -error;
}

/* The child ends when the parent closes its end of the pipe. */
_Noreturn static void hold_users(int ready, int end)
{
	char c = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';

	if (write(ready, &c, 1) == 1)
		while (read(end, &c, 1) < 0 && errno == EINTR)
			;
	_exit(0);
}

static int mount_take_users(pid_t pid, int ready, uid_t first, int *fd)
{
	char c = 'n', path[64];
	int rc;

	if (read(ready, &c, 1) != 1 || c != 'y')
		return -EPERM;
	rc = mount_write_map(pid, "uid_map", first);
	if (!rc)
		rc = mount_write_map(pid, "gid_map", first);
	if (rc)
		return rc;
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	rc = open(path, O_RDONLY | O_CLOEXEC);
	if (rc < 0)
		return -errno;
	*fd = rc;
	return 0;
}

int mount_users(uid_t first, int *fd, struct fail *f)
{
	int ready[2] = { -1, -1 }, end[2] = { -1, -1 }, rc = 0;
	pid_t pid = -1;

	if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(end, O_CLOEXEC) != 0 || (pid = fork()) < 0)
		rc = -errno;
	if (pid == 0) {
		close(end[1]);
		hold_users(ready[1], end[0]);
	}
	for (int i = 0; i < 2; i++) {
		int *mine = i == 0 ? &ready[1] : &end[0];

		if (*mine >= 0)
			close(*mine);
	}
	if (!rc)
		rc = mount_take_users(pid, ready[0], first, fd);
	if (ready[0] >= 0)
		close(ready[0]);
	if (end[1] >= 0)
		close(end[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc ? fail_errno(f, rc, -rc, "cannot make a user namespace") : 0;
}

/* ---- Folders -------------------------------------------------------------------------------- */

int mount_shifted(int users, const char *from, const char *at, bool writable, struct fail *f)
{
	struct attributes a = { .set = ATTR_IDMAP | (writable ? 0 : ATTR_READ_ONLY), .users = (uint64_t)users };
	int fd = (int)syscall(CALL_OPEN_TREE, AT_FDCWD, from, TREE_CLONE | O_CLOEXEC), error = 0;

	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot copy the mount of '%s'", from);
	if (syscall(CALL_MOUNT_SETATTR, fd, "", EMPTY_PATH, &a, sizeof a) != 0 ||
			syscall(CALL_MOVE_MOUNT, fd, "", AT_FDCWD, at, MOVE_F_EMPTY_PATH) != 0)
		error = errno;
	close(fd);
	return error ? fail_errno(f, -error, error, "cannot shift the owners of '%s'", from) : 0;
}

int mount_overlay(const char *lower, const char *upper, const char *work, const char *at, struct fail *f)
{
	char options[OPTIONS_ROOM];

	if (snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work) >=
		(int)sizeof options)
		return fail_set(f, -ENAMETOOLONG, "'%s' is too long a path for an overlay", at);
	if (mount("overlay", at, "overlay", 0, options) != 0)
		return fail_errno(f, -errno, errno, "cannot mount '%s' as an overlay over the image", upper);
	return 0;
}

/* Whoever made the folders above may not have: a machine that systemd did not boot lacks /run/systemd. */
static int mount_folders(const char *at)
{
	char path[PATH_ROOM];

	if (snprintf(path, sizeof path, "%s/", at) >= (int)sizeof path)
		return -ENAMETOOLONG;
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

static int mount_memory(const char *at, unsigned long flags, struct fail *f)
{
	int rc = mount_folders(at);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot make the folder '%s'", at);
	if (mount("tmpfs", at, "tmpfs", MS_NOSUID | flags, "mode=755,size=1m") != 0)
		return fail_errno(f, -errno, errno, "cannot mount an empty folder at '%s'", at);
	return 0;
}

int mount_empty(const char *at, struct fail *f)
{
	return mount_memory(at, MS_NODEV, f);
}

int mount_empty_shared(const char *at, struct fail *f)
{
	int rc = mount_empty(at, f);

	if (!rc && mount(NULL, at, NULL, MS_SHARED, NULL) != 0)
		rc = fail_errno(f, -errno, errno, "cannot share the mounts in '%s'", at);
	return rc;
}

int mount_devices(const char *at, struct fail *f)
{
	return mount_memory(at, 0, f);
}

int mount_sys(struct fail *f)
{
	unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	int groups = (int)syscall(CALL_OPEN_TREE, AT_FDCWD, "/sys/fs/cgroup", TREE_CLONE | TREE_RECURSIVE | O_CLOEXEC),
	    error = 0;

	if (groups < 0 || mount("sysfs", "/sys", "sysfs", flags, NULL) != 0 ||
			syscall(CALL_MOVE_MOUNT, groups, "", AT_FDCWD, "/sys/fs/cgroup", MOVE_F_EMPTY_PATH) != 0)
		error = errno;
	if (groups >= 0)
		close(groups);
	return error ? fail_errno(f, -error, error, "cannot mount '/sys' for the network namespace") : 0;
}

/* ---- Disks in files ------------------------------------------------------------------------- */

int mount_file_works(struct fail *f)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -1, number, error = errno;
	char path[PATH_ROOM];

	if (control >= 0) {
		number = ioctl(control, LOOP_CTL_GET_FREE);
		error = errno;
		if (number >= 0) {
			snprintf(path, sizeof path, "/dev/loop%d", number);
			fd = open(path, O_RDWR | O_CLOEXEC);
			error = errno;
		}
		close(control);
	}
	if (fd < 0)
		return fail_set(f, -ENOTSUP,
			"nodes share this machine's disk without a limit: no loop device (%s); "
			"'modprobe loop' may help",
			strerror(error));
	close(fd);
	return 0;
}

/*
 * The loop device that holds the file, open; -1: none. By number: a path means another file in another mount namespace,
 * and none once that is gone.
 */
static int mount_loop_of(const char *file, char path[static PATH_ROOM])
{
	struct stat st;

	if (stat(file, &st) != 0)
		return -1;
	for (int i = 0; i < LOOP_DEVICES; i++) {
		struct loop_info64 info;
		int fd;

		snprintf(path, PATH_ROOM, "/sys/block/loop%d/loop/backing_file", i);
		if (access(path, F_OK) != 0) /* not in use */
			continue;
		snprintf(path, PATH_ROOM, "/dev/loop%d", i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == st.st_dev &&
			info.lo_inode == st.st_ino)
			return fd;
		close(fd);
	}
	return -1;
}

bool mount_file_busy(const char *file)
{
	char path[PATH_ROOM];
	int fd = mount_loop_of(file, path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Another process may take a free device before we open it: then the next one is tried. */
static int mount_attach(int control, int file, char path[static PATH_ROOM])
{
	for (int i = 0; i < LOOP_TRIES; i++) {
		struct loop_config c = { .fd = (unsigned)file, .info = { .lo_flags = LO_FLAGS_AUTOCLEAR } };
		int number = ioctl(control, LOOP_CTL_GET_FREE), fd;

		if (number < 0)
			return -errno;
		snprintf(path, PATH_ROOM, "/dev/loop%d", number);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (ioctl(fd, LOOP_CONFIGURE, &c) == 0)
			return fd;
		number = errno;
		close(fd);
		if (number != EBUSY)
			return -number;
	}
	return -EBUSY;
}

static bool mount_is_sparse(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (int64_t)st.st_blocks * 512 < st.st_size;
}

/* Opens a loop device that holds the file: for a shared one the device that does already, where there is one. */
static int mount_loop(const char *file, bool shared, bool *sparse, char path[static PATH_ROOM])
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = open(file, O_RDWR | O_CLOEXEC),
	    loop = control < 0 || fd < 0 ? -errno : -1;

	if (control >= 0 && fd >= 0) {
		*sparse = mount_is_sparse(fd);
		loop = shared ? mount_loop_of(file, path) : -1;
		loop = loop < 0 ? mount_attach(control, fd, path) : loop;
	}
	if (fd >= 0)
		close(fd);
	if (control >= 0)
		close(control);
	return loop;
}

static int mount_file_as(const char *file, const char *at, bool shared, struct fail *f)
{
	char path[PATH_ROOM];
	bool sparse = false;
	int loop = mount_loop(file, shared, &sparse, path), rc = loop < 0 ? loop : 0;

	if (!rc && shared && ioctl(loop, LOOP_SET_CAPACITY, 0) != 0)
		rc = -errno;
	/* A file of zeros needs no second writing of its tables. */
	if (!rc && mount(path, at, "ext4", MS_NOATIME, sparse ? "noinit_itable,discard" : "noinit_itable") != 0)
		rc = -errno;
	if (loop >= 0)
		close(loop);
	return rc ? fail_errno(f, rc, -rc, "cannot mount the disk '%s'", file) : 0;
}

int mount_file(const char *file, const char *at, struct fail *f)
{
	return mount_file_as(file, at, false, f);
}

/* As large as the file is now, in blocks of its file system. */
static int mount_grow(const char *file, const char *at)
{
	int fd = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;
	struct statvfs v;
	struct stat st;
	uint64_t blocks;

	if (fd < 0)
		return -errno;
	if (stat(file, &st) != 0 || fstatvfs(fd, &v) != 0) {
		error = errno;
	} else {
		blocks = (uint64_t)st.st_size / v.f_frsize;
		if (ioctl(fd, MOUNT_EXT4_RESIZE, &blocks) != 0)
			error = errno;
	}
	close(fd);
	return -error;
}

int mount_file_shared(const char *file, const char *at, struct fail *f)
{
	int rc = mount_file_as(file, at, true, f);

	if (rc)
		return rc;
	rc = mount_grow(file, at);
	return rc && rc != -EPERM ? fail_errno(f, rc, -rc, "cannot enlarge the file system in '%s'", file) : 0;
}

/* In a child with mounts of its own: who has the file system mounted may have hidden it. */
static int mount_cut_here(const char *file, const char *at)
{
	uint32_t how = SHUTDOWN_NO_LOG;
	int rc = mount_alone(NULL), fd;

	rc = rc ? rc : mount_file_as(file, at, true, NULL);
	fd = rc ? -1 : open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || ioctl(fd, MOUNT_EXT4_SHUTDOWN, &how) != 0;
}

int mount_file_cut(const char *file, const char *at)
{
	static pid_t stuck; /* an earlier child that its disk holds; 0: none */
	int64_t until = clock_ms() + SHUTDOWN_MS;
	pid_t pid, got = 0;
	int status = 1;

	if (stuck && waitpid(stuck, &status, WNOHANG) == 0)
		return -EBUSY;
	stuck = 0;
	status = 1;
	pid = fork();
	if (pid == 0)
		_exit(mount_cut_here(file, at));
	while (pid > 0 && (got = waitpid(pid, &status, WNOHANG)) == 0 && clock_ms() < until)
		poll(NULL, 0, 1);
	if (pid > 0 && !got) {
		kill(pid, SIGKILL);
		stuck = pid;
		return -EBUSY;
	}
	return pid > 0 && status == 0 ? 0 : -EBUSY;
}

/* ---- Trying --------------------------------------------------------------------------------- */

static int mount_try_here(const char *room, uid_t first, struct fail *f)
{
	static const char *const names[] = { "lower", "shifted", "upper", "work", "at" };
	char path[5][PATH_ROOM];
	int users = -1, rc;

	for (size_t i = 0; i < 5; i++) {
		snprintf(path[i], sizeof path[i], "%s/%s", room, names[i]);
		if (mkdir(path[i], 0755) != 0 && errno != EEXIST)
			return fail_errno(f, -errno, errno, "cannot make '%s'", path[i]);
	}
	rc = mount_alone(f);
	if (!rc)
		rc = mount_users(first, &users, f);
	if (!rc)
		rc = mount_shifted(users, path[0], path[1], false, f);
	if (!rc)
		rc = mount_overlay(path[1], path[2], path[3], path[4], f);
	if (users >= 0)
		close(users);
	return rc;
}

int mount_probe(const char *room, uid_t first, struct fail *f)
{
	struct fail *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, rc;
	pid_t pid;

	if (told == MAP_FAILED)
		return fail_errno(f, -errno, errno, "out of memory");
	pid = fork();
	if (pid == 0)
		_exit(mount_try_here(room, first, told) ? 1 : 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	rc = pid < 0 || status != 0
		? fail_set(f, -ENOTSUP,
			  "%s; it needs Linux 5.19 or later, and a file system such as ext4, XFS or Btrfs",
			  told->code ? told->text : "mounts cannot be tried here")
		: 0;
	munmap(told, sizeof *told);
	return rc;
}
