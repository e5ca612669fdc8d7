/* SPDX-License-Identifier: Apache-2.0 */
/* Steps times nodes: who waits for whom, what a failure takes with it, and that every order it gives is a right one. */
#include "cli/provision/model/graph.h"

#include <errno.h>

#include "../../lib/tap.h"

enum { MEMBERS = 9 };

static char member_text[MEMBERS][3] = { "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9" };
static char *member_names[MEMBERS];

/* Stacks by hand: what stack_read() would have made. */
struct world {
	struct cluster c;
	struct stack stacks[3];
	unsigned char roles[3][MEMBERS];
	char *needs[3][3];
};

static struct stack *add_stack(struct world *w, const char *name, size_t members)
{
	size_t u = w->c.use_count++;
	struct stack *s = &w->stacks[u];

	s->name = (char *)name;
	s->needs_stacks = w->needs[u];
	s->role_count = 2;
	s->roles[0].name = (char *)"head";
	s->roles[1].name = (char *)"body";
	for (size_t m = 0; m < members; m++)
		w->roles[u][m] = m ? 2 : 1;
	w->c.uses[u].stack = s;
	w->c.uses[u].roles = w->roles[u];
	w->c.members = member_names;
	w->c.count = members;
	return s;
}

static struct stack_step *add_step(struct stack *s, const char *name, unsigned roles)
{
	struct stack_step *step = &s->steps[s->step_count++];

	step->name = (char *)name;
	step->roles = roles;
	return step;
}

static void need(struct stack_step *s, const char *stack, const char *step, const char *role, bool must)
{
	s->needs[s->need_count++] = (struct stack_need){ (char *)stack, (char *)step, (char *)role, must };
}

static struct graph *make(struct world *w)
{
	struct graph *g = NULL;
	struct fail f = { 0 };

	if (graph_new(&w->c, &g, &f))
		diag("%s", f.text);
	return g;
}

static void forget(struct world *w)
{
	for (size_t u = 0; u < w->c.use_count; u++)
		pairs_release(&w->c.uses[u].settings);
}

static struct work *find(struct graph *g, const char *step, size_t member)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->at[i].step->name, step) == 0 && g->at[i].member == member)
			return &g->at[i];
	return NULL;
}

static const char *names(struct graph *g, unsigned uploads)
{
	static char text[1024];
	struct work *w;

	*text = '\0';
	while ((w = graph_next(g, uploads))) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof text - n, "%s%s@%zu", n ? " " : "", w->step->name, w->member + 1);
	}
	return text;
}

static void end(struct graph *g, const char *step, size_t member, enum work_state s)
{
	graph_end(g, find(g, step, member), s);
}

static void test_order(void)
{
	struct world w = { 0 };
	struct stack *base = add_stack(&w, "base", 3), *s = add_stack(&w, "toy", 3);
	struct graph *g;

	add_step(base, "hosts", 0);
	add_step(s, "key", 1)->gives = (char *)"key";
	add_step(s, "take", 2)->takes = (char *)"key";
	need(add_step(s, "run", 2), NULL, "take", NULL, true);
	need(add_step(s, "look", 1), NULL, "run", "all", true);
	g = make(&w);
	is_int(g->count, 3 + 1 + 2 + 2 + 1, "a work for each step on each node that has its role");
	is_str(names(g, 0), "hosts@1 hosts@2 hosts@3", "the stack that all need comes first, on all nodes at once");
	end(g, "hosts", 0, WORK_DONE);
	is_str(names(g, 0), "key@1", "a node goes on where it is ready, whatever the others do");
	end(g, "hosts", 1, WORK_LEFT);
	is_str(names(g, 0), "", "who takes waits for who gives");
	end(g, "key", 0, WORK_DONE);
	is_str(names(g, 0), "take@2", "and then takes; the slow node holds up nobody else");
	end(g, "take", 1, WORK_DONE);
	is_str(names(g, 0), "run@2", "a node's next step");
	end(g, "run", 1, WORK_DONE);
	is_str(names(g, 0), "", "what needs all waits for all");
	end(g, "hosts", 2, WORK_DONE);
	is_str(names(g, 0), "take@3", "the slow one");
	end(g, "take", 2, WORK_DONE);
	names(g, 0);
	ok(!graph_over(g), "not over yet");
	end(g, "run", 2, WORK_DONE);
	is_str(names(g, 0), "look@1", "the last");
	end(g, "look", 0, WORK_DONE);
	ok(graph_over(g), "over");
	graph_turn(g);
	is_str(names(g, 0), "look@1", "turned: the last comes first, alone; nothing else is free");
	end(g, "look", 0, WORK_FAILED);
	is_str(names(g, 0), "run@3 run@2", "turned: a failure elsewhere stops nobody");
	is_int(find(g, "key", 0)->state, WORK_BLOCKED, "but its own node");
	graph_free(g);
	forget(&w);
}

