/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Open Policy Agent says that it decided: its decision log comes in pieces, a gzipped JSON array each, and again
 * where it has not heard that a piece was taken. Each decision is kept once, as a line of JSON in a file beside the
 * market's database, with its id and the hash of its input.
 */
#ifndef MARKETD_POLICY_DECISIONLOG_H
#define MARKETD_POLICY_DECISIONLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

enum { DECISIONLOG_TEXT = 4 << 20 }; /* lines of one piece */

struct decisionlog;

/* The file, and what it was before it was full: PATH.1 and so on. 0 or a negative code. */
int decisionlog_open(struct decisionlog **out, const char *path, struct fail *f);
void decisionlog_free(struct decisionlog *d);

struct decisionlog_taken {
	struct buf lines; /* of the new ones; begun by the caller with DECISIONLOG_TEXT */
	size_t nameless;  /* decisions without an id */
	bool cut;         /* the piece was too large, and its end is lost */
};

/*
 * The new ones of a piece, which are on the disk then. What is odd in one is left out, as the agent would send it again
 * for ever. 0; -EINVAL: it is no such piece; -EFBIG: too large; -EAGAIN: there are more than fit, which are kept when
 * the piece comes again; another negative code: none can be kept now.
 */
int decisionlog_take(struct decisionlog *d, const char *piece, size_t len, struct decisionlog_taken *out,
	struct fail *f);

#endif
