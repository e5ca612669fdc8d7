/* SPDX-License-Identifier: Apache-2.0 */
/* The public keys that one sign-in offers to a server: those of the agent and of files, in OpenSSH's order. */
#ifndef PSSH_SESSION_OFFERS_H
#define PSSH_SESSION_OFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "pssh/keys/keyring.h"

enum { OFFERS_MAX = 64 };

/* A public key; its private half is in a file or with the agent. */
struct offer {
	struct key *key;                       /* of a file; may be NULL */
	const struct agent_identity *identity; /* of the agent, which then signs; may be NULL */
	const uint8_t *blob;                   /* what libssh2 is handed; NULL until the key is unlocked */
	size_t len;
	uint8_t *owned;                        /* blob, where the offer owns it */
};

struct offers {
	struct offer list[OFFERS_MAX];
	size_t count;
	struct buf remarks; /* for the error: which keys could not be offered, and why */
};

void offers_init(struct offers *o);
void offers_release(struct offers *o);

/*
 * Fills the list, once. identities: files, NULL-terminated, or NULL. agent: NULL, or one that has
 * answered (not AGENT_ASKING). identities_only: of the agent's keys only those that are among the
 * files. Keys beyond OFFERS_MAX are left out. Keys and identities stay the keyring's and the agent's.
 */
void offers_gather(struct offers *o, struct keyring *kr, char *const *identities, struct agent *agent,
	bool identities_only);

/* Adds a sentence to the remarks. */
void offers_remark(struct offers *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
