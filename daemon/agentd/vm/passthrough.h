/* SPDX-License-Identifier: Apache-2.0 */
/* What QEMU needs for the GPUs of its guest: words on its command line, and rights. */
#ifndef AGENTD_VM_PASSTHROUGH_H
#define AGENTD_VM_PASSTHROUGH_H

#include <stddef.h>
#include <stdint.h>

#include "agentd/vm/vm_node.h"

/* Most slots with GPUs, words for them, and their length. */
enum { PASSTHROUGH_SLOTS = 16, PASSTHROUGH_WORDS = 160, PASSTHROUGH_TEXT = 120 };

#define PASSTHROUGH_NO_CLONE "a frozen guest has no GPUs"

struct passthrough {
	char text[PASSTHROUGH_WORDS][PASSTHROUGH_TEXT];
	size_t count; /* 0: the guest has no GPU */
};

/* The guest's words. -E2BIG: more GPUs than a guest can have. */
int passthrough_words(const struct node_devices *d, struct passthrough *out, struct fail *f);

/* Does the node get GPUs as functions of the PCI bus? */
bool passthrough_any(const struct vmnode *v);

/*
 * Before the start: QEMU's user may open the IOMMU groups of these functions and no others, also by the node's control
 * group where this machine has such groups, and may lock its memory, which the GPU reaches where it lies. The limit is
 * this process's, too. Writes what the words name into the node's folder.
 */
int passthrough_open(const struct vmnode *v, struct fail *f);

/* How much longer its start takes than without: all memory is filled before its monitor answers. */
int64_t passthrough_ms(const struct vmnode *v);

#endif
