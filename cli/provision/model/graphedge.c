/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/graphedge.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"

/* Finds the work of a step on a member: at[first[use][step] + …]. */
struct places {
	const struct cluster *c;
	struct graph *g;
	size_t *of;      /* [use][step][member] -> index + 1; 0: none */
	size_t cap;      /* capacity of `needs` of the current work */
};

bool graphedge_when(const struct use *u, const char *when)
{
	const char *eq = when ? strchr(when, '=') : NULL, *value;
	bool not = eq && eq > when && eq[-1] == '!';
	char key[128];
	size_t n;

	if (!eq)
		return true;
	n = (size_t)(eq - when) - not;
	if (n >= sizeof key)
		return false;
	memcpy(key, when, n);
	key[n] = '\0';
	value = pairs_or(&u->settings, key, "");
	return (strcmp(value, eq + 1) == 0) != not;
}

static size_t *graphedge_place(const struct places *p, size_t use, size_t step, size_t member)
{
	return &p->of[(use * STACK_STEPS + step) * p->c->count + member];
}

static bool has_step(const struct use *u, const struct stack_step *s, size_t member)
{
	return u->roles[member] && (!s->roles || (s->roles & u->roles[member]));
}

static void make_works(struct places *p)
{
	struct graph *g = p->g;
	size_t cap = 0;

	for (size_t u = 0; u < p->c->use_count; u++)
		cap += p->c->uses[u].stack->step_count * p->c->count;
	g->at = calloc(cap + 1, sizeof *g->at);
	p->of = calloc(p->c->use_count * STACK_STEPS * p->c->count + 1, sizeof *p->of);
	if (!g->at || !p->of)
		command_nomem();
	for (size_t u = 0; u < p->c->use_count; u++) {
		const struct use *use = &p->c->uses[u];

		for (size_t s = 0; s < use->stack->step_count; s++) {
			const struct stack_step *step = &use->stack->steps[s];

			for (size_t m = 0; graphedge_when(use, step->when) && m < p->c->count; m++) {
				if (!has_step(use, step, m))
					continue;
				g->at[g->count] =
					(struct work){ .use = use, .step = step, .member = m, .because = GRAPH_NODE };
				*graphedge_place(p, u, s, m) = ++g->count;
			}
		}
	}
}

/* Needs that must succeed stand first; a need that was only "after" moves there when it becomes one. */
static void graphedge_add(struct places *p, struct work *w, size_t need, bool must)
{
	size_t i = 0;

	while (i < w->need_count && w->needs[i] != need)
		i++;
	if (&p->g->at[need] == w || (i < w->need_count && (!must || i < w->musts)))
		return;
	if (i == w->need_count) {
		if (w->need_count == p->cap) {
			p->cap = p->cap ? p->cap * 2 : 8;
			w->needs = realloc(w->needs, p->cap * sizeof *w->needs);
			if (!w->needs)
				command_nomem();
		}
		w->needs[w->need_count++] = need;
	}
	if (must) {
		w->needs[i] = w->needs[w->musts];
		w->needs[w->musts++] = need;
	}
}

static size_t graphedge_use_of(const struct cluster *c, const char *name)
{
	size_t u = 0;

	while (u < c->use_count && strcmp(c->uses[u].stack->name, name) != 0)
		u++;
	return u;
}

/* Adds one entry of `needs` or `after`. True if it is a step of the same stack on the same node. */
static bool graphedge_add_need(struct places *p, struct work *w, const struct stack_need *n)
{
	size_t u = n->stack ? graphedge_use_of(p->c, n->stack) : (size_t)(w->use - p->c->uses), s = 0, at;
	const struct use *use = u < p->c->use_count ? &p->c->uses[u] : NULL;

	while (use && s < use->stack->step_count && strcmp(use->stack->steps[s].name, n->step) != 0)
		s++;
	if (!use || s == use->stack->step_count)
		return false;
	if (!n->role) {
		at = *graphedge_place(p, u, s, w->member);
		if (at)
			graphedge_add(p, w, at - 1, n->must);
		return at && use == w->use;
	}
	for (size_t m = 0; m < p->c->count; m++) {
		at = *graphedge_place(p, u, s, m);
		if (at && (strcmp(n->role, "all") == 0 || cluster_has_role(use, m, n->role)))
			graphedge_add(p, w, at - 1, n->must);
	}
	return false;
}

/* The step that gives what this one takes: in its own stack, else in any. */
static void add_givers(struct places *p, struct work *w)
{
	bool found = false;

	for (int own = 1; own >= 0 && !found; own--)
		for (size_t i = 0; i < p->g->count; i++) {
			const struct work *o = &p->g->at[i];

			if ((own && o->use != w->use) || !o->step->gives || strcmp(o->step->gives, w->step->takes) != 0)
				continue;
			graphedge_add(p, w, i, true);
			found = true;
		}
}

static bool wants_stack(const struct stack *s, const char *name)
{
	return strcmp(name, "base") == 0 || str_among(s->needs_stacks, name);
}

/* A stack starts on a node after the stacks that it needs. */
static void graphedge_add_stacks(struct places *p, struct work *w)
{
	for (size_t u = 0; u < p->c->use_count; u++) {
		const struct use *use = &p->c->uses[u];

		bool must = wants_stack(w->use->stack, use->stack->name);

		if (use == w->use || (!must && !str_among(w->use->stack->after_stacks, use->stack->name)))
			continue;
		for (size_t s = 0; s < use->stack->step_count; s++) {
			size_t at = *graphedge_place(p, u, s, w->member);

			if (at)
				graphedge_add(p, w, at - 1, must);
		}
	}
}

static void make_thens(struct graph *g)
{
	for (size_t i = 0; i < g->count; i++)
		for (size_t n = 0; n < g->at[i].need_count; n++)
			g->at[g->at[i].needs[n]].then_count++;
	for (size_t i = 0; i < g->count; i++) {
		g->at[i].then = calloc(g->at[i].then_count + 1, sizeof *g->at[i].then);
		if (!g->at[i].then)
			command_nomem();
		g->at[i].then_count = 0;
	}
	for (size_t i = 0; i < g->count; i++)
		for (size_t n = 0; n < g->at[i].need_count; n++) {
			struct work *o = &g->at[g->at[i].needs[n]];

			o->then[o->then_count++] = i;
		}
}

void graphedge_make(struct graph *g, const struct cluster *c)
{
	struct places p = { .c = c, .g = g };

	make_works(&p);
	for (size_t i = 0; i < g->count; i++) {
		struct work *w = &g->at[i];
		bool inner = false;

		p.cap = 0;
		for (size_t n = 0; n < w->step->need_count; n++)
			inner |= graphedge_add_need(&p, w, &w->step->needs[n]);
		if (w->step->takes)
			add_givers(&p, w);
		if (!inner)
			graphedge_add_stacks(&p, w);
	}
	make_thens(g);
	free(p.of);
}
