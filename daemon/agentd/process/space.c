/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/process/space.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agentd/process/newroot.h"

static int space_put(const char *path, const char *text, struct fail *f)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t len = (ssize_t)strlen(text), n = fd < 0 ? -1 : write(fd, text, (size_t)len);
	int error = errno;

	if (fd >= 0)
		close(fd);
	return n == len ? 0 : fail_errno(f, -error, error, "cannot write '%s'", path);
}

/* An ordinary user is mapped to itself in a user namespace; root stays in its own and drops capabilities later. */
int space_enter(struct fail *f)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int rc;

	if (unshare((uid ? CLONE_NEWUSER : 0) | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
		return fail_errno(f, -errno, errno,
			uid ? "ordinary users may not make user namespaces here" : "namespaces are not allowed here");
	if (!uid)
		return 0;
	rc = space_put("/proc/self/setgroups", "deny", f);
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	if (!rc)
		rc = space_put("/proc/self/uid_map", map, f);
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	return rc ? rc : space_put("/proc/self/gid_map", map, f);
}

/* ---- Devices, processes, folders -------------------------------------------------------------- */

static int space_make_dev(struct mounter *m, struct fail *f)
{
	static const char *const plain[] = { "null", "zero", "full", "random", "urandom", "tty" };
	static const char *const links[][2] = { { "pts/ptmx", "dev/ptmx" }, { "/proc/self/fd", "dev/fd" },
		{ "/proc/self/fd/0", "dev/stdin" }, { "/proc/self/fd/1", "dev/stdout" },
		{ "/proc/self/fd/2", "dev/stderr" } };
	char from[64];
	int rc = mounter_fresh(m, "tmpfs", "dev", "mode=755", f);

	for (size_t i = 0; !rc && i < sizeof plain / sizeof *plain; i++) {
		snprintf(from, sizeof from, "/dev/%s", plain[i]);
		rc = mounter_bind(m, from, from + 1, 0, f);
	}
	if (!rc)
		rc = mounter_accelerators(m, f);
	/* gid 5 owns terminals in Debian; only root can map it. */
	if (!rc)
		rc = mounter_fresh(m, "devpts", "dev/pts", geteuid() ? "newinstance,ptmxmode=666,mode=620"
			: "newinstance,ptmxmode=666,mode=620,gid=5", f);
	if (!rc)
		rc = mounter_fresh(m, "tmpfs", "dev/shm", "mode=1777", f);
	for (size_t i = 0; !rc && i < sizeof links / sizeof *links; i++)
		rc = mounter_link(m, links[i][0], links[i][1], f);
	return rc;
}

/* Only root needs these hidden: root owns what other nodes, or the machine, must keep. */
static int space_make_proc(struct mounter *m, struct fail *f)
{
	static const char *const fixed[] = { "proc/sys", "proc/irq", "proc/bus", "proc/fs", "proc/sysrq-trigger" };
	static const char *const empty[] = { "proc/kcore", "proc/keys", "proc/timer_list", "proc/sched_debug",
		"proc/acpi", "proc/scsi", "sys/firmware", "sys/kernel/debug", "sys/kernel/tracing", "sys/fs/bpf" };
	int rc = mounter_fresh(m, "proc", "proc", NULL, f);

	if (rc || geteuid())
		return rc;
	for (size_t i = 0; !rc && i < sizeof fixed / sizeof *fixed; i++)
		rc = mounter_fix(m, fixed[i], f);
	for (size_t i = 0; !rc && i < sizeof empty / sizeof *empty; i++)
		rc = mounter_empty(m, empty[i], f);
	if (!rc)
		rc = mounter_secrets(m, "etc", f);
	return rc ? rc : mounter_shadow(m, f);
}

static int space_make_system(struct mounter *m, struct fail *f)
{
	static const char *const kept[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt",
		"sys", "nix", "gnu", "snap" };
	static const char *const links[][2] = { { "../tmp", "var/tmp" }, { "../run", "var/run" },
		{ "../run/lock", "var/lock" } };
	static const char *const folders[] = { "run/lock", "run/user", "run/sshd", "var/lib", "var/cache",
		"var/spool" };
	/* sshd records logins there, and complains to whoever logs in where it cannot. */
	static const char *const files[] = { "run/utmp", "var/log/wtmp", "var/log/btmp", "var/log/lastlog" };
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof kept / sizeof *kept; i++)
		rc = mounter_system(m, kept[i], f);
	if (!rc)
		rc = mounter_fresh(m, "tmpfs", "run", "mode=755,size=64m", f);
	for (size_t i = 0; !rc && i < sizeof folders / sizeof *folders; i++)
		rc = mounter_folder(m, folders[i], f);
	if (!rc)
		rc = mounter_fresh(m, "tmpfs", "var/log", "mode=755,size=16m", f);
	for (size_t i = 0; !rc && i < sizeof files / sizeof *files; i++)
		rc = mounter_touch(m, files[i], f);
	for (size_t i = 0; !rc && i < sizeof links / sizeof *links; i++)
		rc = mounter_link(m, links[i][0], links[i][1], f);
	if (!rc)
		rc = mounter_maybe(m, "/var/lib/dpkg", f);
	return rc ? rc : mounter_resolver(m, f);
}

