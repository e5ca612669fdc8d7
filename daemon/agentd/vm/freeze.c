/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agentd/vm/qmp.h"
#include "agentd/vm/guest.h"
#include "agentd/vm/guest_identity.h"
#include "agentd/vm/vm_node.h"
#include "agentd/vm/qemu.h"
#include "agentd/vm/socket.h"
#include "base/clock.h"
#include "base/file.h"

enum { BOOT_MS = 240000, QMP_MS = 10000, WRITE_MS = 60000, AGAIN_SECONDS = 3600 };
static const char gold_mac[] = "52:54:00:00:00:01";

struct freezer {
	const struct driver_setup *setup;
	const struct vmimage *image;
	const struct vmshape *shape;
	char name[160];            /* of its QEMU process */
	char key[128];
	char about[512];
	char path[VMIMAGE_PATH];   /* its final place */
	char fresh[VMIMAGE_PATH + 8]; /* where it is being made */
	uid_t uid;
};

static int freeze_describe(const struct driver_setup *s, const struct vmimage *i, const struct vmaccel *a,
	const struct vmshape *shape, struct freezer *z, struct fail *f)
{
	*z = (struct freezer){ .setup = s,
		.image = i,
		.shape = shape,
		.uid = geteuid() == 0 ? VMPROC_UID_FREEZE : geteuid() };
	snprintf(z->key, sizeof z->key, "%s-%u-%u-%s", i->name, shape->mib, shape->cpus, shape->kvm ? "kvm" : "tcg");
	snprintf(z->name, sizeof z->name, "%s-freeze.%s", s->prefix, z->key);
	/* A processor that is not emulated may differ after the next boot. */
	snprintf(z->about, sizeof z->about, "%.230s qemu %s boot %s\n", i->about, a->qemu,
		shape->kvm ? a->boot : "any");
	if (snprintf(z->path, sizeof z->path, "%s/vm/frozen/%s", s->data, z->key) >= (int)sizeof z->path - 32)
		return fail_set(f, -ENAMETOOLONG, "the path of the folder '%s' is too long", s->data);
	snprintf(z->fresh, sizeof z->fresh, "%s.new", z->path);
	return 0;
}

static bool freeze_says(const char *path, const char *text)
{
	struct buf b;
	bool same;

	buf_init(&b, 4096);
	same = buf_read_file(&b, path) == 0 && strcmp(buf_text(&b), text) == 0;
	buf_release(&b);
	return same;
}

static bool vmfreeze_is_there(const struct freezer *z)
{
	char room[VMIMAGE_ROOM];

	return freeze_says(vmimage_at(room, z->path, "about"), z->about);
}

/* ---- Making one ---------------------------------------------------------------------------- */

/* Its folder looks like a node's, with the identity of nobody. */
static int freeze_lay_out(const struct freezer *z, struct fail *f)
{
	static const char *const files[] = { "base.ext4", "vmlinuz", "initrd" };
	const struct vmidentity nobody = { .name = "frozen",
		.address = "- - -\n",
		.resolv = "",
		.machine_id = "",
		.keys = "" };
	char from[VMIMAGE_ROOM], to[VMIMAGE_ROOM];
	int64_t serial;
	int rc = vmimage_remove(z->fresh, f);

	if (!rc)
		rc = file_folders(z->fresh) != 0
			? fail_errno(f, -errno, errno, "cannot make the folder of '%s'", z->fresh)
			: vmnode_folder(z->fresh, z->uid, f);
	for (size_t i = 0; !rc && i < sizeof files / sizeof *files; i++) {
		rc = vmimage_share(vmimage_at(from, z->image->path, files[i]), vmimage_at(to, z->fresh, files[i]), f);
	}
	if (!rc)
		rc = vmnode_disk(z->fresh, "base.ext4", "raw", 0, z->uid, f);
	vmimage_at(to, z->fresh, "identity");
	return rc ? rc : vmidentity_write(&nobody, to, z->uid, &serial, f);
}

