/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device guard: what its program answers, run here step by step; and, as root, by the kernel, in a group of
 * version 1 and in one of version 2, wherever this machine has them.
 */
#include "agentd/os/device_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "agentd/os/cgroup_part.h"

/* Devices that may be opened without harm, and that no program needs: btrfs-control, autofs. */
enum { OURS_MAJOR = 10, OURS_MINOR = 234, OTHER_MINOR = 235 };

static struct bpf_insn code[GUARD_CODE];
static size_t code_len;

/* Runs the few instructions that the program is made of. -1: it does what the kernel would not take. */
static int64_t guard_run(uint32_t access_type, uint32_t major, uint32_t minor)
{
	const uint32_t context[3] = { access_type, major, minor };
	uint64_t reg[11] = { 0 };

	for (size_t i = 0; i < code_len; i++) {
		const struct bpf_insn *c = &code[i];
		uint64_t value = c->src_reg ? reg[c->src_reg] : (uint64_t)(int64_t)c->imm;

		switch (c->code) {
		case BPF_LDX | BPF_MEM | BPF_W:
			reg[c->dst_reg] = context[c->off / 4];
			break;
		case BPF_ALU64 | BPF_MOV | BPF_X:
		case BPF_ALU64 | BPF_MOV | BPF_K:
			reg[c->dst_reg] = value;
			break;
		case BPF_ALU64 | BPF_AND | BPF_K:
			reg[c->dst_reg] &= value;
			break;
		case BPF_ALU64 | BPF_RSH | BPF_K:
			reg[c->dst_reg] >>= value;
			break;
		case BPF_JMP | BPF_JNE | BPF_K:
			i += reg[c->dst_reg] != value ? (size_t)c->off : 0;
			break;
		case BPF_JMP | BPF_EXIT:
			return (int64_t)reg[0];
		default:
			return -1;
		}
	}
	return -1;
}

static int64_t guard_asks(char type, unsigned major, unsigned minor, unsigned access)
{
	return guard_run(access << 16 | (type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR), major, minor);
}

static void guard_make(const struct node_devices *d)
{
	struct guard_rule rules[GUARD_RULES];

	code_len = guard_program(rules, guard_rules(d, rules), code);
}

static void test_program(void)
{
	struct node_devices d = { 0 };
	struct device_node n = { .inside = "/dev/a",
		.type = 'c',
		.numbered = true,
		.major = 195,
		.minor = 3,
		.access = DEVICE_READ | DEVICE_WRITE };

	guard_make(NULL);
	is_int(guard_asks('c', 1, 3, DEVICE_READ | DEVICE_WRITE), 1, "null is open to all");
	is_int(guard_asks('c', 136, 77, DEVICE_READ), 1, "and so is each terminal");
	is_int(guard_asks('c', 195, 3, DEVICE_READ), 0, "a GPU is not");
	is_int(guard_asks('b', 1, 3, DEVICE_READ), 0, "nor a disk of the number of null");
	is_int(guard_asks('b', 8, 0, DEVICE_READ), 0, "nor the machine's disk");
	is_int(guard_asks('c', 1, 1, DEVICE_READ), 0, "nor its memory");
	devices_add_node(&d, &n);
	n.minor = 255;
	n.access = DEVICE_ALL;
	snprintf(n.inside, sizeof n.inside, "/dev/b");
	devices_add_node(&d, &n);
	guard_make(&d);
	is_int(guard_asks('c', 195, 3, DEVICE_READ | DEVICE_WRITE), 1, "its own GPU is");
	is_int(guard_asks('c', 195, 3, DEVICE_MKNOD), 0, "but not more than was given of it");
	is_int(guard_asks('c', 195, 3, DEVICE_MKNOD | DEVICE_READ), 0, "nor a part with something more");
	is_int(guard_asks('c', 195, 4, DEVICE_READ), 0, "and its neighbour is not");
	is_int(guard_asks('c', 195, 255, DEVICE_ALL), 1, "the rule after it counts, too");
	devices_release(&d);
	for (unsigned i = 0; i < DEVICES_MAX; i++) {
		snprintf(n.inside, sizeof n.inside, "/dev/%u", i);
		n.minor = i;
		devices_add_node(&d, &n);
	}
	guard_make(&d);
	ok(code_len < GUARD_CODE, "the longest program fits (%zu)", code_len);
	is_int(guard_asks('c', 195, DEVICES_MAX - 1, DEVICE_ALL), 1, "and its last rule counts");
	devices_release(&d);
}

