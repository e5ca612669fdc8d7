/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's console, from its file to the market: always cut into numbered lines in the same way, so that lines sent
 * again after a crash are identical. Frees the disk space of shipped lines.
 */
#ifndef AGENTD_CONSOLE_H
#define AGENTD_CONSOLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentd/node_journal.h"

enum {
	CONSOLE_LINE = 4096,              /* longer lines are split */
	CONSOLE_LINES = 500, CONSOLE_BYTES = 96 * 1024,   /* in one request */
	CONSOLE_BACKLOG = 4 << 20,        /* longest backlog: beyond it the oldest lines are skipped, with a note */
	CONSOLE_KEPT = 256 * 1024,        /* newest bytes that then stay */
	CONSOLE_RATE = 64 * 1024,         /* bytes a second from one node, with bursts of BURST_MS */
	CONSOLE_BURST_MS = 16000,
};

/* Appends lines of the agent to path, each as "[nanopod] …". */
void console_note(const char *path, const char *text);

/*
 * Is there more than *at says? Moves *at to a file that was made anew, or past a backlog (then *moved: save it in the
 * journal before sending the next line).
 */
bool console_look(const char *path, struct console_at *at, bool *moved);

/*
 * Builds the body of a request from the next lines, and where the console stands once the market has them. ended: the
 * last line needs no newline. *out NULL: no complete line yet. 0 or -errno.
 */
int console_lines(const char *path, const struct console_at *at, bool ended, int64_t now_us, json_t **out,
	struct console_at *after);

/* The market says which line it expects next. False where no node writes so many: *at stays. */
bool console_expected(struct console_at *at, int64_t next);

/* Frees the disk space before at->offset, which the journal has. true: the file was truncated, and offset is 0. */
bool console_free(const char *path, struct console_at *at, int64_t *freed);

#endif
