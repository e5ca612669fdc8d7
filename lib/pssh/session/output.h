/* SPDX-License-Identifier: Apache-2.0 */
/* What a remote process prints on one stream, cut into lines, chunks or one whole; always bounded. */
#ifndef PSSH_SESSION_OUTPUT_H
#define PSSH_SESSION_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "pssh/pssh_types.h"

struct output_rule {
	enum pssh_output mode;
	size_t ceiling;
	enum pssh_overflow policy;
};

struct output {
	struct buf held;       /* a line that is not whole yet, or all of it */
	uint64_t dropped;
	uint64_t spilled;      /* bytes in the file; then nothing is held */
	int spill;             /* -1: no file */
	void *map;
	bool ended;            /* the remainder was given out */
};

void output_init(struct output *o);
void output_release(struct output *o);

/*
 * Takes what was read. *emit is what may go out now (len 0: nothing), valid until join or data
 * changes. 0 or a code: out of memory, or the spill file failed.
 */
int output_feed(struct output *o, const struct output_rule *rule, const char *data, size_t len, struct buf *join,
	const char **emit, size_t *emit_len, struct fail *f);

/* The stream is at its end: what is left, once; valid until output_release. 0 or a code. */
int output_end(struct output *o, const char **emit, size_t *emit_len, struct fail *f);

#endif
