/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by making and starting a virtual machine: its files, its end, and a line into its console. */
#ifndef AGENTD_VM_LIFE_H
#define AGENTD_VM_LIFE_H

#include "agentd/vm/vm_node.h"

/* The files that a node shares with others: those of its image, or of a frozen guest. */
extern const char *const vmlife_cold[], *const vmlife_clone[];

int vmlife_of(const struct node_spec *n, struct vmnode *out, struct vmaccel *accel, struct fail *f);

/* Adds a line of ours to the console. */
void vmlife_note(const struct node_spec *n, const char *text);

/* Ends all that runs of it: process, tap, door, groups. */
int vmlife_halt(const struct vmnode *v, int64_t grace_ms, struct fail *f);

#endif
