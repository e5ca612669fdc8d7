/* SPDX-License-Identifier: Apache-2.0 */
/* Runs through the graph that graphedge.c builds: which work may start, and what a failure blocks. */
#include "cli/provision/model/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/provision/model/graphedge.h"

void graph_free(struct graph *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->count; i++) {
		free(g->at[i].needs);
		free(g->at[i].then);
	}
	free(g->at);
	free(g->open);
	free(g->lost);
	free(g);
}

static bool is_over(enum work_state s)
{
	return s != WORK_WAITING && s != WORK_RUNNING;
}

static void begin_anew(struct graph *g)
{
	g->running = g->from = 0;
	g->waiting = g->count;
	g->stopped = false;
	memset(g->open, 0, g->members * sizeof *g->open);
	for (size_t i = 0; i < g->count; i++) {
		g->at[i].state = WORK_WAITING;
		g->at[i].pending = g->at[i].need_count;
		g->at[i].because = GRAPH_NODE;
	}
}

/* ---- Rings ------------------------------------------------------------------------------- */

static int ring_add(struct buf *b, const struct cluster *c, const struct work *w)
{
	return buf_addf(b, "%s'%s.%s' on '%s'", b->len ? ", which waits for " : "", w->use->stack->name, w->step->name,
		c->members[w->member]);
}

/* Each remaining work waits for another remaining one, so following them from any work leads into the circle. */
static int say_ring(const struct graph *g, const struct cluster *c, const size_t *left, struct fail *f)
{
	size_t at = 0, first, steps = 0;
	struct buf b;

	while (!left[at])
		at++;
	for (size_t n = 0; n <= g->count; n++)
		for (size_t i = 0; i < g->at[at].need_count; i++)
			if (left[g->at[at].needs[i]]) {
				at = g->at[at].needs[i];
				break;
			}
	buf_init(&b, 400);
	first = at;
	do {
		size_t i = 0;

		if (ring_add(&b, c, &g->at[at]))
			break;
		while (!left[g->at[at].needs[i]])
			i++;
		at = g->at[at].needs[i];
	} while (at != first && ++steps < g->count);
	fail_set(f, -EINVAL, "steps wait for each other in a circle: %s", buf_text(&b));
	buf_release(&b);
	return -EINVAL;
}

static int find_ring(const struct graph *g, const struct cluster *c, struct fail *f)
{
	size_t *left = malloc((g->count + 1) * sizeof *left), *queue = malloc((g->count + 1) * sizeof *queue);
	size_t head = 0, tail = 0;
	int rc = 0;

	if (!left || !queue)
		command_nomem();
	for (size_t i = 0; i < g->count; i++) {
		left[i] = g->at[i].need_count;
		if (!left[i])
			queue[tail++] = i;
	}
	while (head < tail) {
		const struct work *w = &g->at[queue[head++]];

		for (size_t i = 0; i < w->then_count; i++)
			if (--left[w->then[i]] == 0)
				queue[tail++] = w->then[i];
	}
	if (tail < g->count)
		rc = say_ring(g, c, left, f);
	free(left);
	free(queue);
	return rc;
}

static void *graph_zeros(size_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	if (!p)
		command_nomem();
	return p;
}

static struct graph *graph_make(size_t members)
{
	struct graph *g = graph_zeros(1, sizeof *g);

	g->members = members;
	g->open = graph_zeros(members, sizeof *g->open);
	g->lost = graph_zeros(members, sizeof *g->lost);
	return g;
}

struct graph *graph_loose(const struct work *works, size_t count, size_t members)
{
	struct graph *g = graph_make(members);

	g->at = graph_zeros(count, sizeof *g->at);
	g->count = count;
	for (size_t i = 0; i < count; i++)
		g->at[i] = (struct work){ .use = works[i].use, .step = works[i].step, .member = works[i].member };
	begin_anew(g);
	return g;
}

int graph_new(const struct cluster *c, struct graph **out, struct fail *f)
{
	struct graph *g = graph_make(c->count);
	int rc;

	graphedge_make(g, c);
	rc = find_ring(g, c, f);
	if (rc) {
		graph_free(g);
		return rc;
	}
	begin_anew(g);
	*out = g;
	return 0;
}

