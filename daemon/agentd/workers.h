/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who does what reconcile decides: children that call a driver, a few at once and never two on one
 * node; and one that looks at what really runs.
 */
#ifndef AGENTD_WORKERS_H
#define AGENTD_WORKERS_H

#include "agentd/drivers.h"
#include "agentd/os/job.h"
#include "agentd/reconcile.h"
#include "agentd/roster.h"
#include "agentd/market/wallclock.h"

enum { WORKERS_MAX = 32, WORKERS_LOOK_MS = 15000 };

/* How long things take. Tests have other values. */
struct workers_times {
	int64_t grace_ms;            /* from the notice to the stop: 30 s */
	int64_t unknown_ms;          /* what nobody ordered is wiped after: 10 min */
	int64_t knock_ms;            /* SSH answers within: 5 min */
	int64_t look_ms;             /* what runs is looked at each: 15 s */
};

struct workers_hand {
	struct job job;
	char id[WORK_ID];            /* whose; "" of the one that looks or tidies */
	enum step step;
	bool looks, tidies;
};

struct workers {
	struct loop *loop;
	int watch_kind;
	const struct log *log;
	drivers all;
	const struct driver *driver; /* of new nodes */
	const struct driver_setup *setup;
	const struct wallclock *clock;
	struct workers_times times;
	struct roster *roster;
	struct work *work;           /* the market's last word; NULL: none since the start */
	struct roster_share share;
	bool healthy, link_open, fenced;   /* of the link, as it is now; link_open: it takes consoles */
	bool changed;                /* somebody may have something new to tell */
	bool tidy;                   /* something was wiped since the last tidying */
	bool looked;                 /* at least once */
	int64_t look_due_ms;
	int64_t forgot_ms;           /* when a node last went */
	size_t hand_count;           /* how many at once */
	struct workers_hand hands[WORKERS_MAX], look;
};

void workers_begin(struct workers *c);
void workers_release(struct workers *c);

/* The market's word; takes it. */
void workers_take(struct workers *c, struct work *w);

/* Takes in what has ended, decides for every node, begins what can be begun. When to come back at the latest (clock_ms). */
int64_t workers_turn(struct workers *c);

/* data/nodes/ID/LAST */
int workers_path(const struct workers *c, const char *id, const char *last, char *room, size_t size);

/* The port of SSH: the driver's own word (dir/port), else first_port + slot. */
unsigned workers_port(const struct driver_setup *setup, const struct node *n, const char *dir);

/* What nobody ordered: how many, and for how many seconds the oldest. */
size_t workers_unknown(const struct workers *c, int64_t *oldest);

#endif
