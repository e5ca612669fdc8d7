/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market is made of, as plain data that the API reads and only the engine writes. Lists
 * are in order of id, which is the order of making. Minutes are half-open: [start, end).
 */
#ifndef MARKETD_ENGINE_STATE_H
#define MARKETD_ENGINE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marketd/engine/event.h"

/* Nodes for a window: the form of schedules, fills, and what is left of an order. */
struct span {
	int64_t start, end; /* minutes; end MINUTE_MAX: open */
	int32_t nodes;
};

/* What an account earned by sales and volumes (edition 4), and what of that was paid out or is to be. */
struct income_hour {
	int64_t hour, micros;
};
struct income {
	int64_t earned, paid;
	struct income_hour *hours; /* of the last PAYOUT_HOLD_MAX at least, in order */
	size_t count, cap;
};

/* The payouts of an account that it asked for, and that nobody has sent yet. */
struct asked {
	size_t count;
	int64_t micros;
};

/* Since when an account owes (edition 5), and what the operator's rule made of that. */
struct debt {
	bool owes;
	bool reopened;          /* by the rule, which the journal does not say yet */
	int64_t since, stepped; /* minutes; stepped: when the step was taken */
	enum dunning step;      /* DUNNING_SUSPENDED: by the rule, and open again once it owes nothing */
};

struct account {
	uint64_t id, beneficiary;
	char *name;
	enum account_state state;
	int64_t created_at;
	int64_t floor;             /* nothing that it does takes available below it; a payment that went back may */
	int64_t available;         /* micro-dollars that may be spent */
	int64_t held;              /* for orders that rest, and for payouts: */
	struct asked asked;        /* follows from them */
	int64_t escrow;            /* paid for leases and not yet earned by their sellers */
	char *facts;               /* what the operator knows of it, JSON; NULL */
	struct income income;
	struct debt debt;
	void *own;                 /* the engine's lists of this account's things */
};

/* What it spent beyond what it had; 0: nothing. What it asked to be paid out is spent, what its orders hold is not. */
static inline int64_t account_owed(const struct account *a)
{
	int64_t has = a->available + (a->held - a->asked.micros);

	return has < 0 ? -has : 0;
}

/* Not even what it has paid for may be used. Who is suspended for a debt may use that. */
static inline bool account_shut(const struct account *a)
{
	return a->state == ACCOUNT_SUSPENDED && a->debt.step != DUNNING_SUSPENDED;
}

/* What a person or a token may spend in a calendar month (UTC), and has spent. */
struct spending {
	bool capped;
	int64_t cap;          /* micro-dollars a month, where it is */
	int64_t month, spent; /* in that month (January 1970 is 1), without what came back of it */
};

struct token {
	uint64_t id, account;
	char *name;
	uint8_t hash[TOKEN_HASH];
	int32_t scopes;
	int64_t created_at, expires; /* Unix seconds; 0: never */
	uint64_t person;             /* who signs in with it; 0: whoever has it */
	bool revoked;
	struct spending spending;
};

struct sku {
	uint64_t id;
	char *alias;
	char *properties;          /* JSON as the operator gave it */
	int32_t gpus;              /* per node; 0: a CPU node */
	bool proof;                /* it is sold from hosts that have a valid proof, unless a buyer wants others, too */
	int64_t created_at;
};

struct pool {
	uint64_t id, account;
	enum pool_kind kind;
	char *name, *tags;
	int64_t created_at;
	bool deleted;
	void *own;
};

/* Consecutive minutes of one host that are alike. A host's pieces are in order and leave no gap. */
struct piece {
	int64_t start, end;
	uint64_t pool;             /* who owns it */
	uint64_t lease;            /* under which it came; 0: by registration */
	uint64_t order;            /* the sell order that has it on sale; 0: not on sale */
	uint64_t taken;            /* the pool that a drain took it from: it is never sold again; 0 */
	int64_t price;             /* of that order */
	uint64_t place;            /* of that order, in time */
	bool block;                /* that order sells all of its hosts together or none */
	bool interruptible;        /* the lease can be taken back by a reserved buy */
	bool granted;              /* a grant pays for the lease: it is not resold */
};

