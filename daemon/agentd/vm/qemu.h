/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMUs as processes: finds them by the name in their command line, when all other records are lost, and ends them. A
 * process of another user that imitates the name does not count.
 */
#ifndef AGENTD_VM_QEMU_H
#define AGENTD_VM_QEMU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

#define VMPROC_QEMU "qemu-system-x86_64"

/* Where the agent is root, nodes' QEMUs run as these users: one per slot and one to freeze, outside any other range. */
enum { VMPROC_UID_FIRST = 0x70000000, VMPROC_SLOTS = 4096, VMPROC_UID_FREEZE = VMPROC_UID_FIRST + VMPROC_SLOTS };

/* The process with exactly this name ("PREFIX.ID"), or 0. */
pid_t vmproc_find(const char *name);

/* Calls found for each process whose name starts with `begin`, with the rest of the name. */
int vmproc_each(const char *begin, void (*found)(void *arg, const char *rest), void *arg);

/* Asks the process of that name to end, kills it after grace_ms, and waits for its end. None: 0. */
int vmproc_end(const char *name, int64_t grace_ms, struct fail *f);

#endif
