/* SPDX-License-Identifier: Apache-2.0 */
/* An archive (tar, ustar) of regular files. The same files make the same bytes: they are root's, and of no time. */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include <stddef.h>

#include "base/buf.h"

enum { TAR_NAME = 100 }; /* of a file's name, with its NUL */

/* 0, buf_add's error, or -ENAMETOOLONG. */
int tar_add(struct buf *b, const char *name, unsigned mode, const void *data, size_t len);
int tar_end(struct buf *b);

#endif