static void test_failure(void)
{
	struct world w = { 0 };
	struct stack *s = add_stack(&w, "toy", 4);
	struct stack_step *last;
	struct graph *g;

	add_step(s, "a", 0);
	last = add_step(s, "b", 0);
	need(last, NULL, "a", NULL, true);
	last = add_step(s, "all", 1);
	need(last, NULL, "b", "all", true);
	last = add_step(s, "after", 1);
	need(last, NULL, "b", "body", false);
	g = make(&w);
	names(g, 0);
	end(g, "a", 1, WORK_FAILED);
	is_int(find(g, "b", 1)->state, WORK_BLOCKED, "what needs a failed step is blocked");
	ok(g->lost[1], "its node is out");
	is_int(find(g, "all", 0)->state, WORK_BLOCKED, "what must have it on all nodes too");
	ok(&g->at[find(g, "all", 0)->because] == find(g, "a", 1), "and knows which work was the cause");
	end(g, "a", 0, WORK_DONE);
	end(g, "a", 2, WORK_DONE);
	graph_lose(g, 3);
	is_int(find(g, "a", 3)->state, WORK_RUNNING, "what runs on a lost node is not forgotten");
	is_int(find(g, "b", 3)->because, GRAPH_NODE, "blocked by its node");
	end(g, "a", 3, WORK_DONE);
	is_str(names(g, 0), "b@1 b@3", "the others go on");
	end(g, "b", 0, WORK_DONE);
	is_str(names(g, 0), "", "'after' waits");
	end(g, "b", 2, WORK_DONE);
	is_str(names(g, 0), "after@1", "'after' does not mind failures");
	end(g, "after", 0, WORK_DONE);
	ok(graph_over(g), "over, with failures");
	graph_free(g);
	g = make(&w);
	is_str(names(g, 0), "a@1 a@2 a@3 a@4", "again");
	graph_stop(g);
	end(g, "a", 0, WORK_DONE);
	is_str(names(g, 0), "", "stopped: nothing more is begun");
	ok(!graph_over(g), "what runs is waited for");
	for (size_t m = 1; m < 4; m++)
		end(g, "a", m, WORK_DONE);
	ok(graph_over(g), "over");
	is_int(find(g, "b", 0)->state, WORK_LEFT, "nobody did it");
	graph_free(g);
	forget(&w);
}

/* What is left over from other files. */
static void test_loose(void)
{
	struct world w = { 0 };
	struct stack *s = add_stack(&w, "toy", 2);
	struct stack_step *a = add_step(s, "a", 0);
	const struct use *u = &w.c.uses[0];
	const struct work works[] = {
		{ .use = u, .step = a, .member = 0 }, { .use = u, .step = a, .member = 1 },
	};
	struct graph *g = graph_loose(works, 2, 2);

	is_str(names(g, 0), "a@1 a@2", "works that wait for nobody");
	end(g, "a", 1, WORK_FAILED);
	end(g, "a", 0, WORK_DONE);
	ok(graph_over(g), "over");
	graph_free(g);
	a->quorum = true;
	g = graph_loose(works, 2, 2);
	is_str(names(g, 0), "a@1", "those that vote go one by one");
	graph_free(g);
	g = graph_loose(works, 0, 2);
	ok(graph_over(g), "one of nothing is over");
	graph_free(g);
	forget(&w);
}

