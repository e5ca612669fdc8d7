/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reference market share: its plain lists, and who does what. See reference.h. */
#ifndef TESTS_SIM_REF_H
#define TESTS_SIM_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "market/reason.h"
#include "marketd/engine/effect.h"
#include "marketd/engine/state.h"
#include "reference.h"

typedef __int128 wide;

/* Pointers to things that each begin with their id, in order of id. */
struct list {
	void **at;
	size_t n, cap;
};

struct rests {
	struct span *at;
	size_t n, cap;
};

struct cell {
	int64_t start, end;
	uint64_t pool, lease, order;
	uint64_t lost; /* whose it was until the host's owner ended that; 0 */
};

struct rhost {
	uint64_t id, account, sku, pool;
	char *name;
	int64_t start, end;
	bool down, watched;
	int64_t broke; /* the minute in which it last went down */
	int64_t drain; /* 0: it does not */
	bool drain_ends;
	int64_t floor; /* what its owner wants for it at least */
	int proof;     /* enum host_proof */
	int64_t valid; /* PROOF_PASSED: up to this minute */
	uint64_t agent;
	struct cell *cell;         /* in order, without gaps; the past is cut off */
	size_t cells;
};

struct rtoken {
	uint64_t id, account;
	char *name;
	uint8_t hash[TOKEN_HASH];
	int32_t scopes;
	int64_t expires;
	bool revoked;
	uint64_t person; /* 0: nobody in particular */
};
struct raccount {
	uint64_t id, beneficiary;
	char *name;
	int state;
	int64_t floor;
	char *known; /* facts; NULL */
	int64_t wasted; /* of what was earned: spent */
	int64_t owes;   /* the minute since when, and 1 more; 0: nothing */
	int dunned;     /* how far the rule has come */
	int64_t dunned_at;
	bool reopened; /* by the rule, and the record does not say so yet */
};
struct rsku {
	uint64_t id;
	char *name;
	int32_t gpus;
	bool asks;
};
struct rpool { uint64_t id, account; char *name; int kind; };

struct rorder {
	uint64_t id;
	uint64_t token; /* by which it was placed; counts for it in `month`, 0: for none */
	int64_t month;
	uint64_t place; /* of a sell: a buy with a greater id came after it */
	uint64_t account, pool, sku, host, procurement;
	int32_t side, flags, nodes;
	int64_t start, end, price, max_total, hold, minutes, cost;
	uint64_t gift; /* a grant that pays `part` millionths */
	int32_t part;
	int status;
	struct rests rest;         /* of a buy */
};

struct rlease {
	uint64_t id, order, sell_order, host, sku, parent, buyer, seller, pool;
	int64_t start, end, paid_end, price, settled, came;
	uint64_t token; /* as its order */
	int64_t month;
	uint64_t gift; /* a grant that pays `given` of the price */
	int64_t given;
	bool interruptible, sold_on, asked;
};

struct rinstance { uint64_t id, account, pool, sku, host; char *name; int priority, status; };

struct rprocurement {
	uint64_t id, account, pool, sku;
	char *name;
	int32_t target, window;
	int64_t min_sell, max_buy;
	bool enabled;
	int32_t reason;
	uint64_t token; /* for which it buys */
};

struct ragent {
	uint64_t id, account, generation;
	char *name, *key;
	bool retired;
	int64_t lets, asks; /* GiB of volumes, and micro-dollars for one and a month */
};
struct rvolume {
	uint64_t id, account, agent;
	char *name;
	int64_t gib, price, paid, ends; /* paid: up to this minute; ends: where it owes, that in which it is deleted */
	int state;
};

struct rword {
	uint64_t id, account;
	int severity;
	int64_t from, until;
	char *text;
};

struct rgrant {
	uint64_t id, account, sponsor;
	char *name;
	int64_t max, spent, until;
	bool ended;
	uint64_t plan; /* a month of it: first `units` in full, then a part of the price */
	int64_t units;
};

struct rperson {
	uint64_t id, account;
	char *who, *name, *email;
	int roles;
};

struct rinvitation {
	uint64_t id, account, by;
	char *name;
	uint8_t hash[TOKEN_HASH];
	int roles;
	int64_t until;
};

struct rpart {
	char *name;
	int64_t step, money;
};

struct rpayment {
	uint64_t id, account;
	char *name;
	struct rpart part[8];
	size_t n;
};

struct rtariff {
	uint64_t id, account, sku;
	char *name;
	int64_t fee, included, rates;
	int state;
};
struct rsubscription {
	uint64_t id, account, plan, next, grant;
	int64_t next_fee;             /* as it was when `next` was chosen */
	int64_t fee, included, rates; /* of the month */
};
struct rpayout {
	uint64_t id, account;
	char *name;
	int state;
	int64_t money, back;
};
struct rearning {
	uint64_t account;
	int64_t hour, money;
};

