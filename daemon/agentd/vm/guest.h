/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is put inside a guest: the first program of the initrd, and the services that give it the
 * identity which lies on its second disk, at each boot and when told over the second serial port.
 */
#ifndef AGENTD_VM_GUEST_H
#define AGENTD_VM_GUEST_H

#include "base/fail.h"

enum { VMGUEST_FORMAT = 5 };       /* grows with what is put inside: images and frozen guests are made anew */

/*
 * What the guest says on its second port. It is told "go N SECONDS" once after it was frozen, "apply N" later;
 * N is the identity's serial.
 */
#define VMGUEST_FROZEN "frozen"    /* ready to be frozen; said again and again */
#define VMGUEST_DONE "done"        /* "done N": identity N is in force */
#define VMGUEST_FREEZE_WORD "nanopod.freeze"
#define VMGUEST_PROBE_MARK "nanopod-guest-runs"

/* After the line '#!' and the modules: mounts the disk and goes on there; and what a probe does instead. */
extern const char vmguest_init_begin[], vmguest_init_disk[], vmguest_init_probe[];

/* Writes all files and links below a system's folder that is not in use. */
int vmguest_install(const char *root, struct fail *f);

#endif
