/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command whose standard input and output are the way to a server (ProxyCommand). It is given
 * one end of a socketpair; tests put `sshd -i` behind it.
 */
#ifndef PSSH_SESSION_PROXY_H
#define PSSH_SESSION_PROXY_H

#include <sys/types.h>

#include "base/fail.h"

struct proxy;

/* Runs command by /bin/sh -c; *fd is our end, not blocking, the caller's to close. */
int proxy_start(const char *command, struct proxy **out, int *fd, struct fail *f);

/* The last line that it wrote to stderr, or ""; valid until the next call. */
const char *proxy_said(struct proxy *px);

/*
 * Once its socket is closed: asks it to end. 1: it is gone and px freed; 0: call again. With force
 * it is killed and waited for.
 */
int proxy_end(struct proxy *px, int force);

#endif
