/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a remote command with all its processes. A signal over SSH reaches one process at most, and
 * many servers do not even pass it on. So a script on a second channel of the same connection looks
 * for them: it finds the sessions that sshd's process for this connection started, and every process
 * of those sessions. It ends by itself at its deadline, or when its channel closes.
 */
#ifndef PSSH_SESSION_KILL_REMOTE_H
#define PSSH_SESSION_KILL_REMOTE_H

#include "base/fail.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct kill_remote;

enum kill_outcome {
	KILL_UNKNOWN,
	KILL_LOST,  /* the script found another number of commands than `running`, so it did nothing */
	KILL_FOUND, /* it has found the command's processes and ends them */
	KILL_ENDED, /* nothing is left of the command's session */
	KILL_LEFT,  /* some processes still run */
};

/*
 * Ends number `nth` (from 0) of the `running` commands of this connection, in the order in which they
 * started: `signal` first, and KILL after grace_ms. 0 or a code.
 */
int kill_remote_new(struct link *l, const char *signal, unsigned grace_ms, unsigned nth, unsigned running,
	struct kill_remote **out);
void kill_remote_free(struct kill_remote *s);

/* PSSH_EAGAIN; 0: the script has ended; or a code. *heard becomes true if the script printed something. */
int kill_remote_step(struct kill_remote *s, struct exec_room *room, bool *heard, struct fail *f);
/* What happened to the processes; "" until that is known. It may change until the script has ended. */
const char *kill_remote_said(const struct kill_remote *s);
enum kill_outcome kill_remote_outcome(const struct kill_remote *s);

#endif
