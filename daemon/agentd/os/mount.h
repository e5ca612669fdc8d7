/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts of a node, made in a mount namespace that only the node's processes are in: they end with
 * the last of them, however it ends, and are never seen in this machine's own list.
 */
#ifndef AGENTD_OS_MOUNT_H
#define AGENTD_OS_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

enum { MOUNT_IDS = 65536 };

/* From here on the calling process' mounts are its own; what others unmount it loses too. */
int mount_alone(struct fail *f);

/* A descriptor of a user namespace in which owner 0 is `first` outside, MOUNT_IDS of them. The caller closes it. */
int mount_users(uid_t first, int *fd, struct fail *f);

/* The folder `from` appears at `at` with its owners shifted as users (mount_users) has them; only to be read. */
int mount_shifted(int users, const char *from, const char *at, struct fail *f);

/* Folders in lower, topmost first and separated by ':', with upper over them, at `at`. */
int mount_overlay(const char *lower, const char *upper, const char *work, const char *at, struct fail *f);

/* A file with an ext4 in it; the loop device goes with the mount. */
int mount_file(const char *file, const char *at, struct fail *f);

/* Can loop devices be had here? Is one still on the file, though its mount is gone? */
bool mount_file_works(void);
bool mount_file_busy(const char *file);

/*
 * /sys shows this process' network namespace, read-only, with the control groups where they were: what
 * systemd-nspawn needs to take interfaces from a namespace other than the machine's.
 */
int mount_sys(struct fail *f);

/* An empty folder in memory over a folder, which is made where it is not there. */
int mount_empty(const char *at, struct fail *f);

/* Tries a shifted folder and an overlay over it below `room`, an existing empty folder, in a child. 0, or -ENOTSUP and why. */
int mount_probe(const char *room, uid_t first, struct fail *f);

#endif
