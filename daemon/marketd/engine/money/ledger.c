/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/money/ledger.h"

#include "marketd/engine/rules/emit.h"

/* The balance that an entry changes, and its floor. */
static int64_t *ledger_balance_of(struct engine *e, const struct entry *t, int64_t *least)
{
	*least = INT64_MIN;
	switch (t->book) {
	case BOOK_AVAILABLE:
		*least = t->account->pub.floor;
		return &t->account->pub.available;
	case BOOK_HELD:
		*least = 0;
		return &t->account->pub.held;
	case BOOK_ESCROW:
		*least = 0;
		return &t->account->pub.escrow;
	case BOOK_ISSUED:
		return t->sku ? &world_stock(t->pool, t->sku->pub.id)->issued : &e->issued;
	case BOOK_FEES:
		return &e->fees;
	case BOOK_PAID:
		*least = 0;
		return &e->paid;
	case BOOK_CAPACITY:
		*least = 0;
		return &world_stock(t->pool, t->sku->pub.id)->capacity;
	case BOOK_USED:
		return &t->sku->used;
	case BOOK_KINDS:
		break;
	}
	ensure(false, "an entry names no known book");
	return NULL;
}

static void ledger_post(struct engine *e, uint64_t transfer, uint64_t subject, const struct entry *t)
{
	struct posting p = { .transfer = transfer, .book = t->book, .amount = t->amount, .subject = subject };
	int64_t least, *balance = ledger_balance_of(e, t, &least);

	*balance = sure_add(*balance, t->amount);
	ensure(t->amount > 0 || t->owed || *balance >= least, "a balance falls below its floor");
	p.balance = *balance;
	p.asset = t->sku ? t->sku->pub.id : 0;
	if (t->account)
		p.owner = p.account = t->account->pub.id;
	if (t->account && !(e->mover_count && e->movers[e->mover_count - 1] == t->account)) {
		must_room(e->movers, e->mover_count, e->mover_cap);
		e->movers[e->mover_count++] = t->account;
	}
	if (t->pool) {
		p.owner = t->pool->pub.id;
		p.account = t->pool->pub.account;
	}
	emit_posting(e, &p);
}

void ledger_move(struct engine *e, uint64_t subject, const struct entry *list, size_t count)
{
	int64_t money = 0, capacity = 0;
	bool moves = false;

	for (size_t i = 0; i < count; i++) {
		if (list[i].sku)
			capacity = sure_add(capacity, list[i].amount);
		else
			money = sure_add(money, list[i].amount);
		moves = moves || list[i].amount;
	}
	ensure(money == 0 && capacity == 0, "the entries of a transfer do not cancel out");
	if (!moves)
		return;
	for (size_t i = 0; i < count; i++)
		if (list[i].amount)
			ledger_post(e, e->next_transfer, subject, &list[i]);
	e->next_transfer++;
}

int64_t ledger_fee(int64_t amount, int32_t bps)
{
	return amount / 10000 * bps + (amount % 10000 * bps + 9999) / 10000;
}

int64_t ledger_share(int64_t amount, int32_t bps)
{
	return amount / 10000 * bps + amount % 10000 * bps / 10000;
}

int64_t ledger_spendable(const struct account *a)
{
	int64_t out;

	return __builtin_sub_overflow(a->available, a->floor, &out) ? INT64_MAX : out;
}
