/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two archives that a guest reads: cpio (newc), which the kernel unpacks as its first root, and tar, which carries a
 * node's identity. No content of a file can be mistaken for anything but that file.
 */
#ifndef AGENTD_VM_ARCHIVE_H
#define AGENTD_VM_ARCHIVE_H

#include <stddef.h>

#include "base/buf.h"

/* mode includes the file type (S_IFREG, S_IFDIR); name has no '/' first. 0, buf_add's error, or -ENAMETOOLONG. */
int vmarchive_cpio(struct buf *b, const char *name, unsigned mode, const void *data, size_t len);
int vmarchive_cpio_end(struct buf *b);

/* A regular file owned by root: name below 100 characters. */
int vmarchive_tar(struct buf *b, const char *name, unsigned mode, const void *data, size_t len);
int vmarchive_tar_end(struct buf *b);

#endif
