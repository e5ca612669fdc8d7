/* SPDX-License-Identifier: Apache-2.0 */
/* A local door whose visitors are carried over one connection to an address that its host reaches. */
#ifndef PSSH_SESSION_TUNNEL_H
#define PSSH_SESSION_TUNNEL_H

#include "base/fail.h"
#include "base/loop.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct tunnel;

/* What its watches are members of, so that the owner finds itself again. */
struct tunnel_watch {
	struct loop_watch watch;
	void *owner;
};

/* Listens at once. listen: "port", "address:port", "[::1]:port" or a path with '/'; target "host:port". */
int tunnel_new(struct loop *loop, int kind, const char *listen, const char *target, void *owner, struct tunnel **out,
	struct fail *f);
void tunnel_free(struct tunnel *t);
unsigned tunnel_port(const struct tunnel *t);

/* Goes on with all that can go on. Visitors come and go; it fails only as a whole. PSSH_EAGAIN or a code. */
int tunnel_step(struct tunnel *t, struct link *l, struct exec_room *room, struct fail *f);
/* The connection is gone, and with it every visitor. */
void tunnel_cut(struct tunnel *t);

#endif
