/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts one QEMU and leaves it behind with its guest: unprivileged, in its folder and its network namespace, with its
 * monitor at run/qmp and the guest's second serial port at run/ctl.
 */
#ifndef AGENTD_VM_LAUNCH_H
#define AGENTD_VM_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentd/driver.h"

/* Derived from the type of machine; a frozen guest fits only machines of the same shape. */
struct vmshape {
	unsigned mib, cpus;
	bool kvm;
};

enum { VMLAUNCH_TAP_FD = 4 };

struct vmlaunch {
	const char *name;          /* in its command line, for vmproc_find */
	const char *dir;           /* its folder: kernel, disks and sockets have their fixed names there */
	const char *console;       /* path of the file that the guest's console is appended to */
	const char *net;           /* a -netdev with id=e0 */
	const char *tap;           /* interface of ns that QEMU finds open as VMLAUNCH_TAP_FD; NULL: none */
	const char *mac;
	const char *words;         /* added to the kernel's command line */
	struct vmshape shape;
	bool keeps_disk;           /* its disk's space stays taken, whatever the guest discards */
	int state;                 /* the frozen guest's file to continue from; -1: boot */
	uid_t uid;                 /* the user to run as, where the agent is root */
	int ns;                    /* network namespace to run in; -1: ours */
	const struct node_devices *devices; /* whose functions the guest gets; NULL: none */
	const struct node_spec *group; /* runs in the groups of this node; NULL: none */
};

int vmlaunch(const struct vmlaunch *v, pid_t *pid, struct fail *f);

enum { VMLAUNCH_IDENTITY = 1 << 20 };  /* size of the second disk: never changes, because frozen guests know it */

#endif
