/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod autoscale` does next, as a pure function of what it sees: jobs that wait, nodes, the price, the budget
 * and the clock. Every step has a reason for people. It remembers nothing, so that a loop that was killed goes on from
 * what is there.
 */
#ifndef CLI_AUTOSCALE_SCALE_H
#define CLI_AUTOSCALE_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

enum {
	SCALE_TEXT = 200,
	SCALE_ID = 100,
	SCALE_NODES = 1024,
	SCALE_JOBS = 20000,
	SCALE_UNFIT = 8,
	SCALE_REFUSALS = 256
};

/* What a node that can be bought has, as Slurm is told. */
struct scale_shape {
	int64_t cpus; /* in thousandths */
	int64_t memory_mb, gpus;
};

/* "CPUs=16 RealMemory=60000 Gres=gpu:h100:8": lines of slurm.conf. 0, or -EINVAL with a sentence. */
int scale_shape(const char *text, struct scale_shape *out, struct fail *f);

/* ---- Jobs that wait ------------------------------------------------------------------------ */

struct scale_job {
	char id[SCALE_ID];
	int64_t nodes, cpus, memory_mb, gpus; /* of all its nodes together */
	bool whole;                           /* it shares no node */
	bool never;                           /* its partition has too few nodes, even with all that can be bought */
};

/*
 * "ID|NODES|cpu=2,mem=200M,node=1,…|gres:gpu:2|gres:gpu:2|OK|REASON", as the demand of a stack says; cpu=500m is half
 * a CPU. 0 or -EINVAL.
 */
int scale_job(char *line, struct scale_job *out);

struct scale_need {
	int64_t jobs;  /* that the free ones do not start */
	int64_t more;  /* nodes to buy for them */
	int64_t taken; /* of the free ones: what those jobs fill that need no more nodes */
	size_t unfit;  /* jobs that no node of this type, or not so many, could ever run: the first ones */
	char why[SCALE_UNFIT][SCALE_TEXT];
};

/* Whether a node of that shape has what the job takes of each of its nodes. */
bool scale_fits_shape(const struct scale_job *j, const struct scale_shape *shape);

/*
 * Puts the jobs, in their order, on `free` empty nodes and at most `room` bought ones. A job that needs more than are
 * left takes none. most: how many nodes the cluster can have at all. work: what a job is called.
 */
void scale_pack(const char *work, const struct scale_job *jobs, size_t count, const struct scale_shape *shape,
	int64_t free, int64_t room, int64_t most, struct scale_need *out);

/* Jobs of one kind that no node helps: they waited beside a free one. */
struct scale_refusals {
	struct scale_refusal {
		char kind[SCALE_ID];
		int64_t until;  /* of time(); then one more node is tried */
		unsigned times; /* each lasts twice as long as the one before */
	} list[SCALE_REFUSALS];
	size_t count;
};

struct scale_world;

/* Whether no node is bought for the job, which its manager would have started at once where it fits. now: time(). */
bool scale_refuses(struct scale_refusals *r, const struct scale_world *w, const struct scale_shape *shape,
	const struct scale_job *j, int64_t now);
/* Those that have not been refused again for a day. */
void scale_refusals_forget(struct scale_refusals *r, int64_t now);
/* As lines, for the next loop. False: the line is none. */
bool scale_refusals_read(struct scale_refusals *r, const char *line);
int scale_refusals_write(const struct scale_refusals *r, struct buf *out);

/* ---- Nodes --------------------------------------------------------------------------------- */

enum scale_place {
	SCALE_STARTING, /* it does not run yet */
	SCALE_UP,       /* it runs, but takes no jobs: it is no member yet, or broken */
	SCALE_SERVES,   /* it takes jobs */
	SCALE_OVER,     /* it has ended */
};

struct scale_node {
	char name[128], id[64];
	enum scale_place place;
	bool member;           /* of the cluster's file */
	bool busy;             /* a job is on it */
	bool drained;          /* it gets no new jobs */
	bool blind;            /* `used` is only a guess: the node does not answer */
	char used[SCALE_TEXT]; /* who else uses it, or why that is not known; "": nobody */
	int64_t end;           /* of its time */
	int64_t here_ms;       /* for how long it has been in this place, as far as this loop saw */
	int64_t quiet_ms;      /* for how long nothing has used it; 0: it is used, or nobody looked */
	unsigned failed;       /* joins that failed since this loop began */
};

struct scale_limits {
	int64_t min, max;
	int64_t idle_ms;
	int64_t lead;        /* seconds before a node's end at which it is extended or given back */
	int64_t patience_ms; /* how long a node may take to start */
	int64_t budget;      /* micro-dollars */
};

struct scale_price {
	bool asked, fills;
	int64_t cost;         /* of one node for as long as one is bought */
	char why[SCALE_TEXT]; /* why it does not fill */
};

struct scale_world {
	const char *manager, *work; /* who starts jobs, and what it calls them */
	struct scale_limits limits;
	struct scale_price price;
	int64_t now, spent; /* spent: what all nodes that were ever bought for it cost */
	struct scale_need need;
	struct scale_node *nodes;
	size_t count;
};

/*
 * A member of the cluster that was bought for it. If it is none of w's nodes it has ended, and is added as that; false:
 * it lives, so it is elsewhere, and is left alone.
 */
bool scale_member(struct scale_world *w, const char *name, bool lives);

/* What a loop remembers of a node: only for how long something has been so. */
struct scale_seen {
	char id[64];
	enum scale_place place;
	int64_t here_ms, quiet_ms; /* since when, on clock_ms(); quiet_ms 0: it is not quiet */
	unsigned failed;
};

/* In a list of SCALE_NODES. One that is not there yet takes the place of one that is none of w's nodes. */
struct scale_seen *scale_seen(struct scale_seen *list, size_t *count, const struct scale_world *w, const char *id);

/* ---- What to do ---------------------------------------------------------------------------- */

#define SCALE_VERBS(X) \
	X(SCALE_EXTEND, "extend") \
	X(SCALE_BUY, "buy") \
	X(SCALE_DRAIN, "drain") \
	X(SCALE_JOIN, "join") \
	X(SCALE_GIVE_BACK, "give back") \
	X(SCALE_FORGET, "forget") /* a member that is gone */

enum scale_verb {
#define SCALE_X(name, word) name,
	SCALE_VERBS(SCALE_X)
#undef SCALE_X
};

struct scale_step {
	enum scale_verb verb;
	size_t node;   /* not for SCALE_BUY */
	int64_t nodes; /* of SCALE_BUY */
	char why[SCALE_TEXT];
};

struct scale_plan {
	struct scale_step steps[SCALE_NODES + 1]; /* in the order of verbs */
	size_t count;
	int64_t paid;             /* nodes that it buys or extends, which cost the same */
	char blocked[SCALE_TEXT]; /* why what is needed is not bought; "": it is */
};

/* How many nodes it would buy at a price that fits. Above 0: ask for the price before scale_decide(). */
int64_t scale_wants(const struct scale_world *w);

void scale_decide(const struct scale_world *w, struct scale_plan *out);

/*
 * Nodes that end together are extended together: how many to ask for, 0: all that end then. -1: not yet, idle ones
 * among them go first, as long as there is time for that.
 */
int64_t scale_extension(const struct scale_world *w, const struct scale_plan *p, int64_t end);

/*
 * Whether step i gives back a node that ends then, just before others that end with it are extended: the market would
 * extend it with them. It stays a member of the cluster until nothing else changes that.
 */
bool scale_at_once(const struct scale_world *w, const struct scale_plan *p, size_t i, int64_t end);

/* Whether a node that is given back is so near its end that no join, which takes long, may come first. */
bool scale_hurries(const struct scale_world *w, const struct scale_plan *p);

const char *scale_verb(enum scale_verb verb);

/* Nodes that count against max, and those of them that are or will be free for jobs. */
int64_t scale_alive(const struct scale_world *w);
int64_t scale_free(const struct scale_world *w);

#endif
