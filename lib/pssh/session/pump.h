/* SPDX-License-Identifier: Apache-2.0 */
/* Carries bytes between a local socket and a channel, both ways, each with an end of its own. */
#ifndef PSSH_SESSION_PUMP_H
#define PSSH_SESSION_PUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct pump {
	int fd; /* non-blocking; both belong to the caller */
	struct chan *chan;
	bool in_ended, eof_sent, out_ended;
	struct buf in, out; /* to the host; from the host. Each holds one piece at most */
	void (*edit)(struct pump *pump, char *data, size_t len); /* may change what came from the host; or NULL */
};

void pump_init(struct pump *pump, int fd, struct chan *chan);
void pump_release(struct pump *pump);

/*
 * Moves what it can. 0: both directions have ended; PSSH_EAGAIN; PSSH_ELOCAL: nobody holds the other
 * end of the socket; or the channel's code.
 */
int pump_step(struct pump *pump, struct exec_room *room);
/* LOOP_READ and LOOP_WRITE, or 0: it waits for the channel alone. */
uint32_t pump_want(const struct pump *pump);

#endif
