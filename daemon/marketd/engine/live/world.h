/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine holds, with all its indexes; only the engine's own files include this. Each thing
 * begins with its plain data of state.h. Everything else here follows from that data, so a snapshot
 * keeps the data alone.
 */
#ifndef MARKETD_ENGINE_LIVE_WORLD_H
#define MARKETD_ENGINE_LIVE_WORLD_H

#include "base/buf.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/table.h"
#include "marketd/engine/answer.h"
#include "marketd/engine/effect.h"
#include "marketd/engine/live/due.h"
#include "marketd/engine/ensure.h"
#include "marketd/engine/idmap.h"
#include "marketd/engine/live/rank.h"

enum kind {
	ACCOUNTS,
	TOKENS,
	SKUS,
	HOSTS,
	POOLS,
	ORDERS,
	LEASES,
	INSTANCES,
	PROCUREMENTS,
	AGENTS,
	ANNOUNCEMENTS,
	GRANTS,
	PEOPLE,
	INVITATIONS,
	PAYMENTS,
	VOLUMES,
	TARIFFS,
	SUBSCRIPTIONS,
	PAYOUTS,
	KINDS
};

enum { HOUR = 60, HORIZON = 2048 }; /* minutes; hours that the offer index of a SKU looks ahead */

struct live_host;
struct live_order;
struct fit;
struct offer;

/* An account. */
struct live_account {
	struct account pub;
	struct rank own[KINDS];
	size_t gone[KINDS];        /* of own: deleted or revoked, and still known */
	struct list sold;          /* leases that it sold */
	struct rank given;         /* struct grant: that it pays for others, and that did not end */
};

/* An agent and its hosts. */
struct live_agent {
	struct agent pub;
	const struct engine *world;
	struct rank hosts;         /* struct live_host, not retired */
	struct rank volumes;       /* struct live_volume */
	uint64_t version;          /* the event that last changed its work */
};

/* Room of an agent's disk, and when it is to be paid, or deleted. */
struct live_volume {
	struct volume pub;
	struct live_agent *agent;
	struct due due;
};

/* What a pool has of one SKU: node-minutes in its books, hosts without an instance, and who waits for one. */
struct stock {
	uint64_t sku;
	int64_t capacity, issued;
	uint64_t free_from;        /* below this id, the pool has no host in this minute that is without an instance */
	int32_t instances;         /* awaiting or running */
	struct instance **waiting; /* instances without a host; who is next is the last */
	size_t waiting_count, waiting_cap;
};

/* A host of which a pool has leases, or that is registered into it. */
struct holding {
	uint64_t host;
	struct live_host *live;
	uint32_t reasons;          /* leases, and one for the registration */
	int64_t until;             /* it owns no minute of the host from this one on */
};

struct live_pool {
	struct pool pub;
	struct live_account *owner;
	struct holding *holdings;  /* in order of host */
	size_t holding_count, holding_cap;
	struct stock *stocks;      /* in order of SKU */
	size_t stock_count, stock_cap;
	struct rank instances; /* awaiting or running */
	struct rank orders, procurements;
	bool stale; /* its instances wait for a review, */
	bool moved; /* which looks for those that have lost their hosts, too */
};

/* A host in the offer index, beside what its place follows from. */
struct cheap {
	int64_t ask;
	uint64_t oldest, host;
	struct live_host *live;
	size_t slot;
};

/* A bound around what may have come on sale since the resting buys of a SKU were tried. */
struct fresh {
	int64_t start, end, price;
	bool all;                  /* anything may have: try all */
	bool lost;                 /* try those whose window was shortened */
};

struct live_sku {
	struct sku pub;
	int64_t used;              /* node-minutes that have passed in leases */
	struct live_host **slots;       /* a host's bit in the rows below */
	size_t slot_count, slot_cap, slot_free; /* below slot_free all are taken */
	uint64_t *rows;            /* HORIZON hours: bits "something on sale", then bits "all of it on sale" */
	size_t words;              /* of each of both */
	int64_t hour;              /* the first that the rows know */
	struct cheap *cheap;       /* hosts with something on sale by (ask, oldest place, id) */
	size_t cheap_count, cheap_cap;
	struct cheap *keys;        /* the same by slot */
	size_t key_cap;
	struct live_order **resting;   /* buys by (price descending, id) */
	size_t resting_count, resting_cap;
	struct live_order **blocks; /* open sells that go whole, by place */
	size_t block_count, block_cap;
	struct fresh fresh;
	bool marked;               /* try the resting buys before this event (or minute) ends */
	bool crossed;              /* a buy that did not fill may fill now: try all next time */
	uint64_t tried;            /* the round that tried them last */
};

