/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and undoes steps that nodes still have but the cluster file no longer does: a setting changed, a role moved, a
 * stack was removed. Each node keeps its list of steps with their settings, so the old file is not needed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

enum { OLD_STACKS = 64 };

/* ---- Which --------------------------------------------------------------------------------- */

static void rollout_old_key_of(size_t member, const char *stack, const char *step, char *room, size_t size)
{
	snprintf(room, size, "%zu %s.%s", member, stack, step);
}

static void rollout_old_know(const struct graph *g, struct table *wanted)
{
	char key[160];

	for (size_t i = 0; i < g->count; i++) {
		const struct work *w = &g->at[i];

		rollout_old_key_of(w->member, w->use->stack->name, w->step->name, key, sizeof key);
		if (table_set(wanted, key, (void *)(uintptr_t)w) != 0)
			command_nomem();
	}
}

static bool is_wanted(const struct table *wanted, size_t member, const char *stack, const char *step)
{
	char key[160];

	rollout_old_key_of(member, stack, step, key, sizeof key);
	return table_get(wanted, key) != NULL;
}

static void *rollout_old_make(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		command_nomem();
	return p;
}

static char *rollout_old_copy(const char *text)
{
	char *s = strdup(text);

	if (!s)
		command_nomem();
	return s;
}

/*
 * A stack that the file does not name. One that is not installed here either has no scripts; the node's ledger is
 * enough.
 */
static struct use *use_made(struct rollout *e, const char *name)
{
	struct use *u = rollout_old_make(1, sizeof *u);

	if (stack_read(e->c->uses[0].stack->folders, name, &u->stack, NULL) != 0) {
		u->stack = rollout_old_make(1, sizeof *u->stack);
		u->stack->name = rollout_old_copy(name);
	}
	u->roles = rollout_old_make(e->c->count + 1, sizeof *u->roles);
	for (size_t i = 0; i < u->stack->setting_count; i++)
		pairs_set(&u->settings, u->stack->settings[i].key,
			u->stack->settings[i].fallback ? u->stack->settings[i].fallback : "");
	e->old_uses[e->old_use_count++] = u;
	return u;
}

static struct use *rollout_old_use_of(struct rollout *e, const char *name)
{
	struct use *u = cluster_use(e->c, name);

	for (size_t i = 0; !u && i < e->old_use_count; i++)
		if (strcmp(e->old_uses[i]->stack->name, name) == 0)
			u = e->old_uses[i];
	return u || e->old_use_count == OLD_STACKS ? u : use_made(e, name);
}

/* A step that its stack no longer has. */
static const struct stack_step *step_made(struct rollout *e, const char *name)
{
	struct stack_step *s;

	for (size_t i = 0; i < e->old_step_count; i++)
		if (strcmp(e->old_steps[i]->name, name) == 0)
			return e->old_steps[i];
	s = rollout_old_make(1, sizeof *s);
	s->name = rollout_old_copy(name);
	e->old_steps = reallocarray(e->old_steps, e->old_step_count + 1, sizeof *e->old_steps);
	if (!e->old_steps)
		command_nomem();
	e->old_steps[e->old_step_count++] = s;
	return s;
}

static void rollout_old_add(struct rollout *e, size_t member, const char *stack, const char *step)
{
	struct use *u = rollout_old_use_of(e, stack);
	const struct stack_step *s = u ? stack_step(u->stack, step) : NULL;

	if (!u)
		return;
	if (!s)
		s = step_made(e, step);
	e->old = reallocarray(e->old, e->old_count + 1, sizeof *e->old);
	if (!e->old)
		command_nomem();
	e->old[e->old_count++] = (struct work){ .use = u, .step = s, .member = member };
}

/* ---- In which order ------------------------------------------------------------------------ */

/* The order of installation: stacks of the file in its order, then the removed ones, each after those it needs. */
static size_t rollout_old_place(const struct rollout *e, const struct use *u)
{
	size_t deep = 0;

	for (size_t i = 0; i < e->c->use_count; i++)
		if (&e->c->uses[i] == u)
			return i;
	for (size_t round = 0; round < e->old_use_count; round++) {
		const struct use *first = NULL;

		for (size_t i = 0; i < e->old_use_count && !first; i++)
			if (e->old_uses[i] != u && (str_among(u->stack->needs_stacks, e->old_uses[i]->stack->name) ||
			    str_among(u->stack->after_stacks, e->old_uses[i]->stack->name)))
				first = e->old_uses[i];
		if (!first)
			break;
		deep++;
		u = first;
	}
	return CLUSTER_USES + deep;
}

struct placed {
	struct work work;
	size_t stack, step;
};

/* The place of a step that its stack no longer has is unknown: last. */
static size_t place_of_step(const struct work *w)
{
	const struct stack *s = w->use->stack;

	for (size_t i = 0; i < s->step_count; i++)
		if (&s->steps[i] == w->step)
			return i;
	return STACK_STEPS;
}

static int rollout_old_backwards(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int by_name = strcmp(x->work.use->stack->name, y->work.use->stack->name);

	if (x->stack != y->stack)
		return x->stack > y->stack ? -1 : 1;
	if (by_name)
		return by_name;
	if (x->step != y->step)
		return x->step > y->step ? -1 : 1;
	return x->work.member < y->work.member ? -1 : x->work.member > y->work.member;
}

