/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs in to one server: with keys of the agent and of files, then with what a person knows, in
 * the order of OpenSSH. Never blocks on the server, the agent or a person.
 */
#ifndef PSSH_SESSION_AUTH_H
#define PSSH_SESSION_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "pssh/session/chan.h"
#include "pssh/keys/keyring.h"

struct auth;

struct auth_want {
	const char *user, *host;       /* the caller keeps them alive */
	char *const *identities;       /* files, NULL-terminated */
	struct agent *agent;           /* NULL: none */
	bool identities_only, pubkey, kbdint, password;
	bool interactive;              /* a person may be asked */
	unsigned tries;                /* for a password; 0: three */
};

int auth_new(struct link *l, struct keyring *kr, const struct auth_want *want, void *owner, struct auth **out);
void auth_free(struct auth *a);

/* 0: signed in. PSSH_EAGAIN: wait for the socket, the agent or auth_answer. Else a code, and f says why. */
int auth_step(struct auth *a, struct fail *f);

/* True while it waits for something other than the socket: the agent or a person. */
bool auth_outside(const struct auth *a);
/* The agent took so long to sign that somebody may have confirmed it. */
bool auth_by_hand(const struct auth *a);

/* The question that it needs answered to go on; NULL: none. */
const char *auth_question(const struct auth *a, bool *echo);
/* Answers it; NULL declines. The owner tries passphrases itself, and tells auth_unlocked() or auth_wrong(). */
void auth_answer(struct auth *a, const char *text);
/* The key whose passphrase it asks for, which other connections may ask for too; NULL: it asks for none. */
struct key *auth_locked_key(const struct auth *a);
/* What it wants signed by the owner's key *key, to go on; NULL: nothing. */
const void *auth_to_sign(const struct auth *a, size_t *len, struct key **key);
/* NULL declines. PSSH_EINVAL: it is no signature; nothing changes. */
int auth_signed(struct auth *a, const void *signature, size_t len, struct fail *f);
/* The key is unlocked: drops the question. */
void auth_unlocked(struct auth *a);
/* A passphrase was wrong: asks again. true: it was the last that a person may try. */
bool auth_wrong(struct auth *a);

#endif
