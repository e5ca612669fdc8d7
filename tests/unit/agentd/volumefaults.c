/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes where the agent, or the step that makes their disks, is killed: before and after each change on the machine's
 * disk, and then started again. What is paid is not lost, what was deleted is not kept, and nothing half is mounted.
 */
#include "agentd/ns/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "agentd/os/spawn.h"
#include "volumetree.h"

/* ---- Killed at each change ----------------------------------------------------------------------- */

static int kill_at; /* counts down to the change before which this process is killed; 0: never */

static void change(void)
{
	if (kill_at && --kill_at == 0)
		kill(getpid(), SIGKILL);
}

/* Before a change, or (the next count) after it. */
#define CHANGE(type, name, args, given) \
	type __real_##name args; \
	type __wrap_##name args; \
	type __wrap_##name args \
	{ \
		type rc; \
\
		change(); \
		rc = __real_##name given; \
		change(); \
		return rc; \
	}

CHANGE(int, rename, (const char *from, const char *to), (from, to))
CHANGE(int, mkdir, (const char *path, mode_t mode), (path, mode))
CHANGE(int, rmdir, (const char *path), (path))
CHANGE(int, unlink, (const char *path), (path))
CHANGE(int, unlinkat, (int at, const char *path, int flags), (at, path, flags))
CHANGE(int, ftruncate, (int fd, off_t len), (fd, len))
CHANGE(int, fallocate, (int fd, int mode, off_t from, off_t len), (fd, mode, from, len))

static const char *made; /* what a program like mkfs.ext4 writes; NULL: it does nothing */
static const char *held; /* a file for which such a program waits */

int __wrap_spawn_run(const struct spawn *s, int64_t deadline_ms, struct buf *out, struct fail *f);