/* Waits until the guest reports that only its identity is missing. */
static int vmfreeze_wait_settled(const struct freezer *z, pid_t pid, struct fail *f)
{
	int64_t end = clock_ms() + BOOT_MS;
	char run[VMIMAGE_ROOM];
	struct vmwire w;
	const char *line;
	int rc;

	vmimage_at(run, z->fresh, "run");
	rc = vmwire_open(&w, run, "ctl", pid, QMP_MS, f);
	if (rc)
		return rc;
	do
		rc = vmwire_line(&w, end - clock_ms() > 0 ? end - clock_ms() : 0, &line, f);
	while (!rc && !strstr(line, VMGUEST_FROZEN));
	vmwire_close(&w);
	return rc;
}

static int freeze_write_state(struct qmp *q, int state, struct fail *f)
{
	static const char *const words[] = { "completed", "failed", "cancelled", NULL };
	int which, rc = qmp_do(q, "stop", NULL, QMP_MS, NULL, f);

	if (!rc)
		rc = qmp_do(q, "migrate-set-parameters", json_pack("{s:I}", "max-bandwidth", (json_int_t)1 << 34),
			QMP_MS, NULL, f);
	if (!rc)
		rc = qmp_give(q, state, "state", QMP_MS, f);
	if (!rc)
		rc = qmp_do(q, "migrate", json_pack("{s:s}", "uri", "fd:state"), QMP_MS, NULL, f);
	if (!rc)
		rc = qmp_until(q, "query-migrate", "status", words, WRITE_MS, &which, f);
	if (!rc && which)
		rc = fail_set(f, -EIO, "QEMU failed to write its guest's state");
	if (!rc)
		qmp_do(q, "quit", NULL, QMP_MS, NULL, NULL);
	return rc;
}

static int boot_and_freeze(const struct freezer *z, int state, struct fail *f)
{
	char console[VMIMAGE_ROOM], run[VMIMAGE_ROOM];
	struct vmlaunch v = { .name = z->name,
		.dir = z->fresh,
		.console = console,
		.net = "hubport,id=e0,hubid=1",
		.mac = gold_mac,
		.words = VMGUEST_FREEZE_WORD " systemd.show_status=0",
		.shape = *z->shape,
		.state = -1,
		.uid = z->uid,
		.ns = -1 };
	struct qmp *q;
	pid_t pid;
	int rc;

	vmimage_at(console, z->fresh, "console");
	vmimage_at(run, z->fresh, "run");
	rc = vmlaunch(&v, &pid, f);
	if (!rc)
		rc = vmfreeze_wait_settled(z, pid, f);
	if (!rc)
		rc = qmp_open(&q, run, "qmp", pid, QMP_MS, f);
	if (!rc) {
		rc = freeze_write_state(q, state, f);
		qmp_close(q);
	}
	if (vmproc_end(z->name, rc ? 0 : QMP_MS, NULL) != 0 && !rc)
		rc = fail_set(f, -ETIMEDOUT, "QEMU was asked to end but has not");
	return rc;
}

/* Gives the files that clones read back to root, and syncs them before their name appears. */
static int freeze_settle(const struct freezer *z, int state, struct fail *f)
{
	char disk[VMIMAGE_ROOM], gold[VMIMAGE_ROOM], about[VMIMAGE_ROOM];
	int rc;

	vmimage_at(disk, z->fresh, "disk.qcow2");
	vmimage_at(gold, z->fresh, "gold.qcow2");
	vmimage_at(about, z->fresh, "about");
	if (lchown(disk, geteuid(), getegid()) != 0 || chmod(disk, 0644) != 0 || rename(disk, gold) != 0 ||
		fsync(state) != 0)
		return fail_errno(f, -errno, errno, "cannot keep the frozen guest in '%s'", z->fresh);
	rc = file_replace(about, z->about, strlen(z->about), 0600);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", about);
	rc = vmimage_remove(z->path, f);
	if (!rc && rename(z->fresh, z->path) != 0)
		rc = fail_errno(f, -errno, errno, "cannot move '%s' into place", z->fresh);
	return rc;
}

