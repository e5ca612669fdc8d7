/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/device_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GUARD_PATH = 512 };

/* null, zero, full, random, urandom; tty, console, ptmx; terminals; net/tun, fuse. */
static const struct guard_rule standard[] = {
	{ 'c', 1, 3, DEVICE_ALL },
	{ 'c', 1, 5, DEVICE_ALL },
	{ 'c', 1, 7, DEVICE_ALL },
	{ 'c', 1, 8, DEVICE_ALL },
	{ 'c', 1, 9, DEVICE_ALL },
	{ 'c', 5, 0, DEVICE_ALL },
	{ 'c', 5, 1, DEVICE_ALL },
	{ 'c', 5, 2, DEVICE_ALL },
	{ 'c', 136, GUARD_ANY, DEVICE_ALL },
	{ 'c', 10, 200, DEVICE_ALL },
	{ 'c', 10, 229, DEVICE_ALL },
};

size_t guard_rules(const struct node_devices *d, struct guard_rule rules[static GUARD_RULES])
{
	size_t count = sizeof standard / sizeof *standard;

	memcpy(rules, standard, sizeof standard);
	for (size_t i = 0; d && i < d->node_count && count < GUARD_RULES; i++)
		rules[count++] = (struct guard_rule){ d->nodes[i].type, d->nodes[i].major, d->nodes[i].minor,
			d->nodes[i].access };
	return count;
}

/* ---- Version 1 ------------------------------------------------------------------------------ */

static int guard_write(const char *folder, const char *file, const char *text, struct fail *f)
{
	char path[GUARD_PATH + 16];
	int fd, error = 0;

	snprintf(path, sizeof path, "%.500s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error ? fail_errno(f, -error, error, "cannot write '%s' to '%s'", text, path) : 0;
}

int guard_v1(const char *path, const struct guard_rule *rules, size_t count, struct fail *f)
{
	int rc = guard_write(path, "devices.deny", "a", f);

	for (size_t i = 0; !rc && i < count; i++) {
		const struct guard_rule *r = &rules[i];
		char text[64], minor[16] = "*";

		if (r->minor != GUARD_ANY)
			snprintf(minor, sizeof minor, "%u", (unsigned)r->minor);
		snprintf(text, sizeof text, "%c %u:%s %s%s%s", r->type, (unsigned)r->major, minor,
			r->access & DEVICE_READ ? "r" : "", r->access & DEVICE_WRITE ? "w" : "",
			r->access & DEVICE_MKNOD ? "m" : "");
		rc = guard_write(path, "devices.allow", text, f);
	}
	return rc;
}

/* ---- Version 2 ------------------------------------------------------------------------------ */

struct assembler {
	struct bpf_insn *code;
	size_t count;
};

static void guard_put(struct assembler *a, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	a->code[a->count++] =
		(struct bpf_insn){ .code = code, .dst_reg = dst & 15, .src_reg = src & 15, .off = off, .imm = imm };
}

/* Jumps over what is left of a rule unless the register holds the value; guard_land() says how far. */
static void guard_unless(struct assembler *a, uint8_t reg, int32_t value)
{
	guard_put(a, BPF_JMP | BPF_JNE | BPF_K, reg, 0, 0, value);
}

static void guard_land(struct assembler *a, size_t from)
{
	for (size_t i = from; i < a->count; i++)
		if (a->code[i].code == (BPF_JMP | BPF_JNE | BPF_K))
			a->code[i].off = (int16_t)(a->count - i - 1);
}

/* Registers: 2 type, 3 access, 4 major, 5 minor, 6 the part of access that a rule does not give. */
size_t guard_program(const struct guard_rule *rules, size_t count, struct bpf_insn code[static GUARD_CODE])
{
	struct assembler a = { .code = code };

	guard_put(&a, BPF_LDX | BPF_MEM | BPF_W, 2, 1, 0, 0);
	guard_put(&a, BPF_ALU64 | BPF_MOV | BPF_X, 3, 2, 0, 0);
	guard_put(&a, BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 0xffff);
	guard_put(&a, BPF_ALU64 | BPF_RSH | BPF_K, 3, 0, 0, 16);
	guard_put(&a, BPF_LDX | BPF_MEM | BPF_W, 4, 1, 4, 0);
	guard_put(&a, BPF_LDX | BPF_MEM | BPF_W, 5, 1, 8, 0);
	for (size_t i = 0; i < count; i++) {
		const struct guard_rule *r = &rules[i];
		size_t from = a.count;

		guard_unless(&a, 2, r->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
		guard_unless(&a, 4, (int32_t)r->major);
		if (r->minor != GUARD_ANY)
			guard_unless(&a, 5, (int32_t)r->minor);
		if ((r->access & DEVICE_ALL) != DEVICE_ALL) {
			guard_put(&a, BPF_ALU64 | BPF_MOV | BPF_X, 6, 3, 0, 0);
			guard_put(&a, BPF_ALU64 | BPF_AND | BPF_K, 6, 0, 0, (int32_t)(~r->access & DEVICE_ALL));
			guard_unless(&a, 6, 0);
		}
		guard_put(&a, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1);
		guard_put(&a, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		guard_land(&a, from);
	}
	guard_put(&a, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	guard_put(&a, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return a.count;
}

static int guard_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int guard_load(const struct guard_rule *rules, size_t count, struct fail *f)
{
	struct bpf_insn *code = calloc(GUARD_CODE, sizeof *code);
	union bpf_attr attr;
	int fd;

	if (!code)
		return fail_set(f, -ENOMEM, "out of memory");
	memset(&attr, 0, sizeof attr);
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = (uint32_t)guard_program(rules, count, code);
	attr.license = (uint64_t)(uintptr_t) "Apache-2.0";
	fd = guard_bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		fd = fail_errno(f, -errno, errno, "the kernel does not take the program that guards devices");
	free(code);
	return fd;
}

int guard_v2(const char *path, const struct guard_rule *rules, size_t count, struct fail *f)
{
	int group = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), program, rc = 0;
	union bpf_attr attr;

	if (group < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	program = guard_load(rules, count, f);
	if (program >= 0) {
		memset(&attr, 0, sizeof attr);
		attr.target_fd = (uint32_t)group;
		attr.attach_bpf_fd = (uint32_t)program;
		attr.attach_type = BPF_CGROUP_DEVICE;
		attr.attach_flags = BPF_F_ALLOW_MULTI; /* the group's parents have theirs, too */
		if (guard_bpf(BPF_PROG_ATTACH, &attr) != 0)
			rc = fail_errno(f, -errno, errno, "cannot guard the devices of '%s'", path);
		close(program);
	}
	close(group);
	return program < 0 ? program : rc;
}
