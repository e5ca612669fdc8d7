/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of sysfs and procfs below a root, as texts and numbers; a value that makes no sense counts as missing. */
#ifndef AGENTD_MACHINE_SYSFS_H
#define AGENTD_MACHINE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYSFS_PATH = 512, SYSFS_NAME = 256 };

/* root + the path, "" where it is too long. */
const char *sysfs_path(char room[SYSFS_PATH], const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The library NAME: NULL for this machine's own; with another root ROOT/lib/NAME, or "" where there is none. */
const char *sysfs_library(const char *root, const char *name, char room[SYSFS_PATH]);

/* Its first line without surrounding blanks, control bytes as '?'; false if it is unreadable or empty. */
bool sysfs_text(const char *path, char *room, size_t size);

/* An integer, decimal or 0x…; false if it is not one or not in [min, max]. */
bool sysfs_int(const char *path, int64_t min, int64_t max, int64_t *out);

/* The last part of the link's target. */
bool sysfs_link(const char *path, char *room, size_t size);

/* Names in a folder, sorted: 0 or -errno. Up to max; more is -E2BIG. free() *out. */
int sysfs_list(const char *path, size_t max, char (**out)[SYSFS_NAME], size_t *count);

/* The value of the first line "key: value" ("model name : …"). */
bool sysfs_field(const char *path, const char *key, char *room, size_t size);

/* The number of elements in a list like "0-3,8"; false if it is not a list. */
bool sysfs_count(const char *path, int64_t max, int64_t *out);

#endif