/* A machine that makes nodes on its account's hosts. The market knows it by its key, not its address. */
struct agent {
	uint64_t id, account;
	char *name;
	char *public_key;          /* base64 */
	char *machine;             /* which machine it was when it joined; NULL */
	char *inventory;           /* JSON, as the agent last reported it; NULL */
	uint64_t generation;       /* of its last session; the next one needs a higher number */
	uint8_t session[TOKEN_HASH]; /* of that session's secret; zeroes before the first */
	int64_t created_at;
	bool retired;
	int32_t volume_gib;   /* of volumes that its owner lets at most; 0: none */
	int64_t volume_price; /* of new ones: micro-dollars per GiB and month */
};

struct host {
	uint64_t id, account, sku, pool;   /* pool: the originating one */
	uint64_t agent;            /* which makes its nodes; 0: none */
	char *name;
	int64_t start, end;        /* its minutes */
	bool down, retired;
	bool watched;              /* the market's watch took it down, and may bring it up again */
	char *why;                 /* why it is down, as whoever took it down says; NULL */
	int64_t down_at;           /* since when it is down, Unix seconds; 0: it is up, or unknown */
	int64_t drain;             /* its owner sells nothing of it from this minute on; 0: no such minute */
	bool drain_ends;           /* leases that reached beyond that minute end there */
	int64_t floor;             /* its owner sells no minute of it for less; 0: for anything */
	char *drain_why;           /* NULL */
	enum host_proof proof;
	int64_t proof_until; /* it is valid in minutes before this one; 0: there is none, or it failed */
	int64_t proof_at;    /* of what was measured, Unix seconds; 0: nothing was */
	char *proof_why;     /* why it did not pass; NULL */
	char *claims;        /* what was measured last, signed, as JSON; NULL */
	int64_t created_at;
	const struct piece *pieces;
	size_t piece_count;
};

enum order_status {
	ORDER_PENDING,
	ORDER_FILLED,
	ORDER_PARTIALLY_FILLED,
	ORDER_REJECTED,
	ORDER_CANCELLED,
	ORDER_RESTING
};

/* Open ones are in the engine; all of them, with their fills, are rows in the store. */
struct order {
	uint64_t id, account, token, pool, sku, host, procurement;
	enum side side;
	int32_t flags, nodes;
	int64_t start, end, price, max_total;
	uint64_t place;                /* of a sell in time: its id, or the id that it took with its last price */
	int64_t created_at, closed_at; /* Unix seconds; closed_at 0 while open */
	enum order_status status;
	int32_t reason;            /* enum reason: why it is cancelled or did not fill; 0 */
	int64_t hold;              /* micro-dollars held for the rest */
	int64_t month;             /* of a buy: in which it counts for its token; 0: for nobody */
	int64_t filled_minutes;    /* node-minutes */
	int64_t filled_cost;       /* micro-dollars; of a buy without what a grant paid */
	uint64_t grant;            /* of a buy that is being placed: which pays `granted` millionths; 0 */
	int32_t granted;
	const struct span *rest;   /* what may still fill */
	size_t rest_count;
};

/* One host for one window, bought. Each lease settles its own money. */
struct lease {
	uint64_t id, order, sell_order, host, sku;
	uint64_t parent;           /* the seller's own lease of these very minutes; 0: the host's owner sold them */
	uint64_t buyer, seller;    /* accounts */
	uint64_t pool;             /* the buyer's */
	int64_t start, end, price;
	uint64_t grant; /* which pays `granted` micro-dollars a minute of the price; 0: none */
	int64_t granted;
	uint64_t token; /* for which it counts as spent, in `month`; 0: for none */
	int64_t month;
	int64_t paid_end;          /* end, or one less where the broken minute was credited */
	int64_t settled;           /* minutes before this are paid or given back */
	bool interruptible;
	bool sold_on;              /* the buyer has sold these minutes to another lease */
	bool proof;                /* its minutes are paid where the host has a valid proof */
	int64_t since;             /* when its buyer came: start, or that of the lease that it goes on from */
	int64_t filled_at;         /* Unix seconds */
};

