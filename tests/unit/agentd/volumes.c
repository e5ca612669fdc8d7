/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes on a machine's disk: only what this market said about them, as this machine joined it, is mounted or deleted;
 * whatever else is there stays as it is, no node sees it, and its room counts as used.
 */
#include "agentd/market/volume_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "agentd/machine/capacity.h"
#include "agentd/os/disk.h"
#include "volumetree.h"

enum { MIB = 1 << 20, ROOM_MIB = 1000, DISK_MIB = 16 };

static const struct volume_home there = { "bb22", "agt_1", "https://there.example" };

int __wrap_disk_room(const char *folder, int64_t *bytes);

/* What others on this machine write is no matter of ours. */
int __wrap_disk_room(const char *folder, int64_t *bytes)
{
	(void)folder;
	*bytes = (int64_t)ROOM_MIB * MIB;
	return 0;
}

static int unread; /* what reading a volume.json says instead */

int __real_buf_read_file(struct buf *b, const char *path);
int __wrap_buf_read_file(struct buf *b, const char *path);

int __wrap_buf_read_file(struct buf *b, const char *path)
{
	return unread && strstr(path, "/volume.json") ? unread : __real_buf_read_file(b, path);
}

static int unwritten; /* what replacing one says instead */

int __real_file_replace(const char *path, const void *data, size_t len, mode_t mode);
int __wrap_file_replace(const char *path, const void *text, size_t len, mode_t mode);

int __wrap_file_replace(const char *path, const void *text, size_t len, mode_t mode)
{
	return unwritten && strstr(path, "/volume.json") ? unwritten : __real_file_replace(path, text, len, mode);
}

static void disk_write(const char *last, const char *text)
{
	int fd = open(in_data(last), O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || posix_fallocate(fd, 0, (off_t)DISK_MIB * MIB) != 0)
		ok(false, "(a disk was not written)");
	close(fd);
}

