/* SPDX-License-Identifier: Apache-2.0 */
/* Steps times nodes, in order: which work may start now, and which is blocked. Pure: it knows neither SSH nor time. */
#ifndef CLI_PROVISION_MODEL_GRAPH_H
#define CLI_PROVISION_MODEL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "cli/provision/model/cluster.h"

enum work_state {
	WORK_WAITING, /* for other works, or for a free place */
	WORK_RUNNING,
	WORK_DONE,
	WORK_FAILED,
	WORK_BLOCKED, /* a work it needs failed, or its node did */
	WORK_LEFT,    /* left out: nothing to do, or the run stopped first */
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
	void *data;                 /* the caller's own */

	size_t *then;               /* the works that wait for it, as indices; from here on graph.c's own */
	size_t then_count, pending; /* how many of its needs are unfinished */
};
#define GRAPH_NODE ((size_t)-1)

struct graph {
	struct work *at;
	size_t count;
	size_t members, *open; /* of each member: works running now */
	bool *lost;            /* of each member: nothing more starts there */
	bool turned, stopped;
	size_t running, waiting, from; /* all works before this index are finished */
};

/* -EINVAL if steps wait for each other in a circle: f names them. */
int graph_new(const struct cluster *c, struct graph **out, struct fail *f);
void graph_free(struct graph *g);

/* A graph of works that wait for no other. */
struct graph *graph_loose(const struct work *works, size_t count, size_t members);

/* Turns it around for `remove`: every work waits again, dependents go first, and a failure blocks only its own node. */
void graph_turn(struct graph *g);

/*
 * The next work that may start, now RUNNING; NULL: none now. At most one runs on a node at a time, at most step->wave
 * of a step, at most `uploads` of steps that upload files. graph_over(): none runs and none will.
 */
struct work *graph_next(struct graph *g, unsigned uploads);
bool graph_over(const struct graph *g);

/* state: DONE, FAILED or LEFT. A failure takes its node out and blocks the works that need it. */
void graph_end(struct graph *g, struct work *w, enum work_state state);
void graph_lose(struct graph *g, size_t member);
/* Nothing more starts. */
void graph_stop(struct graph *g);

#endif
