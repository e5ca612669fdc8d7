/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who keeps what was sold: agents that fell silent, nodes that never came, nodes that failed. Their
 * hosts go down, so that the money comes back by itself, and up again when all is well. What is
 * remembered here is in no journal: after a start every agent has a while to come back.
 */
#ifndef MARKETD_STORE_WATCH_H
#define MARKETD_STORE_WATCH_H

#include "marketd/store/market.h"

/* What is waited for; 0: the default in brackets. */
struct watch_settings {
	int64_t silent_ms;         /* an agent is not heard of [45 s]; after a start a third longer */
	int64_t await_seconds;     /* a node does not run, from when it was due [180] */
};

/* X(name, word): what an agent says of itself. */
#define HEALTHS(X) X(OK, "ok") X(DEGRADED, "degraded") X(DRAINING, "draining") X(UNHEALTHY, "unhealthy")

enum health {
	HEALTH_UNTOLD,
#define HEALTH_X(name, word) HEALTH_##name,
	HEALTHS(HEALTH_X)
#undef HEALTH_X
	HEALTH_KINDS
};

struct agent_status {
	enum health health;
	int64_t at, at_ms;         /* when it was told: Unix seconds, the caller's clock */
	char message[256], driver[32];
	int64_t nodes, unknown;    /* that run; of them, that nobody asked for */
	int64_t oldest_unknown;    /* seconds, then */
	int64_t rss;               /* bytes; -1: not told */
};

/* What is known of an agent beside the engine. */
struct watched {
	int64_t heard_ms, heard_at; /* the caller's clock; Unix seconds, 0: not since the start */
	bool silent;
	struct agent_status status;
	uint64_t seen;             /* engine_agent_version when its hosts were looked at */
	int64_t due;               /* Unix seconds when they have to be again */
};

struct watch;

/* now_ms: a clock that never goes back, that of all later calls. 0 or -ENOMEM. */
int watch_new(struct watch **out, const struct watch_settings *set, int64_t now_ms);
void watch_free(struct watch *w);

/* The market itself stood still for so long (its disk, its machine): nobody could be heard, which is held against nobody. */
void watch_paused(struct watch *w, int64_t ms);

/* A request of the agent came. */
void watch_heard(struct watch *w, uint64_t agent, int64_t now_ms, int64_t now);
void watch_told(struct watch *w, uint64_t agent, const struct agent_status *status);
void watch_failed(struct watch *w, uint64_t host, uint64_t pool); /* the node of this pool's instance on this host */
bool watch_own_fault(
	const char *detail); /* of an instance that failed: it was its own doing, not the host's; NULL: no */
const struct watched *watch_agent(const struct watch *w, uint64_t agent); /* NULL: nothing is known */

/* Since when an instance that awaits has a host that should run it, Unix seconds; 0: it has none, or runs. */
int64_t watch_awaits(const struct engine *e, const struct instance *i);

/* Once a second: sends HOST_STATE where something changed. Costs a look at each agent, not at its hosts. 0 or a reason. */
int watch_turn(struct watch *w, struct market *m, int64_t now_ms, int64_t now, struct fail *f);

const char *health_word(enum health h); /* NULL: untold */
enum health health_read(const char *word);

#endif
