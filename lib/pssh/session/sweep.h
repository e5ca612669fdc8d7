/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending what runs remotely. A signal over SSH reaches one process, if the server passes it on at
 * all; a second channel of the same connection finds all: what the server's own process for this
 * connection started, with every process of those sessions.
 */
#ifndef PSSH_SESSION_SWEEP_H
#define PSSH_SESSION_SWEEP_H

#include "base/fail.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct sweep;

/*
 * The process to end is number `nth` (from 0) of the `running` ones that this connection started,
 * in their order.
 */
int sweep_new(struct link *l, const char *signal, unsigned grace_ms, unsigned nth, unsigned running,
	struct sweep **out);
void sweep_free(struct sweep *s);

/* PSSH_EAGAIN; 0: done, and sweep_said() is what became of them; or a code. */
int sweep_step(struct sweep *s, struct exec_room *room, struct fail *f);
const char *sweep_said(const struct sweep *s);
/* Their number was not what it was told: nothing was done. */
bool sweep_lost(const struct sweep *s);

#endif
