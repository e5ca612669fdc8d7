/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: how this machine's are read and, where root can make them, that they limit, count and kill. */
#include "agentd/os/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "agentd/os/cgroup_part.h"
#include "base/buf.h"

static void test_trees(void)
{
	static const char mounts[] =
		"proc /proc proc rw 0 0\n"
		"tmpfs /dev/shm tmpfs rw 0 0\n"
		"cgroup /tmp cgroup rw,relatime,cpu,cpuacct 0 0\n"
		"cgroup /tmp cgroup rw,cpuacct 0 0\n"
		"cgroup /tmp cgroup rw,memory 0 0\n"
		"cgroup /nowhere/at/all cgroup rw,pids 0 0\n"
		"cgroup2 /tmp cgroup2 rw,nsdelegate 0 0\n"
		"cgroup\n";
	struct cgroup_trees t;

	cgroup_trees_in(&t, mounts);
	ok(t.count == 4, "hierarchies are those that can be written (%zu)", t.count);
	ok(t.tree[0].cpu && !t.tree[0].memory && !t.tree[0].v2, "cpu beside cpuacct is cpu");
	ok(!t.tree[1].cpu, "cpuacct alone is not");
	ok(t.tree[2].memory && t.tree[3].v2, "memory, and the one of v2");
	cgroup_trees_in(&t, "");
	ok(t.count == 0, "none");
}

static void list_one(void *arg, const char *id)
{
	*(int *)arg += strcmp(id, "inst_unit") == 0;
}

