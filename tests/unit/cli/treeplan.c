/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes the file from whom, by simulation: links of speed 1, a second late news, nodes that die and nodes that are
 * slow. Nobody waits much longer than one copy takes.
 */
#include "../../lib/tap.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tree/treeplan.h"

enum { NODES = 64, STEP_MS = 50, PLAN_MS = 100, NEWS_MS = 300, RATE_MS = 1000, NEVER = 1 << 30 };

static const uint64_t size = 3000000000u;
static const double link_speed = 125e6; /* bytes a second: one copy takes 24 s */

struct sim {
	struct tree_node n[NODES];
	double have[NODES], speed[NODES], rated[NODES];
	int dies_ms[NODES], joins_ms[NODES], done_ms[NODES], moved_ms[NODES];
	int moves;
	int hangs_ms, hangs; /* when the one that then has most hangs, and which it is */
	double sent;
};

static void sim_init(struct sim *s)
{
	memset(s, 0, sizeof *s);
	s->hangs_ms = NEVER;
	s->hangs = -1;
	for (int i = 0; i < NODES; i++) {
		s->n[i] = (struct tree_node){ .parent = TREE_NONE };
		s->speed[i] = link_speed;
		s->dies_ms[i] = NEVER;
		s->done_ms[i] = NEVER;
	}
}

/* Each sends at its speed, shared by its children; what a slow child cannot take is left for the other. */
static void sim_move(struct sim *s)
{
	double before[NODES], slow[NODES + 1] = { 0 };
	unsigned children[NODES + 1] = { 0 };

	memcpy(before, s->have, sizeof before);
	for (int i = 0; i < NODES; i++) {
		if (!s->n[i].ready || s->have[i] >= (double)size)
			continue;
		int p = s->n[i].parent == TREE_SOURCE ? NODES : s->n[i].parent;

		if (p < 0 || (p < NODES && before[p] <= before[i]))
			continue;
		if (s->speed[i] < link_speed)
			slow[p] += s->speed[i];
		else
			children[p]++;
	}
	for (int i = 0; i < NODES; i++) {
		int p = s->n[i].parent;
		double from = p == TREE_SOURCE ? (double)size : p >= 0 ? before[p] : 0, speed, got;

		if (!s->n[i].ready || p == TREE_NONE || from <= before[i] || (p >= 0 && !s->n[p].ready) ||
			(s->hangs >= 0 && (i == s->hangs || p == s->hangs)))
			continue;
		speed = p == TREE_SOURCE ? link_speed : s->speed[p];
		p = p == TREE_SOURCE ? NODES : p;
		if (s->speed[i] >= link_speed)
			speed = speed > 2 * slow[p] ? (speed - slow[p]) / children[p] : speed / (children[p] + 1);
		speed = speed < s->speed[i] ? speed : s->speed[i];
		got = speed * STEP_MS / 1000;
		got = got < from - before[i] ? got : from - before[i];
		s->have[i] += got;
		s->sent += p == NODES ? got : 0;
	}
}

static void sim_news(struct sim *s, int now)
{
	for (int i = 0; i < NODES; i++) {
		struct tree_node *n = &s->n[i];

		if (now >= s->dies_ms[i])
			n->ready = false;
		else if (now >= s->joins_ms[i])
			n->ready = true;
		if (i != s->hangs && (now % NEWS_MS == 0 || s->have[i] >= (double)size)) {
			if ((uint64_t)s->have[i] > n->have)
				s->moved_ms[i] = now;
			n->have = (uint64_t)s->have[i];
		}
		n->still_ms = now - s->moved_ms[i];
		if (now % RATE_MS == 0) {
			n->rate = (uint64_t)(((double)n->have - s->rated[i]) * 1000 / RATE_MS);
			s->rated[i] = (double)n->have;
		}
		if (s->have[i] >= (double)size && s->done_ms[i] == NEVER)
			s->done_ms[i] = now;
	}
}

static void sim_hang(struct sim *s)
{
	s->hangs = 0;
	for (int i = 1; i < NODES; i++)
		if (s->have[i] > s->have[s->hangs])
			s->hangs = i;
	s->n[s->hangs].busy = true; /* it does not answer */
}

static void sim_run(struct sim *s, int until_ms)
{
	for (int now = 0; now < until_ms; now += STEP_MS) {
		sim_news(s, now);
		if (now == s->hangs_ms)
			sim_hang(s);
		if (now % PLAN_MS == 0) {
			tree_plan(s->n, NODES, size);
			for (int i = 0; i < NODES; i++) {
				s->moves += s->n[i].parent != s->n[i].next;
				s->n[i].parent = s->n[i].next;
			}
		}
		sim_move(s);
	}
}

