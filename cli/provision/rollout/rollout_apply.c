/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the plan: steps that differ, and steps that depend on a change. Also removes a cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

/* A change touches all later steps. If one of those takes a file, the step that gives the file must run too. */
static void rollout_apply_touch(struct rollout *e)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < e->g->count; i++) {
			const struct work *w = &e->g->at[i];
			struct rollout_work *own = w->data;

			for (size_t n = 0; n < w->need_count; n++) {
				const struct work *from = &e->g->at[w->needs[n]];
				struct rollout_work *other = from->data;

				if (!own->touched && (other->touched || other->differs))
					more = own->touched = true;
				if ((own->touched || own->differs) && !other->forced && w->step->takes &&
					from->step->gives && strcmp(w->step->takes, from->step->gives) == 0)
					more = other->forced = true;
			}
		}
	}
}

/* Whether the step must run, now that the steps before it have ended. */
static bool rollout_apply_wanted(const struct rollout *e, const struct work *w)
{
	const struct rollout_work *own = w->data;

	if (w->step->only_verify)
		return false;
	if (own->differs || own->forced)
		return true;
	for (size_t n = 0; n < w->need_count; n++)
		if (((const struct rollout_work *)e->g->at[w->needs[n]].data)->applied)
			return true;
	return false;
}

static void begin_all(struct rollout *e)
{
	struct work *w;

	e->moved = false;
	while (!e->stops && (w = graph_next(e->g, e->o.uploads ? e->o.uploads : 8))) {
		if (rollout_apply_wanted(e, w))
			rollout_step(e, w);
		else
			graph_end(e->g, w, WORK_LEFT);
	}
}

static void too_many(struct rollout *e)
{
	if (!e->o.max_fail || e->lost < e->o.max_fail || e->g->stopped)
		return;
	graph_stop(e->g);
	rollout_say(e,
		&(struct note){ .kind = NOTE_SAID,
			.ok = true,
			.text = "as many nodes failed as --max-fail allows; nothing more starts" });
}

static void rollout_apply_drive(struct rollout *e)
{
	too_many(e);
	begin_all(e);
	while (!graph_over(e->g) || e->task_count) {
		rollout_turn(e);
		rollout_step_again(e);
		too_many(e);
		if (e->moved)
			begin_all(e);
	}
}

/* Reports healthy nodes whose steps wait in vain for another node. */
static void say_blocked(struct rollout *e)
{
	for (size_t m = 0; m < e->c->count; m++) {
		const struct work *first = NULL, *cause;
		size_t count = 0;
		char text[400];

		for (size_t i = 0; rollout_in(e, m) && i < e->g->count; i++) {
			const struct work *w = &e->g->at[i];
			const struct rollout_work *own = w->data;

			if (w->member != m || w->state != WORK_BLOCKED || !own->differs)
				continue;
			first = first ? first : w;
			count++;
		}
		if (!first || first->because == GRAPH_NODE)
			continue;
		cause = &e->g->at[first->because];
		snprintf(text, sizeof text, "%zu step%s not started: '%s' waits for '%s.%s' on '%s'", count,
			count == 1 ? " was" : "s were", first->step->name, cause->use->stack->name, cause->step->name,
			e->c->members[cause->member]);
		rollout_say(e,
			&(struct note){ .kind = NOTE_SAID,
				.node = e->c->members[m],
				.stack = first->use->stack->name,
				.step = first->step->name,
				.text = text,
				.ok = true });
	}
}

/* Looks again without reporting differences that the plan has shown. */
static void look_quietly(struct rollout *e)
{
	e->phase = ENGINE_PLAN;
	e->quiet = true;
	rollout_look(e);
	e->quiet = false;
	e->phase = ENGINE_APPLY;
}

static void rollout_apply_do_all(struct rollout *e)
{
	rollout_apply_touch(e);
	if (!e->stops)
		rollout_apply_drive(e);
	if (!e->stops)
		say_blocked(e);
}

static bool all_well(const struct rollout *e)
{
	for (size_t i = 0; i < e->g->count; i++)
		if (e->g->at[i].state == WORK_FAILED || e->g->at[i].state == WORK_BLOCKED)
			return false;
	return !e->lost && !e->g->stopped;
}

