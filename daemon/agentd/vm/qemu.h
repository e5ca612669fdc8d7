/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMUs as processes: found by the name that stands in their command line, whoever has forgotten them,
 * and ended. A process of another user that calls itself so is not taken for one.
 */
#ifndef AGENTD_VM_QEMU_H
#define AGENTD_VM_QEMU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

#define VMPROC_QEMU "qemu-system-x86_64"

/* Nodes' QEMUs run as these users where the agent is root: one for each slot and one to freeze, in no one else's range. */
enum { VMPROC_UID_FIRST = 0x70000000, VMPROC_SLOTS = 4096, VMPROC_UID_FREEZE = VMPROC_UID_FIRST + VMPROC_SLOTS };

/* The process named exactly so ("PREFIX.ID"), or 0. */
pid_t vmproc_find(const char *name);

/* Each process whose name begins with `begin`; found gets the rest of the name. */
int vmproc_each(const char *begin, void (*found)(void *arg, const char *rest), void *arg);

/* Ends the process of that name: gone after grace_ms by itself, else killed. None: 0. */
int vmproc_end(const char *name, int64_t grace_ms, struct fail *f);

#endif