static void test_limits(void)
{
	struct world w = { 0 };
	struct stack *s = add_stack(&w, "toy", 5);
	struct stack_step *a = add_step(s, "wave", 0), *b, *q;
	struct graph *g;

	a->wave = 2;
	g = make(&w);
	is_str(names(g, 0), "wave@1 wave@2", "a wave of two");
	end(g, "wave", 1, WORK_DONE);
	is_str(names(g, 0), "wave@3", "one ends, one begins");
	graph_free(g);
	a->wave = 0;
	a->upload = (char *)"file";
	b = add_step(s, "other", 0);
	b->upload = (char *)"file";
	g = make(&w);
	is_str(names(g, 3), "wave@1 wave@2 wave@3", "so many uploads at a time, and one work a node");
	end(g, "wave", 0, WORK_DONE);
	is_str(names(g, 3), "wave@4", "whatever their step");
	graph_free(g);
	a->upload = b->upload = NULL;
	q = add_step(s, "server", 2);
	q->quorum = true;
	need(q, NULL, "other", NULL, true);
	g = make(&w);
	names(g, 0);
	for (size_t m = 0; m < 5; m++)
		end(g, "wave", m, WORK_DONE);
	names(g, 0);
	for (size_t m = 0; m < 5; m++)
		end(g, "other", m, WORK_DONE);
	is_str(names(g, 0), "server@2", "of a quorum one by one");
	end(g, "server", 1, WORK_DONE);
	is_str(names(g, 0), "server@3", "the next");
	end(g, "server", 2, WORK_FAILED);
	is_str(names(g, 0), "", "one failed: no other is touched");
	is_int(find(g, "server", 4)->state, WORK_BLOCKED, "they are blocked");
	ok(&g->at[find(g, "server", 4)->because] == find(g, "server", 2), "by that one");
	ok(!g->lost[4] && graph_over(g), "but not lost");
	graph_free(g);
	forget(&w);
}

static void test_when(void)
{
	struct world w = { 0 };
	struct stack *s = add_stack(&w, "toy", 1);
	struct stack_step *a = add_step(s, "a", 0), *b = add_step(s, "b", 0);
	struct fail f = { 0 };
	struct graph *g;

	a->when = (char *)"accounting=yes";
	b->when = (char *)"accounting!=yes";
	need(b, NULL, "a", NULL, true);
	pairs_set(&w.c.uses[0].settings, "accounting", "no");
	g = make(&w);
	is_str(names(g, 0), "b@1", "a step whose setting is not so is not there, and nobody waits for it");
	graph_free(g);
	pairs_set(&w.c.uses[0].settings, "accounting", "yes");
	g = make(&w);
	is_str(names(g, 0), "a@1", "the other way round");
	graph_free(g);
	a->when = b->when = NULL;
	need(a, NULL, "b", "all", false);
	need(b, "nosuch", "x", "all", true);
	g = NULL;
	is_int(graph_new(&w.c, &g, &f), -EINVAL, "a ring is refused");
	ok(!g, "and nothing comes out");
	has_str(f.text, "' on 'n1', which waits for 'toy.", "it is named");
	forget(&w);
}

/* ---- By chance ---------------------------------------------------------------------------- */

static uint64_t seed;

static unsigned chance(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % below;
}

static void random_world(struct world *w, unsigned members)
{
	static const char *const step_names[] = { "s0", "s1", "s2", "s3", "s4", "s5" };
	static const char *const stack_names[] = { "base", "one", "two" };
	static const char *const roles[] = { NULL, "head", "body", "all" };

	for (int u = 0; u < 3; u++) {
		struct stack *s = add_stack(w, stack_names[u], members);
		unsigned steps = 1 + chance(6);

		for (unsigned m = 0; m < members; m++)
			w->roles[u][m] = (unsigned char)chance(4);
		if (u == 2 && chance(2))
			w->needs[u][0] = (char *)"one";
		for (unsigned i = 0; i < steps; i++) {
			struct stack_step *step = add_step(s, step_names[i], chance(4));

			step->wave = chance(4);
			step->quorum = chance(8) == 0;
			step->upload = chance(4) ? NULL : (char *)"file";
			for (unsigned n = chance(3); i && n; n--)
				need(step, NULL, step_names[chance(i)], roles[chance(4)], chance(2));
			if (u && i && chance(5) == 0)
				need(step, "base", "s0", roles[chance(4)], chance(2));
		}
	}
}