/*
 * Undoes old steps only after their replacements work. An undo may reset files that both share, so it looks once more.
 */
static void leave_old(struct rollout *e)
{
	if (!rollout_old_count(e) || e->stops)
		return;
	if (!all_well(e)) {
		rollout_say(e,
			&(struct note){ .kind = NOTE_SAID,
				.ok = true,
				.text = "steps that the cluster file no longer has stay until the "
					"rest succeeds" });
		return;
	}
	rollout_old_undo(e, true);
	if (e->stops)
		return;
	look_quietly(e);
	rollout_apply_do_all(e);
}

int rollout_hold(struct rollout *e)
{
	int status = rollout_lock(e);

	e->holds = !status;
	return status;
}

static void let_go(struct rollout *e)
{
	if (!e->holds)
		rollout_unlock(e);
}

int rollout_begin(struct rollout *e, bool strict)
{
	int status;

	rollout_phase(e, ENGINE_APPLY, "apply");
	if (e->planned_at && !e->changes)
		return STATUS_OK;
	status = rollout_lock(e);
	if (status)
		return status;
	look_quietly(e);
	if (strict && e->fresh && !e->stops) {
		let_go(e);
		return print_fail(e->np, STATUS_CONFLICT, "run the same command again to see the new plan",
			"the nodes have changed since the plan was shown; nothing was changed");
	}
	e->begun = true;
	return STATUS_OK;
}

int rollout_apply(struct rollout *e)
{
	if (e->begun) {
		rollout_apply_do_all(e);
		leave_old(e);
		rollout_file_forget(e, NULL);
		let_go(e);
	}
	e->begun = false;
	e->planned_at = 0;
	return rollout_status(e);
}

/* ---- Remove: the undo of each step, the last step first -------------------------------------- */

int rollout_remove(struct rollout *e, bool force)
{
	int status = rollout_lock(e);

	if (status)
		return status;
	rollout_phase(e, ENGINE_REMOVE, "remove");
	e->force = force;
	rollout_old_undo(e, false);
	rollout_graph(e);
	graph_turn(e->g);
	for (size_t m = 0; m < e->c->count; m++)
		if (!rollout_in(e, m)) {
			e->g->lost[m] = false;
			graph_lose(e->g, m);
		}
	if (!e->stops)
		rollout_backwards(e);
	e->force = false;
	rollout_unlock(e);
	return rollout_status(e);
}

/* ---- Some stacks alone ----------------------------------------------------------------------- */

int rollout_plan_off(struct rollout *e, char *const *stacks, size_t *changes)
{
	rollout_phase(e, ENGINE_PLAN, "plan");
	rollout_old_only(e, stacks);
	rollout_old_say(e);
	*changes = rollout_old_count(e);
	return rollout_status(e);
}

/* Which works differ, in the order of the graph, which is the same each time. */
static bool *now_differing(const struct rollout *e)
{
	bool *out = calloc(e->g->count + 1, sizeof *out);

	if (!out)
		command_nomem();
	for (size_t i = 0; i < e->g->count; i++)
		out[i] = ((const struct rollout_work *)e->g->at[i].data)->differs > 0;
	return out;
}

/* What differed before is not its business. */
static void mend_shared(struct rollout *e, const bool *before)
{
	e->planned_at = 0;
	look_quietly(e);
	for (size_t i = 0; i < e->g->count; i++)
		if (before[i])
			((struct rollout_work *)e->g->at[i].data)->differs = 0;
	rollout_apply_do_all(e);
}

int rollout_take_off(struct rollout *e)
{
	int status = rollout_lock(e);
	bool *before;

	if (status)
		return status;
	rollout_phase(e, ENGINE_REMOVE, "remove");
	e->planned_at = 0;
	look_quietly(e);
	before = now_differing(e);
	if (!e->stops)
		rollout_old_undo(e, true);
	if (!e->stops && !e->lost)
		mend_shared(e, before);
	free(before);
	rollout_file_forget(e, NULL);
	rollout_unlock(e);
	e->planned_at = 0;
	return rollout_status(e);
}
