/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts what a remote process prints on one stream into lines, chunks or one piece, within a ceiling. */
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
	struct buf held;       /* an incomplete line; when gathering, everything so far */
	uint64_t dropped;
	uint64_t spilled;      /* bytes in the file; with any, held is empty */
	int spill;             /* -1: no file */
	void *map;
	bool ended;            /* output_end was called */
};

void output_init(struct output *o);
void output_release(struct output *o);

/*
 * Takes what was read. *emit is what to hand out now (len 0: nothing), valid until join or data
 * changes. 0 or a code: PSSH_ENOMEM, or PSSH_ELOCAL if the spill file failed.
 */
int output_feed(struct output *o, const struct output_rule *rule, const char *data, size_t len, struct buf *join,
	const char **emit, size_t *emit_len, struct fail *f);

/* The stream has ended: *emit is what is left, valid until output_release. Call once. 0 or a code. */
int output_end(struct output *o, const char **emit, size_t *emit_len, struct fail *f);

#endif
