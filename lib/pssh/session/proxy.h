/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that connects to a server through its standard input and output (ProxyCommand). Both are
 * one end of a socketpair; tests run `sshd -i` as the command.
 */
#ifndef PSSH_SESSION_PROXY_H
#define PSSH_SESSION_PROXY_H

#include <sys/types.h>

#include "base/fail.h"

struct proxy;

/* Runs command by /bin/sh -c. *fd is our end; it does not block, and the caller closes it. */
int proxy_start(const char *command, struct proxy **out, int *fd, struct fail *f);

/* The last line that it wrote to stderr, or ""; valid until the next call. */
const char *proxy_said(struct proxy *px);

/*
 * Call after closing its socket: sends SIGHUP and checks whether the command has ended. 1: it has, and
 * px is freed; 0: call again later. force: kills it and waits for its end.
 */
int proxy_end(struct proxy *px, int force);

/* In a forked child, whose parent the command serves: frees px and leaves the command alone. */
void proxy_leave(struct proxy *px);

#endif
