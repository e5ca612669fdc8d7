/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of a SOCKS proxy asks for: SOCKS 5 (RFC 1928) without authentication, SOCKS 4 and 4a; connect alone. */
#ifndef PSSH_SESSION_SOCKS_H
#define PSSH_SESSION_SOCKS_H

#include <stdbool.h>

#include "base/buf.h"

enum { SOCKS_MORE, SOCKS_CONNECT, SOCKS_BAD };

struct socks {
	bool greeted;   /* SOCKS 5: the methods are agreed on */
	int version;    /* of the request: 4 or 5 */
	char host[256]; /* a name or a numeric address; printable */
	unsigned port;
};

/*
 * Takes what it understands from `in` and appends its answers to `out`. SOCKS_CONNECT: host and port are set, and the
 * rest of `in` is for that host; SOCKS_BAD: send `out` and close; SOCKS_MORE: more has to come.
 */
int socks_step(struct socks *s, struct buf *in, struct buf *out);

/* Appends the answer to the request. refused: the host was asked and did not connect. 0 or a code of buf_add. */
int socks_answer(const struct socks *s, bool connected, bool refused, struct buf *out);

#endif
