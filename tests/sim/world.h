/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One small market in two programs: the same random events go through engine.c and the reference, and
 * after them both must say the same. See property.c.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "marketd/engine/engine.h"
#include "caps.h"
#include "volumes.h"
#include "paidout.h"
#include "dunned.h"
#include "debts.h"
#include "floors.h"
#include "gifts.h"
#include "tariffs.h"
#include "proven.h"
#include "shadow.h"
#include "stream.h"

enum { WORLD_REASONS = REASON_END - REASON_BASE, WORLD_TEXT = 8 << 20 };

/* X(name, text): what must have been traded at least once. */
#define SHAPES_X(X) \
	X(RESOLD, "resold") \
	X(CHAIN, "what was resold resold") \
	X(INTERRUPTIBLE, "sold interruptibly") \
	X(BLOCK, "a block sold") \
	X(BLOCK_INTERRUPTIBLE, "a block sold interruptibly") \
	X(EXTENDED, "extended") \
	X(PARTS, "bought in parts") \
	X(RESTED, "bought by an order that rested") \
	X(PROCURED, "bought for a procurement") \
	X(PROCURED_SALE, "sold for a procurement") \
	X(PROCURED_WHOLE, "whole hosts bought for a procurement") \
	X(WENT_ON, "a node that lost its host went on as a new one") \
	X(PROVEN, "bought of a proven host") \
	X(UNPROVEN, "bought of any host, where proven ones are sold") \
	X(REPRICED, "sold at a price that changed") \
	X(REPRICED_BLOCK, "a block with a price that changed") \
	X(HALF_MINUTE, "a lease with a minute credited")

enum shape {
#define SHAPE_X(name, text) SHAPE_##name,
	SHAPES_X(SHAPE_X)
#undef SHAPE_X
	SHAPES
};

/* What happened how often, over all worlds: [kind][0] done, else by reason - REASON_BASE. */
struct coverage {
	long event[EVENT_KINDS + 1][WORLD_REASONS];
	long closed[8][WORLD_REASONS];       /* orders: by status and reason */
	long notice[NOTICE_KINDS];
	long shape[SHAPES];
	long events, loads, whys;
	long proven, unproven;               /* minutes of buyers who want proof: paid, and not paid for want of it */
	long floored, at_floor;              /* minutes sold of hosts with a floor; at just that price */
	long debts_met;                      /* times that an account came below its floor while buys rested */
	long volumes_paid, volumes_ended;    /* hours; times that one was deleted because it was not */
	long months_paid, months_lapsed;     /* of plans: fees; not paid */
	long fees_shown, units_paid;         /* fees that were shown before; buys with what is included */
	long undunnable;                     /* tries on accounts whose orders hold what they have */
	long dunned, undunned;               /* suspended by the rule; opened as they owed nothing more */
	long undunned_told;                  /* which the record said */
	long paidout_met, paidout_late;      /* payouts that were sent, and that were cancelled before */
	long caps_met;                       /* times that somebody with a cap spent */
	long gifts_paid, gifts_back;         /* times that a grant paid, and got something back */
	long duty_changed, duty_grown;       /* what an agent has to do, and its version */
};

struct world_options {
	long events;               /* as many */
	long compare;              /* the texts are compared after as many events */
	long check;                /* engine_check() after as many */
	long load;                 /* saved and loaded at random, once in about as many; 0: never */
	bool plain;                /* a stream as it was before there were agents */
	bool steady;               /* or before prices changed */
	bool oracle;               /* quotes, and what engine_diagnose() promises, are tried out */
};

/* What an agent, or one of its hosts, had to do at last. */
struct duty { uint64_t id, sum, version; };

struct world {
	uint64_t seed;
	struct reference *ref;
	struct engine *eng;
	struct effects did;
	struct shadow shadow;
	struct proven *proven;
	struct floors floors;
	struct gifts gifts;
	struct debts debts;
	struct caps caps;
	struct volumes volumes;
	struct tariffs tariffs;
	struct paidout paidout;
	struct dunned dunned;
	struct event *log;         /* what was sent so far */
	bool *done;                /* whether it was done, or refused */
	size_t count;
	struct duty *duties;
	size_t duty_count;
	struct buf mine, theirs;   /* texts: of the engine, of the reference */
	char wrong[1024];          /* what differs; empty: nothing */
};

void world_init(struct world *w);
void world_release(struct world *w);

/* Sends one event to both. false where they differ: wrong says in what. */
bool world_apply(struct world *w, const struct event *ev, struct coverage *c);
bool world_compare(struct world *w);

/* A whole world. false where they differ, after w->count events. */
bool world_run(struct world *w, uint64_t seed, const struct world_options *how, struct coverage *c);

/* A new engine that has been given what was done, by way of the journal, says the same text. */
bool world_replays(struct world *w);

/* duty.c: looked at after every event. */
bool duty_check(struct world *w, struct coverage *c);

/* oracle.c: asks first (quote, why), and says whether what happened is what was promised. */
struct promise {
	bool asked;
	int rc;
	struct quote quote;
};
void oracle_ask(struct world *w, const struct event *ev, struct promise *p);
bool oracle_held(struct world *w, const struct event *ev, const struct promise *p);
bool oracle_why(struct world *w, const struct event *ev);

/* shrink.c: drops from the log what is not needed for the two to differ. Prints what is left. */
void shrink_and_tell(const struct world *w);

/* show.c */
void show_event(const struct event *ev, struct buf *out);
void show_diff(const char *a, const char *b, struct buf *out); /* unified, of lines */

#endif
