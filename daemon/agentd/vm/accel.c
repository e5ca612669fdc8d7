/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/accel.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/os/spawn.h"
#include "agentd/vm/guest.h"
#include "agentd/vm/bootimage.h"
#include "agentd/vm/qemu.h"
#include "base/file.h"

enum { KVM_MS = 6000, TCG_MS = 30000, INITRD_MAX = 16 << 20, SAID_MAX = 1 << 20, NOBODY = 65534 };

const char *vmaccel_word(bool kvm)
{
	/* Without a limit the emulator's buffer of translated code makes a guest of 512 MiB take 825. */
	return kvm ? "kvm" : "tcg,thread=multi,tb-size=96";
}

static int vmaccel_boot_id(char room[40], struct fail *f)
{
	struct buf b;
	int rc;

	buf_init(&b, 4096);
	rc = buf_read_file(&b, "/proc/sys/kernel/random/boot_id");
	if (rc)
		rc = fail_errno(f, rc, -rc, "cannot read this machine's boot id");
	else
		snprintf(room, 40, "%.36s", buf_text(&b));
	buf_release(&b);
	return rc;
}

int vmaccel_drop(bool kvm, uid_t uid)
{
	struct stat st;
	gid_t extra = 0;
	size_t count = 0;

	if (kvm && stat("/dev/kvm", &st) == 0) {
		extra = st.st_gid;
		count = 1;
	}
	return setgroups(count, &extra) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0 ? -errno
													       : 0;
}

/* With the rights that a node's QEMU has, since root may open what that may not. */
static bool accel_opens_kvm(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit((geteuid() == 0 && vmaccel_drop(true, NOBODY) != 0) || open("/dev/kvm", O_RDWR | O_CLOEXEC) < 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

static int vmaccel_find_programs(char qemu[64], struct fail *f)
{
	static const struct {
		const char *program, *package;
	} needed[] = { { VMPROC_QEMU, "qemu-system-x86" }, { "qemu-img", "qemu-utils" }, { "mke2fs", "e2fsprogs" },
		{ "ssh-keygen", "openssh-client" } };
	char path[VMIMAGE_PATH];
	struct stat st, kvm = { .st_mode = 0 };

	for (size_t i = sizeof needed / sizeof *needed; i-- > 0;)
		if (!spawn_find(needed[i].program, path, sizeof path))
			return fail_set(f, -ENOTSUP, "'%s' is not installed: apt-get install %s", needed[i].program,
				needed[i].package);
	if (stat(path, &st) != 0)
		return fail_errno(f, -errno, errno, "cannot inspect '%s'", path);
	/* What was found holds as long as the rights of /dev/kvm stay as they are. */
	(void)!stat("/dev/kvm", &kvm);
	snprintf(qemu, 64, "%lld.%lld.%o.%u", (long long)st.st_mtime, (long long)st.st_size, (unsigned)kvm.st_mode,
		(unsigned)kvm.st_gid);
	return 0;
}

/* Does a guest boot as far as its first program, and does that program run to its end? */
static bool accel_runs(const struct vmkernel *k, const char *initrd, bool kvm)
{
	const char *argv[] = { VMPROC_QEMU, "-accel", vmaccel_word(kvm), "-machine", "q35,usb=off,vmport=off", "-cpu",
		kvm ? "host" : "max", "-m", "192", "-nodefaults", "-no-user-config", "-display", "none", "-serial",
		"stdio", "-no-reboot", "-sandbox",
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny", "-kernel", k->vmlinuz,
		"-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off", NULL };
	struct buf said;
	bool seen;

	buf_init(&said, SAID_MAX);
	spawn_run(&(struct spawn){ .argv = argv }, kvm ? KVM_MS : TCG_MS, &said, NULL);
	seen = strstr(buf_text(&said), VMGUEST_PROBE_MARK);
	buf_release(&said);
	return seen;
}

static int vmaccel_try_them(const struct driver_setup *s, struct vmaccel *out, struct fail *f)
{
	static const char *const none[] = { NULL };
	char path[VMIMAGE_PATH];
	struct vmkernel k;
	struct buf initrd;
	int rc = vmimage_kernel(NULL, s->images, &k, f);

	if (rc)
		return rc;
	snprintf(path, sizeof path, "%s/vm/probe.initrd", s->data);
	buf_init(&initrd, INITRD_MAX);
	rc = vmimage_initrd(&k, none, vmguest_init_probe, &initrd, f);
	if (!rc && (rc = file_replace(path, initrd.data, initrd.len, 0600)) != 0)
		fail_errno(f, rc, -rc, "cannot write '%s'", path);
	buf_release(&initrd);
	if (rc)
		return rc;
	out->kvm = accel_opens_kvm() && accel_runs(&k, path, true);
	if (!out->kvm && !accel_runs(&k, path, false))
		rc = fail_set(f, -ENOTSUP,
			"no guest boots here, neither with KVM nor emulated; try 'qemu-system-x86_64 -accel tcg'");
	unlink(path);
	return rc;
}

static bool accel_remembered(const char *path, struct vmaccel *a)
{
	char line[160];
	struct buf b;
	bool known = false;

	buf_init(&b, 4096);
	if (buf_read_file(&b, path) == 0)
		for (int kvm = 0; kvm < 2 && !known; kvm++) {
			snprintf(line, sizeof line, "%s %s %s\n", a->boot, a->qemu, kvm ? "kvm" : "tcg");
			known = strcmp(buf_text(&b), line) == 0;
			a->kvm = kvm;
		}
	buf_release(&b);
	return known;
}

static int accel_remember(const char *path, const struct vmaccel *a, struct fail *f)
{
	char line[160];
	int rc;

	snprintf(line, sizeof line, "%s %s %s\n", a->boot, a->qemu, a->kvm ? "kvm" : "tcg");
	rc = file_replace(path, line, strlen(line), 0600);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

int vmaccel_probe(const struct driver_setup *s, struct vmaccel *out, struct fail *f)
{
	char path[VMIMAGE_PATH], room[VMIMAGE_PATH + 8];
	struct vmaccel a = { .kvm = false };
	int lock, rc = vmaccel_find_programs(a.qemu, f);

	if (!rc)
		rc = vmaccel_boot_id(a.boot, f);
	if (rc)
		return rc;
	if (snprintf(path, sizeof path, "%s/vm/accel", s->data) >= (int)sizeof path - 16)
		return fail_set(f, -ENAMETOOLONG, "the path of the folder '%s' is too long", s->data);
	snprintf(room, sizeof room, "%s.lock", path);
	if (!accel_remembered(path, &a)) {
		file_folders(path);
		lock = open(room, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (lock < 0)
			return fail_errno(f, -errno, errno, "cannot write '%s'", room);
		flock(lock, LOCK_EX);
		if (!accel_remembered(path, &a)) {
			rc = vmaccel_try_them(s, &a, f);
			if (!rc)
				rc = accel_remember(path, &a, f);
		}
		close(lock);
	}
	if (!rc)
		*out = a;
	return rc;
}
