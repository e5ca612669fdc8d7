/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a virtual machine boots from: of a root image, the folder driver-vm in it with base.ext4, vmlinuz, initrd
 * and about, complete or not there. The kernel is Debian's own, the image's or else this machine's.
 */
#ifndef AGENTD_VM_BOOTIMAGE_H
#define AGENTD_VM_BOOTIMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

enum { VMIMAGE_PATH = 600, VMIMAGE_ROOM = 1024 };

struct vmimage {
	char name[72];
	char path[VMIMAGE_PATH];   /* images/NAME/driver-vm */
	char about[256];           /* one line that no other build says */
};

struct vmkernel {
	char release[128];
	char vmlinuz[VMIMAGE_PATH], modules[VMIMAGE_PATH];
};

/* Built where it is not there or of another image, kernel or version of nanopod. Whoever comes second waits. */
int vmimage_make(const char *images, const char *name, struct vmimage *out, struct fail *f);

/*
 * The kernel for guests: below root (NULL: not looked for there), else below images/kernel, where a
 * package of one may have been unpacked, else this machine's. -ENOTSUP: none, and how to get one.
 */
int vmimage_kernel(const char *root, const char *images, struct vmkernel *out, struct fail *f);

/* An initrd with static busybox: the modules named (NULL-ended) with all they need, in order, and then the given script. */
int vmimage_initrd(const struct vmkernel *k, const char *const *modules, const char *script, struct buf *out,
	struct fail *f);

/* "folder/file"; "" where that is longer than any path here. */
const char *vmimage_at(char room[VMIMAGE_ROOM], const char *folder, const char *file);

/* path as another name of from, or a copy where it is on another disk. There already: 0. */
int vmimage_share(const char *from, const char *path, struct fail *f);

/* Takes path and all below away. Not there: 0. */
int vmimage_remove(const char *path, struct fail *f);

#endif
