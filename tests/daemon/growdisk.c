/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run as the only program of a kernel of its own (shared-vm.t): a disk that several have mounted grows under them,
 * which root may do there (CAP_SYS_RESOURCE), and is one file system meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agentd/os/mount.h"

enum { MIB = 1 << 20, PIECE = 4096 };

static int grow_failed;

static void grow_is(bool good, const char *what, const struct fail *f)
{
	printf("grow: %s %s%s%s\n", good ? "good" : "BAD", what, good || !f->code ? "" : ": ", good ? "" : f->text);
	grow_failed += !good;
}

static long grow_mib(const char *at)
{
	struct statvfs v;

	return statvfs(at, &v) == 0 ? (long)(v.f_blocks * v.f_frsize / MIB) : -1;
}

static bool grow_put(const char *path, int mib)
{
	static char piece[PIECE];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	bool good = fd >= 0;

	memset(piece, 'x', sizeof piece);
	for (int i = 0; good && i < mib * (MIB / PIECE); i++)
		good = write(fd, piece, sizeof piece) == (ssize_t)sizeof piece;
	good = good && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return good;
}

static bool grow_has(const char *path, int mib)
{
	static char piece[PIECE];
	int fd = open(path, O_RDONLY);
	bool good = fd >= 0;

	for (int i = 0; good && i < mib * (MIB / PIECE); i++) {
		good = read(fd, piece, sizeof piece) == (ssize_t)sizeof piece;
		for (size_t k = 0; good && k < sizeof piece; k++)
			good = piece[k] == 'x';
	}
	if (fd >= 0)
		close(fd);
	return good;
}

static void grow_load(const char *module)
{
	int fd = open(module, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		syscall(SYS_finit_module, fd, "", 0);
}

static void grow_disks(void)
{
	struct fail f = { 0 };

	grow_is(mount_file_shared("/disk.img", "/a", &f) == 0 && grow_mib("/a") > 50 && grow_mib("/a") < 64,
		"64 MiB are mounted", &f);
	grow_is(grow_put("/a/before", 20), "and written to", &f);
	grow_is(truncate("/disk.img", 160 * MIB + 12345) == 0 && mount_file_shared("/disk.img", "/b", &f) == 0,
		"another mounts it, who was sold 96 MiB", &f);
	grow_is(grow_mib("/a") > 140 && grow_mib("/b") == grow_mib("/a"), "it is larger for both", &f);
	grow_is(grow_has("/b/before", 20), "who finds what the first wrote", &f);
	grow_is(grow_put("/b/after", 90) && grow_has("/a/after", 90), "and has room for more than there was", &f);
	grow_is(!grow_put("/a/full", 90), "but for no more than both were sold", &f);
	grow_is(umount("/b") == 0 && mount_file_busy("/disk.img") && grow_has("/a/after", 90), "the first stays", &f);
	grow_is(umount("/a") == 0, "until it goes", &f);
	for (int i = 0; i < 1000 && mount_file_busy("/disk.img"); i++)
		poll(NULL, 0, 10); /* a loop device lets go of its file a moment later */
	grow_is(!mount_file_busy("/disk.img"), "then nobody holds the disk", &f);
}

int main(void)
{
	int console;

	mkdir("/dev", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mkdir("/sys", 0755);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mkdir("/a", 0755);
	mkdir("/b", 0755);
	console = open("/dev/console", O_WRONLY);
	if (console >= 0 && dup2(console, 1) == 1)
		setvbuf(stdout, NULL, _IOLBF, 0);
	grow_load("/loop.ko");
	grow_disks();
	printf("grow: %s\n", grow_failed ? "BAD, in all" : "done");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