struct live_host {
	struct host pub;           /* pieces point into `room` */
	struct live_sku *sku;
	struct live_pool *pool;
	struct live_agent *agent;     /* its agent; NULL */
	uint64_t version;          /* of the agent's work here */
	struct piece *room;
	int32_t *ends;             /* of the pieces, side by side: a search reads few bytes */
	size_t room_cap, room_off;
	size_t slot;
	bool offered;              /* is in sku->cheap, with: */
	int64_t ask;               /* the least price of its pieces on sale (blocks apart) */
	uint64_t oldest;           /* the least place of the orders that sell them */
	uint64_t instance;         /* awaiting or running on it */
	struct due due;            /* when its minutes begin or end */
};

struct live_order {
	struct order pub;          /* rest points to spans */
	struct live_sku *sku;
	struct live_pool *pool;
	uint64_t beneficiary;
	struct span *spans;        /* of a buy */
	size_t span_cap;
	uint64_t *hosts;           /* of a sell, ascending: all that it put on sale */
	size_t host_count;
	int64_t last;              /* of a sell: nothing of it is on sale from this minute on */
	uint64_t last_host;        /* and this host has it on sale just before */
	struct due due;
	bool touched;              /* emit its row at the end of the trade */
	bool lost;                 /* a buy whose window was shortened in this minute */
	bool open;                 /* it is in the lists */
};

struct live_lease {
	struct lease pub;
	struct live_host *host;
	struct list sold;          /* in the seller's list */
	struct due due;
	bool begun;
};

/* One thing that a buy takes: minutes of a host from one piece. */
struct slice {
	struct live_host *host;
	int64_t start, end, price; /* of the trade */
	uint64_t order;            /* the sell */
};

struct plan {
	struct slice *list;
	size_t count, cap;
	struct span *rest;         /* what is left of a buy's need */
	size_t rest_count, rest_cap;
	int64_t cost, minutes, dearest;
	bool more;                 /* it would take more at another price */
	struct fit *fits;          /* scratch of match.c */
	size_t fit_count, fit_cap;
	struct offer *offers;      /* scratch of partial.c */
	size_t offer_count, offer_cap;
	uint64_t *bits;            /* scratch of offer_index.c: hosts that may do */
	size_t bit_cap;
	struct cheap *queue;       /* of match.c: those hosts, the cheapest first */
	size_t queue_count, queue_cap;
};

struct engine {
	int64_t minute, at;
	uint64_t count, next_id, next_transfer;
	struct policy policy;
	int32_t rules;             /* the edition of rules.md that counts */
	int64_t issued, fees, paid; /* the market's books of money */
	struct idmap ids[KINDS];
	struct rank all[KINDS];
	struct table names[KINDS]; /* "ACCOUNT name"; tokens by hash */
	struct due_heap orders_due, leases_due, hosts_due, volumes_due;
	struct live_account **movers;              /* whose money moved in this event */
	size_t mover_count, mover_cap, mover_seen; /* seen: by dunning_look() */
	struct live_pool **stale;      /* pools to be reviewed */
	size_t stale_count, stale_cap;
	struct live_order **touched;
	size_t touched_count, touched_cap;
	struct plan plan;
	size_t enabled;            /* procurements */
	uint64_t round;            /* events and minutes of ticks, for live_sku.tried */
	struct effects *out;       /* of the event that is applied */
};

/* X(kind, thing as the API reads it, thing as the engine holds it): all that has an id. */
#define WORLD_THINGS(X) \
	X(ACCOUNTS, account, live_account) \
	X(TOKENS, token, token) \
	X(SKUS, sku, live_sku) \
	X(HOSTS, host, live_host) \
	X(POOLS, pool, live_pool) \
	X(ORDERS, order, live_order) \
	X(LEASES, lease, live_lease) \
	X(INSTANCES, instance, instance) \
	X(PROCUREMENTS, procurement, procurement) \
	X(AGENTS, agent, live_agent) \
	X(ANNOUNCEMENTS, announcement, announcement) \
	X(GRANTS, grant, grant) \
	X(PEOPLE, person, person) \
	X(INVITATIONS, invitation, invitation) \
	X(PAYMENTS, payment, payment) \
	X(VOLUMES, volume, live_volume) \
	X(TARIFFS, tariff, tariff) \
	X(SUBSCRIPTIONS, subscription, subscription) \
	X(PAYOUTS, payout, payout)

