/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger says of an account's money, by day and by what it was for: credits, node time that was used,
 * earnings, fees. A page reads a bounded number of postings, wherever the period begins. The sums of all pages
 * are the ledger's, to the micro-dollar.
 */
#ifndef MARKETD_API_NP_MOVEMENTS_H
#define MARKETD_API_NP_MOVEMENTS_H

#include "marketd/api/api.h"

/* X(name, text) */
#define MOVEMENTS(X) \
	X(CREDIT, "credit")       /* the operator put money in */ \
	X(DEBIT, "debit")         /* or took it out */ \
	X(USAGE, "usage")         /* paid for node time that has passed */ \
	X(FORFEIT, "forfeit")     /* released and not refunded */ \
	X(REFUND, "refund")       /* paid before and given back: it changes no sum of all one's money */ \
	X(EARNING, "earning")     /* as the seller of node time, less the fee */ \
	X(FEE, "fee")             /* the market's own, of what sellers get */ \
	X(GRANTED, "granted")     /* what a sponsor paid of the account's node time: it changes none of its money */ \
	X(SPONSORED, "sponsored") /* what the account paid of another's, by a grant */ \
	X(STORAGE, "storage")     /* paid for hours of volumes */ \
	X(INCLUDED, "included")   /* as granted: what its plan paid */ \
	X(PLAN, "plan")           /* the fee of its plan */ \
	X(PLAN_SOLD, "plan_sold") /* the fee of a plan that the account sells */ \
	X(PAYOUT, "payout")       /* what was earned left the market, or came back after that */

enum movement_kind {
#define MOVEMENT_X(name, text) MOVEMENT_##name,
	MOVEMENTS(MOVEMENT_X)
#undef MOVEMENT_X
		MOVEMENT_KINDS
};

struct movement {
	uint64_t account; /* 0: the market itself */
	int64_t at;       /* the day's first second in UTC; of a credit: when it was */
	enum movement_kind kind;
	uint64_t seq;             /* of a credit: its event; else 0 */
	uint64_t sku, pool, host; /* 0: it is for none. pool: the buyer's. host: of an earning or fee */
	uint64_t volume;          /* of what was paid for one; else 0 */
	int64_t amount;           /* what it did to all of the account's money: available, held and escrow */
	int64_t gross; /* earning: before the fee; refund, granted: what that was; else the amount without its sign */
	int64_t fee;
	int64_t minutes; /* node-minutes that it is for */
	int64_t count;   /* transfers */
};

/* The books of an account's money, and what is in them. */
enum { MONEY_BOOKS = 3 }; /* BOOK_AVAILABLE, BOOK_HELD, BOOK_ESCROW */

struct movement_page {
	uint64_t account; /* whose; 0 with all: the market's own comes first, then everybody's */
	bool all;
	int64_t from, to; /* Unix seconds, [from, to) */
	bool balances;    /* the balances are wanted, too */
	uint64_t seq, n;  /* where the page before ended; 0: the first */
	unsigned met;     /* bits of the books whose balance at `from` is known */
	size_t limit;     /* postings that it may read */

	/* Results. */
	struct movement *list;
	size_t count, cap;
	unsigned opened, closed; /* bits: this page says before[book], after[book] */
	int64_t before[MONEY_BOOKS], after[MONEY_BOOKS];
	bool more; /* there is a next page, from account, seq, n and met */
};

/* 0, or a reason with a sentence. Free with movement_page_release(). */
int movements_read(struct api *api, struct movement_page *p, struct fail *f);
void movement_page_release(struct movement_page *p);

const char *movement_name(enum movement_kind kind);

/* A transfer has at most so many postings, with numbers that follow each other. */
enum { ENTRIES_MAX = 8 };

/* How many of the postings from `at` on belong to one transfer. */
size_t movement_transfer(const struct posting_row *rows, size_t at, size_t count);

/* The last seq of which all postings of the account (or EVERYBODY) are from before `at`. 0 or a reason. */
int movements_before(struct api *api, uint64_t account, int64_t at, uint64_t *seq, struct fail *f);

/* What a lease was for, also when it is over. Begin with { 0 }: it remembers the last one. 0 or a reason. */
struct lease_found {
	uint64_t id;
	struct lease lease;
	bool found;
};
int movement_lease(struct api *api, uint64_t id, struct lease_found *x, struct fail *f);

/* Why the operator did what event `seq` is, as given with it; "" where nothing was. */
enum { MOVEMENT_WHY = WHY_BYTES + 1 };
const char *movement_why(struct api *api, uint64_t seq, char room[MOVEMENT_WHY]);

/* The pool that event `seq`, a credit, is a refund for; 0: it is none. */
uint64_t movement_refunds(struct api *api, uint64_t seq);

#endif
