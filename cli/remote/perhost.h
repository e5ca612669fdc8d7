/* SPDX-License-Identifier: Apache-2.0 */
/* One command for many hosts that differs a little on each: {host} in it, and variables. */
#ifndef CLI_REMOTE_PERHOST_H
#define CLI_REMOTE_PERHOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

struct perhost {
	struct buf env;      /* " NAME='VALUE'" of all hosts */
	const char *command; /* with {host} for the name */
	bool script;         /* the command is one of script_command() */
	bool braces;         /* it has {host} */
	bool variable;       /* NANOPOD_HOST is wanted */
};

void perhost_init(struct perhost *p);
void perhost_release(struct perhost *p); /* wipes the values */

/* "NAME=VALUE", or "NAME" with the value that it has here. 0, or a negative code with a sentence. */
int perhost_env(struct perhost *p, const char *text, struct fail *f);

/* What runs, which stays the caller's; script: the text of a script, or NULL. */
void perhost_set(struct perhost *p, const char *command, const char *script, size_t script_len);

/* Does each host get a command of its own? */
bool perhost_differs(const struct perhost *p);

/* Adds the command with the host's name for {host}; name NULL: as it is. 0, or a negative code with a sentence. */
int perhost_fill(const struct perhost *p, const char *name, struct buf *out, struct fail *f);

/* The same with its variables set, for any shell that knows `export NAME='VALUE'`. */
int perhost_command(const struct perhost *p, const char *name, struct buf *out, struct fail *f);

#endif
