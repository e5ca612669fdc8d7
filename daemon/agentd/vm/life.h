/* SPDX-License-Identifier: Apache-2.0 */
/* What both making and starting a virtual machine need: what it is of, its end, and a word into its console. */
#ifndef AGENTD_VM_LIFE_H
#define AGENTD_VM_LIFE_H

#include "agentd/vm/vm_node.h"

/* The files of a node that are not its own alone: those of its image, and of a frozen guest. */
extern const char *const vmlife_cold[], *const vmlife_clone[];

int vmlife_of(const struct node_spec *n, struct vmnode *out, struct vmaccel *accel, struct fail *f);

/* A line of ours among those of the console. */
void vmlife_note(const struct node_spec *n, const char *text);

/* Nothing of it runs: process, tap, door, groups. */
int vmlife_halt(const struct vmnode *v, int64_t grace_ms, struct fail *f);

#endif
