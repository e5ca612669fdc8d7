/* SPDX-License-Identifier: Apache-2.0 */
/* The faked commands of lightsshd: one struct shell a channel. */
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
	"  yes-bytes N | yes-stderr N | flood | flood-stderr | signal NAME\n"

enum shell_step {
	SHELL_WAITS,   /* for the client or its timer */
	SHELL_WRITES,  /* would write more */
	SHELL_KILL,    /* the connection is to be cut */
	SHELL_GONE,    /* over: free it */
};

struct shell {
	struct list link;               /* the connection's */
	struct loop_timer timer;
	void *owner;
	bool woken;                     /* the timer came */
	struct loop *loop;
	ssh_channel ch;
	struct ssh_channel_callbacks_struct cb;
	const char *address;
	enum fault fault;
	char *script, *rest;            /* all of it, and what was not run yet */
	enum { SHELL_IDLE, SHELL_RUN, SHELL_FILL, SHELL_CAT, SHELL_SLEEP, SHELL_HANG, SHELL_ENDED } state;
	bool err;                       /* output goes to stderr */
	char *text;                     /* what echo still has to write */
	size_t text_len;
	long long left;                 /* bytes of a filling command; -1: endless */
	long long column;
	int status;
	char signal[16];
	bool kill, closed;
};

struct shell *shell_new(ssh_channel ch, struct loop *l, const char *address, enum fault fault);
void shell_free(struct shell *sh);       /* the channel too */
enum shell_step shell_step(struct shell *sh);
bool shell_hungry(const struct shell *sh); /* it could go on without the network */

#endif