/* ---- By the kernel -------------------------------------------------------------------------- */

/* What a process in the group gets: 0, or an errno, for reading this device. */
static int guard_opens(const struct cgroup_tree *t, const char *group, const char *device)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int fd;

		if (cgroup_write(t, group, "cgroup.procs", "0") != 0)
			_exit(254);
		fd = open(device, O_RDONLY | O_CLOEXEC);
		_exit(fd < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int guard_makes(const struct cgroup_tree *t, const char *group, const char *path, unsigned minor)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (cgroup_write(t, group, "cgroup.procs", "0") != 0)
			_exit(254);
		_exit(mknod(path, S_IFCHR | 0600, makedev(OURS_MAJOR, minor)) ? errno : 0);
	}
	waitpid(pid, &status, 0);
	unlink(path);
	return WEXITSTATUS(status);
}

static void test_kernel(const struct cgroup_tree *t, const char *folder)
{
	const char *version = t->v2 ? "v2" : "v1";
	struct cgroup_trees one = { .tree = { *t }, .count = 1 };
	struct guard_rule rules[GUARD_RULES];
	struct node_devices d = { 0 };
	struct device_node n = { .inside = "/dev/a",
		.type = 'c',
		.numbered = true,
		.major = OURS_MAJOR,
		.minor = OURS_MINOR,
		.access = DEVICE_READ | DEVICE_WRITE };
	char group[64], path[CGROUP_PATH], ours[600], other[600], fresh[600];
	struct fail f = { 0 };
	int rc;

	snprintf(group, sizeof group, "npguard-%d", (int)getpid());
	snprintf(path, sizeof path, "%s/%s", t->at, group);
	snprintf(ours, sizeof ours, "%s/ours", folder);
	snprintf(other, sizeof other, "%s/other", folder);
	snprintf(fresh, sizeof fresh, "%s/fresh", folder);
	devices_add_node(&d, &n);
	rc = cgroup_path_make(&one, group, &f);
	is_int(guard_opens(t, group, other), guard_opens(t, group, ours), "%s: before, both open alike", version);
	if (!rc)
		rc = t->v2 ? guard_v2(path, rules, guard_rules(&d, rules), &f)
			   : guard_v1(path, rules, guard_rules(&d, rules), &f);
	is_int(rc, 0, "%s: a group is guarded", version);
	diag("%s", f.text);
	ok(guard_opens(t, group, ours) != EPERM, "%s: its device opens", version);
	is_int(guard_opens(t, group, other), EPERM, "%s: another does not", version);
	is_int(guard_opens(t, group, "/dev/null"), 0, "%s: null does", version);
	is_int(guard_makes(t, group, fresh, OTHER_MINOR), EPERM, "%s: nobody makes a node of another", version);
	is_int(guard_makes(t, group, fresh, OURS_MINOR), EPERM, "%s: nor of its own, where that was not given",
		version);
	cgroup_path_remove(group, NULL);
	devices_release(&d);
}

int main(void)
{
	struct cgroup_trees trees;
	char folder[512], path[600];
	bool any[2] = { false, false };

	plan_none;
	test_program();
	snprintf(folder, sizeof folder, "%s/nanopod-guard.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(folder))
		return 99;
	snprintf(path, sizeof path, "%s/ours", folder);
	if (geteuid() != 0 || mknod(path, S_IFCHR | 0600, makedev(OURS_MAJOR, OURS_MINOR)) != 0) {
		skip("by the kernel: only root can make device nodes");
		rmdir(folder);
		return done();
	}
	snprintf(path, sizeof path, "%s/other", folder);
	ok(mknod(path, S_IFCHR | 0600, makedev(OURS_MAJOR, OTHER_MINOR)) == 0, "(two devices)");
	cgroup_trees(&trees);
	for (size_t i = 0; i < trees.count; i++)
		if ((trees.tree[i].v2 || trees.tree[i].devices) && !any[trees.tree[i].v2]) {
			any[trees.tree[i].v2] = true;
			test_kernel(&trees.tree[i], folder);
		}
	if (!any[0])
		skip("v1: this machine has no such hierarchy of devices");
	if (!any[1])
		skip("v2: this machine has no such hierarchy");
	unlink(path);
	snprintf(path, sizeof path, "%s/ours", folder);
	unlink(path);
	rmdir(folder);
	return done();
}
