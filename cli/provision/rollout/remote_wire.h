/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a script's output into records and lines of programs. It trusts nothing: records count only on standard
 * output, complete and with an end; long lines are cut.
 */
#ifndef CLI_PROVISION_ROLLOUT_REMOTE_WIRE_H
#define CLI_PROVISION_ROLLOUT_REMOTE_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { WIRE_WORDS = 8, WIRE_RECORD_BYTES = 4 << 20, WIRE_LINE_BYTES = 8192 };

enum remote_wire_kind {
	REMOTE_WIRE_MORE,   /* no complete line is left */
	REMOTE_WIRE_RECORD, /* words, count */
	REMOTE_WIRE_LINE,   /* words[0], without its newline; a long line comes in pieces */
	REMOTE_WIRE_BAD,    /* an invalid record; why */
};

/* One stream: standard output, or with `lines` standard error, which has no records. */
struct remote_wire {
	struct buf line;
	bool lines, taken;
	const char *words[WIRE_WORDS];
	size_t count;
	const char *why;
};

void remote_wire_init(struct remote_wire *w, bool lines);
void remote_wire_release(struct remote_wire *w);   /* wipes: records may have been secrets */

/* Consumes *data up to the next complete record or line, which is valid until the next call. */
enum remote_wire_kind remote_wire_next(struct remote_wire *w, const char **data, size_t *len);

/* Hands out a last line without newline after the end of the stream. A record without its end is bad. */
enum remote_wire_kind remote_wire_end(struct remote_wire *w);

#endif
