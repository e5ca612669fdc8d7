/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the accelerator for guests. Only a guest that was seen to run proves it: KVM can be open and yet never get a
 * kernel through its first second. Tried once per boot of this machine; data/vm/accel keeps the answer.
 */
#ifndef AGENTD_VM_ACCEL_H
#define AGENTD_VM_ACCEL_H

#include <stdbool.h>
#include <sys/types.h>

#include "agentd/driver.h"

struct vmaccel {
	bool kvm;                  /* else emulation (TCG) */
	char qemu[64];             /* identifies the installed QEMU */
	char boot[40];             /* id of this machine's boot */
};

/* 0, or -ENOTSUP with what is missing. */
int vmaccel_probe(const struct driver_setup *s, struct vmaccel *out, struct fail *f);

/* Takes on the rights of a node's QEMU: those of this user, with the group of /dev/kvm. 0 or -errno. */
int vmaccel_drop(bool kvm, uid_t uid);

/* The accelerator's argument on QEMU's command line: "tcg,…" */
const char *vmaccel_word(bool kvm);

#endif