static int sim_order(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The time of one copy, in hundredths, that the given part of all others took. */
static int sim_part(const struct sim *s, double part, int but_a, int but_b)
{
	int times[NODES], count = 0;

	for (int i = 0; i < NODES; i++)
		if (i != but_a && i != but_b)
			times[count++] = s->done_ms[i];
	qsort(times, (size_t)count, sizeof *times, sim_order);
	return (int)(times[(int)(part * (count - 1))] / ((double)size / link_speed * 10));
}

static void all_equal(void)
{
	struct sim s;

	sim_init(&s);
	sim_run(&s, 120000);
	diag("64 nodes: p50 %d %%, last %d %% of one copy; %.2f copies sent from the source", sim_part(&s, 0.5, -1, -1),
		sim_part(&s, 1, -1, -1), s.sent / (double)size);
	ok(sim_part(&s, 0.5, -1, -1) <= 120, "half of 64 nodes have it within 1.2 times one copy's time");
	ok(sim_part(&s, 1, -1, -1) <= 200, "the last one within 2.0 times");
	ok(s.sent < 1.3 * (double)size, "and the source sent it about once");
}

/* One dies on the way and one is ten times slower, wherever they stand. */
static void one_dies_one_is_slow(void)
{
	static const struct {
		int dies, slow;
	} rows[] = {
		{ 20, 40 },
		{ 40, 20 },
		{ 0, 5 },
		{ 5, 0 },
		{ 1, 0 },
		{ 0, 1 },
		{ 2, 3 },
		{ 63, 62 },
		{ 10, 11 },
		{ 11, 10 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sim s;

		sim_init(&s);
		s.dies_ms[rows[i].dies] = 9000;
		s.speed[rows[i].slow] = link_speed / 10;
		sim_run(&s, 400000);
		diag("dies %d, slow %d: p50 %d %%, last %d %%, slow %d %%, %.2f copies, %d moves", rows[i].dies,
			rows[i].slow, sim_part(&s, 0.5, rows[i].dies, rows[i].slow),
			sim_part(&s, 1, rows[i].dies, rows[i].slow),
			(int)(s.done_ms[rows[i].slow] / ((double)size / link_speed * 10)), s.sent / (double)size,
			s.moves);
		ok(sim_part(&s, 1, rows[i].dies, rows[i].slow) <= 250,
			"node %d dies, %d is ten times slower: the others have it within 2.5 times", rows[i].dies,
			rows[i].slow);
		ok(s.done_ms[rows[i].slow] < 300000, "and the slow one at its own pace");
	}
}

static void late_ones(void)
{
	struct sim s;

	sim_init(&s);
	for (int i = 0; i < NODES; i++)
		s.joins_ms[i] = i % 8 * 1500;
	sim_run(&s, 120000);
	diag("late: p50 %d %%, last %d %%, %.2f copies", sim_part(&s, 0.5, -1, -1), sim_part(&s, 1, -1, -1),
		s.sent / (double)size);
	ok(sim_part(&s, 1, -1, -1) <= 250, "hosts that connect late have it soon");
}

static void first_hangs(void)
{
	struct sim s;

	sim_init(&s);
	s.hangs_ms = 6200; /* between two of its news: others tell later that they have more */
	sim_run(&s, 200000);
	diag("one hangs: p50 %d %%, last %d %%, %.2f copies", sim_part(&s, 0.5, s.hangs, -1),
		sim_part(&s, 1, s.hangs, -1), s.sent / (double)size);
	ok(sim_part(&s, 1, s.hangs, -1) <= 250, "the one that has most hangs: all others have it within 2.5 times");
}

/* Each parent gives one byte and then nothing more. */
static void no_parent_twice(void)
{
	struct tree_node n[NODES] = { 0 };
	unsigned asked[NODES] = { 0 }, twice = 0, hosts = 0;
	struct tree_node *victim = &n[NODES - 1];

	for (int i = 0; i < NODES; i++)
		n[i] = (struct tree_node){ .parent = TREE_NONE, .ready = true, .have = i == NODES - 1 ? 0 : size };
	for (int round = 0; round < 3 * NODES; round++) {
		victim->still_ms = TREE_STALL_MS;
		tree_plan(n, NODES, size);
		if (victim->next >= 0 && victim->next != victim->parent)
			hosts++, twice += asked[victim->next]++;
		victim->parent = victim->next;
		victim->have++;
	}
	is_int(twice, 0, "a parent that gave nothing is asked once");
	is_int(hosts, TREE_TRIES, "after so many");
	is_int(victim->parent, TREE_SOURCE, "the source is the parent");
	ok(victim->direct, "and stays it");
}

/* At every moment: no circle, no more children than allowed, parents that can give. */
static void always_a_tree(void)
{
	struct tree_node n[NODES];
	unsigned seed = 1, wrong = 0;

	for (int round = 0; round < 3000; round++) {
		for (int i = 0; i < NODES; i++) {
			seed = seed * 1103515245 + 12345;
			if (round % 50 == 0)
				n[i] = (struct tree_node){ .parent = TREE_NONE, .ready = true };
			if (seed >> 16 & 1)
				n[i].have += (seed >> 17) % 1000 * (size / 20000);
			n[i].have = n[i].have > size ? size : n[i].have;
			n[i].rate = (seed >> 20) * 10000;
			n[i].still_ms = (seed >> 24 & 15) == 0 ? TREE_STALL_MS : 0;
			n[i].ready = (seed >> 28 & 15) != 0;
		}
		tree_plan(n, NODES, size);
		for (int i = 0; i < NODES; i++) {
			int at = i, steps = 0, children = 0;

			for (int k = 0; k < NODES; k++)
				children += n[k].ready && n[k].next == i && n[k].have < size;
			while (at >= 0 && n[at].have < size && steps <= NODES)
				at = n[at].next, steps++;
			wrong += children > TREE_CHILDREN || steps > NODES ||
				(n[i].ready && n[i].next >= 0 && !n[n[i].next].ready);
			n[i].parent = n[i].next;
		}
	}
	is_int(wrong, 0, "whatever happens it is a tree of nodes that are there");
}

int main(void)
{
	all_equal();
	one_dies_one_is_slow();
	late_ones();
	first_hangs();
	no_parent_twice();
	always_a_tree();
	return done();
}
