/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts in batches, with pauses between them, and an end to it where too many fail. */
#ifndef CLI_REMOTE_ROLLING_H
#define CLI_REMOTE_ROLLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct fanout;

/* "3" or "25%" of the hosts. */
struct rolling_share {
	bool given, percent;
	unsigned long n;
};

/* 0, or -EINVAL with a sentence. */
int rolling_share_read(const char *text, bool may_be_zero, struct rolling_share *out, struct fail *f);

struct rolling {
	struct rolling_share batch, max_fail;
	int64_t pause_ms;
	size_t size;     /* hosts of a batch */
	size_t number;   /* of the batch that runs, from 1 */
	int64_t until;   /* the end of the pause, clock_ms(); 0: none */
	bool stopped;    /* no further host begins */
	size_t failures; /* how many there were then */
	char phase[64];
};

/* Holds back all hosts but those of the first batch. */
void rolling_begin(struct fanout *f);

/* After a failure: ends what has not begun where there were too many. */
void rolling_failed(struct fanout *f);

struct outcome;
void rolling_not_begun(const struct fanout *f, struct outcome *o); /* makes it the failure that says why */

enum rolling_turn { ROLLING_OVER, ROLLING_WAIT, ROLLING_BATCH };

/* After a batch: BATCH where the next one may begin now, WAIT during the pause. OVER: all hosts had their turn. */
enum rolling_turn rolling_next(struct fanout *f);

/* Milliseconds of the pause that are left; -1: there is none. */
int rolling_timeout(const struct rolling *r);

#endif