void graph_turn(struct graph *g)
{
	for (size_t i = 0; i < g->count; i++) {
		struct work *w = &g->at[i];
		size_t *needs = w->needs, count = w->need_count;

		w->needs = w->then;
		w->need_count = w->then_count;
		w->then = needs;
		w->then_count = count;
		w->musts = 0;
	}
	g->turned = !g->turned;
	begin_anew(g);
}

/* ---- What happens ------------------------------------------------------------------------- */

static bool graph_must(const struct work *w, size_t need)
{
	for (size_t i = 0; i < w->musts; i++)
		if (w->needs[i] == need)
			return true;
	return false;
}

static void model_graph_over(struct graph *g, size_t at, enum work_state state, size_t because);

/* A failure blocks the works that need it, and so on; the graph has no circle, so this ends. */
static void graph_told(struct graph *g, size_t at)
{
	const struct work *w = &g->at[at];
	bool well = w->state == WORK_DONE || w->state == WORK_LEFT;

	for (size_t i = 0; i < w->then_count; i++) {
		struct work *next = &g->at[w->then[i]];

		next->pending--;
		if (!well && next->state == WORK_WAITING && graph_must(next, at))
			model_graph_over(g, w->then[i], WORK_BLOCKED,
				w->state == WORK_BLOCKED && w->because != GRAPH_NODE ? w->because : at);
	}
}

static void model_graph_over(struct graph *g, size_t at, enum work_state state, size_t because)
{
	struct work *w = &g->at[at];

	if (w->state == WORK_RUNNING) {
		g->running--;
		g->open[w->member]--;
	} else {
		g->waiting--;
	}
	w->state = state;
	w->because = because;
	graph_told(g, at);
}

void graph_lose(struct graph *g, size_t member)
{
	if (g->lost[member])
		return;
	g->lost[member] = true;
	for (size_t i = 0; i < g->count; i++)
		if (g->at[i].member == member && g->at[i].state == WORK_WAITING)
			model_graph_over(g, i, WORK_BLOCKED, GRAPH_NODE);
}

/* After a failure in a quorum step the other members keep what they have. */
static void close_quorum(struct graph *g, size_t failed)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->at[i].step == g->at[failed].step && g->at[i].use == g->at[failed].use &&
			g->at[i].state == WORK_WAITING)
			model_graph_over(g, i, WORK_BLOCKED, failed);
}

void graph_end(struct graph *g, struct work *w, enum work_state state)
{
	size_t at = (size_t)(w - g->at);

	if (is_over(w->state) || !is_over(state))
		return;
	model_graph_over(g, at, state, GRAPH_NODE);
	if (state != WORK_FAILED)
		return;
	if (w->step->quorum && !g->turned)
		close_quorum(g, at);
	graph_lose(g, w->member);
}

void graph_stop(struct graph *g)
{
	g->stopped = true;
	for (size_t i = 0; i < g->count; i++)
		if (g->at[i].state == WORK_WAITING)
			model_graph_over(g, i, WORK_LEFT, GRAPH_NODE);
}

/* The i-th work in the order of the walk. */
static struct work *graph_nth(const struct graph *g, size_t i)
{
	return &g->at[g->turned ? g->count - 1 - i : i];
}

static bool has_room(const struct graph *g, const struct work *w, unsigned uploads)
{
	unsigned wave = w->step->quorum ? 1 : w->step->wave, same = 0, bring = 0;
	bool brings = w->step->upload && !g->turned;

	if (g->open[w->member] || g->lost[w->member])
		return false;
	if (!wave && (!brings || !uploads))
		return true;
	for (size_t i = g->from; i < g->count; i++) {
		const struct work *o = graph_nth(g, i);

		if (o->state != WORK_RUNNING)
			continue;
		same += o->step == w->step && o->use == w->use;
		bring += o->step->upload != NULL;
	}
	return (!wave || same < wave) && (!brings || !uploads || bring < uploads);
}

struct work *graph_next(struct graph *g, unsigned uploads)
{
	if (!g->waiting)
		return NULL;
	while (is_over(graph_nth(g, g->from)->state))
		g->from++;
	for (size_t i = g->from; i < g->count; i++) {
		struct work *w = graph_nth(g, i);

		if (w->state != WORK_WAITING || w->pending || !has_room(g, w, uploads))
			continue;
		w->state = WORK_RUNNING;
		g->waiting--;
		g->running++;
		g->open[w->member]++;
		return w;
	}
	return NULL;
}

bool graph_over(const struct graph *g)
{
	return !g->running && !g->waiting;
}