static int freeze_guest(const struct freezer *z, struct fail *f)
{
	char path[VMIMAGE_ROOM];
	int state, rc = vmproc_end(z->name, 0, f);

	if (!rc)
		rc = freeze_lay_out(z, f);
	if (rc)
		return rc;
	vmimage_at(path, z->fresh, "state");
	state = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (state < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", path);
	rc = boot_and_freeze(z, state, f);
	if (!rc)
		rc = freeze_settle(z, state, f);
	close(state);
	return rc;
}

/* ---- From outside --------------------------------------------------------------------------- */

static int freeze_lock(const struct freezer *z, int how, struct fail *f)
{
	char room[VMIMAGE_ROOM];
	int fd;

	snprintf(room, sizeof room, "%s.lock", z->path);
	file_folders(room);
	fd = open(room, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", room);
	if (flock(fd, how) != 0) {
		fail_errno(f, -errno, errno, "cannot lock '%s'", room);
		close(fd);
		return -EBUSY;
	}
	return fd;
}

static bool vmfreeze_failed_lately(const char *path, const char *about)
{
	struct stat st;

	return stat(path, &st) == 0 && time(NULL) - st.st_mtime < AGAIN_SECONDS && time(NULL) >= st.st_mtime &&
		freeze_says(path, about);
}

int vmfreeze_make(const struct driver_setup *s, const struct vmimage *i, const struct vmaccel *a,
	const struct vmshape *shape, struct vmfrozen *out, struct fail *f)
{
	char failed[VMIMAGE_ROOM];
	struct freezer z;
	int fd, rc = freeze_describe(s, i, a, shape, &z, f);

	if (rc)
		return rc;
	fd = freeze_lock(&z, LOCK_EX, f);
	if (fd < 0)
		return fd;
	snprintf(failed, sizeof failed, "%s.failed", z.path);
	if (!vmfreeze_is_there(&z)) {
		rc = vmfreeze_failed_lately(failed, z.about)
			? fail_set(f, -EAGAIN, "freezing a guest failed here less than an hour ago")
			: freeze_guest(&z, f);
		if (rc && rc != -EAGAIN) {
			file_replace(failed, z.about, strlen(z.about), 0600);
			vmimage_remove(z.fresh, NULL);
		}
	}
	close(fd);
	if (!rc)
		snprintf(out->path, sizeof out->path, "%s", z.path);
	return rc;
}

struct tidying {
	const struct driver_setup *setup;
	struct fail *fail;
	int rc;
};

/* Whoever makes one holds the lock. */
static void freeze_tidy_one(void *arg, const char *key)
{
	struct tidying *t = arg;
	struct freezer z = { .setup = t->setup };
	int fd, rc;

	snprintf(z.name, sizeof z.name, "%s-freeze.%s", t->setup->prefix, key);
	snprintf(z.path, sizeof z.path, "%s/vm/frozen/%s", t->setup->data, key);
	snprintf(z.fresh, sizeof z.fresh, "%s.new", z.path);
	fd = strchr(key, '/') ? -EINVAL : freeze_lock(&z, LOCK_EX | LOCK_NB, NULL);
	if (fd < 0)
		return;
	rc = vmproc_end(z.name, 0, t->fail);
	if (!rc)
		rc = vmimage_remove(z.fresh, t->fail);
	if (rc)
		t->rc = rc;
	close(fd);
}

int vmfreeze_tidy(const struct driver_setup *s, struct fail *f)
{
	struct tidying t = { .setup = s, .fail = f };
	char begin[96];

	snprintf(begin, sizeof begin, "%s-freeze.", s->prefix);
	vmproc_each(begin, freeze_tidy_one, &t);
	return t.rc;
}
