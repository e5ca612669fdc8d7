/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending what runs remotely. A signal over SSH reaches one process, if the server passes it on at
 * all; a second channel of the same connection finds all: what the server's own process for this
 * connection started, with every process of those sessions.
 */
#ifndef PSSH_SESSION_KILL_REMOTE_H
#define PSSH_SESSION_KILL_REMOTE_H

#include "base/fail.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct kill_remote;

/*
 * The process to end is number `nth` (from 0) of the `running` ones that this connection started,
 * in their order.
 */
int kill_remote_new(struct link *l, const char *signal, unsigned grace_ms, unsigned nth, unsigned running,
	struct kill_remote **out);
void kill_remote_free(struct kill_remote *s);

/* PSSH_EAGAIN; 0: done, and kill_remote_said() is what became of them; or a code. */
int kill_remote_step(struct kill_remote *s, struct exec_room *room, struct fail *f);
const char *kill_remote_said(const struct kill_remote *s);
/* Their number was not what it was told: nothing was done. */
bool kill_remote_lost(const struct kill_remote *s);

#endif
