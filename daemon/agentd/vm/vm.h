/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a virtual machine, and telling its guest things. */
#ifndef AGENTD_VM_VM_H
#define AGENTD_VM_VM_H

#include "agentd/vm/vm_node.h"

int driver_vm_start(const struct node_spec *n, struct fail *f);

/* "WORD SERIAL REST" to the guest of process pid until it says that it is done. */
int driver_vm_tell(const struct vmnode *v, pid_t pid, const char *word, int64_t serial, bool clock, int64_t deadline_ms,
	struct fail *f);

#endif
