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
	SCALE_STEPS = 2 * SCALE_NODES + 1, /* a node may be extended and joined */
	SCALE_JOBS = 20000,
	SCALE_MOVES = 4096,
	SCALE_UNFIT = 8,
	SCALE_REFUSALS = 256,
	SCALE_GAPS = 3
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

/* "cpu=3500m,mem=15360M,gpu=1": what is free on a node; what is not said is 0. */
void scale_room(const char *text, struct scale_shape *out);

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

/* Kinds of jobs, each for a while: those that no node helps, as they waited beside a free one; those once moved. */
struct scale_refusals {
	struct scale_refusal {
		char kind[SCALE_ID];
		int64_t until;  /* of time(); then it is tried once more */
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
/* As lines that begin with a word, for the next loop. False: the line is none. */
bool scale_refusals_read(struct scale_refusals *r, const char *word, const char *line);
int scale_refusals_write(const struct scale_refusals *r, const char *word, struct buf *out);
/* Whether one of its kind is there now; adds it for an hour, then for two, and so on. */
bool scale_refusals_has(struct scale_refusals *r, const struct scale_job *j, int64_t now);
void scale_refusals_add(struct scale_refusals *r, const struct scale_job *j, int64_t now);

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
	bool moves;            /* what runs on it may be moved, and fits on others that stay */
	struct scale_shape room; /* that its jobs leave */
	bool blind;            /* `used` is only a guess: the node does not answer */
	char used[SCALE_TEXT]; /* who else uses it, or why that is not known; "": nobody */
	int64_t end;           /* of its time */
	int64_t here_ms;       /* for how long it has been in this place, as far as this loop saw */
	int64_t quiet_ms;      /* for how long nothing has used it; 0: it is used, or nobody looked */
	int64_t blind_ms;      /* for how long it has been blind */
	int64_t joined_ms;     /* how long ago a join of it worked, after which it has not taken jobs; 0: none did */
	unsigned failed;       /* joins that failed since this loop began */
	bool was_used;         /* something used it when its manager last answered */
	bool prolonged;        /* it was extended since */
	int64_t silent_ms;     /* how long ago that was */
};

/* A job that its manager may start anew on another node. */
struct scale_move {
	struct scale_job job;
	size_t node; /* that it runs on */
};

struct scale_limits {
	int64_t min, max;
	int64_t idle_ms;
	int64_t lead;        /* seconds before a node's end at which it is extended or given back */
	int64_t join_lead;   /* the same, of one that a join may still make serve */
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
	unsigned lost;      /* as in struct scale_lost */
	bool waits;         /* so many were lost that none is bought now */
	bool silent;        /* the manager does not answer: nodes are as they were */
	struct scale_need need;
	struct scale_node *nodes;
	size_t count;
	const struct scale_move *moves;
	size_t move_count;
	const struct scale_shape *rooms; /* of workers that are not bought by it */
	size_t room_count;
};

/*
 * A node with jobs that may be moved is busy, unless they all fit on nodes that stay; one that receives them stays.
 * moved: kinds that were moved a while ago, which are not moved again so soon. now: time().
 */
void scale_moves(struct scale_world *w, struct scale_refusals *moved, int64_t now);
/* Node n was given back. */
void scale_moved(const struct scale_world *w, size_t n, struct scale_refusals *moved, int64_t now);

/*
 * A member of the cluster that was bought for it. If it is none of w's nodes it has ended, and is added as that; false:
 * it lives, so it is elsewhere, and is left alone.
 */
bool scale_member(struct scale_world *w, const char *name, bool lives);

/* What a loop remembers of a node: only for how long something has been so. */
struct scale_seen {
	char id[64];
	enum scale_place place;
	int64_t here_ms, quiet_ms, blind_ms, joined_ms; /* since when, on clock_ms(); 0: it is not so */
	int64_t heard_ms;                               /* when its manager last answered */
	unsigned failed;
	bool served, lost;    /* it has taken jobs; it is counted among the lost */
	bool used, prolonged; /* as was_used and prolonged */
};

/* Bought nodes that never took jobs, one after the other. A few, and then each one more, are followed by a wait. */
struct scale_lost {
	unsigned count; /* since one took jobs */
	int64_t until;  /* of time(): none is bought before */
};

/* In a list of SCALE_NODES. One that is not there yet takes the place of one that is none of w's nodes. */
struct scale_seen *scale_seen(struct scale_seen *list, size_t *count, const struct scale_world *w, const char *id);

/* For how long it has been so; 0: it is not. */
int64_t scale_for(int64_t since, int64_t now);
/* Node n is as a look sees it, and gets its times. now: clock_ms(). */
void scale_since(struct scale_seen *s, struct scale_node *n, int64_t now);
/*
 * "ID PLACE HERE QUIET BLIND JOINED HEARD FAILED FLAGS", times in milliseconds before the look; -1: it is not so. now:
 * that look, on clock_ms(). fresh: it was not long ago. False: the line is none.
 */
bool scale_seen_read(const char *line, int64_t now, bool fresh, struct scale_seen *out);
int scale_seen_write(const struct scale_seen *s, int64_t now, struct buf *out);

/* Counts node n, if it is lost or takes jobs for the first time. now: time(). */
void scale_count_lost(struct scale_lost *l, struct scale_seen *s, const struct scale_world *w,
	const struct scale_node *n, int64_t now);
/* For how many seconds none is bought when so many are lost. */
int64_t scale_lost_wait(unsigned lost);

/* ---- What to do ---------------------------------------------------------------------------- */

#define SCALE_VERBS(X) \
	X(SCALE_EXTEND, "extend") \
	X(SCALE_BUY, "buy") \
	X(SCALE_DRAIN, "drain") \
	X(SCALE_LET_END, "let end") /* no new jobs, no more time */ \
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
	struct scale_step steps[SCALE_STEPS]; /* in the order of verbs */
	size_t count;
	int64_t paid;             /* nodes that it buys or extends, which cost the same */
	char blocked[SCALE_TEXT]; /* why what is needed is not bought; "": it is */
};

