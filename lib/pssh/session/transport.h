/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of one connection: between libssh2 and a socket, a proxy command or a channel of the jump host. */
#ifndef PSSH_SESSION_TRANSPORT_H
#define PSSH_SESSION_TRANSPORT_H

#include "pssh/session/conn.h"

/*
 * libssh2 reads as long as bytes come, so a server that never stops sending would hold it for ever.
 * TURN limits what one turn reads, CHATTER what a server may send before the keys are exchanged.
 */
enum { TRANSPORT_TURN = 1 << 20, TRANSPORT_CHATTER = 64 * 1024, TRANSPORT_AHEAD = 4096 };

void transport_attach(struct conn *c); /* makes it what c's new session reads from and writes to */
void transport_due(struct conn *c);    /* call when c's watch is due */
int transport_flush(struct conn *c);   /* 0: everything is sent; or -errno */

#endif
