/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps times nodes, in order: what may begin now, and what cannot be done any more. Pure: it knows neither SSH nor time.
 */
#ifndef CLI_PROVISION_MODEL_GRAPH_H
#define CLI_PROVISION_MODEL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "cli/provision/model/cluster.h"

enum work_state {
	WORK_WAITING,   /* for others, or for room */
	WORK_RUNNING,
	WORK_DONE,
	WORK_FAILED,
	WORK_BLOCKED,   /* what it needs failed, or its node did */
	WORK_LEFT,      /* nobody asked for it: nothing to do, or over when it was stopped */
};

/* One step on one node. */
struct work {
	const struct use *use;
	const struct stack_step *step;
	size_t member;
	enum work_state state;
	size_t *needs;              /* indices of works; the low `musts` of them must succeed */
	size_t need_count, musts;
	size_t because;             /* BLOCKED: which work; GRAPH_NODE: its node */
	void *data;                 /* of whoever drives it */

	size_t *then;               /* who waits for it, as indices; graph.c's own, as what follows is */
	size_t then_count, pending; /* how many of its needs are not over */
};
#define GRAPH_NODE ((size_t)-1)

struct graph {
	struct work *at;
	size_t count;
	size_t members, *open;      /* of each member: works that run now */
	bool *lost;                 /* of each member: nothing more is begun there */
	bool turned, stopped;
	size_t running, waiting, from;   /* from: all before it are over */
};

/* -EINVAL where steps wait for each other in a ring: f names them. */
int graph_new(const struct cluster *c, struct graph **out, struct fail *f);
void graph_free(struct graph *g);

/* Of works that wait for nobody. */
struct graph *graph_loose(const struct work *works, size_t count, size_t members);

/* Backwards, for `remove`: all is to do again, what needed comes first, and a failure blocks only its own node. */
void graph_turn(struct graph *g);

/*
 * The next work that may begin, now RUNNING; NULL: none now. At most one a node at a time, at most step->wave of a step,
 * at most `uploads` of steps that bring files. graph_over(): none runs and none will.
 */
struct work *graph_next(struct graph *g, unsigned uploads);
bool graph_over(const struct graph *g);

/* DONE, FAILED or LEFT. A failure takes its node out and blocks what must have it. */
void graph_end(struct graph *g, struct work *w, enum work_state state);
void graph_lose(struct graph *g, size_t member);
/* Nothing more is begun. */
void graph_stop(struct graph *g);

#endif
