/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we put inside a guest: the first program of the initrd, and the services that apply the identity from its second
 * disk, at each boot and when told over the second serial port.
 */
#ifndef AGENTD_VM_GUEST_H
#define AGENTD_VM_GUEST_H

#include "base/fail.h"

/* The format grows with every change of what we put inside, so that images and frozen guests are rebuilt. */
enum { VMGUEST_FORMAT = 6 };

/*
 * What the guest says on its second port. We tell it "go N SECONDS" once after it was frozen, "apply N" later; N is the
 * identity's serial.
 */
#define VMGUEST_FROZEN "frozen"    /* ready to be frozen; repeated until answered */
#define VMGUEST_DONE "done"        /* "done N": identity N is in force */
#define VMGUEST_FREEZE_WORD "nanopod.freeze"
#define VMGUEST_PROBE_MARK "nanopod-guest-runs"

/* Follows the line '#!' and the modules: mounts the disk and starts its init; and what a probe does instead. */
extern const char vmguest_init_begin[], vmguest_init_disk[], vmguest_init_probe[];

/* Writes all files and links below the root folder of a system that is not in use. */
int vmguest_install(const char *root, struct fail *f);

#endif