struct rspent {
	uint64_t token;
	int64_t month, amount;
};
struct rcap {
	uint64_t whom;
	int64_t most;
};
struct rbook { uint64_t owner, asset; int book; int64_t balance; };
struct rclosed { uint64_t id; int status, reason; int64_t minutes, cost; };

/* A set of SKUs. */
struct marks { uint64_t at[64]; size_t n; };

struct reference {
	int64_t at, minute;
	uint64_t next_id, next_transfer;
	bool moved;                /* the transfer that is being written has moved something */
	struct policy policy;
	int32_t rules;
	struct list accounts, tokens, skus, hosts, pools, orders, leases, instances, procurements, agents;
	struct list words, grants, people, invited, payments, volumes, tariffs, subscriptions, payouts;
	struct rearning *earning;
	size_t earnings;
	struct rbook *book;
	size_t books;
	struct rspent *spent;
	size_t spents;
	struct rcap *cap;
	size_t caps;
	struct rclosed *closed;
	size_t closeds;
	struct marks wanted, tried; /* SKUs to be tried in this event or minute; SKUs that were */
};

/* What would be sold to a buy: of a host, [start, end). */
struct slice { struct rhost *host; int64_t start, end; };
struct plan {
	struct slice *at;
	size_t n;
	int64_t minutes;
	wide cost;
	int32_t near;              /* for EXTEND: hosts that the pool has in the minute before */
};

/* refledger.c: memory, lists, books */
void *ref_more(void *old, size_t n, size_t size);
char *ref_text(const char *s);
void ref_list_add(struct list *l, void *thing);
void ref_list_drop(struct list *l, void *thing);   /* takes out and frees the thing itself */
void *ref_list_find(const struct list *l, uint64_t id);
bool ref_mark_has(const struct marks *m, uint64_t sku);
void ref_mark_add(struct marks *m, uint64_t sku);
int64_t ref_book_balance(const struct reference *r, uint64_t owner, int book, uint64_t asset);
void ref_post(struct reference *r, uint64_t owner, int book, uint64_t asset, int64_t amount);
void ref_transfer_done(struct reference *r);
void ref_post_capacity(struct reference *r, uint64_t pool, uint64_t sku, int64_t amount);
void ref_post_income(struct reference *r, uint64_t seller, int64_t amount);
int64_t ref_available(const struct reference *r, uint64_t account);

/* refpieces.c: minutes of hosts, leases */
struct cell *ref_cell_at(const struct rhost *h, int64_t minute);
void ref_cells_cut(struct rhost *h, int64_t minute);
void ref_cells_join(struct rhost *h);
void ref_cells_forget(struct rhost *h, int64_t before);
bool ref_owns(const struct rhost *h, int64_t minute, uint64_t pool);
bool ref_order_on_sale(const struct reference *r, const struct rorder *o);
void ref_order_take_off(struct reference *r, uint64_t order);
struct rlease *ref_lease_split(struct reference *r, struct rlease *l, int64_t at);
void ref_lease_settle(struct reference *r, struct rlease *l, int64_t upto);
void ref_lease_interrupt(struct reference *r, struct rlease *l, int64_t at);
void ref_lease_shorten(struct reference *r, struct rlease *l, int64_t from);
void ref_lease_release(struct reference *r, struct rlease *l, int64_t from);
int64_t ref_notice(const struct reference *r);
int64_t ref_drain_notice(const struct reference *r);

/* refplan.c: what a buy would take */
bool ref_strangers(const struct reference *r, uint64_t account, uint64_t other);
bool ref_believed(const struct reference *r, const struct rhost *h, bool anyhow, bool stays);
int64_t ref_trade_price(const struct rorder *buy, const struct rorder *sell);
void ref_plan_buy(struct reference *r, const struct rorder *buy, int64_t limit, struct plan *out);
void ref_plan_release(struct plan *p);

/* A host that sells a whole window; qsort()ed, the one to take comes first. */
struct ref_fit {
	struct rhost *host;
	wide cost;
	int other;      /* 0: the buyer's pool owns the minute before */
	uint64_t order; /* the place of the first that sells it */
};
int ref_fit_order(const void *a, const void *b);

/* reforder.c: orders */
int64_t ref_rest_minutes(const struct rorder *o);
void ref_rest_take(struct rests *rest, int64_t start, int64_t end);
void ref_rest_forget(struct rests *rest, int64_t before);
void ref_order_close(struct reference *r, struct rorder *o, int status, int reason);
void ref_order_hold(struct reference *r, struct rorder *o, int64_t hold);
int ref_order_buy(struct reference *r, const struct rorder *draft, bool only_if_fills, int *unfilled);
int ref_order_sell(struct reference *r, const struct rorder *draft);
void ref_order_take(struct reference *r, const struct rorder *draft, const struct plan *plan);
void ref_order_offer(struct reference *r, const struct rorder *draft, struct rhost **host);
void ref_try_resting(struct reference *r, uint64_t sku);
void ref_try_wanted(struct reference *r);
size_t ref_hosts_to_give(struct reference *r, uint64_t pool, uint64_t sku, struct rhost **out,
	bool (*may)(struct reference *r, struct rhost *h, const void *arg), const void *arg);

