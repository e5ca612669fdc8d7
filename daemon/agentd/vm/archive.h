/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two archives that a guest reads: cpio (newc), which the kernel unpacks as its first root, and tar, in
 * which a node's identity is handed over. Whatever a file contains stays in that file.
 */
#ifndef AGENTD_VM_ARCHIVE_H
#define AGENTD_VM_ARCHIVE_H

#include <stddef.h>

#include "base/buf.h"

/* mode with the file's type (S_IFREG, S_IFDIR); name without a '/' in front. 0 or what buf_add says; -ENAMETOOLONG. */
int vmarchive_cpio(struct buf *b, const char *name, unsigned mode, const void *data, size_t len);
int vmarchive_cpio_end(struct buf *b);

/* A plain file of root's: name below 100 characters. */
int vmarchive_tar(struct buf *b, const char *name, unsigned mode, const void *data, size_t len);
int vmarchive_tar_end(struct buf *b);

#endif
