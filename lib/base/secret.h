/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that holds a secret: it counts only where other users cannot read it (but by a group, as root says of
 * a file of root's), and no copy of it stays in memory.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

/* Reads the file, of at most max bytes, into *text, which secret_wipe() releases, also after a failure. 0 or -errno. */
int secret_read(struct buf *text, const char *path, size_t max, struct fail *f);

void secret_wipe(struct buf *text);

#endif
