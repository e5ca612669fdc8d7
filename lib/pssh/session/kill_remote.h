/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a remote command with all its processes. A signal over SSH reaches one process at most, and
 * many servers do not even pass it on. So a script on a second channel of the same connection looks
 * for them: it finds the sessions that sshd's process for this connection started, and every process
 * of those sessions.
 */
#ifndef PSSH_SESSION_KILL_REMOTE_H
#define PSSH_SESSION_KILL_REMOTE_H

#include "base/fail.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct kill_remote;

/*
 * Ends number `nth` (from 0) of the `running` commands of this connection, in the order in which they
 * started: `signal` first, and KILL after grace_ms. 0 or a code.
 */
int kill_remote_new(struct link *l, const char *signal, unsigned grace_ms, unsigned nth, unsigned running,
	struct kill_remote **out);
void kill_remote_free(struct kill_remote *s);

/* PSSH_EAGAIN; 0: done, and kill_remote_said() tells what happened to the processes; or a code. */
int kill_remote_step(struct kill_remote *s, struct exec_room *room, struct fail *f);
const char *kill_remote_said(const struct kill_remote *s);
/* The script found another number of commands than `running`, so it did nothing. */
bool kill_remote_lost(const struct kill_remote *s);

#endif
