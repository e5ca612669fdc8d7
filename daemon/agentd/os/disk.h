/* SPDX-License-Identifier: Apache-2.0 */
/* Disk space of this machine: how much nodes may have, and files that keep theirs. */
#ifndef AGENTD_OS_DISK_H
#define AGENTD_OS_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* What stays free for the machine itself, of a file system of this size: 5 GiB, or 5 % if that is more. */
int64_t disk_reserve(int64_t size);

/*
 * Bytes that nodes may still take in the file system of this folder (or of the one that it will be in): what is free,
 * less the reserve. 0 or -errno.
 */
int disk_room(const char *folder, int64_t *bytes);

/*
 * The size of a file with a file system that holds so many bytes and files (0: as many as is usual) beside its own
 * tables and its journal; this is what a node's disk takes of the machine's.
 */
int64_t disk_file_size(int64_t bytes, int64_t inodes);
int64_t disk_inodes(int64_t bytes, int64_t inodes);

/*
 * Makes the file so long. take: its space is taken now, as far as this file system can, and the reserve stays free.
 * -ENOSPC: there is not enough.
 */
int disk_make(const char *path, int64_t bytes, bool take, struct fail *f);

/*
 * Makes a file with an ext4 for so many bytes and files (0: as many as is usual) in one step: it is there with all that
 * it needs, or it is not there. take: as above.
 */
struct disk_ext4 {
	int64_t bytes, inodes;
	unsigned owner; /* user and group of its root folder */
	bool take;
	bool grows; /* a thousandfold, while it is mounted; else it keeps its size */
};
int disk_ext4(const char *path, const struct disk_ext4 *how, struct fail *f);

/*
 * Takes space now for a file that exists and will grow to so many bytes, as far as this file system can; the reserve
 * stays free. -ENOSPC: there is not enough.
 */
int disk_hold(const char *path, int64_t bytes, struct fail *f);

/* Bytes of the file system that the file holds now; 0: no such file. */
int64_t disk_held(const char *path);

#endif