static const char *looked(const struct graph *g, const struct work *w, unsigned uploads)
{
	unsigned same = 0, bring = 0, on = 0;

	for (size_t i = 0; i < w->need_count; i++) {
		enum work_state s = g->at[w->needs[i]].state;

		if (s == WORK_WAITING || s == WORK_RUNNING)
			return "begun before what it waits for was over";
		if (i < w->musts && s != WORK_DONE && s != WORK_LEFT)
			return "begun though what it must have failed";
	}
	for (size_t i = 0; i < g->count; i++) {
		const struct work *o = &g->at[i];

		on += o->state == WORK_RUNNING && o->member == w->member;
		same += o->state == WORK_RUNNING && o->step == w->step && o->use == w->use;
		bring += o->state == WORK_RUNNING && o->step->upload;
		if (w->step->quorum && o->step == w->step && o->state == WORK_FAILED && !g->turned)
			return "begun though the quorum has a failure";
	}
	if (on != 1 || g->lost[w->member])
		return "two on one node, or on a lost one";
	if (w->step->upload && bring > uploads && !g->turned)
		return "too many uploads";
	return same > (w->step->quorum || w->step->wave == 1 ? 1
				      : w->step->wave        ? w->step->wave
							     : MEMBERS)
		? "wave too wide"
		: NULL;
}

/* Every work ends, each once, and a blocked one has a cause. NULL, or what is wrong. */
static const char *run_one(struct graph *g, unsigned failing)
{
	struct work *running[256];
	size_t n = 0, ends = 0;

	while (!graph_over(g)) {
		struct work *w = chance(3) ? graph_next(g, 2) : NULL;
		const char *bad = w ? looked(g, w, 2) : NULL;
		size_t i;

		if (bad)
			return bad;
		if (w) {
			running[n++] = w;
			continue;
		}
		if (!n && !(w = graph_next(g, 2)))
			return "nothing runs and nothing can begin, but it is not over";
		if (w) {
			running[n++] = w;
			continue;
		}
		i = chance((unsigned)n);
		if (failing && chance(40) == 0)
			graph_lose(g, running[i]->member);
		graph_end(g, running[i],
			failing && chance(failing) == 0 ? WORK_FAILED
				: chance(2)             ? WORK_DONE
							: WORK_LEFT);
		running[i] = running[--n];
		if (++ends > g->count)
			return "more ends than works";
	}
	for (size_t i = 0; i < g->count; i++) {
		if (!failing && g->at[i].state != WORK_DONE && g->at[i].state != WORK_LEFT)
			return "not done though nothing failed";
		if (g->at[i].state == WORK_BLOCKED && g->at[i].because != GRAPH_NODE &&
			g->at[g->at[i].because].state != WORK_FAILED && g->at[g->at[i].because].state != WORK_BLOCKED)
			return "blocked by what did not fail";
	}
	return NULL;
}

static void test_random(void)
{
	unsigned rings = 0, runs = 0;
	const char *bad = NULL;
	uint64_t first = 0;

	for (uint64_t k = 1; k <= 3000 && !bad; k++) {
		struct world w = { 0 };
		struct graph *g = NULL;
		struct fail f = { 0 };

		first = seed = k * 0x9e3779b97f4a7c15u;
		random_world(&w, 1 + chance(MEMBERS));
		if (graph_new(&w.c, &g, &f) == 0) {
			bad = run_one(g, (unsigned)(k % 3) * 8);
			if (!bad && k % 4 == 0) {
				graph_turn(g);
				memset(g->lost, 0, g->members * sizeof *g->lost);
				bad = run_one(g, 0);
			}
			runs++;
		} else {
			rings++;
		}
		graph_free(g);
		forget(&w);
	}
	if (bad)
		diag("seed %" PRIu64 ": %s", first, bad);
	ok(!bad && runs > 1000, "%u graphs by chance (%u rings) run to their end in a right order", runs, rings);
}

int main(void)
{
	plan_none;
	for (size_t m = 0; m < MEMBERS; m++)
		member_names[m] = member_text[m];
	test_order();
	test_failure();
	test_limits();
	test_loose();
	test_when();
	test_random();
	return done();
}
