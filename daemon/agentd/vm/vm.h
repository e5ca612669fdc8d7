/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a virtual machine, and sends commands to its guest. */
#ifndef AGENTD_VM_VM_H
#define AGENTD_VM_VM_H

#include "agentd/vm/vm_node.h"

int driver_vm_start(const struct node_spec *n, struct fail *f);

/* Sends "WORD SERIAL REST" to the guest of process pid until it confirms. */
int driver_vm_tell(const struct vmnode *v, pid_t pid, const char *word, int64_t serial, bool clock, int64_t deadline_ms,
	struct fail *f);

#endif
