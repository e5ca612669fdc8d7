/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to be bought, on disk before the first request leaves: the idempotency key of each
 * step and what its answer was. Whoever repeats the command after a crash, a Ctrl-C or a lost
 * connection goes on with the same requests, so that nothing is bought twice and nothing is lost.
 *
 * A file is appended to and synced at each step, and is locked while its command lives: a second
 * command that says the same beside a living one is a purchase of its own.
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
 * A new one on disk. match: all that makes two commands the same; command: what was typed, for
 * people; begun: Unix seconds. 0, or a negative code with a sentence.
 */
int resume_file_new(const char *match, const char *command, int64_t begun, struct resume_file **out, struct fail *f);

/* The oldest unfinished one that matches and that no living command holds; *out NULL: there is none. */
int resume_file_find(const char *match, struct resume_file **out, struct fail *f);

/* Adds to what is remembered, and returns only when it is on disk. Later values win. */
int resume_file_set(struct resume_file *i, const char *name, const char *value, struct fail *f);
const char *resume_file_get(const struct resume_file *i, const char *name); /* NULL: not said yet */

/* The idempotency key of a step, the same as often as it is asked: "np-1a2b…-order". */
const char *resume_file_key(const struct resume_file *i, const char *step, char room[RESUME_FILE_KEY]);

/* The answer is known: the file goes. Frees. */
int resume_file_end(struct resume_file *i, struct fail *f);
void resume_file_free(struct resume_file *i); /* the file stays, for the next time */

const char *resume_file_command(const struct resume_file *i);
int64_t resume_file_begun(const struct resume_file *i);

/*
 * Each that no living command holds and whose match begins so; found() returns false to end.
 * How many were shown.
 */
size_t resume_file_each(const char *match_prefix, bool (*found)(void *arg, const struct resume_file *i), void *arg);

#endif