/* The last word of mkfs.ext4 is the file. */
int __wrap_spawn_run(const struct spawn *s, int64_t deadline_ms, struct buf *out, struct fail *f)
{
	size_t n = 0;
	int fd;

	(void)out;
	change();
	if (held)
		close(open(in_data("making"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (held && access(held, F_OK) != 0)
		poll(NULL, 0, 5);
	while (s->argv[n + 1])
		n++;
	fd = open(s->argv[n], O_WRONLY | O_CLOEXEC);
	if (fd < 0 || deadline_ms < 3600000 || (made && write(fd, made, strlen(made)) < 0))
		return fail_set(f, -EIO, "no disk");
	close(fd);
	change();
	return 0;
}

static int unread, unseen; /* what reading a volume.json, or looking at a disk.img, says instead */

int __real_buf_read_file(struct buf *b, const char *path);
int __wrap_buf_read_file(struct buf *b, const char *path);
int __real_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st);

int __wrap_buf_read_file(struct buf *b, const char *path)
{
	return unread && strstr(path, "/volume.json") ? unread : __real_buf_read_file(b, path);
}

int __wrap_stat(const char *path, struct stat *st)
{
	if (!unseen || !strstr(path, "/disk.img"))
		return __real_stat(path, st);
	errno = unseen;
	return -1;
}

static struct driver_setup setup = { .data = data };
static struct node_spec node = { .setup = &setup, .tenant = "acct_1/net_1" };

/* The agent's work and that of a node that starts, again and again until it is done. */
struct work {
	struct kept_volume v;
	bool deleted;
};

static int work_do(const struct work *w)
{
	char aside[VOLUME_PATH];
	struct fail f = { 0 };
	int rc = volumes_settle(data, &here, &f);

	if (w->deleted)
		return rc ? rc : volumes_delete(data, &w->v, &f);
	rc = rc ? rc : volumes_keep(data, &w->v, aside, &f);
	return rc ? rc : ns_grown(in_data("vol_1/disk.img"), w->v.bytes, &f);
}

static bool killed(const struct work *w, int at)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		kill_at = at;
		_exit(work_do(w) != 0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status);
}

static const char *disk_starts(const char *last)
{
	static char text[16];
	int fd = open(in_data(last), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static int64_t disk_length(const char *last)
{
	struct stat st;

	return stat(in_data(last), &st) == 0 ? (int64_t)st.st_size : -1;
}

static struct work work_of(int64_t mib)
{
	struct work w = { .v = volume(&here, "acct_1", "vol_1") };

	w.v.bytes = mib << 20;
	return w;
}

static void test_made(void)
{
	struct work w = work_of(16);
	int bad = 0, at = 1;

	made = "fresh";
	do {
		tree_begin();
		if (!killed(&w, at++))
			break;
		/* What a node would mount now is whole or not there. */
		bad += is_there("vol_1/disk.img") && strcmp(disk_starts("vol_1/disk.img"), "fresh") != 0;
		bad += work_do(&w) != 0 || strcmp(disk_starts("vol_1/disk.img"), "fresh") != 0;
		bad += is_there("vol_1.old-1") || is_there("vol_1/disk.img.new");
	} while (at < 1000);
	ok(at > 12 && at < 1000, "one that is made has %d moments in which the agent can be killed", at - 2);
	is_int(bad, 0, "in each the volume is whole, or not there yet, and then made");
}

static void test_resized(void)
{
	struct work w = work_of(16), larger = work_of(32);
	int bad = 0, at = 1;

	made = "fresh";
	do {
		tree_begin();
		work_do(&w);
		if (!killed(&larger, at++))
			break;
		bad += strcmp(disk_starts("vol_1/disk.img"), "fresh") != 0;
		made = NULL; /* a second mkfs would show */
		bad += work_do(&larger) != 0 || strcmp(disk_starts("vol_1/disk.img"), "fresh") != 0 ||
			disk_length("vol_1/disk.img") < INT64_C(32) << 20 || is_there("vol_1.old-1");
		made = "fresh";
	} while (at < 1000);
	ok(at > 4 && at < 1000, "one that grows has %d", at - 2);
	is_int(bad, 0, "in each it has its data, and then its size");
}

static int count_any(void *arg, const struct kept_volume *v)
{
	*(int *)arg += v->mounted;
	return 0;
}

static void test_deleted(void)
{
	struct work w = work_of(16), gone = work_of(16), later = work_of(16);
	int bad = 0, at = 1;

	gone.deleted = true;
	gone.v.mounted = false;
	snprintf(later.v.tenant, sizeof later.v.tenant, "acct_2");
	do {
		int any = 0;

		tree_begin();
		made = "first";
		work_do(&w);
		volumes_hide(data, "vol_1", true, NULL);
		if (!killed(&gone, at++))
			break;
		volumes_each(data, count_any, &any, NULL);
		bad += any != 0;
		if (at % 2 == 0) { /* the market goes on with it, or (restored, or another one) has an id anew */
			bad += work_do(&gone) != 0 || is_there("vol_1") || is_there("vol_1.deleted") ||
				is_there("vol_1.old-1");
		} else {
			made = "other";
			bad += work_do(&later) != 0 || strcmp(disk_starts("vol_1/disk.img"), "other") != 0 ||
				is_there("vol_1.deleted");
		}
	} while (at < 1000);
	ok(at > 6 && at < 1000, "one that is deleted has %d", at - 2);
	is_int(bad, 0, "in each no node sees it, then nothing is left, and nobody gets what was in it");
}

static void test_aside(void)
{
	struct work w = work_of(16), other = work_of(16);
	int bad = 0, at = 1;

	snprintf(other.v.tenant, sizeof other.v.tenant, "acct_2");
	do {
		tree_begin();
		made = "first";
		work_do(&w);
		made = "other";
		if (!killed(&other, at++))
			break;
		bad += work_do(&other) != 0 || strcmp(disk_starts("vol_1/disk.img"), "other") != 0 ||
			strcmp(disk_starts("vol_1.old-1/disk.img"), "first") != 0;
	} while (at < 1000);
	ok(at > 12 && at < 1000, "one that is put aside for another account's has %d", at - 2);
	is_int(bad, 0, "in each both have their own data");
}

/* ---- A long one ---------------------------------------------------------------------------------- */

static bool locked(const char *id)
{
	struct fail f = { 0 };
	int fd = volume_lock(data, id, false, &f);

	if (fd >= 0)
		close(fd);
	return fd == -EBUSY;
}

static void wait_until(bool (*is)(const char *id), const char *id, bool want)
{
	while (is(id) != want)
		poll(NULL, 0, 5);
}

static pid_t node_starts(const struct node_spec *n)
{
	pid_t child = fork();

	if (child == 0) {
		struct fail f = { 0 };

		_exit(ns_volumes_ready(n, &f) != 0);
	}
	return child;
}

/* Making a file system takes longer than anybody waits for a node. */
static void test_long(void)
{
	struct node_spec neighbour = { .setup = &setup, .tenant = "acct_2/net_2" };
	struct kept_volume one = volume(&here, "acct_1", "vol_1"), two = volume(&here, "acct_2", "vol_2");
	char aside[VOLUME_PATH];
	struct fail f = { 0 };
	int status = -1;
	pid_t child;

	tree_begin();
	made = "fresh";
	held = NULL;
	one.bytes = two.bytes = 16 << 20;
	volumes_keep(data, &one, aside, &f);
	volumes_keep(data, &two, aside, &f);
	held = in_data("go");
	child = node_starts(&node);
	wait_until(is_there, "making", true); /* before, who makes it still ends with whoever waits */
	held = NULL;
	waitpid(node_starts(&neighbour), &status, 0);
	is_int(status, 0, "while one volume is made, another account's node starts");
	is_str(disk_starts("vol_2/disk.img"), "fresh", "with its own");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	ok(locked("vol_1"), "whoever waited may be killed: it is still being made");
	is_int(volumes_delete(data, &one, &f), -EBUSY, "and not deleted meanwhile");
	close(open(in_data("go"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	wait_until(locked, "vol_1", false);
	is_str(disk_starts("vol_1/disk.img"), "fresh", "then it is made");
	waitpid(node_starts(&node), &status, 0);
	is_int(status, 0, "and a node that starts has it");
}

/* ---- What cannot be read ------------------------------------------------------------------------- */

static int ready(const struct node_spec *n, struct fail *f)
{
	*f = (struct fail){ 0 };
	return ns_volumes_ready(n, f);
}

/* A node that started without one of its volumes would write to its own disk, and lose that. */
static void test_refused(void)
{
	struct driver_setup heard = { .data = data };
	struct node_spec mine = { .setup = &setup, .tenant = "acct_1/net_1" },
			 other = { .setup = &heard, .tenant = "acct_10/net_2" };
	struct kept_volume all[2] = { volume(&here, "acct_1", "vol_1"), volume(&here, "acct_1", "vol_2") };
	char aside[VOLUME_PATH], file[64];
	struct fail f = { 0 };

	tree_begin();
	made = "fresh";
	all[0].bytes = all[1].bytes = 16 << 20;
	volumes_keep(data, &all[0], aside, &f);
	is_int(ready(&mine, &f), 0, "a node whose volume can be read starts (%s)", f.text);
	made = "other";
	unseen = EIO;
	is_int(ready(&mine, &f), -EAGAIN, "not while its disk cannot be looked at");
	has_str(f.text, "cannot look at", "which is said");
	unseen = 0;
	is_str(disk_starts("vol_1/disk.img"), "fresh", "and nothing is made in its place");
	unread = -EIO;
	is_int(ready(&mine, &f), -EAGAIN, "before the market's first word none starts while a volume.json is unread");
	has_str(f.text, "volume 'vol_1' cannot be read: Input", "with the cause");
	heard.volumes = all;
	heard.volume_count = 1;
	is_int(ready(&other, &f), 0, "after it, nodes of others do, also of one whose id begins alike (%s)", f.text);
	mine.setup = &heard;
	is_int(ready(&mine, &f), -EAGAIN, "its own account's do not");
	has_str(f.text, "volume 'data' cannot be read: Input", "and say which");
	unread = 0;
	is_int(ready(&mine, &f), 0, "when it can be read again they start (%s)", f.text);
	heard.volume_count = 2;
	is_int(ready(&mine, &f), -EAGAIN, "nor without one that was not written down yet");
	has_str(f.text, "volume 'data' is not ready", "which is said, too");
	tree_begin();
	snprintf(file, sizeof file, "%s/volumes", data);
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	mine.setup = &setup;
	is_int(ready(&mine, &f), -EAGAIN, "nor while no volume can be listed");
	is_int(f.code, -EAGAIN, "which waits (%s)", f.text);
}

int main(void)
{
	plan_none;
	test_made();
	test_resized();
	test_deleted();
	test_aside();
	test_long();
	test_refused();
	tree_end();
	return done();
}
