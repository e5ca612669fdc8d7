/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of sysfs and procfs below a root: texts and numbers as they are meant, or nothing where they make no sense. */
#ifndef AGENTD_MACHINE_SYSFS_H
#define AGENTD_MACHINE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYSFS_PATH = 512, SYSFS_NAME = 256 };

/* root + the path, "" where it does not fit. */
const char *sysfs_path(char room[SYSFS_PATH], const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Its first line without blanks around, control bytes as '?'; false where it cannot be read or is empty. */
bool sysfs_text(const char *path, char *room, size_t size);

/* A whole number, decimal or 0x…; false where it is none or not in [min, max]. */
bool sysfs_int(const char *path, int64_t min, int64_t max, int64_t *out);

/* The last part of what the link points to. */
bool sysfs_link(const char *path, char *room, size_t size);

/* Names in a folder, sorted: 0 or -errno. Up to max; more is -E2BIG. free() *out. */
int sysfs_list(const char *path, size_t max, char (**out)[SYSFS_NAME], size_t *count);

/* What follows "key" and ':' in a file of such lines ("model name	: …"): the first one. */
bool sysfs_field(const char *path, const char *key, char *room, size_t size);

/* How many are in a list like "0-3,8": false where it is none. */
bool sysfs_count(const char *path, int64_t max, int64_t *out);

#endif
