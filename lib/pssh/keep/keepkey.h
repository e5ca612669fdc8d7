/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kept connection another command may use: one that was made to the same place, by the same way,
 * as the same person, with the same settings. The host's key is checked when it is lent.
 */
#ifndef PSSH_KEEP_KEEPKEY_H
#define PSSH_KEEP_KEEPKEY_H

#include "base/buf.h"
#include "pssh/session/conn.h"

enum { KEEPKEY_NAME = 64, KEEPKEY_SUM = 43 }; /* a name's room; how long each is */

/* Adds one connection; for one through jump hosts, each of them after it. 0, or a negative code. */
int keepkey_add(struct buf *b, const struct conn_plan *plan, struct keyring *keys);
/* The name of a socket for all that was added. */
void keepkey_name(const struct buf *b, char name[KEEPKEY_NAME]);

#endif
