/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nanopod autoscale` in worlds where prices jump, nothing is on sale, nodes hang, joins fail, people log in, jobs ask
 * for more than there can be, somebody extends, releases, sells or replaces nodes by hand, and the loop is killed
 * between any two steps. What a customer expects:
 *
 *   limits   never more nodes than max, never above max-price, never more spent than budget
 *   safe     a node that a job, a person or a process uses is not given back, unless it never answered
 *   calm     nothing is given back that was used less than `idle` ago
 *   starts   when the market sells, every job that fits is done in the end
 *   ends     without jobs all nodes but min are given back, whatever happened before, and no member is left behind
 *   thrifty  nobody pays for an idle node after its time, also where a busy one ends with it
 *   wary     where no node ever takes a job, a few are bought, and then one after ever longer waits
 *   kept     a node with a job on it, when its manager last answered, is extended at least once, however long that is
 *            silent and however rarely the loop looks
 *   joined   a node that can be joined is joined before it is extended, at the latest with that
 *   steady   a job that may be moved is moved to where there is room, and at most once in an hour: nothing is bought
 *            anew for it
 *   bounded  a node that does not say who uses it, and runs no job, is not extended for ever
 *
 * `autoscale SEED` one world, telling its steps; `autoscale long WORLDS` as many as you like.
 */
#include <time.h>

#include "../lib/tap.h"
#include "scaleworld.h"

enum {
	STORM = 3000,
	CALM = 4000,
	WORLDS = 80,
	TRIES = 3 + 7, /* one at a time in a storm: three, and one after 10, 20, 40, 80 minutes, and each 2 hours */
	DOLLAR = 1000000
};

static struct scale_plan plan;
static long seen_buys, seen_blocked, seen_extends, seen_together, seen_backs, seen_forgets, seen_drains, seen_kills,
	seen_unfit, seen_waits, seen_ends, seen_moves, seen_trusts, seen_hands;

/* ---- The loop ------------------------------------------------------------------------------ */

/* What it remembers is on disk, and counts unless it is gone for long. */
static void sim_forget(struct sim *s)
{
	bool long_gone = rng_percent(&s->g, 5);

	for (size_t i = 0; i < NODES; i++) {
		struct scale_seen *was = &s->nodes[i].seen;

		s->nodes[i].joins = false;
		if (long_gone)
			was->quiet_ms = 0;
	}
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
		n->serves = !n->hangs && !(s->storm && (s->barren || rng_percent(&s->g, 20)));
		if (!n->serves && n->id % 2) /* it joins, but takes no jobs */
			n->seen.joined_ms = n->seen.joined_ms ? n->seen.joined_ms : s->now * 1000;
		else if (!n->serves)
			n->seen.failed++;
		else
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

/* A timer runs it: between two looks there is only its file. */
static void sim_reread(struct sim *s)
{
	struct scale_seen was;
	struct buf b;

	buf_init(&b, 4096);
	for (size_t i = 0; s->every > STEP && i < NODES; i++) {
		struct sim_node *n = &s->nodes[i];

		buf_clear(&b);
		snprintf(n->seen.id, sizeof n->seen.id, "%" PRId64, n->id);
		if (n->there && n->seen.here_ms && !scale_seen_write(&n->seen, s->ran_at * 1000, &b) &&
			scale_seen_read(buf_text(&b), s->ran_at * 1000, s->now - s->ran_at <= 2 * HOUR, &was))
			n->seen = was;
	}
	buf_release(&b);
	s->ran_at = s->now;
}

static struct scale_move moves[NODES];
static struct scale_shape rooms[JOBS];

static void sim_look(struct sim *s, struct scale_world *w, struct scale_node *list, size_t *index)
{
	w->move_count = 0;
	for (size_t i = 0; i < NODES; i++) {
		struct sim_node *n = &s->nodes[i];
		enum scale_place place = sim_place(s, n);
		bool runs = n->job_until > s->now;

		if (scaleworld_used(s, n))
			n->used_at = s->now;
		struct scale_node *x;

		if (place == SCALE_OVER && !n->member)
			continue;
		x = &list[w->count];
		index[w->count++] = i;
		*x = (struct scale_node){ .place = place,
			.member = n->member,
			.busy = runs && !n->moves,
			.room = runs ? (struct scale_shape){ .cpus = 0 } : s->shape,
			.drained = n->drained,
			.end = n->end };
		if (n->person_until > s->now || n->blind)
			snprintf(x->used, sizeof x->used, "somebody");
		x->blind = n->blind && n->person_until <= s->now && (!x->busy || place != SCALE_SERVES);
		if (runs && n->moves)
			moves[w->move_count++] = (struct scale_move){ .node = w->count - 1,
				.job = { .id = "7",
					.cpus = s->shape.cpus, /* one a node */
					.memory_mb = s->jobs[n->moves - 1].cpus } };
	}
	w->moves = moves;
	w->rooms = rooms;
	w->room_count = (size_t)s->elsewhere;
	for (size_t i = 0; i < w->room_count; i++)
		rooms[i] = s->shape;
	scale_moves(w, &s->moved, s->now);
	for (size_t i = 0; i < w->count; i++) {
		struct sim_node *n = &s->nodes[index[i]];
		struct scale_node *x = &list[i];

		if (x->place == SCALE_OVER)
			continue;
		scale_since(&n->seen, x, s->now * 1000);
		scale_count_lost(&s->lost, &n->seen, w, x, s->now);
	}
	w->lost = s->lost.count;
	w->waits = s->now < s->lost.until;
	s->looked_at = s->now;
}

/* Its manager does not answer. */
static void sim_look_back(struct sim *s, struct scale_world *w, struct scale_node *list, size_t *index)
{
	for (size_t i = 0; i < NODES; i++) {
		struct sim_node *n = &s->nodes[i];
		enum scale_place place = sim_place(s, n);

		if (place == SCALE_OVER && !n->member)
			continue;
		index[w->count] = i;
		list[w->count++] = (struct scale_node){ .place = place,
			.member = n->member,
			.end = n->end,
			.was_used = n->seen.used,
			.prolonged = n->seen.prolonged,
			.silent_ms = (s->now - s->looked_at) * 1000 };
	}
	w->silent = true;
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
		scaleworld_wrong(s, "more nodes than max", alive);
}

/* at_once: it stays a member, for now. */
static void sim_give_back(struct sim *s, const struct scale_world *w, struct sim_node *n, const struct scale_node *x,
	bool at_once)
{
	bool idle = n->serves || n->seen.failed < 3;

	if (x->busy || (*x->used && !x->blind))
		scaleworld_wrong(s, "a node that is used goes", n->id);
	if (x->blind && n->serves && !(at_once && x->blind_ms >= HOUR * 1000))
		scaleworld_wrong(s, "a node that does not say who uses it goes", n->id);
	if (idle && n->up_at <= s->now && x->end - s->now > s->limits.lead &&
		(s->now - n->used_at) * 1000 < s->limits.idle_ms && s->now - n->up_at > 0 && n->serves)
		scaleworld_wrong(s, "a node that was just used goes", n->id);
	seen_backs++;
	seen_moves += n->moves && n->job_until > s->now;
	scale_moved(w, (size_t)(x - w->nodes), &s->moved, s->now);
	scaleworld_evict(s, n);
	*n = (struct sim_node){ .id = n->id, .member = at_once && n->member };
}

static void sim_do(struct sim *s, const struct scale_world *w, const struct scale_step *step, struct sim_node *n)
{
	switch (step->verb) {
	case SCALE_BUY:
		sim_buy(s, step->nodes);
		break;
	case SCALE_LET_END:
	case SCALE_DRAIN:
		seen_ends += step->verb == SCALE_LET_END;
		seen_drains += step->verb == SCALE_DRAIN;
		n->drained = true;
		break;
	case SCALE_JOIN:
		n->member = n->joins = true;
		break;
	case SCALE_GIVE_BACK:
		sim_give_back(s, w, n, &w->nodes[step->node], false);
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

/* Since when it says nothing, as far as the loop can know: one that a job is on is not asked. */
static int64_t sim_mute_since(const struct sim_node *n)
{
	return n->mute_since > n->job_until ? n->mute_since : n->job_until;
}

/* A node that a join may still make serve waits for that, as long as another look comes before its end. */
static void sim_joined_first(struct sim *s, const struct scale_world *w)
{
	for (size_t i = 0; i < plan.count; i++) {
		const struct scale_node *n = &w->nodes[plan.steps[i].node];
		bool joined = false;

		if (plan.steps[i].verb != SCALE_EXTEND || n->place != SCALE_UP || n->busy || w->silent)
			continue;
		for (size_t k = 0; k < plan.count; k++)
			joined |= plan.steps[k].verb == SCALE_JOIN && plan.steps[k].node == plan.steps[i].node;
		if (!joined || (n->end - s->now > s->ahead / 4 && n->end - s->now > s->every + 90))
			scaleworld_wrong(s, "a node is extended before it is joined", (int64_t)i);
	}
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
			sim_give_back(s, w, n, &w->nodes[plan.steps[i].node], true);
	}
	if (nodes < 0 || !sim_works(s) || s->price > s->cap || s->on_sale <= 0)
		return;
	seen_extends++;
	for (size_t i = 0, left = nodes ? (size_t)nodes : NODES; i < NODES && left; i++) {
		struct sim_node *n = &s->nodes[(first + i) % NODES];

		if (!n->there || n->end != end)
			continue;
		n->end += s->ahead;
		n->seen.prolonged = w->silent;
		seen_trusts += w->silent;
		s->spent += s->price * s->ahead / HOUR;
		left--;
		if (n->serves && n->mute_until > s->now && !n->excused &&
			s->now - sim_mute_since(n) > HOUR + s->ahead + 2 * s->every)
			scaleworld_wrong(s, "somebody pays on and on for a node that says nothing", n->id);
		for (size_t k = 0; k < plan.count; k++)
			if (plan.steps[k].verb >= SCALE_LET_END && plan.steps[k].verb != SCALE_JOIN &&
				&s->nodes[index[plan.steps[k].node]] == n && !n->excused)
				scaleworld_wrong(s, "somebody pays for an idle node after its time", n->id);
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
		.spent = s->spent + s->by_hand,
		.nodes = list };
	size_t killed = (size_t)-1;
	bool joins = false;

	sim_join_over(s);
	sim_reread(s);
	if (s->silent_until > s->now) {
		sim_look_back(s, &w, list, index);
	} else {
		sim_look(s, &w, list, index);
		sim_pack(s, &w);
	}
	w.price = (struct scale_price){ .asked = true,
		.fills = s->price <= s->cap && s->on_sale > 0,
		.cost = s->price * s->ahead / HOUR,
		.why = "too dear" };
	scale_decide(&w, &plan);
	sim_joined_first(s, &w);
	seen_waits += w.waits && *plan.blocked;
	seen_blocked += *plan.blocked != '\0';
	if (s->storm && rng_percent(&s->g, 4))
		killed = (size_t)rng_below(&s->g, (int64_t)plan.count + 1);
	for (size_t i = 0; i < plan.count && i < killed; i++) {
		const struct scale_step *step = &plan.steps[i];
		struct sim_node *n = &s->nodes[index[step->node]];

		if (s->join_over > s->now && step->verb > SCALE_LET_END)
			break;
		joins |= step->verb == SCALE_JOIN;
		if (s->tells)
			diag("%" PRId64 " %s %" PRId64 " %s", s->now, scale_verb(step->verb), n->id, step->why);
		if (step->verb == SCALE_EXTEND && list[step->node].end != extended)
			sim_extend(s, &w, index, extended = list[step->node].end);
		else if (step->verb != SCALE_EXTEND && (n->there || step->verb != SCALE_GIVE_BACK) && sim_works(s))
			sim_do(s, &w, step, n);
	}
	scaleworld_placed(s);
	if (joins)
		s->join_over = s->now + s->join;
	if (killed != (size_t)-1)
		sim_forget(s);
	if (s->spent > s->limits.budget)
		scaleworld_wrong(s, "more spent than the budget", s->spent);
}

/* ---- A world ------------------------------------------------------------------------------- */

static void sim_run(struct sim *s, int64_t steps)
{
	for (; steps && !*s->wrong; steps--) {
		scaleworld_step(s);
		if (s->now % s->every == 0)
			sim_round(s);
	}
}

/* Looks hours apart count no idle time: a node goes near its end, however far away somebody moved that. */
static int64_t sim_longest(const struct sim *s)
{
	int64_t most = s->ahead;

	for (size_t i = 0; i < NODES; i++)
		if (s->nodes[i].there && s->nodes[i].end - s->now > most)
			most = s->nodes[i].end - s->now;
	return s->ahead > HOUR ? most : 0;
}

static void sim_at_rest(struct sim *s)
{
	int64_t there = 0;

	for (size_t i = 0; i < JOBS; i++)
		if (s->jobs[i].waits && s->jobs[i].nodes <= s->limits.max &&
			s->jobs[i].cpus <= s->jobs[i].nodes * s->shape.cpus)
			scaleworld_wrong(s, "a job that fits never began", (int64_t)i);
	for (size_t i = 0; i < NODES; i++) {
		there += s->nodes[i].there;
		if (s->nodes[i].member && !s->nodes[i].there)
			scaleworld_wrong(s, "a member is left behind", s->nodes[i].id);
	}
	if (there != s->limits.min)
		scaleworld_wrong(s, "nodes that nobody needs are left, or fewer than min", there);
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
	s.every = STEP * (rng_percent(&s.g, 70) ? 1 : 1 + rng_below(&s.g, s.ahead / STEP / 4));
	if (rng_percent(&s.g, 10)) { /* looks hours apart */
		s.ahead = 24 * HOUR;
		s.every = HOUR + STEP * (1 + rng_below(&s.g, 5 * HOUR / STEP));
	}
	s.looked_at = s.ran_at = s.now;
	s.join = rng_percent(&s.g, 50) ? 0 : rng_below(&s.g, 1500);
	s.shape = (struct scale_shape){ .cpus = 1 + rng_below(&s.g, 8), .memory_mb = 1000 };
	s.limits = (struct scale_limits){ .max = 1 + rng_below(&s.g, 16),
		.idle_ms = (1 + rng_below(&s.g, 15)) * 60000,
		.lead = scale_lead(s.ahead, s.every > STEP ? s.every : 0),
		.join_lead = scale_join_lead(s.ahead, s.every > STEP ? s.every : 0),
		.patience_ms = 900000,
		.budget = (1 + rng_below(&s.g, 300)) * DOLLAR * (s.ahead > HOUR ? 100 : 1) };
	s.limits.min = rng_percent(&s.g, 70) ? 0 : rng_below(&s.g, s.limits.max + 1);
	s.elsewhere = rng_below(&s.g, 3);
	s.barren = rng_percent(&s.g, 10);
	if (s.barren) /* else the loop is killed before a join ends */
		s.join = 0, s.every = STEP;
	sim_run(&s, s.every > HOUR ? 20 * STORM : STORM);
	if (s.barren && s.bought > s.limits.max + TRIES)
		scaleworld_wrong(&s, "node after node is bought, though none takes a job", s.bought);
	s.calm_at = s.now;
	s.storm = false; /* somebody raises the budget, and the weather is fine */
	s.limits.budget = INT64_MAX / 4;
	for (size_t i = 0; i < NODES; i++) {
		s.nodes[i].hangs = false;
		s.nodes[i].mute_until = 0;
	}
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
	s.calm_at = s.silent_until = 0;
	sim_run(&s, s.limits.idle_ms / 1000 / STEP + 500 + (10 * s.every + sim_longest(&s)) / STEP);
	seen_hands += s.hands;
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
	     "too large, %ld waits as none took jobs, %ld left to end, %ld moves, %ld extended unasked, %ld changed by "
	     "hand",
		seen_buys, seen_blocked, seen_extends, seen_together, seen_drains, seen_backs, seen_forgets, seen_kills,
		seen_unfit, seen_waits, seen_ends, seen_moves, seen_trusts, seen_hands);
	ok(seen_buys && seen_blocked && seen_extends && seen_together && seen_drains && seen_backs && seen_forgets &&
			seen_kills && seen_unfit && seen_waits && seen_ends && seen_moves && seen_trusts && seen_hands,
		"all of that happened");
	return done();
}
