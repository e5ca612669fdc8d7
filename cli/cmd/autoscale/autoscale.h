/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod autoscale: a loop that looks (autoscale_look.c), decides (cli/autoscale) and acts (autoscale_act.c) by the
 * same commands that a person would type. What it did is at the market, in the cluster's file and in Slurm; it keeps on
 * disk only the purchase that it is about to make, and since when nodes have been idle.
 */
#ifndef CLI_CMD_AUTOSCALE_AUTOSCALE_H
#define CLI_CMD_AUTOSCALE_AUTOSCALE_H

#include "base/buf.h"
#include "cli/autoscale/scale.h"
#include "cli/cmd/provision/provision.h"
#include "cli/local/daemons.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/market_link.h"
#include "cli/trade/reservation.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/spending.h"

enum { AUTOSCALE_PATH = 4096, AUTOSCALE_SAID = 64, AUTOSCALE_CALL_MS = 45 * 60 * 1000 };

/* Who starts what waits on the cluster's nodes. */
struct autoscale_manager {
	const char *stack, *name, *role; /* the role whose first node is asked */
	const char *work;                /* what it starts */
	bool spares;                     /* it has to be told of nodes that can be bought */
	bool at_once;                    /* it starts what fits anywhere: what waits does so though others are free */
};

/* Nodes that join the cluster while the loop goes on. */
struct autoscale_join {
	struct agentd_going going;
	int64_t until; /* on clock_ms(), it is ended */
	bool late;     /* it was */
	struct autoscale_joiner {
		char name[128], id[64], why[SCALE_TEXT];
	} * nodes;
	size_t count;
};

struct autoscale {
	struct nanopod *np;
	const struct options *o;
	const struct command *command;
	const char *cluster;
	char room[AUTOSCALE_PATH]; /* the cluster's folder on this machine */
	char self[AUTOSCALE_PATH]; /* this program */
	char *sudo;                /* "NANOPOD_SUDO_PASSWORD=…", for the commands it runs; NULL */
	int lock;
	struct provision p;     /* the cluster as its file says in this round */
	bool taken;             /* p is in use */
	const struct autoscale_manager *manager;
	const char *controller; /* a member of p.c */
	struct market_link *m;
	struct market_clock clock;
	struct skus skus;
	const struct sku *sku; /* the type that is bought */
	struct scale_shape shape;
	char node[SCALE_TEXT];          /* the same as Slurm is told */
	int64_t limit, best;            /* price per node-minute: the file's, and the lowest that fills now */
	struct reservation reservation; /* that the nodes are bought into */
	struct spending since;          /* what it had cost when the budget began */
	char last[64];                  /* the newest order of those that w.spent counts */
	bool unfinished;                /* a purchase was cut off */
	bool holds;                     /* since is open */
	int silent;                     /* an exit status: Slurm or Kubernetes cannot be asked */
	int64_t gaps[SCALE_GAPS];       /* seconds between the last looks of a timer, this one first; 0: none */
	struct scale_world w;
	struct scale_job *jobs;
	size_t job_count;
	int64_t others, others_free; /* workers that are not bought by it */
	struct scale_move *moves;
	struct scale_shape *rooms;
	struct scale_refusals refused, moved;
	struct scale_lost lost;
	struct scale_plan plan;
	struct scale_seen *seen;
	size_t seen_count;
	struct autoscale_join join;
	char said[AUTOSCALE_SAID][SCALE_TEXT]; /* what the last round said, which is not said again */
	size_t said_count;
	char says[AUTOSCALE_SAID][SCALE_TEXT]; /* what this round has to say */
	size_t says_count;
	int status; /* of the last trouble */
};

/* ---- autoscale_call.c -------------------------------------------------------------------------- */

/* Says it in this round, unless the last one said the same. */
void autoscale_say(struct autoscale *a, bool bad, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

struct autoscale_words {
	char *list[64];
	size_t count;
};

void autoscale_word(struct autoscale_words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void autoscale_words_free(struct autoscale_words *w);
/* Adds how to reach hosts, and the market, as this command was told. */
void autoscale_words_ways(const struct autoscale *a, struct autoscale_words *w, bool hosts);
/* Adds how to ask the manager of jobs; what is asked follows. False where the stack lacks the script. */
bool autoscale_words_manager(const struct autoscale *a, struct autoscale_words *w);

/* Adds `verb` of provision for these hosts of the cluster; NULL: for all of it. */
void autoscale_words_provision(const struct autoscale *a, struct autoscale_words *w, const char *verb,
	const char *hosts);

/*
 * Runs nanopod with these words, and frees them. out, NULL: drops it; why, SCALE_TEXT long: the last thing that it
 * said.
 * Returns its exit status.
 */
int autoscale_call(const struct autoscale *a, struct autoscale_words *w, struct buf *out, char *why);

/* The same, beside the loop: 0 once it runs. Then, whether it has ended; wait: until then. */
int autoscale_call_begin(const struct autoscale *a, struct autoscale_words *w, struct agentd_going *going, char *why);
bool autoscale_call_over(struct agentd_going *going, bool wait, int *status, char *why);

/* ---- autoscale_look.c -------------------------------------------------------------------------- */

/* All that a round has to know. An exit status, said; 0: it is known. */
int autoscale_look(struct autoscale *a);
/* Asks these nodes (indexes of a->w.nodes) who uses them. */
void autoscale_ask_quiet(struct autoscale *a, const size_t *which, size_t count);
/* Whether it is the name of a node that this cluster bought. */
bool autoscale_owns(const struct autoscale *a, const char *node);
void autoscale_forget(struct autoscale *a);

/* ---- autoscale_money.c ------------------------------------------------------------------------- */

/* What was bought for the reservation since the budget began: a->w.spent. 0, or an exit status, said. */
int autoscale_spent(struct autoscale *a);
/* What one more node costs: a->w.price, a->best. */
int autoscale_ask_price(struct autoscale *a);
/* Both, where a step may need them. */
int autoscale_money(struct autoscale *a);

/* ---- autoscale_seen.c -------------------------------------------------------------------------- */

struct scale_seen *autoscale_seen(struct autoscale *a, const char *id);
/* What an earlier loop wrote not long ago. */
void autoscale_seen_read(struct autoscale *a);
void autoscale_seen_write(const struct autoscale *a);
/* What ends then was extended. */
void autoscale_seen_extended(struct autoscale *a, int64_t end);

/* ---- autoscale_join.c -------------------------------------------------------------------------- */

/* Begins to join those that the plan names. */
void autoscale_join(struct autoscale *a);
/* Whether a join goes on. Meanwhile no other command changes the cluster. */
bool autoscale_joins(const struct autoscale *a);
/* Tells how a join ended that has; wait: until it does. True: it ended now. */
bool autoscale_joined(struct autoscale *a, bool wait);
/* Ends one that goes on. */
void autoscale_join_end(struct autoscale *a);

/* ---- autoscale_act.c --------------------------------------------------------------------------- */

/* Does the plan, as far as one round should: what is quick, and one thing that takes longer. */
void autoscale_act(struct autoscale *a);
#endif
