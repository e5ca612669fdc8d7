/* SPDX-License-Identifier: Apache-2.0 */
/* From a list of addresses to one connected descriptor: tries one after another, without blocking. */
#ifndef PSSH_SESSION_DIAL_H
#define PSSH_SESSION_DIAL_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct dial {
	struct addrinfo *all;  /* owned */
	struct addrinfo *now;
	int fd;                /* -1: none */
	int64_t next_due;      /* when to try the next address, if there is one */
	int64_t due;           /* the deadline of all together; 0: none */
	char bind[64];
};

/* Takes the addresses over. */
void dial_init(struct dial *d, struct addrinfo *all, const char *bind_address, int64_t due);

/*
 * 0: *fd is connected and belongs to the caller. PSSH_EAGAIN: wait until d->fd is writable or until
 * dial_due(), then call again. Else PSSH_ECONNECT, or PSSH_ELOCAL if this process has no descriptor
 * left.
 */
int dial_step(struct dial *d, int *fd, struct fail *f);
int64_t dial_due(const struct dial *d); /* 0: no limit */
void dial_release(struct dial *d);

#endif
