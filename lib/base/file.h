/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a person's own that are written whole or not at all, and the folders they stand in. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* The folders above path (up to its last '/'), each for this user alone where it was not there. 0 or -errno. */
int file_folders(const char *path);

/* All of it, whatever a signal or a small buffer cuts off. 0 or -errno. */
int file_write(int fd, const void *data, size_t len);

/*
 * On disk under its name, or the name is as it was. A link of that name is replaced, not followed.
 * 0 or -errno.
 */
int file_replace(const char *path, const void *data, size_t len, mode_t mode);

#endif
