/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices a control group may open: those that every Linux program expects, those of a list, and no others.
 * Version 1 has files for it (devices.allow), version 2 runs a program in the kernel (BPF).
 */
#ifndef AGENTD_OS_DEVICE_GUARD_H
#define AGENTD_OS_DEVICE_GUARD_H

#include <stdint.h>
#include <linux/bpf.h>

#include "agentd/os/devices.h"
#include "base/fail.h"

enum { GUARD_ANY = -1, GUARD_RULES = DEVICES_MAX + 16, GUARD_CODE = GUARD_RULES * 10 + 16 };

struct guard_rule {
	char type;
	int64_t major, minor; /* GUARD_ANY */
	unsigned access;      /* enum device_access */
};

/* The rules for these devices (NULL: none besides the standard ones); returns how many. */
size_t guard_rules(const struct node_devices *d, struct guard_rule rules[static GUARD_RULES]);

/* The same rules as a program of BPF_PROG_TYPE_CGROUP_DEVICE; returns its length. */
size_t guard_program(const struct guard_rule *rules, size_t count, struct bpf_insn code[static GUARD_CODE]);

/* For a new group at this path without groups below it. 0 or -errno with a sentence. */
int guard_v1(const char *path, const struct guard_rule *rules, size_t count, struct fail *f);
int guard_v2(const char *path, const struct guard_rule *rules, size_t count, struct fail *f);

#endif
