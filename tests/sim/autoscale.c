/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nanopod autoscale` in worlds where prices jump, nothing is on sale, nodes hang, joins fail, people log in, jobs ask
 * for more than there can be, and the loop is killed between any two steps. What a customer expects:
 *
 *   limits   never more nodes than max, never above max-price, never more spent than budget
 *   safe     a node that a job, a person or a process uses is not given back, unless it never answered
 *   calm     nothing is given back that was used less than `idle` ago
 *   starts   when the market sells, every job that fits is done in the end
 *   ends     without jobs all nodes but min are given back, whatever happened before, and no member is left behind
 *   thrifty  nobody pays for an idle node after its time, also where a busy one ends with it
 *
 * `autoscale SEED` one world, telling its steps; `autoscale long WORLDS` as many as you like.
 */
#include <time.h>

#include "../lib/tap.h"
#include "cli/autoscale/scale.h"
#include "rng.h"

enum {
	STEP = 10,
	JOBS = 200,
	NODES = 64,
	STORM = 3000,
	CALM = 4000,
	WORLDS = 80,
	BOOT = 60,
	HOUR = 3600,
	DOLLAR = 1000000
};

struct sim_node {
	bool there, hangs, joins, member, serves, drained, blind;
	bool excused; /* the loop tried to give it back in this round, or was killed */
	int64_t id, up_at, end, job_until, person_until, used_at, paid_until;
	int64_t here_ms, quiet_ms; /* what the loop remembers */
	enum scale_place place;
	unsigned failed;
};

struct sim_job {
	int64_t nodes, cpus, seconds;
	bool waits, runs;
	int64_t until;
};

struct sim {
	struct rng g;
	struct sim_node nodes[NODES];
	struct sim_job jobs[JOBS];
	struct scale_limits limits;
	struct scale_shape shape;
	int64_t now, price, cap, on_sale, spent, ids, bought, ahead;
	int64_t join, join_over; /* what a join takes, and until when one goes on; 0: none does */
	bool storm, tells;
	char wrong[300];
};

static struct scale_plan plan;
static long seen_buys, seen_blocked, seen_extends, seen_together, seen_backs, seen_forgets, seen_drains, seen_kills,
	seen_unfit;

static void wrong(struct sim *s, const char *what, int64_t id)
{
	if (!*s->wrong)
		snprintf(s->wrong, sizeof s->wrong, "second %" PRId64 ": %s (%" PRId64 ")", s->now, what, id);
}

static bool sim_used(const struct sim *s, const struct sim_node *n)
{
	return n->job_until > s->now || n->person_until > s->now;
}

/* ---- The world goes on --------------------------------------------------------------------- */

static void sim_market(struct sim *s)
{
	if (!s->storm) {
		s->price = s->cap / 2;
		s->on_sale = NODES;
	} else if (rng_percent(&s->g, 3)) {
		s->price = s->cap / 4 + rng_below(&s->g, s->cap * 2);
		s->on_sale = rng_percent(&s->g, 30) ? 0 : rng_below(&s->g, 12);
	}
}

static void sim_submit(struct sim *s)
{
	if (!s->storm || !rng_percent(&s->g, 3))
		return;
	for (size_t i = 0, n = (size_t)rng_below(&s->g, 20); i < JOBS && n; i++) {
		struct sim_job *j = &s->jobs[i];

		if (j->waits || j->runs)
			continue;
		n--;
		*j = (struct sim_job){ .nodes = rng_percent(&s->g, 80) ? 1 : 1 + rng_below(&s->g, 12),
			.seconds = 30 + rng_below(&s->g, rng_percent(&s->g, 10) ? 4 * HOUR : 900),
			.waits = true };
		j->cpus = j->nodes * (1 + rng_below(&s->g, rng_percent(&s->g, 5) ? 20 : s->shape.cpus));
	}
}

/* Slurm, one job a node: on those that serve, are not drained and are free. */
static void sim_schedule(struct sim *s)
{
	for (size_t i = 0; i < JOBS; i++) {
		struct sim_job *j = &s->jobs[i];
		int64_t free = 0;

		if (j->runs && j->until <= s->now)
			j->runs = false;
		if (!j->waits || j->cpus > j->nodes * s->shape.cpus)
			continue;
		for (size_t k = 0; k < NODES; k++)
			free += s->nodes[k].serves && !s->nodes[k].drained && s->nodes[k].job_until <= s->now;
		if (free < j->nodes)
			continue;
		j->waits = false;
		j->runs = true;
		j->until = s->now + j->seconds;
		for (size_t k = 0, n = (size_t)j->nodes; k < NODES && n; k++)
			if (s->nodes[k].serves && !s->nodes[k].drained && s->nodes[k].job_until <= s->now) {
				s->nodes[k].job_until = j->until;
				n--;
			}
	}
}

static void sim_nodes(struct sim *s)
{
	for (size_t i = 0; i < NODES; i++) {
		struct sim_node *n = &s->nodes[i];

		if (n->there && n->end <= s->now) { /* its jobs end with it, and run again */
			bool member = n->member;

			*n = (struct sim_node){ .id = n->id, .member = member };
			continue;
		}
		if (sim_used(s, n))
			n->used_at = s->now;
		if (s->storm && n->there && n->up_at <= s->now && rng_below(&s->g, 2000) == 0)
			n->person_until = s->now + rng_below(&s->g, HOUR);
		n->blind = s->storm && rng_percent(&s->g, 2);
	}
}

/* ---- The loop ------------------------------------------------------------------------------ */

static void sim_forget(struct sim *s)
{
	for (size_t i = 0; i < NODES; i++)
		s->nodes[i].here_ms = s->nodes[i].quiet_ms = s->nodes[i].failed = s->nodes[i].joins = 0;
	s->join_over = 0; /* it ends with the loop */
	seen_kills++;
}

/* One join at a time, of all that are up; the loop goes on beside it. */
static void sim_join_over(struct sim *s)
{
	if (!s->join_over || s->now < s->join_over)
		return;
	s->join_over = 0;
	for (size_t i = 0; i < NODES; i++) {
		struct sim_node *n = &s->nodes[i];

		if (!n->joins || !n->there)
			continue;
		n->joins = false;
		n->serves = !n->hangs && !(s->storm && rng_percent(&s->g, 20));
		n->failed += !n->serves;
		if (n->serves)
			n->used_at = s->now;
	}
}

static enum scale_place sim_place(const struct sim *s, const struct sim_node *n)
{
	if (!n->there)
		return SCALE_OVER;
	if (n->up_at > s->now)
		return SCALE_STARTING;
	return n->serves ? SCALE_SERVES : SCALE_UP;
}

static void sim_look(struct sim *s, struct scale_world *w, struct scale_node *list, size_t *index)
{
	for (size_t i = 0; i < NODES; i++) {
		struct sim_node *n = &s->nodes[i];
		enum scale_place place = sim_place(s, n);
		struct scale_node *x;

		if (place == SCALE_OVER && !n->member)
			continue;
		if (place != n->place)
			n->here_ms = n->quiet_ms = 0;
		n->place = place;
		x = &list[w->count];
		index[w->count++] = i;
		*x = (struct scale_node){ .place = place,
			.member = n->member,
			.busy = n->job_until > s->now,
			.drained = n->drained,
			.end = n->end,
			.failed = n->failed };
		if (n->person_until > s->now || n->blind)
			snprintf(x->used, sizeof x->used, "somebody");
		x->blind = n->blind && n->person_until <= s->now;
		n->quiet_ms = x->busy || *x->used || place == SCALE_STARTING ? 0 : n->quiet_ms + STEP * 1000;
		n->here_ms += STEP * 1000;
		x->here_ms = n->here_ms - STEP * 1000;
		x->quiet_ms = n->quiet_ms ? n->quiet_ms - STEP * 1000 : 0;
	}
}

static void sim_pack(struct sim *s, struct scale_world *w)
{
	static struct scale_job jobs[JOBS];
	struct scale_shape shape = s->shape;
	size_t count = 0;

	for (size_t i = 0; i < JOBS; i++)
		if (s->jobs[i].waits)
			jobs[count++] = (struct scale_job){ .id = "7",
				.nodes = s->jobs[i].nodes,
				.cpus = s->jobs[i].cpus * 1000,
				.whole = true };
	shape.cpus *= 1000;
	scale_pack("job", jobs, count, &shape, scale_free(w), w->limits.max - scale_alive(w), w->limits.max, &w->need);
	seen_unfit += (long)w->need.unfit;
}

static void sim_buy(struct sim *s, int64_t nodes)
{
	int64_t alive = 0;

	for (size_t i = 0; i < NODES && nodes; i++) {
		struct sim_node *n = &s->nodes[i];
		int64_t cost = s->price * s->ahead / HOUR;

		if (n->there || n->member || s->on_sale <= 0 || s->price > s->cap)
			continue;
		*n = (struct sim_node){ .there = true,
			.id = ++s->ids,
			.up_at = s->now + BOOT,
			.end = s->now + s->ahead,
			.hangs = s->storm && rng_percent(&s->g, 10),
			.used_at = s->now };
		if (s->storm && rng_percent(&s->g, 5))
			n->up_at = s->now + HOUR;
		s->spent += cost;
		s->on_sale--;
		s->bought++;
		nodes--;
		seen_buys++;
	}
	for (size_t i = 0; i < NODES; i++)
		alive += s->nodes[i].there;
	if (alive > s->limits.max)
		wrong(s, "more nodes than max", alive);
}

/* at_once: it stays a member, for now. */
static void sim_give_back(struct sim *s, struct sim_node *n, const struct scale_node *x, bool at_once)
{
	bool idle = n->serves || n->failed < 3;

	if (x->busy || (*x->used && !x->blind))
		wrong(s, "a node that is used goes", n->id);
	if (x->blind && n->serves)
		wrong(s, "a node that does not say who uses it goes", n->id);
	if (idle && n->up_at <= s->now && n->end - s->now > s->limits.lead &&
		(s->now - n->used_at) * 1000 < s->limits.idle_ms && s->now - n->up_at > 0 && n->serves)
		wrong(s, "a node that was just used goes", n->id);
	seen_backs++;
	*n = (struct sim_node){ .id = n->id, .member = at_once && n->member };
}

static void sim_do(struct sim *s, const struct scale_step *step, struct sim_node *n, const struct scale_node *x)
{
	switch (step->verb) {
	case SCALE_BUY:
		sim_buy(s, step->nodes);
		break;
	case SCALE_DRAIN:
		seen_drains++;
		n->drained = true;
		break;
	case SCALE_JOIN:
		n->member = n->joins = true;
		break;
	case SCALE_GIVE_BACK:
		sim_give_back(s, n, x, false);
		break;
	default:
		seen_forgets++;
		n->member = false;
	}
}

/* A step may fail. */
static bool sim_works(struct sim *s)
{
	return !s->storm || rng_percent(&s->g, 90);
}

/* The market chooses which of those that end together it extends, if not all. */
static void sim_extend(struct sim *s, const struct scale_world *w, const size_t *index, int64_t end)
{
	int64_t nodes = scale_extension(w, &plan, end);
	size_t first = (size_t)rng_below(&s->g, NODES);

	for (size_t i = 0; nodes >= 0 && i < plan.count; i++) {
		struct sim_node *n = &s->nodes[index[plan.steps[i].node]];

		if (!scale_at_once(w, &plan, i, end))
			continue;
		seen_together++;
		n->excused = !sim_works(s);
		if (!n->excused)
			sim_give_back(s, n, &w->nodes[plan.steps[i].node], true);
	}
	if (nodes < 0 || !sim_works(s) || s->price > s->cap || s->on_sale <= 0)
		return;
	seen_extends++;
	for (size_t i = 0, left = nodes ? (size_t)nodes : NODES; i < NODES && left; i++) {
		struct sim_node *n = &s->nodes[(first + i) % NODES];

		if (!n->there || n->end != end)
			continue;
		n->end += s->ahead;
		s->spent += s->price * s->ahead / HOUR;
		left--;
		for (size_t k = 0; k < plan.count; k++)
			if (plan.steps[k].verb == SCALE_GIVE_BACK && &s->nodes[index[plan.steps[k].node]] == n &&
				!n->excused)
				wrong(s, "somebody pays for an idle node after its time", n->id);
	}
}

static void sim_round(struct sim *s)
{
	static struct scale_node list[NODES];
	static size_t index[NODES];
	int64_t extended = 0;
	struct scale_world w = { .manager = "Slurm",
		.work = "job",
		.limits = s->limits,
		.now = s->now,
		.spent = s->spent,
		.nodes = list };
	size_t killed = (size_t)-1;
	bool joins = false;

	sim_join_over(s);
	sim_look(s, &w, list, index);
	sim_pack(s, &w);
	w.price = (struct scale_price){ .asked = true,
		.fills = s->price <= s->cap && s->on_sale > 0,
		.cost = s->price * s->ahead / HOUR,
		.why = "too dear" };
	scale_decide(&w, &plan);
	seen_blocked += *plan.blocked != '\0';
	if (s->storm && rng_percent(&s->g, 4))
		killed = (size_t)rng_below(&s->g, (int64_t)plan.count + 1);
	for (size_t i = 0; i < plan.count && i < killed; i++) {
		const struct scale_step *step = &plan.steps[i];
		struct sim_node *n = &s->nodes[index[step->node]];

		if (s->join_over > s->now && step->verb > SCALE_DRAIN)
			break;
		joins |= step->verb == SCALE_JOIN;
		if (s->tells)
			diag("%" PRId64 " %s %" PRId64 " %s", s->now, scale_verb(step->verb), n->id, step->why);
		if (step->verb == SCALE_EXTEND && list[step->node].end != extended)
			sim_extend(s, &w, index, extended = list[step->node].end);
		else if (step->verb != SCALE_EXTEND && (n->there || step->verb != SCALE_GIVE_BACK) && sim_works(s))
			sim_do(s, step, n, &list[step->node]);
	}
	if (joins)
		s->join_over = s->now + s->join;
	if (killed != (size_t)-1)
		sim_forget(s);
	if (s->spent > s->limits.budget)
		wrong(s, "more spent than the budget", s->spent);
}

/* ---- A world ------------------------------------------------------------------------------- */

static void sim_run(struct sim *s, int64_t steps)
{
	for (; steps && !*s->wrong; steps--) {
		s->now += STEP;
		sim_market(s);
		sim_submit(s);
		sim_nodes(s);
		sim_schedule(s);
		sim_round(s);
	}
}

static void sim_at_rest(struct sim *s)
{
	int64_t there = 0;

	for (size_t i = 0; i < JOBS; i++)
		if (s->jobs[i].waits && s->jobs[i].nodes <= s->limits.max &&
			s->jobs[i].cpus <= s->jobs[i].nodes * s->shape.cpus)
			wrong(s, "a job that fits never began", (int64_t)i);
	for (size_t i = 0; i < NODES; i++) {
		there += s->nodes[i].there;
		if (s->nodes[i].member && !s->nodes[i].there)
			wrong(s, "a member is left behind", s->nodes[i].id);
	}
	if (there != s->limits.min)
		wrong(s, "nodes that nobody needs are left, or fewer than min", there);
}

static bool sim_good(uint64_t seed, bool tells)
{
	static struct sim s;

	s = (struct sim){ .g = { seed },
		.now = 1000000,
		.storm = true,
		.tells = tells,
		.cap = 2 * DOLLAR,
		.price = DOLLAR };
	s.ahead = rng_percent(&s.g, 50) ? HOUR : 900;
	s.join = rng_percent(&s.g, 50) ? 0 : rng_below(&s.g, 1500);
	s.shape = (struct scale_shape){ .cpus = 1 + rng_below(&s.g, 8), .memory_mb = 1000 };
	s.limits = (struct scale_limits){ .max = 1 + rng_below(&s.g, 16),
		.idle_ms = (1 + rng_below(&s.g, 15)) * 60000,
		.lead = s.ahead / 4 < 600 ? s.ahead / 4 : 600,
		.patience_ms = 900000,
		.budget = (1 + rng_below(&s.g, 300)) * DOLLAR };
	s.limits.min = rng_percent(&s.g, 70) ? 0 : rng_below(&s.g, s.limits.max + 1);
	sim_run(&s, STORM);
	s.storm = false; /* somebody raises the budget, and the weather is fine */
	s.limits.budget = INT64_MAX / 4;
	for (size_t i = 0; i < NODES; i++)
		s.nodes[i].hangs = false;
	sim_run(&s, CALM);
	for (size_t i = 0; i < 20 && !*s.wrong; i++) { /* until the longest jobs have ended */
		bool works = false;

		for (size_t k = 0; k < JOBS; k++)
			works |= s.jobs[k].runs ||
				(s.jobs[k].waits && s.jobs[k].nodes <= s.limits.max &&
					s.jobs[k].cpus <= s.jobs[k].nodes * s.shape.cpus);
		if (works)
			sim_run(&s, CALM);
	}
	sim_run(&s, s.limits.idle_ms / 1000 / STEP + 500);
	if (!*s.wrong)
		sim_at_rest(&s);
	if (*s.wrong)
		diag("autoscale %" PRIu64 ": %s", seed, s.wrong);
	return !*s.wrong;
}

int main(int argc, char **argv)
{
	bool more = argc > 2 && strcmp(argv[1], "long") == 0;
	uint64_t first = more ? (uint64_t)time(NULL) << 20 : 1;
	long worlds = more ? strtol(argv[2], NULL, 10) : WORLDS, bad = 0;

	if (argc > 1 && !more) {
		ok(sim_good(strtoull(argv[1], NULL, 10), true), "world %s", argv[1]);
		return done();
	}
	for (long i = 0; i < worlds && bad < 5; i++)
		bad += !sim_good(first + (uint64_t)i, false);
	ok(!bad, "%ld worlds", worlds);
	diag("%ld bought, %ld times not, %ld extended, %ld idle ones before that, %ld drained, %ld given back, %ld "
	     "forgotten, %ld kills, %ld jobs "
	     "too large",
		seen_buys, seen_blocked, seen_extends, seen_together, seen_drains, seen_backs, seen_forgets, seen_kills,
		seen_unfit);
	ok(seen_buys && seen_blocked && seen_extends && seen_together && seen_drains && seen_backs && seen_forgets &&
			seen_kills && seen_unfit,
		"all of that happened");
	return done();
}
