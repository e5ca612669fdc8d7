/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who does what reconcile decides: children that call a driver, a few at once and never two on one
 * node; and one that looks at what really runs.
 */
#ifndef AGENTD_CREW_H
#define AGENTD_CREW_H

#include "agentd/drivers.h"
#include "agentd/os/job.h"
#include "agentd/reconcile.h"
#include "agentd/roster.h"
#include "agentd/market/wallclock.h"

enum { CREW_MAX = 32, CREW_LOOK_MS = 15000 };

/* How long things take. Tests have other values. */
struct crew_times {
	int64_t grace_ms;            /* from the notice to the stop: 30 s */
	int64_t unknown_ms;          /* what nobody ordered is wiped after: 10 min */
	int64_t knock_ms;            /* SSH answers within: 5 min */
	int64_t look_ms;             /* what runs is looked at each: 15 s */
};

struct crew_hand {
	struct job job;
	char id[WORK_ID];            /* whose; "" of the one that looks or tidies */
	enum step step;
	bool looks, tidies;
};

struct crew {
	struct loop *loop;
	int watch_kind;
	const struct log *log;
	drivers all;
	const struct driver *driver; /* of new nodes */
	const struct driver_setup *setup;
	const struct wallclock *clock;
	struct crew_times times;
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
	struct crew_hand hands[CREW_MAX], look;
};

void crew_begin(struct crew *c);
void crew_release(struct crew *c);

/* The market's word; takes it. */
void crew_take(struct crew *c, struct work *w);

/* Takes in what has ended, decides for every node, begins what can be begun. When to come back at the latest (clock_ms). */
int64_t crew_turn(struct crew *c);

/* data/nodes/ID/LAST */
int crew_path(const struct crew *c, const char *id, const char *last, char *room, size_t size);

/* The port of SSH: the driver's own word (dir/port), else first_port + slot. */
unsigned crew_port(const struct driver_setup *setup, const struct node *n, const char *dir);

/* What nobody ordered: how many, and for how many seconds the oldest. */
size_t crew_unknown(const struct crew *c, int64_t *oldest);

#endif