struct instance {
	uint64_t id, account, pool, sku, image;
	uint64_t host;             /* 0 until the pool holds one for it, and after its end */
	uint64_t had;              /* the last host that it got; kept when it has ended */
	char *name, *tags, *user_data;
	char *detail;              /* what the agent last said, or why it ended; NULL */
	enum instance_priority priority;
	enum instance_status status;
	int64_t created_at, updated_at;
	int64_t ended_at;  /* when it ended, Unix seconds; 0: it has not, or long ago: updated_at is near */
	int64_t placed_at; /* when it got its host, Unix seconds (by a tick: when that minute began); 0: unknown */
};

struct procurement {
	uint64_t id, account, pool, sku;
	char *name;
	int32_t target, window;    /* minutes */
	int64_t min_sell, max_buy;
	bool enabled;
	int32_t reason;            /* enum reason of its last try; 0: none */
	uint64_t token;            /* the last that made or changed it: what it buys counts for that; 0 */
	int64_t created_at, updated_at;
};

/* Money of one account, the sponsor, that pays for what another buys, where a policy says so. */
struct grant {
	uint64_t id, account, sponsor;
	char *name;
	int64_t max, spent; /* micro-dollars; spent: without what came back */
	int64_t until;      /* a minute; MINUTE_MAX: until it is ended */
	int64_t created_at;
	bool ended;
	uint64_t plan; /* the plan of which it is a month; 0: it is none */
	int64_t units; /* of a plan: so much of `max` is included; the rest pays rates */
};

/* What people call a plan: each month an account pays a fee to its seller, who pays for included node time. */
struct tariff {
	uint64_t id, account; /* account: the seller, the sponsor of its grants */
	char *name;
	uint64_t sku;                 /* whose node time it pays; 0: of all */
	int64_t fee, included, rates; /* micro-dollars of a whole month */
	enum tariff_state state;
	int64_t created_at;
};

/* What an account has of a plan in this month. */
struct subscription {
	uint64_t id, account, plan;
	uint64_t next;                /* the plan of the next month; 0: none */
	uint64_t grant;               /* of this month */
	int64_t fee, included, rates; /* of the plan, when this month was paid */
	int64_t next_fee;             /* of the next plan, when it was chosen */
	int64_t created_at;
};

/* Somebody whom an issuer of identities knows. */
struct person {
	uint64_t id, account;
	char *identity;     /* "ISSUER SUBJECT" */
	char *name, *email; /* as the issuer said; email NULL: unknown */
	int32_t roles;      /* enum role */
	int64_t created_at;
	struct spending spending;
};

struct invitation {
	uint64_t id, account;
	uint64_t maker; /* the person whose token made it; 0: nobody's */
	char *name; /* for whom; NULL */
	uint8_t hash[TOKEN_HASH];
	int32_t roles;
	int64_t created_at, expires; /* Unix seconds */
};

/* What a payment service did with one thing of a payment: took its money, refunded a part, lost a dispute. */
struct payment_part {
	char *reference;
	int64_t step, micros; /* micros: what the account has of it now; below 0 where it went back */
};

/* Money that a payment service took, with all that came of it. */
struct payment {
	uint64_t id, account; /* account 0: nobody knows whose it is, and none of it is in the ledger */
	char *reference;
	int64_t created_at;
	struct payment_part parts[PAYMENT_PARTS];
	size_t part_count;
};

/* Room of an agent's disk that outlives nodes, for as long as it is paid. */
struct volume {
	uint64_t id, account, agent;
	char *name;
	int32_t gib;
	int64_t price; /* micro-dollars per GiB and month */
	enum volume_state state;
	int64_t paid_until; /* a minute */
	int64_t until;      /* VOLUME_UNPAID: it is deleted in this minute; else 0 */
	int64_t created_at;
};

/* Money that an account earned by sales and is paid out. */
struct payout {
	uint64_t id, account;
	enum payout_state state;
	int64_t micros, back;           /* back: of it, what came back */
	char *reference;                /* of whoever sent it; NULL */
	char *why;                      /* it came back; NULL */
	int64_t created_at, updated_at; /* updated_at 0: nothing became of it yet */
};

/* What the operator says. */
struct announcement {
	uint64_t id, account; /* account 0: to all */
	enum severity severity;
	int64_t from, until; /* minutes; until MINUTE_MAX: until it is ended */
	char *text;
	int64_t created_at;
};

#endif
