/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the simulator of `nanopod autoscale`: a market, jobs that come, who starts them, nodes and people. */
#ifndef TESTS_SIM_SCALEWORLD_H
#define TESTS_SIM_SCALEWORLD_H

#include "cli/autoscale/scale.h"
#include "rng.h"

enum { STEP = 10, BOOT = 60, JOBS = 200, NODES = 64, HOUR = 3600 };

struct sim_node {
	bool there, hangs, joins, member, serves, drained, blind;
	bool cut;     /* somebody ended it, or made its time shorter */
	bool excused; /* the loop tried to give it back in this round, or was killed */
	int64_t id, up_at, end, job_until, person_until, used_at, paid_until;
	int64_t mute_until, mute_since; /* it says nothing */
	struct scale_seen seen;         /* what the loop remembers */
	size_t moves;                   /* 1 + the job on it that may be moved; 0: none */
};

struct sim_job {
	int64_t nodes, cpus, seconds;
	bool waits, runs;
	bool moves, stubborn; /* it may be moved; but not to elsewhere, which nobody knows */
	bool elsewhere;       /* it runs there */
	int64_t until, moved_at;
};

struct sim {
	struct rng g;
	struct sim_node nodes[NODES];
	struct sim_job jobs[JOBS];
	struct scale_limits limits;
	struct scale_shape shape;
	int64_t now, price, cap, on_sale, spent, ids, bought, ahead;
	int64_t by_hand, hands; /* what people spent on the reservation beside the loop; how often they changed it */
	int64_t every, ran_at;  /* how often the loop looks, and when it last did */
	int64_t looked_at;      /* when its manager last answered */
	int64_t silent_until, calm_at; /* the manager does not answer; since when the weather is fine */
	int64_t join, join_over;       /* what a join takes, and until when one goes on; 0: none does */
	struct scale_lost lost;
	int64_t elsewhere; /* jobs that may be moved for which there is room on nodes of others */
	struct scale_refusals moved;
	bool storm, tells, barren; /* barren: no node takes jobs in the storm */
	char wrong[300];
};

void scaleworld_wrong(struct sim *s, const char *what, int64_t id);

/* A job that keeps it, or a person. */
bool scaleworld_used(const struct sim *s, const struct sim_node *n);

/* A job that may be moved has to leave its node. */
void scaleworld_evict(struct sim *s, struct sim_node *n);
/* Those that left find another place at once. */
void scaleworld_placed(struct sim *s);

/* One step of the clock. */
void scaleworld_step(struct sim *s);

#endif
