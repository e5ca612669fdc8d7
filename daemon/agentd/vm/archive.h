/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive (cpio, newc) that a guest's kernel unpacks as its first root. No content of a file can be mistaken for
 * anything but that file.
 */
#ifndef AGENTD_VM_ARCHIVE_H
#define AGENTD_VM_ARCHIVE_H

#include <stddef.h>

#include "base/buf.h"

/* mode includes the file type (S_IFREG, S_IFDIR); name has no '/' first. 0, or buf_add's error. */
int vmarchive_cpio(struct buf *b, const char *name, unsigned mode, const void *data, size_t len);
int vmarchive_cpio_end(struct buf *b);

#endif
