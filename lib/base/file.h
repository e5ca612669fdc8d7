/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a person's files whole or not at all, and makes the folders that they are in. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Makes the folders above path (up to its last '/') that do not exist, for this user alone. 0 or -errno. */
int file_folders(const char *path);

/* Writes all of it, however often a signal or a small buffer cuts a write short. 0 or -errno. */
int file_write(int fd, const void *data, size_t len);

/*
 * 0: the file is on the disk under its name; -errno: the name is as it was. Replaces a link of that
 * name instead of following it.
 */
int file_replace(const char *path, const void *data, size_t len, mode_t mode);

/*
 * As file_replace, for a path that a person typed. What is no regular file (a pipe, a device, /dev/stdout) is written
 * to; a link stays, and its target is replaced; an existing file keeps its mode, the umask limits that of a new one.
 */
int file_put(const char *path, const void *data, size_t len, mode_t mode);

/* Syncs the folder that path is in: a crash could lose the name of a file whose contents are safe. 0 or -errno. */
int file_sync_folder(const char *path);

#endif
