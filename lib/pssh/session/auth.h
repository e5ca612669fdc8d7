/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who we are, told to one server: keys of the agent and of files, then what a person knows, in
 * the order of OpenSSH. Never waits for the server, the agent or a person.
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
	const char *user, *host;       /* kept by the caller */
	char *const *identities;       /* files, NULL-terminated */
	struct agent *agent;           /* NULL: none */
	bool identities_only, pubkey, kbdint, password;
	bool interactive;              /* a person may be asked */
	unsigned tries;                /* for a password; 0: three */
};

int auth_new(struct link *l, struct keyring *kr, const struct auth_want *want, void *owner, struct auth **out);
void auth_free(struct auth *a);

/* 0: in. PSSH_EAGAIN: wait for the socket, for the agent, or for auth_answer. Else why not. */
int auth_step(struct auth *a, struct fail *f);

/* It waits for something that is not the socket. */
bool auth_outside(const struct auth *a);

/* The question that has to be answered before it can go on; NULL: none. */
const char *auth_question(const struct auth *a, bool *echo);
/* NULL declines. */
void auth_answer(struct auth *a, const char *text);
/* The passphrase question is about this key, which others may wait for too; NULL: another question. */
const struct key *auth_locked_key(const struct auth *a);
/* The key was unlocked through another connection: the question is void. */
void auth_unlocked(struct auth *a);

#endif
