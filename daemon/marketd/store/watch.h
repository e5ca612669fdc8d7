/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches for agents that fall silent, nodes that never start and nodes that fail, on hosts without an agent too. It
 * takes their hosts down, so that the buyers get their money back by themselves, and up again when all is well. It
 * keeps this in memory only: after a start every agent has a while to come back.
 */
#ifndef MARKETD_STORE_WATCH_H
#define MARKETD_STORE_WATCH_H

#include "marketd/store/market.h"
#include "marketd/store/sick.h"
#include "marketd/store/watchhold.h"

/* How long to wait; 0: the default in brackets. */
struct watch_settings {
	int64_t silent_ms;         /* for a silent agent [45 s]; after a start a third longer */
	int64_t await_seconds;     /* for a node to run, from when it was due [180] */
};

struct agent_status {
	enum health health;
	int64_t at, at_ms;         /* when it was reported: Unix seconds, the caller's clock */
	char message[256], driver[32];
	int64_t nodes, unknown;    /* running; of those, unknown to the market */
	int64_t oldest_unknown;    /* seconds, then */
	int64_t rss;               /* bytes; -1: unknown */
};

/* What the watch knows of an agent besides the engine. */
struct watched {
	int64_t heard_ms, heard_at; /* the caller's clock; Unix seconds, 0: not since the start */
	bool silent;
	int64_t lacks_since; /* Unix seconds; 0: its machine holds what it has on sale */
	bool withdrawn;      /* it did not, and does not hold all of its hosts yet */
	struct agent_status status;
	uint64_t seen;             /* engine_agent_version when its hosts were looked at */
	int64_t due;               /* Unix seconds when to look again */
	struct hold hold;          /* whether the market keeps new nodes from it */
};

enum watch_lack { LACKS_NOTHING, LACKS_FOR_HOSTS, LACKS_FOR_OFFERS };

struct watch;

/* now_ms: a clock that never goes back, that of all later calls. 0 or -ENOMEM. */
int watch_new(struct watch **out, const struct watch_settings *set, int64_t now_ms);
void watch_free(struct watch *w);

/*
 * The market itself stood still (its disk, its machine) for `ms` up to now_ms, from `from` to `now`: it could hear
 * nobody, so no agent is blamed. Between its last event and the first watch_time() it knows that itself.
 */
void watch_paused(struct watch *w, int64_t ms, int64_t now_ms, int64_t from, int64_t now);

/* A request of the agent came. */
void watch_heard(struct watch *w, uint64_t agent, int64_t now_ms, int64_t now);
void watch_told(struct watch *w, uint64_t agent, const struct agent_status *status);
/*
 * What its agent says of one of its hosts. An unfit host is down until it has been well for a while. One that should
 * get no new node (HEALTH_DRAINING) is while nobody leases it: a tenant may have caused that, so nobody is refunded.
 */
void watch_told_host(struct watch *w, const struct engine *e, uint64_t host, enum health health, const char *why,
	int64_t now);
/* The agent spoke of some of its hosts at `now`: the others are well. */
void watch_passed_over(struct watch *w, const struct engine *e, uint64_t agent, int64_t now);
/*
 * What its machine lacks, by a report at `now`. true: it has lacked something for what is on sale for some minutes, by
 * two reports at least, so that a disk that is full for a moment ends no offer.
 */
bool watch_lacks(struct watch *w, uint64_t agent, enum watch_lack lack, int64_t now);
/* Why a host that is down may not come up yet, in the words that it is down by; NULL: nothing that its agent said. */
const char *watch_unfit(struct watch *w, const struct host *h, int64_t now);
/* The node of this pool's instance on this host; since: the minute from which on it was no use, 0: from now on. */
void watch_failed(struct watch *w, uint64_t host, uint64_t pool, int64_t since);
/* Whether a failed instance failed by itself and not by its host, from its detail; NULL: no. */
bool watch_own_fault(const char *detail);
/*
 * At `now` the market keeps new nodes from the agent's machine, or does no longer. Who waits for a node meanwhile does
 * not pay for it, and the node's deadline counts from the end of it. 0 or a reason.
 */
int watch_hold(struct watch *w, struct market *m, uint64_t agent, bool held, int64_t now, struct fail *f);
/* Call before an event that settles the host's leases, or ends a node: who has waited so has not to pay. */
int watch_before_settling(const struct watch *w, struct market *m, const struct host *h, struct fail *f);
const struct watched *watch_agent(const struct watch *w, uint64_t agent); /* NULL: unknown */

/* Since when a waiting instance has a host that should run it, Unix seconds; 0: it has none, or it runs. */
int64_t watch_awaits(const struct engine *e, const struct instance *i);

/*
 * Call once a second: sends HOST_STATE for what changed. Looks at each agent, not at its hosts, and at some thousands
 * of the hosts without one. 0 or a reason.
 */
int watch_turn(struct watch *w, struct market *m, int64_t now_ms, int64_t now, struct fail *f);

/*
 * Moves the market's clock (market_time), however far. Before a minute that would pay for a node that is overdue, or
 * whose time ends there and that never ran, it takes that node's host down: its buyer gets back what was due since the
 * node was. What is settled while a node has time left to come is its seller's, and so are minutes in which the market
 * was away and could not hear that it came.
 */
int watch_time(struct watch *w, struct market *m, int64_t now_ms, int64_t now, struct fail *f);

#endif
