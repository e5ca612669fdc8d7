/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event did, for those who write it down: the store makes rows of it, the API reads the
 * new ids from it. Strings and spans live until the next engine_apply or until the effects are cleared.
 */
#ifndef MARKETD_ENGINE_EFFECT_H
#define MARKETD_ENGINE_EFFECT_H

#include <stddef.h>
#include <stdint.h>

#include "marketd/engine/state.h"

/* Ledger accounts are (owner, kind, asset). Asset 0 is money; else the id of a SKU, in node-minutes. */
#define BOOKS(X) \
	X(AVAILABLE, "available") /* account: money */ \
	X(HELD, "held")           /* account: money of resting orders */ \
	X(ESCROW, "escrow")       /* account: money of leases under way */ \
	X(ISSUED, "issued") /* market (owner 0), money: what was credited, negative; pool that originates: capacity */ \
	X(FEES, "fees")     /* market, money */ \
	X(CAPACITY, "capacity") /* pool: node-minutes that it has */ \
	X(USED, "used")         /* market: node-minutes that have passed in leases */ \
	X(PAID, "paid")         /* market, money: what sellers were paid out */

enum book {
#define BOOK_X(name, text) BOOK_##name,
	BOOKS(BOOK_X)
#undef BOOK_X
	BOOK_KINDS
};

struct posting {
	uint64_t transfer;         /* postings of one transfer sum to zero in each asset */
	uint64_t owner;            /* account, pool, or 0: the market */
	uint64_t account;          /* whose statement it is on: the owner, or the pool's owner; 0: the market's */
	uint64_t asset;
	enum book book;
	int64_t amount;            /* signed */
	int64_t balance;           /* after it */
	uint64_t subject;          /* the order or lease that it is for; 0 */
};

/* X(name, text): the news for account holders, in the events stream. */
#define NOTICES(X) \
	X(ORDER_PLACED, "order.placed") \
	X(ORDER_FILLED, "order.filled") /* one lease of it; amount is its cost */ \
	X(ORDER_CLOSED, "order.closed") /* status and reason */ \
	X(SOLD, "capacity.sold")        /* to the seller */ \
	X(RELEASED, "capacity.released") \
	X(INTERRUPTED, "capacity.interrupted") /* minute is when */ \
	X(LEASE_ENDED, "lease.ended") \
	X(SETTLED, "lease.settled") /* amount to the seller */ \
	X(REFUNDED, "lease.refunded") \
	X(CREDITED, "account.credited") \
	X(ACCOUNT_STATE, "account.state") \
	X(INSTANCE_CREATED, "instance.created") \
	X(INSTANCE_STATUS, "instance.status") \
	X(HOST_STATE, "host.state") \
	X(PROCUREMENT_STATUS, "procurement.status") \
	X(AGENT, "agent.state")           /* code: enum agent_news */ \
	X(HOST_DRAIN, "host.drain")       /* to its owner; minute 0: it sells again */ \
	X(SHORTENED, "lease.shortened")   /* its host drains; minute is when it ends, amount comes back */ \
	X(HOST_VERIFIED, "host.verified") /* to its owner, and to its tenant where it failed; code: the result */ \
	X(ORDER_PRICED, "order.priced")   /* to its seller; amount: the new price, micro-dollars per node-minute */ \
	X(HOST_FLOOR, "host.floor")       /* to its owner; amount: the same; 0: it has none any more */ \
	X(ANNOUNCED, "announcement")      /* to its account, or 0: the operator's list alone; code: the severity */ \
	X(ANNOUNCEMENT_ENDED, "announcement.ended") \
	X(GRANTED, "grant.made")      /* to whom it pays for; amount: its maximum */ \
	X(GRANT_ENDED, "grant.ended") /* amount: what it paid */ \
	X(VOLUME, "volume.state")     /* code: enum volume_news; other: its agent; minute: until when that holds */ \
	X(VOLUME_PAID, "volume.paid") /* to its account; amount: what it paid; minute: until when */ \
	X(PLAN_PAID, "plan.paid")     /* amount: the fee, or what a dearer plan costs more; minute: to when */ \
	X(PLAN_NEXT, "plan.next")     /* from `minute` on it is this plan */ \
	X(PLAN_CANCELLED, "plan.cancelled") /* from `minute` on there is none */ \
	X(PLAN_ENDED, "plan.ended") \
	X(PLAN_LAPSED, "plan.lapsed") /* code: why its next month was not paid; amount: the fee */ \
	X(PAYOUT, "payout")           /* asked for, sent, or came back: code; amount: of that step */ \
	X(DUNNING, "account.dunning") /* code: enum dunning, 0: open again; amount: what it owes; minute: since when */

enum notice_kind {
#define NOTICE_X(name, text) NOTICE_##name,
	NOTICES(NOTICE_X)
#undef NOTICE_X
	NOTICE_KINDS
};

enum volume_news { VOLUME_MADE, VOLUME_GREW, VOLUME_OWES, VOLUME_BACK, VOLUME_ENDS, VOLUME_ENDED, VOLUME_LOST };
enum agent_news { AGENT_JOINED, AGENT_CAME, AGENT_LEFT };

struct notice {
	enum notice_kind kind;
	uint64_t account;          /* whose stream it goes to */
	uint64_t subject, other;   /* order, lease, instance …; the second thing that it concerns (lease, host) */
	int64_t amount, minute;
	int32_t code;              /* status or reason */
};

enum effect_kind {
	EFFECT_MADE,      /* the event made something: its id */
	EFFECT_ORDER,     /* an order is new or changed: its row */
	EFFECT_LEASE,     /* a lease is new, changed or over: its row. This is a fill where it is new. */
	EFFECT_POSTING,
	EFFECT_NOTICE,
};

struct effect {
	enum effect_kind kind;
	union {
		uint64_t made;
		struct order order;
		struct { struct lease lease; bool is_new, over; } lease;
		struct posting posting;
		struct notice notice;
	} u;
};

struct effects {
	struct effect *list;
	size_t count, cap;
	struct span *spans;        /* what the orders in it point to */
	size_t span_count, span_cap;
};

void effects_init(struct effects *e);
void effects_clear(struct effects *e);   /* keeps the memory */
void effects_release(struct effects *e);
uint64_t effects_made(const struct effects *e); /* the id of the last EFFECT_MADE; 0 */

const char *book_name(enum book b);
const char *notice_name(enum notice_kind k);

#endif
