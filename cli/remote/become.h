/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as another user by sudo. sudo reads the password from the channel, and only where it asks for it: so no
 * command line, no variable and no file of a host has it. Lines with a random mark on standard error say when sudo
 * asks and when the command begins; nothing is sent to a host that asks twice.
 */
#ifndef CLI_REMOTE_BECOME_H
#define CLI_REMOTE_BECOME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"
#include "pssh/pssh.h"

struct fanout;
struct outcome;

struct become {
	const char *user, *file; /* NULL: root; NULL: a person types the password */
	const char *script;      /* what the command reads once it runs; NULL: nothing */
	size_t script_len;
	char mark[40];
	char *password;
	bool known; /* the password was asked for: NULL means that there is none */
	struct buf text, data;
	struct pssh_event made;
};

/* 0, or a negative code with a sentence. */
int become_init(struct become *b, const char *user, const char *file, struct fail *f);
void become_release(struct become *b); /* wipes the password */

/* Adds the command that runs `command` by sudo. A code of buf_add. */
int become_command(const struct become *b, const char *command, struct buf *out);

/* The event as the person should see it, or NULL: nothing is left of it. */
const struct pssh_event *become_event(struct become *b, struct fanout *f, const struct pssh_event *ev,
	struct outcome *o);

/* What to type next where sudo refused; NULL: it did not. */
const char *become_hint(const struct outcome *o);

#endif
