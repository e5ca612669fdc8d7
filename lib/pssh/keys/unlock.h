/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries passphrases on a thread of its own: each costs a second or more on purpose, and the program's
 * thread has other hosts to serve. One key after another; the results come back by unlocker_next_done().
 */
#ifndef PSSH_KEYS_UNLOCK_H
#define PSSH_KEYS_UNLOCK_H

#include <stdbool.h>

#include "pssh/keys/key.h"

struct unlocker;

/* Makes no thread yet. 0, PSSH_ENOMEM or PSSH_ELOCAL. */
int unlocker_new(struct unlocker **out);
/* Before its keys are freed. Stops what the thread does: waits for one round of bcrypt, or for all of an old format. */
void unlocker_free(struct unlocker *u);
/* In a forked child, which has no such thread. */
void unlocker_leave(struct unlocker *u);

/* Readable once a result is there; unlocker_clear() before asking for it. */
int unlocker_fd(const struct unlocker *u);
void unlocker_clear(struct unlocker *u);

/* Copies the passphrase, and wipes the copy. Nobody else may change the key until its result is there. 0 or a code. */
int unlocker_start(struct unlocker *u, struct key *key, const char *passphrase);
/* Whether this key's result is still to come. */
bool unlocker_has(struct unlocker *u, const struct key *key);

/* A key whose passphrase was tried: *rc is what key_unlock() returns. NULL: no more now. */
struct key *unlocker_next_done(struct unlocker *u, int *rc);

#endif
