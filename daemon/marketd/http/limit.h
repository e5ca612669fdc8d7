/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets in fixed memory: a client that asks too often hears when to come back. A stranger who
 * comes with ever new keys makes it forget others' debts, but never grow.
 */
#ifndef MARKETD_HTTP_LIMIT_H
#define MARKETD_HTTP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct limit;

/* per_second 0: no limit. burst: how many requests may come at once after a pause. 0 or -ENOMEM. */
int limit_new(struct limit **out, int64_t per_second, int64_t burst);
void limit_free(struct limit *l);

/* Takes one. False: none is left; *retry_s: when the next one is there, at least 1. */
bool limit_take(struct limit *l, uint64_t key, int64_t now_ms, int *retry_s);

/* Whether one is left. Looking makes it forget nobody. */
bool limit_left(const struct limit *l, uint64_t key, int64_t now_ms);

/* Takes more afterwards, for what the request really cost. The debt is never more than a full burst. */
void limit_charge(struct limit *l, uint64_t key, int64_t now_ms, int64_t count);

#endif
