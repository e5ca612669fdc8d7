/* SPDX-License-Identifier: Apache-2.0 */
/* The fake commands of lightsshd: one struct shell for each channel. */
#ifndef LIGHTSHELL_H
#define LIGHTSHELL_H

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/loop.h"
#include "lightfault.h"

#define SHELL_HELP \
	"  true | false | exit N | echo TEXT (also with >&2) | hostname | cat | sleep SECONDS | hang\n" \
	"  agent (opens a channel to the client's agent, whether it was asked to or not)\n" \
	"  yes-bytes N | yes-stderr N | flood | flood-stderr | signal NAME\n"

enum shell_step {
	SHELL_WAITS,   /* for the client or its timer */
	SHELL_WRITES,  /* would write more */
	SHELL_KILL,    /* cut the connection */
	SHELL_GONE,    /* over: free it */
};

struct shell {
	struct list link;               /* the connection's */
	struct loop_timer timer;
	void *owner;
	bool woken;                     /* the timer is due */
	struct loop *loop;
	ssh_channel ch, agent;
	struct ssh_channel_callbacks_struct cb;
	const char *address;
	enum fault fault;
	char *script, *rest;            /* the whole script, and what has not run yet */
	enum { SHELL_IDLE, SHELL_RUN, SHELL_FILL, SHELL_CAT, SHELL_SLEEP, SHELL_AGENT, SHELL_HANG, SHELL_ENDED } state;
	bool err;                       /* output goes to stderr */
	char *text;                     /* what echo still has to write */
	size_t text_len;
	long long left;                 /* bytes that a filling command still writes; -1: endless */
	long long column;
	int status;
	char signal[16];
	bool kill, closed;
};

struct shell *shell_new(ssh_channel ch, struct loop *l, const char *address, enum fault fault);
void shell_free(struct shell *sh);       /* frees the channel too */
enum shell_step shell_step(struct shell *sh);
bool shell_hungry(const struct shell *sh); /* it can continue without the network */

#endif
