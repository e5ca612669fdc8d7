/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen guests: booted once for each image and shape, stopped where only their identity was missing, and written to
 * data/vm/frozen/SHAPE. A clone continues from there, with its own name, keys and random seed.
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
 * Finds one, or makes it now (about as long as a boot); a second caller waits for the first. On any failure boot cold;
 * the next try waits an hour.
 */
int vmfreeze_make(const struct driver_setup *s, const struct vmimage *i, const struct vmaccel *a,
	const struct vmshape *shape, struct vmfrozen *out, struct fail *f);

/* Ends guests whose maker was killed while freezing them. */
int vmfreeze_tidy(const struct driver_setup *s, struct fail *f);

#endif
