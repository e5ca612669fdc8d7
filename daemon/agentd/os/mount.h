/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts of a node, made in a mount namespace that only the node's processes share: they end with the last of these
 * processes, however it ends, and never appear in this machine's own list.
 */
#ifndef AGENTD_OS_MOUNT_H
#define AGENTD_OS_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

enum { MOUNT_IDS = 65536 };

/* Gives the calling process its own mount namespace; what the machine unmounts is unmounted there too. */
int mount_alone(struct fail *f);

/*
 * Opens a user namespace that maps owner 0 and the MOUNT_IDS - 1 after it to `first` and the following. The caller
 * closes the descriptor.
 */
int mount_users(uid_t first, int *fd, struct fail *f);

/* Mounts the folder `from` at `at`, read-only or not, with its owners shifted as users (of mount_users) maps them. */
int mount_shifted(int users, const char *from, const char *at, bool writable, struct fail *f);

/* Mounts at `at` an overlay of the folders in lower (topmost first, separated by ':') with upper over them. */
int mount_overlay(const char *lower, const char *upper, const char *work, const char *at, struct fail *f);

/*
 * Mounts a file that holds an ext4; the loop device goes away with the mount. What the node frees is freed on this
 * machine too, unless the file was made with all of its space: that stays its own.
 */
int mount_file(const char *file, const char *at, struct fail *f);

/*
 * The same for a file that several nodes have mounted: all through one loop device, so that it is one file system. The
 * caller keeps others from the same call on this file meanwhile. Where the file was made longer, the file system grows,
 * unless this machine keeps even root from that (CAP_SYS_RESOURCE).
 */
int mount_file_shared(const char *file, const char *at, struct fail *f);

/* Does this machine have a free loop device? -ENOTSUP: no. Does a loop device still hold the file after its unmount? */
int mount_file_works(struct fail *f);
bool mount_file_busy(const char *file);

/*
 * Ends the file system in the file wherever it is mounted: what uses it there has errors from now on, and nothing more
 * is written. at: a folder to see it at. 0 or -EBUSY.
 */
int mount_file_cut(const char *file, const char *at);

/* Enters the mount namespace of a process. */
int mount_enter(pid_t pid, struct fail *f);

/*
 * Mounts a read-only /sys that shows this process' network namespace, with the control groups where they were:
 * systemd-nspawn needs it to take interfaces from a namespace other than the machine's.
 */
int mount_sys(struct fail *f);

/* Mounts an empty folder in memory over a folder, which is made if missing, as are those above it. */
int mount_empty(const char *at, struct fail *f);
/* The same; what is mounted in it later is mounted also in mount namespaces made from this one. */
int mount_empty_shared(const char *at, struct fail *f);
/* The same, for device nodes. */
int mount_devices(const char *at, struct fail *f);

/*
 * Tries a shifted folder and an overlay over it below `room`, an existing empty folder, in a child. 0, or -ENOTSUP
 * and why.
 */
int mount_probe(const char *room, uid_t first, struct fail *f);

#endif
