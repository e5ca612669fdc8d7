/* SPDX-License-Identifier: Apache-2.0 */
/* One channel whose bytes the program reads and writes through a socket. */
#ifndef PSSH_SESSION_CHANNEL_H
#define PSSH_SESSION_CHANNEL_H

#include "base/fail.h"
#include "base/loop.h"
#include "pssh/pssh_types.h"
#include "pssh/session/exec.h"

struct channel;

enum { CHANNEL_DONE = 0, CHANNEL_BEGUN = 1, CHANNEL_STDERR = 2 };

/*
 * The watch is a struct loop_owned of that kind and owner. fd: non-blocking, and stays the
 * caller's, as does the target, which channel_check() has found good.
 */
int channel_new(struct loop *loop, int kind, enum pssh_channel_kind what, const char *target, int fd, void *owner,
	struct link *l, struct channel **out);
void channel_free(struct channel *c);
int channel_check(enum pssh_channel_kind what, const char *target, struct fail *f);

/* One of the above, PSSH_EAGAIN or a code; PSSH_ECANCEL: the program has closed its end. */
int channel_step(struct channel *c, struct exec_room *room, struct fail *f);
/* Whether the server may have heard what to start. */
bool channel_asked(const struct channel *c);
/* Whether a process may run for it. */
bool channel_runs(const struct channel *c);
/* Of CHANNEL_STDERR: how many bytes are in the room. */
size_t channel_stderr(const struct channel *c);
/* Of CHANNEL_DONE: the exit status, or *signal. */
int channel_status(const struct channel *c, const char **signal);

#endif
