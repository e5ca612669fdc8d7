/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries clients over one SSH connection: from here to an address that its host reaches, which the
 * tunnel or each client (SOCKS) names, or from a port of that host to an address that this machine
 * reaches.
 */
#ifndef PSSH_SESSION_TUNNEL_H
#define PSSH_SESSION_TUNNEL_H

#include "base/fail.h"
#include "base/loop.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"
#include "pssh/session/resolve.h"

struct tunnel;

enum tunnel_way { TUNNEL_OUT, TUNNEL_SOCKS, TUNNEL_BACK };

struct tunnel_want {
	enum tunnel_way way;
	const char *listen; /* "port", "address:port", "[::1]:port"; unless it listens there: or a path with '/' */
	const char *target; /* "host:port"; not for SOCKS */
};

/* Listens at once if it listens here. kind: of its watches. */
int tunnel_new(struct loop *loop, int kind, const struct tunnel_want *want, void *owner, struct tunnel **out,
	struct fail *f);
/* 0: it listens; PSSH_EAGAIN; or a code. */
int tunnel_begin(struct tunnel *t, struct link *l, struct resolver *resolver, struct fail *f);
void tunnel_free(struct tunnel *t);
void tunnel_leave(struct tunnel *t); /* in a forked child: tunnel_free leaves the parent's socket file */
unsigned tunnel_port(const struct tunnel *t);

/* Takes "host:port" apart; *host is malloc'd. */
int tunnel_target(const char *text, char **host, unsigned *port, struct fail *f);

/*
 * Serves all clients as far as it can without blocking. PSSH_EAGAIN; TUNNEL_NOTE: a client had to be sent away, and
 * tunnel_note() says why; or a code if the tunnel failed as a whole.
 */
enum { TUNNEL_NOTE = 1 };
const char *tunnel_note(struct tunnel *t);
int tunnel_step(struct tunnel *t, struct link *l, struct exec_room *room, struct fail *f);
/* Drops every client: the SSH connection is gone. */
void tunnel_cut(struct tunnel *t);

#endif