static int space_make_own(struct mounter *m, const struct space *s, struct fail *f)
{
	char from[PATH_MAX];
	int rc;

	if (!s->dir)
		return mounter_fresh(m, "tmpfs", "tmp", "mode=1777", f);
	snprintf(from, sizeof from, "%s/tmp", s->dir);
	rc = mounter_bind(m, from, "tmp", 0, f);
	if (!rc) {
		snprintf(from, sizeof from, "%s/ssh", s->dir);
		rc = mounter_bind(m, from, SPACE_SSH + 1, MOUNTER_FIXED, f);
	}
	snprintf(from, sizeof from, "%s/home", s->dir);
	return rc ? rc : mounter_bind(m, from, s->home + 1, 0, f);
}

/* ---- Rights --------------------------------------------------------------------------------------- */

/* The usual capabilities of containers, less those for the network, which is the machine's. */
static const unsigned kept_rights[] = { CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FSETID, CAP_FOWNER, CAP_SETGID, CAP_SETUID,
	CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_KILL, CAP_AUDIT_WRITE };

static int space_drop_rights(struct fail *f)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t keep = 0;

	if (geteuid() == 0)
		for (size_t i = 0; i < sizeof kept_rights / sizeof *kept_rights; i++)
			keep |= 1ULL << kept_rights[i];
	for (unsigned cap = 0; cap < 64; cap++)
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 &&
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return fail_errno(f, -errno, errno, "cannot drop capability %u", cap);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, data) != 0)
		return fail_errno(f, -errno, errno, "cannot read the capabilities");
	for (int i = 0; i < 2; i++) {
		data[i].effective &= (uint32_t)(keep >> 32 * i);
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) != 0)
		return fail_errno(f, -errno, errno, "cannot drop capabilities");
	return 0;
}

/* The old root is below the new one for a moment, then unmounted. */
static int space_turn(const struct mounter *m, struct fail *f)
{
	if (fchdir(m->root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
		chdir("/") != 0)
		return fail_errno(f, -errno, errno, "cannot change the root folder");
	return 0;
}

int space_build(const struct space *s, struct fail *f)
{
	struct mounter m;
	int rc;

	umask(022);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return fail_errno(f, -errno, errno, "mounts cannot be made private");
	rc = mounter_init(&m, s->root, f);
	if (!rc)
		rc = space_make_system(&m, f);
	if (!rc)
		rc = space_make_dev(&m, f);
	if (!rc)
		rc = space_make_proc(&m, f);
	if (!rc && geteuid())
		rc = mounter_groups(&m, f);
	for (size_t i = 0; !rc && i < SPACE_HIDES && s->hide[i]; i++)
		rc = mounter_empty(&m, s->hide[i] + 1, f);
	if (!rc)
		rc = space_make_own(&m, s, f);
	if (!rc)
		rc = space_turn(&m, f);
	if (!rc)
		rc = mounter_close(&m, f);
	if (!rc && sethostname(s->name, strlen(s->name)) != 0)
		rc = fail_errno(f, -errno, errno, "cannot set the host name");
	return rc ? rc : space_drop_rights(f);
}
