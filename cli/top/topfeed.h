/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that asks the market, so that a screen answers keys at once while the market is slow or away. It ends with
 * its parent.
 */
#ifndef CLI_TOP_TOPFEED_H
#define CLI_TOP_TOPFEED_H

#include <sys/types.h>

#include "cli/top/toplook.h"

struct topfeed {
	pid_t pid; /* 0: none */
	int to, from;
	struct buf in;
	struct toplook *making;
	struct fail fail; /* why an answer could not be read */
	bool asked;       /* and the answer has not come */
};

/* 0 or -errno. */
int topfeed_start(struct topfeed *t, struct nanopod *np, bool machines);
void topfeed_stop(struct topfeed *t);

void topfeed_ask(struct topfeed *t);

/*
 * When t->from is readable. 1: *out is the answer, or NULL, and *why says why there is none; 0: wait for more; -EPIPE:
 * the child has ended.
 */
int topfeed_read(struct topfeed *t, struct toplook **out, struct fail *why);

#endif
