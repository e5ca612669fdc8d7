/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a virtual machine boots from: a root image's folder driver-vm with base.ext4, vmlinuz, initrd and about. It
 * appears only when complete. The kernel is Debian's: the image's own or else this machine's.
 */
#ifndef AGENTD_VM_BOOTIMAGE_H
#define AGENTD_VM_BOOTIMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

enum {
	VMIMAGE_PATH = 600,
	VMIMAGE_ROOM = 1024,
	VMIMAGE_PER_INODE = 16384, /* a disk holds one file for so many bytes, however large it grows */
};

struct vmimage {
	char name[72];
	char path[VMIMAGE_PATH];   /* images/NAME/driver-vm */
	char about[256];           /* one line that no other build has */
};

struct vmkernel {
	char release[128];
	char vmlinuz[VMIMAGE_PATH], modules[VMIMAGE_PATH];
};

/* Builds it if it is missing or of another image, kernel or version of nanopod. A second caller waits for the first. */
int vmimage_make(const char *images, const char *name, struct vmimage *out, struct fail *f);

/*
 * Finds the kernel for guests: below root (NULL: skip), else below images/kernel, where somebody may have unpacked a
 * kernel package, else this machine's. -ENOTSUP: none, and how to get one.
 */
int vmimage_kernel(const char *root, const char *images, struct vmkernel *out, struct fail *f);

/* An initrd with static busybox, the named modules (NULL-ended) with their dependencies in order, and the script. */
int vmimage_initrd(const struct vmkernel *k, const char *const *modules, const char *script, struct buf *out,
	struct fail *f);

/* "folder/file"; "" where that is longer than VMIMAGE_PATH. */
const char *vmimage_at(char room[VMIMAGE_ROOM], const char *folder, const char *file);

/* Makes path a hard link to from, or a copy where it is on another disk. 0 also if it exists. */
int vmimage_share(const char *from, const char *path, struct fail *f);

/* Removes path and all below. No such path: 0. */
int vmimage_remove(const char *path, struct fail *f);

#endif