static void rollout_old_sort(struct rollout *e)
{
	struct placed *p = rollout_old_make(e->old_count + 1, sizeof *p);

	for (size_t i = 0; i < e->old_count; i++)
		p[i] = (struct placed){ .work = e->old[i],
			.stack = rollout_old_place(e, e->old[i].use),
			.step = place_of_step(&e->old[i]) };
	qsort(p, e->old_count, sizeof *p, rollout_old_backwards);
	for (size_t i = 0; i < e->old_count; i++)
		e->old[i] = p[i].work;
	free(p);
}

/* ---- For the others of the engine ----------------------------------------------------------- */

/* A stack that cannot be read has no steps, but the file has it: only who undoes it all means these. */
static bool is_unread(struct rollout *e, const char *stack)
{
	const struct use *u = cluster_use(e->c, stack);

	return u && u->broken && !e->o.undoes;
}

static void rollout_old_take_words(struct rollout *e, const struct table *wanted, size_t m, char *words)
{
	for (char *word; (word = strsep(&words, " "));) {
		char *step = strchr(word, '.');

		if (!step)
			continue;
		*step++ = '\0';
		if (stack_word(word) && stack_word(step) && !is_wanted(wanted, m, word, step) && !is_unread(e, word))
			rollout_old_add(e, m, word, step);
	}
}

void rollout_old_find(struct rollout *e, const struct graph *g)
{
	struct table wanted;

	table_init(&wanted);
	rollout_old_know(g, &wanted);
	e->old_uses = rollout_old_make(OLD_STACKS, sizeof *e->old_uses);
	for (size_t m = 0; m < e->c->count; m++) {
		char *words = rollout_old_copy(facts_get(&e->facts[m], "steps"));

		rollout_old_take_words(e, &wanted, m, words);
		free(words);
	}
	table_release(&wanted);
	rollout_old_sort(e);
}

size_t rollout_old_count(const struct rollout *e)
{
	size_t count = 0;

	for (size_t i = 0; i < e->old_count; i++)
		count += rollout_in(e, e->old[i].member);
	return count;
}

/* Changing the file must not remove a voting server: 'drop' does that, because it checks that a majority remains. */
int rollout_old_check(struct rollout *e)
{
	for (size_t i = 0; i < e->old_count; i++) {
		const struct work *w = &e->old[i];

		if (w->step->quorum && rollout_in(e, w->member) && cluster_use(e->c, w->use->stack->name))
			return print_fail(e->np, STATUS_CONFLICT,
				"'nanopod provision drop' takes it out safely; 'add' brings it back with another role",
				"'%s' votes in '%s', and the cluster file would take that role away; nothing was "
				"changed",
				e->c->members[w->member], w->use->stack->name);
	}
	return STATUS_OK;
}

void rollout_old_say(struct rollout *e)
{
	for (size_t i = 0; i < e->old_count; i++)
		if (rollout_in(e, e->old[i].member))
			rollout_say(e,
				&(struct note){ .kind = NOTE_DIFFERS,
					.node = e->c->members[e->old[i].member],
					.ok = true,
					.stack = e->old[i].use->stack->name,
					.step = e->old[i].step->name,
					.text = "undo it: the cluster file no longer has it (data stays, "
						"and is listed)" });
}

/* Undoes one step on all its nodes before the next, so that clients unmount before a server goes. */
void rollout_old_undo(struct rollout *e, bool leaving)
{
	enum rollout_phase phase = e->phase;
	struct fail f = { 0 };
	size_t from = 0;

	e->phase = ENGINE_REMOVE;
	if (leaving && graph_new(e->c, &e->staying, &f) != 0)
		command_nomem();
	while (from < e->old_count && !e->stops) {
		size_t to = from;

		while (to < e->old_count && e->old[to].use == e->old[from].use && e->old[to].step == e->old[from].step)
			to++;
		rollout_graph_is(e, graph_loose(e->old + from, to - from, e->c->count));
		rollout_backwards(e);
		from = to;
	}
	graph_free(e->staying);
	e->staying = NULL;
	e->phase = phase;
	if (!e->stops)
		e->old_count = 0;
}

void rollout_old_only(struct rollout *e, char *const *stacks)
{
	size_t n = 0;

	for (size_t i = 0; i < e->old_count; i++)
		if (str_among(stacks, e->old[i].use->stack->name))
			e->old[n++] = e->old[i];
	e->old_count = n;
}

void rollout_old_free(struct rollout *e)
{
	for (size_t i = 0; i < e->old_use_count; i++) {
		stack_free(e->old_uses[i]->stack);
		pairs_release(&e->old_uses[i]->settings);
		free(e->old_uses[i]->roles);
		free(e->old_uses[i]);
	}
	for (size_t i = 0; i < e->old_step_count; i++) {
		free(e->old_steps[i]->name);
		free(e->old_steps[i]);
	}
	free(e->old_uses);
	free(e->old_steps);
	free(e->old);
}
