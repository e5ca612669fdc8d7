/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets in a fixed room: who asks too often is told when to come back. A stranger who
 * comes with ever new keys makes it forget others' debts, never grow.
 */
#ifndef MARKETD_HTTP_LIMIT_H
#define MARKETD_HTTP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct limit;

/* per_second 0: no limit. burst: how much may be asked at once after a pause. 0 or -ENOMEM. */
int limit_new(struct limit **out, int64_t per_second, int64_t burst);
void limit_free(struct limit *l);

/* Takes one. False: there is none; *retry_s is when one will be, 1 at least. */
bool limit_take(struct limit *l, uint64_t key, int64_t now_ms, int *retry_s);

/* So many more, after the fact: what was done took that much. It is never owed for more than twice a full pause. */
void limit_charge(struct limit *l, uint64_t key, int64_t now_ms, int64_t count);

#endif
