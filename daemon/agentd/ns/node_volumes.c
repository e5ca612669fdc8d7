/* SPDX-License-Identifier: Apache-2.0 */
/* The volumes of the node's account on this machine, below /volumes in the node. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/ns/ns.h"
#include "agentd/os/disk.h"
#include "agentd/os/kept_volumes.h"
#include "agentd/os/mount.h"
#include "base/buf.h"
#include "base/clock.h"

enum { READY_MS = 300000, JOIN_MS = 1000, ENTER_MS = 10000, PAUSE_MS = 5, NS_DEVICE = 64, SECTOR = 512 };

struct node_volumes {
	const struct node_spec *n;
	int users;
	struct fail *f;
	pid_t outer;        /* the node runs, and this process has its mount namespace; 0: it does not run yet */
	char seen[NS_SEEN]; /* where dir/volumes is for that */
};

/* Of the account: the tenant is that and a network. */
static bool node_volumes_mine(const struct node_spec *n, const struct kept_volume *v)
{
	size_t len = strlen(v->tenant);

	return v->mounted && n->tenant && strncmp(n->tenant, v->tenant, len) == 0 &&
		(n->tenant[len] == '/' || !n->tenant[len]);
}

/*
 * Of each that the node is to have: fn, until that fails. The market's last word says which these are; before it, what
 * this machine wrote down of an earlier one. A node without one of them would write to its own disk in its place, so it
 * does not start: later that may be mended, what it wrote may not.
 */
static int node_volumes_each(struct node_volumes *x, int (*fn)(void *arg, const struct kept_volume *v))
{
	const struct driver_setup *s = x->n->setup;
	int rc = 0;

	if (!s->volumes)
		return volumes_each(s->data, fn, x, x->f);
	for (size_t i = 0; !rc && i < s->volume_count; i++)
		rc = fn(x, &s->volumes[i]);
	return rc;
}

/* 1: it is to be in the node; 0: not; -EAGAIN: nobody can say now. */
static int node_volumes_wanted(const struct node_volumes *x, const struct kept_volume *v)
{
	return v->unread ? fail_errno(x->f, -EAGAIN, -v->unread, "volume '%s' cannot be read", v->id)
			 : node_volumes_mine(x->n, v);
}

/* Locked: is what this machine has under that id what the market means? Another node's child may have waited long. */
static int node_volumes_check(const struct node_spec *n, const struct kept_volume *want, struct fail *f)
{
	struct kept_volume v;
	int rc = volume_find(n->setup->data, want->id, &v);

	if (rc && rc != -ENOENT)
		return fail_errno(f, -EAGAIN, -rc, "volume '%s' cannot be read", want->name);
	if (rc || !node_volumes_mine(n, &v) || strcmp(v.home.join, want->home.join) != 0)
		return fail_set(f, -EAGAIN, "volume '%s' is not ready", want->name);
	return 0;
}

