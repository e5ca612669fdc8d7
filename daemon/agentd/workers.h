/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out what reconcile decides, in children that call a driver: a few at once, and never two on one node. One
 * more child looks at what really runs.
 */
#ifndef AGENTD_WORKERS_H
#define AGENTD_WORKERS_H

#include "agentd/drivers.h"
#include "agentd/os/job.h"
#include "agentd/reconcile.h"
#include "agentd/roster.h"
#include "agentd/wanted_gpus.h"
#include "agentd/market/wallclock.h"

enum { WORKERS_MAX = 32, WORKERS_LOOK_MS = 15000 };

/* Durations. Tests use other values. */
struct workers_times {
	int64_t grace_ms;            /* from the notice to the stop: 30 s */
	int64_t unknown_ms;          /* until a node that nobody ordered is wiped: 10 min */
	int64_t ssh_ms;            /* until SSH must answer: 5 min */
	int64_t look_ms;             /* between looks at what runs: 15 s */
};

struct workers_child {
	struct job job;
	char id[WORK_ID];            /* the node's; "" for the child that looks or tidies */
	enum step step;
	bool looks, tidies;
};

struct workers {
	struct loop *loop;
	int watch_kind;
	const struct log *log;
	drivers all;
	const struct driver *driver; /* for new nodes */
	const struct driver_setup *setup;
	const struct wallclock *clock;
	struct workers_times times;
	struct roster *roster;
	struct work *work;           /* the market's last word; NULL: none since the start */
	struct roster_share share;
	bool withheld;                     /* nothing may start: power limits do not hold */
	bool measured;                     /* this machine is: nothing may be made or start */
	bool healthy, link_open, fenced;   /* state of the link now; link_open: it takes consoles */
	bool changed;                /* there may be something new to report */
	bool tidy;                   /* a node was wiped since the last tidying */
	bool tidy_again;             /* the last tidying did not do all of it: with the next look again */
	bool looked;                 /* a look has succeeded at least once */
	int64_t look_due_ms;
	bool forgot;                 /* a node was removed: the market may want it again, or others its room */
	int64_t forgot_ms;           /* when a node was last removed */
	char lacks[WANTED_GPUS_LACKS]; /* why a host lacks GPUs that it was promised; "" */
	size_t child_count;           /* children at once */
	struct workers_child children[WORKERS_MAX], look;
};

void workers_begin(struct workers *c);
void workers_release(struct workers *c);

/* Takes over the market's new word. */
void workers_take(struct workers *c, struct work *w);

/* Looks again at what the market wants, e.g. for nodes that waited for room. */
void workers_take_again(struct workers *c);

/* Collects finished steps, decides for every node, begins what it can. Returns when to call again at the latest. */
int64_t workers_turn(struct workers *c);

/* Is there a node that waits for its start? */
bool workers_would_start(const struct workers *c);

/* data/nodes/ID/LAST */
int workers_path(const struct workers *c, const char *id, const char *last, char *room, size_t size);

/* The port of SSH: from the driver's file (dir/port), else first_port + slot. */
unsigned workers_port(const struct driver_setup *setup, const struct node *n, const char *dir);

/* Nodes that nobody ordered: how many, and the age of the oldest in seconds. */
size_t workers_unknown(const struct workers *c, int64_t *oldest);

#endif