/* reftime.c: what time does */
int ref_time_tick(struct reference *r, int64_t minute, int64_t now);
void ref_review(struct reference *r);
void ref_procure(struct reference *r, struct rprocurement *p);
void ref_procurement_cancel(struct reference *r, struct rprocurement *p, int side);
bool ref_instance_lives(const struct rinstance *i);

/* refprocure.c: procurements by edition 2 */
void ref_renew(struct reference *r, struct rprocurement *p);
void ref_fill_up(struct reference *r, struct rprocurement *p);
int32_t ref_target(const struct reference *r, const struct rprocurement *p);
bool ref_overdone(const struct reference *r, const struct rprocurement *p, int64_t end);

/* refthings.c, refevent.c, refagent.c: events */
int ref_event(struct reference *r, const struct event *ev);
int ref_thing(struct reference *r, const struct event *ev);
int ref_agent(struct reference *r, const struct raccount *a, const struct event *ev);
int ref_people(struct reference *r, const struct event *ev);
void ref_people_tick(struct reference *r);
void ref_people_dump(const struct reference *r, struct buf *out);
void ref_people_free(struct reference *r);
int ref_payment(struct reference *r, const struct event *ev);
int ref_credit(struct reference *r, const struct raccount *a, const struct event *ev);
void ref_buys_no_more(struct reference *r, uint64_t account);
void ref_stop_buying(struct reference *r, uint64_t account); /* where it is below its floor */
/* refdebt.c: who owes since when */
void ref_by_hand(const struct reference *r, struct raccount *a, int state);
int ref_dunning(struct reference *r, const struct event *ev);
void ref_debts_after(struct reference *r);
void ref_debts_dump(const struct reference *r, struct buf *out);
void ref_payments_dump(const struct reference *r, struct buf *out);
void ref_payments_free(struct reference *r);
/* refvolume.c: room that outlives nodes */
int ref_volume(struct reference *r, const struct event *ev);
void ref_volumes_tick(struct reference *r);
void ref_volumes_lost(struct reference *r, uint64_t agent);
void ref_volumes_dump(const struct reference *r, struct buf *out);
void ref_volumes_free(struct reference *r);
/* refpayout.c: what was earned, and paid out */
int ref_payout(struct reference *r, const struct event *ev);
void ref_earn(struct reference *r, const struct rlease *l, int64_t minutes, int32_t bps, int64_t kept);
void ref_payouts_after(struct reference *r); /* at the end of each event */
void ref_earn_volume(struct reference *r, uint64_t account, uint64_t owner, int64_t cost);
int64_t ref_payout_room(const struct reference *r, uint64_t account, int64_t hold);
void ref_payouts_dump(const struct reference *r, struct buf *out);
/* refcap.c: what somebody may spend in a month */
int ref_cap(struct reference *r, const struct event *ev);
int64_t ref_month(const struct reference *r, uint64_t token); /* for orders of now */
void ref_spend(struct reference *r, uint64_t token, int64_t month, int64_t amount);
void ref_caps_leave(struct reference *r, uint64_t person); /* who is removed */
bool ref_may_spend(const struct reference *r, uint64_t token, int64_t month, wide amount);
void ref_caps_dump(const struct reference *r, struct buf *out);
/* reftariff.c: plans, and months of them */
int ref_tariff(struct reference *r, const struct event *ev);
int ref_subscription(struct reference *r, const struct event *ev);
void ref_month_turns(struct reference *r, int64_t now); /* in each minute */
int32_t ref_tariff_part(const struct reference *r, const struct rorder *buy, wide cost);
void ref_tariffs_dump(const struct reference *r, struct buf *out);
void ref_tariffs_free(struct reference *r);
bool ref_too_much(const struct reference *r, const struct raccount *but, wide more);
int ref_announce(struct reference *r, const struct event *ev);
int ref_announce_end(struct reference *r, const struct event *ev);
int ref_grant(struct reference *r, const struct event *ev);
int ref_grant_of_order(const struct reference *r, const struct event *ev);
bool ref_grant_invalid(const struct reference *r, const struct event *ev);
void ref_back(struct reference *r, const struct rlease *l, int64_t minutes, int32_t bps, int64_t *lost);
bool ref_agent_of(const struct reference *r, uint64_t account, uint64_t id); /* one that is not retired */
bool ref_name_ok(const char *name);
struct rpool *ref_pool(const struct reference *r, uint64_t account, uint64_t id);

#endif
