/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The market itself keeps new nodes from a machine, while that has to be measured: nobody pays for the wait, and nobody
 * is blamed for it.
 */
#ifndef MARKETD_STORE_HOLD_H
#define MARKETD_STORE_HOLD_H

#include "marketd/store/watch.h"

/* As watch_hold. */
int hold_set(struct watched *a, struct market *m, uint64_t agent, bool held, int64_t now, struct fail *f);
/* Where a node has waited since `awaits`, since when its host is to make it. a: NULL where the host has no agent. */
int64_t hold_awaits(const struct watched *a, int64_t awaits);
/* Where it is kept back: the first minute of the wait. */
int64_t hold_from(const struct watched *a, int64_t awaits);
/* Where the host's node is kept back, what its buyer waited, this minute too, is his again. 0 or a reason. */
int hold_give_back(const struct watched *a, struct market *m, const struct host *h, struct fail *f);

#endif
