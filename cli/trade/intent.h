/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to be bought, on disk before the first request leaves: the idempotency key of each
 * step and what its answer was. Whoever repeats the command after a crash, a Ctrl-C or a lost
 * connection goes on with the same requests, so that nothing is bought twice and nothing is lost.
 *
 * A file is appended to and synced at each step, and is locked while its command lives: a second
 * command that says the same beside a living one is a purchase of its own.
 */
#ifndef CLI_TRADE_INTENT_H
#define CLI_TRADE_INTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct intent;

enum { INTENT_KEY = 64 };

/*
 * A new one on disk. match: all that makes two commands the same; command: what was typed, for
 * people; begun: Unix seconds. 0, or a negative code with a sentence.
 */
int intent_new(const char *match, const char *command, int64_t begun, struct intent **out, struct fail *f);

/* The oldest unfinished one that matches and that no living command holds; *out NULL: there is none. */
int intent_find(const char *match, struct intent **out, struct fail *f);

/* Adds to what is remembered, and returns only when it is on disk. Later values win. */
int intent_set(struct intent *i, const char *name, const char *value, struct fail *f);
const char *intent_get(const struct intent *i, const char *name); /* NULL: not said yet */

/* The idempotency key of a step, the same as often as it is asked: "np-1a2b…-order". */
const char *intent_key(const struct intent *i, const char *step, char room[INTENT_KEY]);

/* The answer is known: the file goes. Frees. */
int intent_end(struct intent *i, struct fail *f);
void intent_free(struct intent *i); /* the file stays, for the next time */

const char *intent_command(const struct intent *i);
int64_t intent_begun(const struct intent *i);

/*
 * Each that no living command holds and whose match begins so; found() returns false to end.
 * How many were shown.
 */
size_t intent_each(const char *match_prefix, bool (*found)(void *arg, const struct intent *i), void *arg);

#endif