/* world_account(e, id) … world_agent(e, id): the thing, or NULL. */
#define WORLD_BY_ID(kind, name, live) \
	static inline struct live *world_##name(const struct engine *e, uint64_t id) \
	{ \
		return idmap_get(&e->ids[kind], id); \
	}
WORLD_THINGS(WORLD_BY_ID)
#undef WORLD_BY_ID

/* The event being applied may change the agent's work on this host. */
static inline void live_host_changed(struct live_host *h)
{
	if (h->agent)
		h->version = h->agent->version = h->agent->world->count + 1;
}

/* From this minute on its owner sells nothing of the host. */
static inline int64_t live_host_sells_until(const struct live_host *h)
{
	return h->pub.drain ? h->pub.drain : MINUTE_MAX;
}

/* Is there a proof of what it claims, and is that valid now? */
static inline bool live_host_proven(const struct engine *e, const struct live_host *h)
{
	return h->pub.proof == PROOF_PASSED && h->pub.proof_until > e->minute;
}

static inline bool instance_waits(const struct instance *x)
{
	return x->status == INSTANCE_AWAITING && !x->host;
}

/* Which of two that wait gets a host first. */
static inline bool instance_sooner(const struct instance *a, const struct instance *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

static inline bool order_block(const struct order *o)
{
	return o->side == SIDE_SELL && !(o->flags & ORDER_PARTIAL);
}

static inline int64_t world_notice(const struct engine *e)
{
	return e->minute + 1 + (e->policy.notice_minutes > 2 ? e->policy.notice_minutes : 2);
}

static inline int64_t world_drain_notice(const struct engine *e)
{
	int64_t minutes = e->policy.drain_notice_minutes ? e->policy.drain_notice_minutes : DRAIN_NOTICE;
	int64_t least = world_notice(e);

	return e->minute + 1 + minutes > least ? e->minute + 1 + minutes : least;
}

struct engine *world_new(void);
void world_free(struct engine *e);
void plan_release(struct plan *p);

uint64_t world_id(struct engine *e); /* takes the next one */

/* Adds it to the lists: of all, of the account, by name. `thing` begins with its id. */
void world_add(struct engine *e, enum kind k, uint64_t id, uint64_t account, void *thing);
void world_remove(struct engine *e, enum kind k, uint64_t id, uint64_t account);
void world_forget(struct engine *e, enum kind k, uint64_t id, uint64_t account, void *thing); /* and frees it */

void payment_free(struct payment *p); /* one that is in no list */

/* Names, unique within (kind, account). */
void *world_named(const struct engine *e, enum kind k, uint64_t account, const char *name);
void world_name(struct engine *e, enum kind k, uint64_t account, const char *name, void *thing);
void world_unname(struct engine *e, enum kind k, uint64_t account, const char *name);

/* Makes a thing of this data, looks up what the data names, and adds it to the lists. */
struct live_account *world_make_account(struct engine *e, const struct account *a);
struct live_sku *world_make_sku(struct engine *e, const struct sku *s);
struct live_pool *world_make_pool(struct engine *e, const struct pool *p);
struct live_agent *world_make_agent(struct engine *e, const struct agent *a);
struct live_lease *world_make_lease(struct engine *e, const struct lease *l);
void world_drop_lease(struct engine *e, struct live_lease *l);

/* A pool has one more (one fewer) reason to know this host. */
size_t world_holding(const struct live_pool *p, uint64_t host);
void world_hold(struct live_pool *p, struct live_host *h, int64_t until);
void world_unhold(struct live_pool *p, struct live_host *h);
struct stock *world_stock(struct live_pool *p, uint64_t sku); /* made if missing */
struct stock *world_stocked(const struct live_pool *p, uint64_t sku); /* NULL if missing */

/* An instance of the pool begins or ends to be awaiting or running. */
void world_instance_begin(struct live_pool *p, struct instance *x);
void world_instance_end(struct live_pool *p, const struct instance *x);
int32_t world_instances(const struct live_pool *p, uint64_t sku); /* awaiting or running */

/* An instance of the pool begins, or no longer has, to wait for a host. */
void world_wait(struct live_pool *p, struct instance *x);
void world_unwait(struct live_pool *p, struct instance *x);
size_t world_waiting_before(const struct live_pool *p, const struct instance *x); /* of the same SKU */

/* Marks the pool: before the event ends, instances that wait get hosts; world_stale: and others may lose theirs. */
void world_unplaced(struct engine *e, struct live_pool *p);
void world_stale(struct engine *e, struct live_pool *p);

#endif
