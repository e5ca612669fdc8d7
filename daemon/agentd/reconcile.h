/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market wants, what the journal says, what runs: from the three the one next step for a
 * node. A pure function, so that every case of it can be tried; called on each change and every minute.
 */
#ifndef AGENTD_RECONCILE_H
#define AGENTD_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/node_journal.h"

/* X(name, word). A child does the steps CREATE to RETRY; the agent itself does BECOME and FORGET at once. */
#define STEPS(X) \
	X(NONE, "none") \
	X(CREATE, "create") \
	X(START, "start") \
	X(REKEY, "rekey") \
	X(TRY_SSH, "await-ssh") \
	X(STOP, "stop") \
	X(DESTROY, "destroy") \
	X(QUARANTINE, "quarantine")   /* stop a node that nobody ordered */ \
	X(RETRY, "retry")             /* its SSH does not answer: stop it and start again */ \
	X(BECOME, "become")           /* only the life changes, to `life` because of `cause` */ \
	X(FORGET, "forget")

enum step {
#define RECONCILE_X(name, word) STEP_##name,
	STEPS(RECONCILE_X)
#undef RECONCILE_X
	STEP_COUNT
};

enum {
	RECONCILE_TRIES = 5,  /* a node fails after so many failures to make or start it, or quick stops */
	RECONCILE_SLACK = 30, /* seconds after its end in which a reachable market may still extend it */
	RECONCILE_QUICK_MS = 60000, /* a stop this soon after it came up is a quick one */
};

struct picture {
	enum life life;
	enum cause cause;
	enum node_is is;
	bool is_known;                 /* `is` is what a look at it found */
	/* The market has spoken since this agent started, so wanted is its word; else wanted is the journal's. */
	bool heard;
	bool wanted;
	bool healthy;                  /* the market spoke lately */
	bool fenced;                   /* make nothing new */
	bool rekey;                    /* the wanted keys differ from those in the node */
	bool told;                     /* the market knows this life */
	bool shipped;                  /* the market has all of its console, or nobody waits for that */
	bool script;                   /* the buyer's script may close SSH on purpose */
	bool host_taken;               /* another node still has what it is to get: its host's size, or the machine */
	bool withheld;                 /* nothing may start on this machine now */
	bool measured;                 /* this machine is: nothing may be made or start */
	unsigned tries, quick_stops;
	int64_t now, end_at;           /* the market's time */
	int64_t ms;                    /* clock_ms(), like the deadlines below; there 0 means none */
	int64_t due_ms;                /* pause after a failure: nothing before this */
	int64_t drain_ms, ssh_ms, ship_ms, remove_ms;
};

struct decision {
	enum step step;
	enum life life;
	enum cause cause;
	int64_t look_ms;               /* decide again no later than this; 0: when something changes */
};

struct decision reconcile(const struct picture *p);

/* Is its time over, by the market's word or by the clock? CAUSE_NONE: no. */
enum cause reconcile_over(const struct picture *p);

const char *step_word(enum step s);

#endif
