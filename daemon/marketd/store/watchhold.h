/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The market itself keeps new nodes from a machine, while that has to be measured: nobody pays for the wait, and nobody
 * is blamed for it.
 */
#ifndef MARKETD_STORE_WATCHHOLD_H
#define MARKETD_STORE_WATCHHOLD_H

#include "marketd/store/market.h"

struct hold {
	int64_t since, until; /* Unix seconds: 0: no node is kept back; until when the last ones were */
};

void hold_set(struct hold *x, bool held, int64_t now);
/*
 * Where a node has waited since `awaits`, since when its host is to make it: not yet, where the
 * market keeps it back. x: NULL where the host has no agent.
 */
int64_t hold_awaits(const struct hold *x, int64_t awaits);
/* Where it is kept back: the first minute of the wait. */
int64_t hold_from(const struct hold *x, int64_t awaits);
/*
 * Where the host's node is kept back, what its buyer waited, this minute too, is his again. awaits: 0 where none waits.
 * 0 or a reason.
 */
int hold_give_back(const struct hold *x, struct market *m, const struct host *h, int64_t awaits, struct fail *f);

#endif
