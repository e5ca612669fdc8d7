/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of an ssh-agent that never blocks: one connection for a whole fleet, which answers requests
 * in order. The owner of the loop calls agent_ready() and agent_due() when the watch or the timer is
 * due (both carry `kind`), and then looks at agent_state() and agent_next_done().
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
	AGENT_LISTED,  /* agent_identities() returns its keys */
	AGENT_FAILED,  /* agent_error() says why; there are no identities */
};

struct agent_identity {
	uint8_t *blob;     /* a public key or a certificate */
	size_t len;
	char *comment;
};

enum { AGENT_RSA_SHA2_256 = 2, AGENT_RSA_SHA2_512 = 4 };

/* The caller owns it, zeroes it first, and does not move it until it is done or abandoned. */
struct agent_sign_request {
	bool done;
	int rc;             /* 0, or a code; then text says why */
	char text[256];
	uint8_t *sig;       /* malloc'd, for the caller to free: the inner signature, as libssh2 wants it */
	size_t sig_len;
	int64_t took_ms;    /* the agent alone, without the wait for other requests */
	void *owner;        /* for the caller; never used here */
	struct list link;   /* this and the rest belong to the agent */
	struct agent *agent;
	struct buf message;
	int64_t began;
	char type[64];      /* the algorithm that the answer must have; "": any */
};

/* Never blocks. If nobody listens at the path, the state becomes AGENT_FAILED later. 0 or a code. */
int agent_new(struct loop *loop, int kind, const char *path, struct agent **out, struct fail *f);
void agent_free(struct agent *a); /* waiting requests become done with PSSH_ECANCEL */

struct loop_watch *agent_watch(struct agent *a);
struct loop_timer *agent_timer(struct agent *a);
void agent_ready(struct agent *a, uint32_t ready);  /* the watch is due */
void agent_due(struct agent *a);                    /* the timer is due */

/*
 * How long connecting or listing (default 10 s) and signing (default 60 s, as a person may have to
 * confirm it) may take before all that waits fails with PSSH_ETIMEOUT. Holds from the next request on.
 */
void agent_set_patience(struct agent *a, int list_ms, int sign_ms);

enum agent_state agent_state(const struct agent *a);
const char *agent_error(const struct agent *a);
const struct agent_identity *agent_identities(const struct agent *a, size_t *count);
const char *agent_path(const struct agent *a);

/*
 * Asks for a signature over data by the key of blob. flags are for ssh-rsa blobs only. Copies all
 * arguments. The request becomes done later, never within this call; on failure it stays as it was.
 */
int agent_sign(struct agent *a, struct agent_sign_request *req, const uint8_t *blob, size_t blob_len,
	const void *data, size_t len, unsigned flags, struct fail *f);
/* The flags for an algorithm's name: rsa-sha2-512 and its certificate's; 0 for all but RSA. */
unsigned agent_flags(const char *algorithm);

/* In any state of the request: the agent drops it and frees its signature. */
void agent_sign_abandon(struct agent *a, struct agent_sign_request *req);

/* Returns each done request once; NULL: none. */
struct agent_sign_request *agent_next_done(struct agent *a);

#endif
