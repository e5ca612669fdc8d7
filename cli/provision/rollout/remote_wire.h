/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a script on a node says, parted into records and lines of programs. Nothing of it is trusted: records come only
 * on standard output, whole and with an end; lines are cut to a length.
 */
#ifndef CLI_PROVISION_ROLLOUT_REMOTE_WIRE_H
#define CLI_PROVISION_ROLLOUT_REMOTE_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { WIRE_WORDS = 8, WIRE_RECORD_BYTES = 4 << 20, WIRE_LINE_BYTES = 8192 };

enum remote_wire_kind {
	REMOTE_WIRE_MORE,     /* all of it was taken: no whole line is left */
	REMOTE_WIRE_RECORD,   /* words, count */
	REMOTE_WIRE_LINE,     /* words[0], without its end; a long one comes in pieces */
	REMOTE_WIRE_BAD,      /* a record that is none; why */
};

/* One stream: standard output, or with `lines` standard error, where nothing is a record. */
struct remote_wire {
	struct buf line;
	bool lines, taken;
	const char *words[WIRE_WORDS];
	size_t count;
	const char *why;
};

void remote_wire_init(struct remote_wire *w, bool lines);
void remote_wire_release(struct remote_wire *w);   /* wipes: records may have been secrets */

/* Takes from *data until something is whole. What it hands out is valid until the next call. */
enum remote_wire_kind remote_wire_next(struct remote_wire *w, const char **data, size_t *len);

/* The stream ended: is there a last line without its end? A record without one is bad. */
enum remote_wire_kind remote_wire_end(struct remote_wire *w);

#endif
