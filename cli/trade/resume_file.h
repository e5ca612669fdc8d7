/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command needs to resume after a crash, a Ctrl-C or a lost connection: the idempotency key and the
 * body of each request, on disk before the request leaves, and its answer. The same command sends the same
 * requests again, so nothing is bought twice and nothing is lost.
 *
 * Each step is appended and synced. The file is locked while its command lives: the same command beside a
 * living one begins a file of its own.
 */
#ifndef CLI_TRADE_RESUME_FILE_H
#define CLI_TRADE_RESUME_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct resume_file;

enum { RESUME_FILE_KEY = 64 };

/*
 * Makes a file. match: all that makes two commands the same; command: what was typed, for people; begun:
 * Unix seconds. 0, or a negative code with a sentence.
 */
int resume_file_new(const char *match, const char *command, int64_t begun, struct resume_file **out, struct fail *f);

/* The oldest that matches and that no living command holds; *out is NULL where there is none. */
int resume_file_find(const char *match, struct resume_file **out, struct fail *f);

/* Returns when the value is on disk. The last value of a name counts. */
int resume_file_set(struct resume_file *i, const char *name, const char *value, struct fail *f);
const char *resume_file_get(const struct resume_file *i, const char *name); /* NULL: never set */

/* The idempotency key of a step: "np-1a2b…-order", always the same for this file and step. */
const char *resume_file_key(const struct resume_file *i, const char *step, char room[RESUME_FILE_KEY]);

/* Removes the file, as the answer is known, and frees. */
int resume_file_end(struct resume_file *i, struct fail *f);
void resume_file_free(struct resume_file *i); /* leaves the file for the next command */

const char *resume_file_command(const struct resume_file *i);
int64_t resume_file_begun(const struct resume_file *i);

/* Calls found() for each file that no living command holds and whose match begins so, until it returns false. */
size_t resume_file_each(const char *match_prefix, bool (*found)(void *arg, const struct resume_file *i), void *arg);

#endif