/*
 * How far apart looks of a timer are, by the last gaps between them (0: not known): the middle one, so that neither one
 * late look nor one in between changes it; and not less than every.
 */
int64_t scale_gap(const int64_t gaps[SCALE_GAPS], int64_t every);

/*
 * How many seconds before its end a node is extended or given back, where looks are that far apart: at least two come
 * before the end, unless they are too rare.
 */
int64_t scale_lead(int64_t ahead, int64_t every);

/* Of a node that can be joined: one look less, as that may make it serve, or nobody need it any more. */
int64_t scale_join_lead(int64_t ahead, int64_t every);

/* How many nodes it would buy at a price that fits. Above 0: ask for the price before scale_decide(). */
int64_t scale_wants(const struct scale_world *w);

void scale_decide(const struct scale_world *w, struct scale_plan *out);

/*
 * Nodes that end together are extended together: how many to ask for, 0: all that end then. -1: not yet, idle ones
 * among them go first, as long as there is time for that.
 */
int64_t scale_extension(const struct scale_world *w, const struct scale_plan *p, int64_t end);

/*
 * Whether step i gives back, or lets end, a node that ends then, just before others that end with it are extended: the
 * market would extend it with them. It stays a member of the cluster until nothing else changes that.
 */
bool scale_at_once(const struct scale_world *w, const struct scale_plan *p, size_t i, int64_t end);

/* Whether a node that is given back is so near its end that no join, which takes long, may come first. */
bool scale_hurries(const struct scale_world *w, const struct scale_plan *p);

const char *scale_verb(enum scale_verb verb);

/* Nodes that count against max, and those of them that are or will be free for jobs. */
int64_t scale_alive(const struct scale_world *w);
int64_t scale_free(const struct scale_world *w);

#endif
