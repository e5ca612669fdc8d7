/* SPDX-License-Identifier: Apache-2.0 */
/* Small JSON files that survive a crash of the machine: replaced atomically, with the folder synced too. */
#ifndef AGENTD_OS_STATEFILE_H
#define AGENTD_OS_STATEFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

enum { STATEFILE_MAX = 1 << 20, STATEFILE_PATH = 1024 };

/* 0: the file is on disk under its name; else -errno. */
int statefile_bytes(const char *path, const void *data, size_t len, mode_t mode, struct fail *f);

/* Takes the reference, also on failure; NULL: no memory. Only this user may read the file. */
int statefile_json(const char *path, json_t *j, struct fail *f);

/* -ENOENT: no such file; -EINVAL: not a JSON object; -ENOMEM; or what reading it says. */
int statefile_load(const char *path, json_t **out, struct fail *f);

/* Copies a text of the object into room; "" where it is missing, too long or not a text. */
void statefile_text(const json_t *j, const char *name, char *room, size_t size);
int64_t statefile_int(const json_t *j, const char *name, int64_t missing);
bool statefile_bool(const json_t *j, const char *name);

/* Removes the unfinished copies of NAME in dir, left when this machine or process stopped while writing. */
void statefile_tidy(const char *dir, const char *name);

/*
 * Locks DIR/NAME, made if it is missing, as flock(2) does: how is LOCK_SH or LOCK_EX; wait_ms -1: for ever. A
 * descriptor to close; -EBUSY, with nothing in f: others had it all the time; or another negative errno.
 */
int statefile_lock(const char *dir, const char *name, int how, int64_t wait_ms, struct fail *f);

/* DIR/NAME, or DIR/NAME/LAST. 0 or -ENAMETOOLONG. */
int statefile_path(char room[STATEFILE_PATH], const char *dir, const char *name, const char *last);

#endif
