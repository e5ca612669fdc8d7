/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input for all hosts of a fanout: a text, then a descriptor, and again for hosts that begin later. */
#ifndef CLI_REMOTE_INPUTFEED_H
#define CLI_REMOTE_INPUTFEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct fanout;

/* Standard input or a text for all hosts. */
struct fanout_input {
	int fd;           /* -1: no descriptor, only the text */
	const char *head; /* comes first */
	size_t head_len, head_at;
	bool open;        /* the task takes input */
	bool ended, full; /* eof: no more input; full: the task has no room now */
	char *kept;       /* read, but not taken yet */
	size_t kept_len, kept_at;
	struct buf replay; /* of the descriptor, what was sent: sent again to hosts that begin later */
	size_t replay_at;
	bool lost; /* too much was sent to keep it */
};

bool feed_wanted(const struct fanout *f); /* the descriptor should be polled for reading */
void feed_read(struct fanout *f);         /* when it is readable */
void feed_step(struct fanout *f);         /* gives the hosts what they have room for */
void feed_again(struct fanout_input *in); /* from the beginning, for a new task */

#endif