static const char *disk_text(const char *last)
{
	static char text[64];
	int fd = open(in_data(last), O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static int keep(const struct volume_home *home, const char *tenant, const char *id, char aside[VOLUME_PATH])
{
	struct kept_volume v = volume(home, tenant, id);
	struct fail f = { 0 };

	return volumes_keep(data, &v, aside, &f);
}

static int end(const struct volume_home *home, const char *tenant, const char *id)
{
	struct kept_volume v = volume(home, tenant, id);
	struct fail f = { 0 };

	return volumes_delete(data, &v, &f);
}

static int count_mounted(void *arg, const struct kept_volume *v)
{
	*(int *)arg += v->mounted;
	return 0;
}

static int mounted(void)
{
	int n = 0;

	volumes_each(data, count_mounted, &n, NULL);
	return n;
}

static struct stray_volume stray_last;

static void stray_take(void *arg, const struct stray_volume *v)
{
	(void)arg;
	stray_last = *v;
}

/* ---- Whose it is -------------------------------------------------------------------------------- */

static void test_markets(void)
{
	char aside[VOLUME_PATH];
	struct fail f = { 0 };

	tree_begin();
	keep(&there, "acct_1", "vol_1", aside);
	disk_write("vol_1/disk.img", "theirs");
	is_int(volumes_settle(data, &here, &f), 0, "a machine that joined another market (%s)", f.text);
	ok(!is_there("vol_1") && is_there("vol_1.old-1"), "puts the volumes of the first one aside");
	is_int(mounted(), 0, "and no node sees them");
	is_int(volumes_stray(data, stray_take, NULL), 1, "it can say so");
	is_str(stray_last.home.url, "https://there.example", "with the market");
	ok(stray_last.held >= DISK_MIB * MIB, "and with what it takes of the disk");
	is_int(keep(&here, "acct_1", "vol_1", aside), 0, "a volume of the same id and account is another one");
	is_str(aside, "", "(nothing more was put aside)");
	ok(!is_there("vol_1/disk.img"), "with nothing in it");
	disk_write("vol_1/disk.img", "ours");
	is_int(end(&here, "acct_1", "vol_1"), 0, "and is deleted");
	ok(!is_there("vol_1") && !is_there("vol_1.deleted"), "with all that it had");
	is_str(disk_text("vol_1.old-1/disk.img"), "theirs", "but nothing of the other market's");
	is_int(volumes_settle(data, &there, &f), 0, "the first market again, joined anew or not");
	ok(is_there("vol_1.old-1"), "gets nothing back by itself");
}

/* Without a start in between: the agent's first word comes, and the ids are those of another time. */
static void test_kept_beside(void)
{
	char aside[VOLUME_PATH];

	tree_begin();
	keep(&there, "acct_1", "vol_1", aside);
	disk_write("vol_1/disk.img", "theirs");
	is_int(end(&here, "acct_1", "vol_1"), 0,
		"a market has a volume deleted that another one made: nothing is left");
	is_str(disk_text("vol_1/disk.img"), "theirs", "of its own");
	is_int(keep(&here, "acct_1", "vol_1", aside), 0, "it makes one of that id");
	has_str(aside, "/vol_1.old-1", "and hears where the other one is");
	is_str(disk_text("vol_1.old-1/disk.img"), "theirs", "which keeps its data");
	disk_write("vol_1/disk.img", "acct_1's");
	is_int(end(&here, "acct_2", "vol_1"), 0, "(a market that was restored deletes a volume of another account)");
	ok(is_there("vol_1/disk.img"), "what another account has by that id stays");
	keep(&here, "acct_2", "vol_1", aside);
	has_str(aside, "/vol_1.old-2", "and is put aside for the new one");
	is_str(disk_text("vol_1.old-2/disk.img"), "acct_1's", "with its data");
	is_int(mounted(), 1, "nodes see the new one alone");
}

static void test_damaged(void)
{
	char aside[VOLUME_PATH];
	struct fail f = { 0 };

	tree_begin();
	keep(&here, "acct_1", "vol_1", aside);
	disk_write("vol_1/disk.img", "data");
	unlink(in_data("vol_1/volume.json"));
	is_int(keep(&here, "acct_2", "vol_1", aside), 0, "a volume of which nobody knows whose it is");
	is_str(disk_text("vol_1.old-1/disk.img"), "data", "is put aside");
	ok(!is_there("vol_1/disk.img"), "and goes to nobody");
	mkdir(in_data("vol_2"), 0700);
	is_int(keep(&here, "acct_1", "vol_2", aside), 0, "one that was begun");
	is_str(aside, "", "is gone on with");
	disk_write("vol_2/volume.json", "{");
	is_int(volumes_settle(data, &here, &f), 0, "one whose words cannot be read");
	ok(is_there("vol_2.old-1") && !is_there("vol_2"), "is put aside, too");
}

/* What cannot be read now may be read later: it is its owner's still. */
static void test_unread(void)
{
	static const int errors[] = { -EIO, -ENFILE, -ENOMEM };
	char aside[VOLUME_PATH];

	tree_begin();
	keep(&here, "acct_1", "vol_1", aside);
	disk_write("vol_1/disk.img", "paid");
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		struct fail f = { 0 };

		unread = errors[i];
		is_int(volumes_settle(data, &here, &f), unread, "a start that cannot read a volume's words says so");
		has_str(f.text, "/vol_1/volume.json'", "with the file");
		is_int(keep(&here, "acct_1", "vol_1", aside), unread, "so does what the market says of it then");
		is_int(end(&here, "acct_1", "vol_1"), unread, "and a deletion, which is no word that it is gone");
		unread = 0;
		is_str(disk_text("vol_1/disk.img"), "paid", "it stays where it is");
		is_int(mounted(), 1, "and nodes see it again later");
	}
	is_int(keep(&here, "acct_1", "vol_1", aside), 0, "then the market's word is taken");
	is_str(aside, "", "(nothing was put aside)");
}

/* The volume of an account is not put aside because the agent was out of memory as it read what it is. */
static int left; /* pieces of memory until one is missing; 0: none is */

static void *memory_short(size_t size)
{
	return left && --left == 0 ? NULL : malloc(size);
}

static void test_memory(void)
{
	int rc = -ENOMEM, wrong = 0, at = 1;
	char aside[VOLUME_PATH];
	struct kept_volume k;

	tree_begin();
	keep(&here, "acct_1", "vol_1", aside);
	json_set_alloc_funcs(memory_short, free);
	for (; rc && at < 1000; at++) {
		left = at;
		rc = volume_find(data, "vol_1", &k);
		wrong += rc && rc != -ENOMEM;
	}
	left = 0;
	json_set_alloc_funcs(malloc, free);
	ok(!rc && at > 10, "what a volume is can be read with %d pieces of memory", at - 1);
	is_int(wrong, 0, "with fewer it is never taken for a damaged one");
}

/* A full disk: what the market no longer names stays mounted for a start without its word, until that is written. */
static void test_unhidden(void)
{
	struct log log = { .level = LOG_ERROR - 1 };
	struct volumes v = { .data = data, .log = &log, .home = here };
	struct work_volume gone = { .id = "vol_2", .tenant = "acct_1", .name = "data", .bytes = 1, .deleted = true };
	struct work w = { .volumes = &gone, .volume_count = 1 };
	char aside[VOLUME_PATH];
	struct fail f = { 0 };

	tree_begin();
	keep(&here, "acct_1", "vol_1", aside);
	keep(&here, "acct_1", "vol_2", aside);
	unwritten = -ENOSPC;
	is_int(volumes_hide(data, "vol_1", true, &f), -ENOSPC, "a volume that cannot be hidden says so");
	has_str(f.text, "vol_1/volume.json'", "with its file");
	ok(volumes_take(&v, &w) == 0 && mounted() == 2, "(the market names one, to be deleted)");
	ok(!volumes_gone(&v) && is_there("vol_2"), "one that is still in nodes that start is not deleted");
	ok(volumes_due(&v) < INT64_MAX, "both are tried again");
	unwritten = 0;
	v.due_ms = 0;
	is_str(volumes_gone(&v) ? volumes_gone(&v) : "", "vol_2", "then it is gone");
	is_int(mounted(), 0, "and no node that starts sees the other");
	volumes_told(&v, "vol_2");
	ok(volumes_due(&v) == INT64_MAX, "and all is done");
	volumes_release(&v);
}

static void test_links(void)
{
	char outside[] = "/tmp/nanopod-outside.XXXXXX", path[64], aside[VOLUME_PATH];
	struct fail f = { 0 };

	tree_begin();
	keep(&here, "acct_1", "vol_1", aside); /* makes the folder */
	ok(mkdtemp(outside) != NULL, "(a folder outside)");
	snprintf(path, sizeof path, "%s/disk.img", outside);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ok(symlink(outside, in_data("vol_9")) == 0 && symlink(outside, in_data("vol_8.deleted")) == 0, "(links)");
	volumes_settle(data, &here, &f);
	ok(access(path, F_OK) == 0, "nothing is deleted through a link");
	ok(end(&here, "acct_1", "vol_9") == 0 && access(path, F_OK) == 0, "also where the market has it deleted");
	ok(keep(&here, "acct_1", "vol_9", aside) != 0, "and no volume is made through one");
	snprintf(path, sizeof path, "%s/volume.json", outside);
	ok(access(path, F_OK) != 0, "(nothing was written there)");
	wipe_folder(outside, NULL, NULL);
	rmdir(outside);
}

/* ---- One at a time ------------------------------------------------------------------------------- */

static void test_locks(void)
{
	char aside[VOLUME_PATH];
	struct fail f = { 0 };
	int one, two;

	tree_begin();
	keep(&here, "acct_1", "vol_1", aside);
	keep(&here, "acct_1", "vol_2", aside);
	one = volume_lock(data, "vol_1", false, &f);
	two = volume_lock(data, "vol_2", false, &f);
	ok(one >= 0 && two >= 0, "who makes one volume does not keep others waiting");
	close(two);
	is_int(end(&here, "acct_1", "vol_1"), -EBUSY, "what somebody makes is not deleted now");
	is_int(keep(&here, "acct_2", "vol_1", aside), -EBUSY, "nor put aside");
	is_int(mounted(), 1, "but no node that starts sees it");
	close(one);
	is_int(keep(&here, "acct_2", "vol_1", aside), 0, "later it is");
	busy = "vol_2/disk.img";
	is_int(end(&here, "acct_1", "vol_2"), -EBUSY, "what a node has mounted is not deleted below it");
	ok(is_there("vol_2"), "(it is there)");
	cuts = true;
	is_int(end(&here, "acct_1", "vol_2"), 0, "where the node can be cut off from it, it is");
	ok(!busy && !is_there("vol_2"), "(it was cut off first)");
	is_int(volume_lock(data, "vol_2", true, &f), -ENOENT, "who waited for it finds nothing");
}

/* ---- What the market names ----------------------------------------------------------------------- */

static int64_t disk_now(void)
{
	struct capacity c;

	capacity_read("/nowhere", data, &c);
	return c.disk_files / MIB;
}

static void test_named(void)
{
	struct log log = { .level = LOG_ERROR - 1 };
	struct volumes v = { .data = data, .log = &log, .home = here };
	struct work_volume all[2] = {
		{ .id = "vol_1", .tenant = "acct_1", .name = "data", .bytes = 1 << 30, .mounted = true },
		{ .id = "vol_2", .tenant = "acct_1", .name = "more", .bytes = 1 << 30, .mounted = true }
	};
	struct work w = { .volumes = all, .volume_count = 2 };
	struct kept_volume k;

	tree_begin();
	volumes_take(&v, &w);
	disk_write("vol_1/disk.img", "one");
	disk_write("vol_2/disk.img", "two");
	is_int(mounted(), 2, "what the market names is mounted");
	is_int(disk_now(), ROOM_MIB + 2 * DISK_MIB, "its room is the market's to sell");
	w.volume_count = 1;
	volumes_take(&v, &w);
	is_int(mounted(), 1, "what it no longer names is not");
	ok(volume_find(data, "vol_2", &k) == 0 && !k.mounted && is_there("vol_2/disk.img"), "but stays");
	is_int(disk_now(), ROOM_MIB + DISK_MIB, "and its room counts as used");
	is_int(volumes_stray(data, NULL, NULL), 1, "which it can say");
	w.volume_count = 2;
	volumes_take(&v, &w);
	is_int(disk_now(), ROOM_MIB + 2 * DISK_MIB, "until the market names it again");
	all[1].deleted = true;
	all[1].mounted = false;
	busy = "vol_2/disk.img";
	volumes_take(&v, &w);
	is_int(mounted(), 1, "one that is to be deleted is in no node that starts");
	ok(!volumes_gone(&v) && volumes_due(&v) < INT64_MAX, "while a node has it, it is tried again");
	is_int(disk_now(), ROOM_MIB + 2 * DISK_MIB, "(it is still the market's)");
	busy = NULL;
	v.due_ms = 0;
	is_str(volumes_gone(&v) ? volumes_gone(&v) : "", "vol_2", "then it is gone");
	ok(!is_there("vol_2"), "(it is)");
	volumes_told(&v, "vol_2");
	ok(volumes_due(&v) == INT64_MAX && !volumes_gone(&v), "and told once");
	volumes_release(&v);
}

/* What is put aside later than its market's word, as somebody made it larger then. */
static void test_late(void)
{
	struct log log = { .level = LOG_ERROR - 1 };
	struct volumes v = { .data = data, .log = &log, .home = here };
	struct work_volume one = { .id = "vol_1",
		.tenant = "acct_2",
		.name = "data",
		.bytes = 1 << 30,
		.mounted = true };
	struct work w = { .volumes = &one, .volume_count = 1 };
	char aside[VOLUME_PATH];
	struct fail f = { 0 };
	int lock;

	tree_begin();
	keep(&here, "acct_1", "vol_1", aside);
	disk_write("vol_1/disk.img", "acct_1's");
	lock = volume_lock(data, "vol_1", false, &f);
	volumes_take(&v, &w);
	ok(is_there("vol_1/disk.img") && mounted() == 0, "a volume that somebody works on is put aside later");
	ok(volumes_due(&v) < INT64_MAX && !volumes_gone(&v), "(it is tried again)");
	close(lock);
	v.due_ms = 0;
	ok(!volumes_gone(&v) && is_there("vol_1.old-1") && mounted() == 1, "when it is free");
	ok(volumes_due(&v) == INT64_MAX, "then all is done");
	volumes_release(&v);
}

int main(void)
{
	plan_none;
	test_markets();
	test_kept_beside();
	test_damaged();
	test_unread();
	test_memory();
	test_unhidden();
	test_links();
	test_locks();
	test_named();
	test_late();
	tree_end();
	return done();
}
