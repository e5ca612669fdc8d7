/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen guests: booted once for each image and shape, stopped where only their identity was missing,
 * and written to data/vm/frozen/SHAPE. A clone goes on from there, with a name, keys and chance of its own.
 */
#ifndef AGENTD_VM_FREEZE_H
#define AGENTD_VM_FREEZE_H

#include "agentd/driver.h"
#include "agentd/vm/accel.h"
#include "agentd/vm/bootimage.h"
#include "agentd/vm/launch.h"

struct vmfrozen {
	char path[VMIMAGE_PATH];   /* state, gold.qcow2, base.ext4, vmlinuz, initrd, about */
};

/*
 * There, or made now (about as long as a boot); whoever comes second waits. Any failure: boot cold, and for the next
 * hour it is not tried again.
 */
int vmfreeze_make(const struct driver_setup *s, const struct vmimage *i, const struct vmaccel *a,
	const struct vmshape *shape, struct vmfrozen *out, struct fail *f);

/* A guest that was being frozen when its maker was killed is ended. */
int vmfreeze_tidy(const struct driver_setup *s, struct fail *f);

#endif
