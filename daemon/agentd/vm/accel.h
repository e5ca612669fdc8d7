/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which accelerator runs a guest here. Only a guest that was seen to run says so: KVM can be open and yet never
 * get a kernel through its first second. Asked once a boot of this machine, the answer is kept in data/vm/accel.
 */
#ifndef AGENTD_VM_ACCEL_H
#define AGENTD_VM_ACCEL_H

#include <stdbool.h>

#include "agentd/driver.h"

struct vmaccel {
	bool kvm;                  /* else emulation (TCG) */
	char qemu[64];             /* tells one installed QEMU from another */
	char boot[40];             /* of this machine */
};

/* 0, or -ENOTSUP with what is missing. */
int vmaccel_probe(const struct driver_setup *s, struct vmaccel *out, struct fail *f);

/* Words of QEMU's command line: "tcg,…" */
const char *vmaccel_word(bool kvm);

#endif
