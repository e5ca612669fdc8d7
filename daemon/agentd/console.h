/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's console, from its file to the market: cut into numbered lines in one way alone, so that
 * what is sent again after a crash is the same again. What was shipped gives its disk back.
 */
#ifndef AGENTD_CONSOLE_H
#define AGENTD_CONSOLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentd/node_journal.h"

enum {
	CONSOLE_LINE = 4096,              /* longer ones are several */
	CONSOLE_LINES = 500, CONSOLE_BYTES = 96 * 1024,   /* of one request */
	CONSOLE_BACKLOG = 4 << 20,        /* more than this waits: the oldest is passed over, and that is said */
	CONSOLE_KEPT = 256 * 1024,        /* and so much of the newest stays */
	CONSOLE_RATE = 64 * 1024,         /* bytes a second of one node, with a burst of BURST_MS of that */
	CONSOLE_BURST_MS = 16000,
};

/* Appends lines of the agent's own to path, each "[nanopod] …". */
void console_note(const char *path, const char *text);

/*
 * Is there more than *at says? Moves *at to a file that was made anew, or over a backlog (then *moved:
 * it has to be in the journal before the next line is sent).
 */
bool console_look(const char *path, struct console_at *at, bool *moved);

/*
 * The next lines as the body of a request, and where the console is once they are taken. ended: a last
 * line needs no newline. *out NULL: there is no whole line yet. 0 or -errno.
 */
int console_lines(const char *path, const struct console_at *at, bool ended, int64_t now_us, json_t **out,
	struct console_at *after);

/* Gives back the disk below at->offset, which is in the journal. true: the file was cut to nothing, and offset is 0. */
bool console_free(const char *path, struct console_at *at, int64_t *freed);

#endif