static pid_t sleeper(const struct node_spec *n)
{
	int ready[2];
	pid_t pid;
	char c = 0;

	if (pipe(ready) != 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		c = cgroup_enter(n, CGROUP_NODE) == 0;
		if (write(ready[1], &c, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	if (read(ready[0], &c, 1) != 1 || !c)
		diag("it could not enter");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* Killed, it is out of its groups a moment before it can be waited for. */
static bool ended(pid_t pid)
{
	for (int i = 0; i < 6000; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

/* A limit as the kernel reports it, in either version's file. */
static bool limited(const struct node_spec *n, const char *v1, const char *v2, long long limit)
{
	const char *const files[] = { v1, v2 };
	struct cgroup_trees t;
	char path[CGROUP_PATH], want[32];
	bool found = false;

	cgroup_trees(&t);
	snprintf(want, sizeof want, "%lld\n", limit);
	for (size_t i = 0; i < t.count; i++)
		for (size_t k = 0; k < 2; k++) {
			struct buf b;

			buf_init(&b, 4096);
			snprintf(path, sizeof path, "%.100s/%s-n-%s/%s", t.tree[i].at, n->setup->prefix, n->id,
				files[k]);
			found |= buf_read_file(&b, path) == 0 && strcmp(buf_text(&b), want) == 0;
			buf_release(&b);
		}
	return found;
}

/* What the kernel says of its weight at the disk; 0: this kernel weighs nobody. */
static long weight(const struct node_spec *n)
{
	static const char *const files[] = { "blkio.bfq.weight", "blkio.weight", "io.bfq.weight", "io.weight" };
	struct cgroup_trees t;
	char path[CGROUP_PATH];
	long found = 0;

	cgroup_trees(&t);
	for (size_t i = 0; i < t.count; i++)
		for (size_t k = 0; k < sizeof files / sizeof *files && !found; k++) {
			struct buf b;

			buf_init(&b, 4096);
			snprintf(path, sizeof path, "%.100s/%s-n-%s/%s", t.tree[i].at, n->setup->prefix, n->id,
				files[k]);
			if (buf_read_file(&b, path) == 0)
				found = strtol(buf_text(&b) + strcspn(buf_text(&b), "0123456789"), NULL, 10);
			buf_release(&b);
		}
	return found;
}

/* The nodes of a machine together have a weight of 1000. */
static void test_weight(struct node_spec n)
{
	unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), given[] = { cpus * 300, cpus * 5, 0, cpus * 4000 };
	long want[] = { 300, 10, 1000, 1000 };
	struct fail f = { 0 };

	for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
		n.cpu_milli = given[i];
		cgroup_make(&n, 0, &f);
		if (weight(&n))
			is_int(weight(&n), want[i], "at a busy disk a node of %u/%u of the processors weighs %ld",
				given[i], cpus * 1000, want[i]);
		else
			skip("this kernel weighs nobody at the disk");
		cgroup_remove(&n, &f);
	}
}

static bool has_pids(void)
{
	struct cgroup_trees t;
	bool has = false;

	cgroup_trees(&t);
	for (size_t i = 0; i < t.count; i++)
		has |= t.tree[i].pids;
	return has;
}

static void test_life(const struct node_spec *n, unsigned holds)
{
	struct fail f = { 0 };
	pid_t pid, first = 0;
	int seen = 0;

	ok(cgroup_make(n, 0, &f) == 0, "a node's groups are made (%s)", f.text);
	ok(cgroup_make(n, 0, &f) == 0, "twice is as once");
	ok(!(holds & HOLDS_MEMORY) || limited(n, "memory.limit_in_bytes", "memory.max", n->memory),
		"its memory is limited");
	ok(!has_pids() || limited(n, "pids.max", "pids.max", n->pids), "and its processes");
	pid = sleeper(n);
	ok(cgroup_pids(n, CGROUP_NODE, &first, 1) == 1 && first == pid, "who entered is counted");
	ok(cgroup_pids(n, CGROUP_DOOR, &first, 1) == 0 && cgroup_pids(n, CGROUP_ALL, &first, 1) == 1,
		"in its part, and in the whole");
	cgroup_list(n->setup, list_one, &seen, &f);
	ok(seen == 1, "the node is listed, once");
	ok(cgroup_kill(n, CGROUP_ALL, 60000, &f) == 0 && waitpid(pid, NULL, 0) == pid, "all of it is killed");
	ok(cgroup_remove(n, &f) == 0 && cgroup_remove(n, &f) == 0, "groups go, and twice is as once");
	seen = 0;
	cgroup_list(n->setup, list_one, &seen, &f);
	ok(seen == 0, "nothing is left");
}

/* Makes so many groups below the node's own, in each hierarchy, and puts pid into the last. */
static bool put_deep(const struct node_spec *n, int depth, pid_t pid)
{
	struct cgroup_trees t;
	char path[CGROUP_PATH * 2], text[32];

	cgroup_trees(&t);
	snprintf(text, sizeof text, "%d", (int)pid);
	for (size_t i = 0; i < t.count; i++) {
		size_t len = (size_t)snprintf(path, sizeof path, "%.100s/%s-n-%s", t.tree[i].at, n->setup->prefix,
			n->id);

		for (int k = 0; k < depth; k++) {
			len += (size_t)snprintf(path + len, sizeof path - len, "%s", k ? "/d" : "/node");
			if (k && cgroup_path_make(&(struct cgroup_trees){ .tree = { t.tree[i] }, .count = 1 },
				path + strlen(t.tree[i].at) + 1, NULL) != 0)
				return false;
		}
		if (cgroup_write(&t.tree[i], path + strlen(t.tree[i].at) + 1, "cgroup.procs", text) != 0)
			return false;
	}
	return true;
}

/* The node's root nests groups as it likes: a deep group must not hide a process. */
static void test_deep(const struct node_spec *n)
{
	struct fail f = { 0 };
	pid_t pid, first = 0;
	bool there;

	cgroup_make(n, 0, &f);
	pid = sleeper(n);
	there = put_deep(n, 50, pid);
	ok(there && cgroup_pids(n, CGROUP_NODE, &first, 1) == 1 && first == pid, "who is fifty groups down is counted");
	ok(cgroup_kill(n, CGROUP_ALL, 60000, &f) == 0 && ended(pid), "and killed (%s)", f.text);
	ok(cgroup_remove(n, &f) == 0, "and the groups go (%s)", f.text);
	kill(pid, SIGKILL);
}

static bool has_cpuset(void)
{
	struct cgroup_trees t;
	bool has = false;

	cgroup_trees(&t);
	for (size_t i = 0; i < t.count; i++)
		has |= t.tree[i].cpuset && cgroup_has(&t.tree[i], "", "cpuset.cpus");
	return has;
}

/* The processors of the group so deep in the node's, as the kernel has them: "0-1\n". */
static void cores_of(const struct node_spec *n, const char *below, char room[64])
{
	struct cgroup_trees t;
	char path[CGROUP_PATH];

	room[0] = '\0';
	cgroup_trees(&t);
	for (size_t i = 0; i < t.count; i++) {
		struct buf b;

		buf_init(&b, 4096);
		snprintf(path, sizeof path, "%.100s/%s-n-%s%s/cpuset.cpus", t.tree[i].at, n->setup->prefix, n->id,
			below);
		if (t.tree[i].cpuset && buf_read_file(&b, path) == 0)
			snprintf(room, 64, "%s", buf_text(&b));
		buf_release(&b);
	}
}

/* Other nodes were sold processors, or no longer are, while it runs and has groups of its own. */
static void test_cores(struct node_spec *n)
{
	struct fail f = { 0 };
	char all[64], now[64];
	pid_t pid;

	n->cores = "";
	cgroup_make(n, 0, &f);
	cores_of(n, "", all);
	pid = sleeper(n);
	ok(put_deep(n, 5, pid), "(a process in a group of the node's own)");
	n->cores = "0";
	ok(cgroup_rebind(n, &f) == 0, "it is bound to one processor (%s)", f.text);
	cores_of(n, "", now);
	is_str(now, "0\n", "which is what it has");
	ok(limited(n, "cpu.cfs_quota_us", "none", 50000) || !limited(n, "cpu.cfs_quota_us", "none", -1),
		"its quota stays");
	n->cores = "";
	ok(cgroup_rebind(n, &f) == 0, "and to all again (%s)", f.text);
	cores_of(n, "", now);
	is_str(now, all, "which it had");
	n->cores = "0";
	ok(cgroup_make(n, 0, &f) == 0, "a start beside what its last one left binds it, too (%s)", f.text);
	cores_of(n, "/node", now);
	ok(*now == '0' || *now == '\n', "and all that is below");
	n->cores_own = true;
	ok(cgroup_make(n, 0, &f) == 0 && !limited(n, "cpu.cfs_quota_us", "none", 50000),
		"processors of its own need no quota");
	n->cores_own = false;
	n->cores = NULL;
	cgroup_kill(n, CGROUP_ALL, 60000, &f);
	waitpid(pid, NULL, 0);
	ok(cgroup_remove(n, &f) == 0, "(and the groups go)");
}

/* A program that enters as all others are ended, as a killed call may leave one. */
static void test_late(const struct node_spec *n)
{
	struct fail f = { 0 };
	pid_t pid;

	cgroup_make(n, 0, &f);
	cgroup_kill(n, CGROUP_ALL, 60000, &f);
	pid = sleeper(n);
	ok(cgroup_remove(n, &f) == 0 && ended(pid), "who comes in late does not hold a group (%s)", f.text);
	kill(pid, SIGKILL);
}

/* A pid that was read from the group and is another's process by now. */
static void test_reused(const struct node_spec *n)
{
	struct fail f = { 0 };
	char group[192];
	pid_t out = fork(), in;

	if (out == 0)
		for (;;)
			pause();
	cgroup_make(n, 0, &f);
	in = sleeper(n);
	snprintf(group, sizeof group, "%s-n-%s", n->setup->prefix, n->id);
	cgroup_path_kill_one(group, out);
	cgroup_path_kill_one(group, in);
	ok(waitpid(in, NULL, 0) == in, "one in the group is killed");
	ok(waitpid(out, NULL, WNOHANG) == 0, "one outside it is not, though its pid was read there");
	kill(out, SIGKILL);
	waitpid(out, NULL, 0);
	ok(cgroup_remove(n, &f) == 0, "(and the groups go)");
}

int main(void)
{
	char prefix[9];
	struct driver_setup s = { .prefix = prefix };
	struct node_spec n = { .setup = &s, .id = "inst_unit", .memory = 64 << 20, .cpu_milli = 500, .pids = 321 };
	unsigned holds = 0;

	snprintf(prefix, sizeof prefix, "u%05u", (unsigned)getpid() % 100000);
	test_trees();
	if (cgroup_probe(&holds, NULL) == 0) {
		test_life(&n, holds);
		test_weight(n);
		test_deep(&n);
		if (has_cpuset())
			test_cores(&n);
		test_late(&n);
		test_reused(&n);
	} else
		diag("no control groups can be made here: what they do was not tried");
	return done();
}
