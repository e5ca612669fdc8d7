/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lends one connection to commands, one at a time: the keeper's side of a unix socket. The socket's
 * other end asks for channels on the connection; nothing but the keeper touches its session.
 */
#ifndef PSSH_KEEP_LEND_H
#define PSSH_KEEP_LEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/loop.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct lend;

struct lend_want {
	int fd;              /* listens; taken over */
	const char *label;   /* "user@address:port", for people */
	const char *agreed;  /* key exchange, host key, cipher and MAC, with blanks between; for people, too */
	const void *hostkey; /* what the server showed */
	size_t hostkey_len;
	unsigned seconds; /* how long to keep it without use */
};

/* kind, owner: as tunnel_new. 0 or PSSH_ENOMEM. */
int lend_new(struct loop *loop, int kind, const struct lend_want *want, void *owner, struct lend **out);
void lend_free(struct lend *l);

/* Serves as far as it can without blocking. PSSH_EAGAIN; or a code: close the connection. */
int lend_step(struct lend *l, struct link *link, struct exec_room *room, struct fail *f);

/* When it has been unused for too long, by clock_boot_ms(); INT64_MAX while it is lent. */
int64_t lend_due(const struct lend *l);
/* Nobody knows whether the server is still there: lends it no more until something has come from it. */
void lend_doubt(struct lend *l, const struct link *link);
/* Lends it no more; the step after the last use says so. */
void lend_stop(struct lend *l);

#endif
