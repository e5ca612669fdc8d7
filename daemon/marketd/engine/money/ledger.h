/* SPDX-License-Identifier: Apache-2.0 */
/* Double entry: money and capacity only move from book to book, and no book falls below its floor. */
#ifndef MARKETD_ENGINE_MONEY_LEDGER_H
#define MARKETD_ENGINE_MONEY_LEDGER_H

#include "marketd/engine/live/world.h"

struct entry {
	enum book book;
	struct live_account *account; /* AVAILABLE, HELD, ESCROW */
	struct live_pool *pool;       /* CAPACITY; ISSUED of capacity */
	struct live_sku *sku;         /* capacity; NULL: money */
	int64_t amount;
	bool owed; /* AVAILABLE: may fall below the floor */
};

/* Makes one transfer of the entries that are not 0; none where all are 0. */
void ledger_move(struct engine *e, uint64_t subject, const struct entry *list, size_t count);

int64_t ledger_fee(int64_t amount, int32_t bps);   /* rounded up; of an amount not below 0 */
int64_t ledger_share(int64_t amount, int32_t bps); /* rounded down */

/* Of an account without the floor: what it may spend. */
int64_t ledger_spendable(const struct account *a);

#endif
