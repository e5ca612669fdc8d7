/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that a keeper lends: its part of the state machine in conn.c, which alone calls this. */
#ifndef PSSH_SESSION_CONN_LENT_H
#define PSSH_SESSION_CONN_LENT_H

#include "pssh/session/conn.h"

/* 0: it is lent, and its host key passes; PSSH_EAGAIN; or a code, and c->why. */
int conn_lent_ask(struct conn *c);
/* Reads the keeper's socket, which the channels do not. */
void conn_lent_turn(struct conn *c);
/* What conn_due() asks: 0, or a code, and c->why. */
int conn_lent_due(struct conn *c);

#endif
