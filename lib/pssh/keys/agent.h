/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of an ssh-agent that never blocks: one connection for a whole fleet, its requests
 * answered in order. The owner of the loop calls agent_ready() and agent_due() for the watch and
 * the timer, which both carry `kind`, and then looks at agent_state() and agent_next_done().
 */
#ifndef PSSH_KEYS_AGENT_H
#define PSSH_KEYS_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"

struct agent;

enum agent_state {
	AGENT_ASKING,  /* connecting, or waiting for the list */
	AGENT_LISTED,  /* agent_identities() is what it has */
	AGENT_FAILED,  /* agent_error() says why; there are no identities */
};

struct agent_identity {
	uint8_t *blob;     /* a public key or a certificate */
	size_t len;
	char *comment;
};

enum { AGENT_RSA_SHA2_256 = 2, AGENT_RSA_SHA2_512 = 4 };

/* The caller's; zeroed memory to begin with. Its place must not change until it is done or abandoned. */
struct agent_sign_request {
	bool done;
	int rc;             /* 0, or a code; then text says why */
	char text[256];
	uint8_t *sig;       /* malloc'd, the caller's: the inner signature, as libssh2 wants it */
	size_t sig_len;
	void *owner;        /* not looked at */
	struct list link;   /* the rest is the agent's */
	struct agent *agent;
	struct buf message;
	char type[64];      /* the signature's, which the answer must have; "" any */
};

/* Never waits. A path at which nobody listens is not an error here: the state becomes AGENT_FAILED. */
int agent_new(struct loop *loop, int kind, const char *path, struct agent **out, struct fail *f);
void agent_free(struct agent *a); /* requests still waiting are done with PSSH_ECANCEL, and forgotten */

struct loop_watch *agent_watch(struct agent *a);
struct loop_timer *agent_timer(struct agent *a);
void agent_ready(struct agent *a, uint32_t ready);  /* the watch is due */
void agent_due(struct agent *a);                    /* the timer is due */

/*
 * How long connecting or listing (default 10 s), and signing (60 s: a person may have to confirm
 * it) may take from here on, before all that waits fails with PSSH_ETIMEOUT.
 */
void agent_set_patience(struct agent *a, int list_ms, int sign_ms);

enum agent_state agent_state(const struct agent *a);
const char *agent_error(const struct agent *a);
const struct agent_identity *agent_identities(const struct agent *a, size_t *count);
const char *agent_path(const struct agent *a);

/*
 * Asks for a signature over data by the key of blob; flags for ssh-rsa blobs only. All is copied.
 * The request becomes done later, never within this call; an error here leaves it as it was.
 */
int agent_sign(struct agent *a, struct agent_sign_request *req, const uint8_t *blob, size_t blob_len,
	const void *data, size_t len, unsigned flags, struct fail *f);
/* The flags for an algorithm's name: rsa-sha2-512 and its certificate's; 0 for all but RSA. */
unsigned agent_flags(const char *algorithm);

/* Whatever state it is in: the agent forgets it, its signature is freed. */
void agent_sign_abandon(struct agent *a, struct agent_sign_request *req);

/* A request that became done, each once; NULL: none. */
struct agent_sign_request *agent_next_done(struct agent *a);

#endif
