/* SPDX-License-Identifier: Apache-2.0 */
/* Small JSON files that must be there after a lost machine: written whole, the folder synced too. */
#ifndef AGENTD_OS_STATEFILE_H
#define AGENTD_OS_STATEFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

enum { STATEFILE_MAX = 1 << 20, STATEFILE_PATH = 1024 };

/* On disk under its name when it returns 0; else -errno. */
int statefile_bytes(const char *path, const void *data, size_t len, mode_t mode, struct fail *f);

/* Takes the reference, also on failure; NULL: no memory. For this user alone. */
int statefile_json(const char *path, json_t *j, struct fail *f);

/* -ENOENT where it is not there; -EINVAL where it is not an object in JSON. */
int statefile_load(const char *path, json_t **out, struct fail *f);

/* A text of the object into room, whole or "" (where it is not there, too long, or no text). */
void statefile_text(const json_t *j, const char *name, char *room, size_t size);
int64_t statefile_int(const json_t *j, const char *name, int64_t missing);
bool statefile_bool(const json_t *j, const char *name);

/* Halves of NAME in dir, which were being written when this machine or process stopped, go. */
void statefile_tidy(const char *dir, const char *name);

/* DIR/NAME, or DIR/NAME/LAST. 0 or -ENAMETOOLONG. */
int statefile_path(char room[STATEFILE_PATH], const char *dir, const char *name, const char *last);

#endif
