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

/* X(name, word). After JOB steps a child does something; the others are done at once. */
#define STEPS(X) \
	X(NONE, "none") \
	X(CREATE, "create") \
	X(START, "start") X(REKEY, "rekey") X(KNOCK, "await-ssh") X(STOP, "stop") X(DESTROY, "destroy") \
		X(QUARANTINE, "quarantine") /* stop what nobody ordered */ \
		X(RETRY, "retry")           /* it does not answer: stop it, and begin anew */ \
		X(BECOME, "become")         /* only the life changes, to `life` because of `cause` */ \
		X(FORGET, "forget")

enum step {
#define RECONCILE_X(name, word) STEP_##name,
	STEPS(RECONCILE_X)
#undef RECONCILE_X
	STEP_COUNT
};

enum {
	RECONCILE_TRIES = 5,  /* failures of making or starting, and quick falls, after which it is given up */
	RECONCILE_SLACK = 30, /* seconds after its end in which a market that is heard may still say something else */
	RECONCILE_QUICK_MS = 60000, /* a fall sooner than this after it came up is a quick one */
};

struct picture {
	enum life life;
	enum cause cause;
	enum node_is is;
	bool is_known;                 /* `is` was looked at */
	bool heard; /* the market has spoken since this agent began: wanted is its word, else the journal's */
	bool wanted;
	bool healthy;                  /* it spoke lately */
	bool fenced;                   /* nothing new is made */
	bool rekey;                    /* other keys are wanted than are in it */
	bool told;                     /* the market knows this life */
	bool shipped;                  /* all of its console was taken by the market, or that is not to be waited for */
	bool script;                   /* its buyer's own: that SSH does not answer may be what he wants */
	bool datadir_taken;              /* another node is still where it has to be */
	unsigned tries, falls;
	int64_t now, end_at;           /* the market's time */
	int64_t ms;                    /* clock_ms(); the deadlines below are of it, 0: none */
	int64_t due_ms;                /* not before: pause after a failure */
	int64_t drain_ms, knock_ms, ship_ms, remove_ms;
};

struct decision {
	enum step step;
	enum life life;
	enum cause cause;
	int64_t look_ms;               /* decide again then at the latest; 0: when something changes */
};

struct decision reconcile(const struct picture *p);

/* Is its time over, by the market's word or by the clock? CAUSE_NONE: no. */
enum cause reconcile_over(const struct picture *p);

const char *step_word(enum step s);

#endif