/* The lock, which the caller closes; -EAGAIN; or, without wait, -EBUSY. */
static int node_volumes_lock(const struct node_spec *n, const struct kept_volume *want, bool wait, struct fail *f)
{
	struct fail why = { 0 };
	int fd = volume_lock(n->setup->data, want->id, wait, &why), rc;

	if (fd < 0)
		return fail_set(f, fd == -EBUSY ? fd : -EAGAIN, "volume '%s' is not ready: %s", want->name, why.text);
	rc = node_volumes_check(n, want, f);
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

static void node_volumes_file(const struct node_spec *n, const struct kept_volume *v, char file[static VOLUME_PATH])
{
	snprintf(file, VOLUME_PATH, "%s/volumes/%s/disk.img", n->setup->data, v->id);
}

/* ---- Children ------------------------------------------------------------------------------ */

/* In a child: act. 0; what it says; -EBUSY: it takes longer than wait_ms, and may go on. */
static int node_volumes_apart(const struct node_volumes *x, const struct kept_volume *v, int64_t wait_ms,
	int (*act)(const struct node_volumes *x, const struct kept_volume *v))
{
	struct fail *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t until = clock_ms() + wait_ms;
	pid_t pid, got, parent = getpid();
	int status = 0, rc = 0;

	if (told == MAP_FAILED)
		return fail_errno(x->f, -errno, errno, "out of memory");
	pid = fork();
	if (pid == 0) {
		struct node_volumes there = { .n = x->n, .outer = x->outer, .f = told };

		setsid();
		close_range(3, ~0U, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() != parent || act(&there, v) != 0);
	}
	while (pid > 0 && (got = waitpid(pid, &status, WNOHANG)) != pid) {
		if (got == 0 && clock_ms() >= until)
			rc = fail_set(x->f, -EBUSY, "volume '%s' is not ready yet", v->name);
		if (rc || (got < 0 && errno != EINTR))
			break;
		if (got == 0)
			poll(NULL, 0, PAUSE_MS);
	}
	if (!rc && (pid < 0 || status != 0))
		rc = told->code == -EAGAIN || told->code == -EBUSY
			? fail_set(x->f, told->code, "%s", told->text)
			: fail_set(x->f, -EIO, "volume '%s': %s", v->name, *told->text ? told->text : "its disk fails");
	munmap(told, sizeof *told);
	return rc;
}

/* ---- Made, or made larger ------------------------------------------------------------------ */

/* Ends with whoever waits for this, until it begins: a file system that is being made larger is not broken off. */
static int node_volumes_grow(const struct node_volumes *x, const struct kept_volume *v)
{
	char file[VOLUME_PATH];
	int fd = node_volumes_lock(x->n, v, true, x->f);

	if (fd < 0)
		return fd;
	prctl(PR_SET_PDEATHSIG, 0);
	node_volumes_file(x->n, v, file);
	return ns_grown(file, v->bytes, x->f);
}

static int node_volumes_ready(void *arg, const struct kept_volume *v)
{
	const struct node_volumes *x = arg;
	int rc = node_volumes_wanted(x, v);

	return rc <= 0 ? rc : node_volumes_apart(x, v, READY_MS, node_volumes_grow);
}

/* Whatever keeps a volume from a node, it is no fault of the node's own. */
static int node_volumes_later(int rc, struct fail *f)
{
	if (rc && f)
		f->code = -EAGAIN;
	return rc ? -EAGAIN : 0;
}

int ns_volumes_ready(const struct node_spec *n, struct fail *f)
{
	return node_volumes_later(node_volumes_each(&(struct node_volumes){ .n = n, .f = f }, node_volumes_ready), f);
}

/* ---- Mounted ------------------------------------------------------------------------------- */

static int node_volumes_lay(const struct node_volumes *x, const struct kept_volume *v)
{
	char file[VOLUME_PATH], raw[NS_PATH], at[NS_PATH], last[VOLUME_NAME + 16];
	int rc;

	node_volumes_file(x->n, v, file);
	snprintf(last, sizeof last, "volumes/%s", v->name);
	rc = ns_path(x->n, "volume.disk", raw, x->f);
	rc = rc ? rc : ns_path(x->n, last, at, x->f);
	rc = rc ? rc : ns_folder(raw, 0700, 0, x->f);
	rc = rc ? rc : ns_folder(at, 0755, 0, x->f);
	rc = rc ? rc : mount_file_shared(file, raw, x->f);
	return rc ? rc : ns_shift(x->users, raw, at, x->f);
}

static int node_volumes_mount(void *arg, const struct kept_volume *v)
{
	const struct node_volumes *x = arg;
	int fd, rc = node_volumes_wanted(x, v);

	if (rc <= 0)
		return rc;
	fd = node_volumes_lock(x->n, v, !x->outer, x->f);
	if (fd < 0)
		return fd;
	rc = node_volumes_lay(x, v);
	close(fd);
	return rc;
}

int ns_volumes_mount(const struct node_spec *n, int users, struct fail *f)
{
	struct node_volumes x = { .n = n, .users = users, .f = f };
	char at[NS_PATH];
	int rc = ns_path(n, "layer" NS_VOLUMES_FOLDER, at, f);

	rc = rc ? rc : ns_folder(at, 0755, ns_first_id(n), f);
	/* The node sees this folder, and must not write there. */
	rc = rc ? rc : ns_path(n, "volumes", at, f);
	rc = rc ? rc : ns_folder(at, 0755, 0, f);
	rc = rc ? rc : mount_empty_shared(at, f);
	return rc ? rc : node_volumes_later(node_volumes_each(&x, node_volumes_mount), f);
}

/* ---- In a node that runs ------------------------------------------------------------------- */

/* Is that volume mounted there? Its disk's name says so, and that it was not deleted since. */
static bool node_volumes_seen(const char *at, const struct kept_volume *v, char device[static NS_DEVICE])
{
	char path[NS_DEVICE + 32], tail[VOLUME_NAME + 32];
	struct stat st;
	struct buf b;
	bool yes;

	if (stat(at, &st) != 0)
		return false;
	snprintf(device, NS_DEVICE, "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	snprintf(path, sizeof path, "%s/loop/backing_file", device);
	snprintf(tail, sizeof tail, "/volumes/%s/disk.img\n", v->id);
	buf_init(&b, VOLUME_PATH);
	yes = buf_read_file(&b, path) == 0 && b.len > strlen(tail) &&
		strcmp(buf_text(&b) + b.len - strlen(tail), tail) == 0;
	buf_release(&b);
	return yes;
}

/* In a child. What is there under its name is what is left of a volume that was deleted. */
static int node_volumes_enter(const struct node_volumes *x, const struct kept_volume *v)
{
	struct node_volumes there = *x;
	char at[NS_PATH], last[VOLUME_NAME + 16];
	int rc;

	snprintf(last, sizeof last, "volumes/%s", v->name);
	rc = mount_enter(x->outer, x->f);
	rc = rc ? rc : ns_path(x->n, last, at, x->f);
	rc = rc ? rc : mount_users(ns_first_id(x->n), &there.users, x->f);
	if (rc)
		return rc;
	umount2(at, MNT_DETACH | UMOUNT_NOFOLLOW); /* most often nothing is */
	return node_volumes_mount(&there, v);
}

/* In a child: one mount more makes the file system as long as its file. It goes on when the agent ends. */
static int node_volumes_lengthen(const struct node_volumes *x, const struct kept_volume *v)
{
	char file[VOLUME_PATH], raw[NS_PATH];
	int fd = node_volumes_lock(x->n, v, false, x->f), rc;

	if (fd < 0)
		return fd;
	prctl(PR_SET_PDEATHSIG, 0);
	node_volumes_file(x->n, v, file);
	rc = ns_path(x->n, "volume.disk", raw, x->f);
	rc = rc ? rc : ns_folder(raw, 0700, 0, x->f);
	rc = rc ? rc : mount_alone(x->f);
	/* By the device that has it: two of them would be two file systems in one file. */
	if (!rc && !mount_file_busy(file))
		rc = fail_set(x->f, -EBUSY, "the device of volume '%s' is not found", v->name);
	rc = rc ? rc : mount_file_shared(file, raw, x->f);
	close(fd);
	return rc;
}

/*
 * Was it bought larger since it was mounted? Where this machine keeps root from making a mounted file system larger,
 * only the device becomes longer, and the next mount does the rest.
 */
static bool node_volumes_short(const char device[static NS_DEVICE], const struct kept_volume *v)
{
	char path[NS_DEVICE + 32];
	int64_t sectors = 0;
	struct buf b;
	bool yes;

	snprintf(path, sizeof path, "%s/size", device);
	buf_init(&b, VOLUME_PATH);
	yes = buf_read_file(&b, path) == 0 && sscanf(buf_text(&b), "%" SCNd64, &sectors) == 1 &&
		sectors < disk_file_size(v->bytes, 0) / SECTOR;
	buf_release(&b);
	return yes;
}

static int node_volumes_join(const struct node_volumes *x, const struct kept_volume *v)
{
	char at[NS_SEEN + VOLUME_NAME], device[NS_DEVICE];
	int rc = node_volumes_wanted(x, v);
	bool seen;

	if (rc <= 0)
		return rc;
	snprintf(at, sizeof at, "%s/%s", x->seen, v->name);
	seen = node_volumes_seen(at, v, device);
	if (seen && !node_volumes_short(device, v))
		return 0;
	rc = node_volumes_apart(x, v, JOIN_MS, node_volumes_grow);
	rc = rc ? rc : node_volumes_apart(x, v, ENTER_MS, seen ? node_volumes_lengthen : node_volumes_enter);
	return rc == -EBUSY ? 0 : rc; /* with a later look */
}

int ns_volumes_join(const struct node_spec *n, struct fail *f)
{
	const struct driver_setup *s = n->setup;
	struct fail why = { 0 };
	struct node_volumes x = { .n = n, .f = &why };
	char path[NS_PATH];
	int rc = s->volumes ? ns_path(n, "volumes", path, f) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	x.outer = ns_outer(n, path, x.seen);
	/* One that is bad keeps no other out. */
	for (size_t i = 0; x.outer && i < s->volume_count; i++) {
		int bad = node_volumes_join(&x, &s->volumes[i]);

		if (bad && !rc)
			rc = fail_set(f, bad, "%s", why.text);
	}
	return rc;
}
