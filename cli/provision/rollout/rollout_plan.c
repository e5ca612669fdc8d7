/* SPDX-License-Identifier: Apache-2.0 */
/* All checks of a node in one script, then those that need to know what others would give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

/* One check is over. */
static void looked(struct engine *e, struct engine_task *t, const struct remote_event *ev)
{
	struct engine_work *w = t->now ? t->now->data : NULL;
	char room[80];

	if (!w || strcmp(ev->words[0], "done") != 0 || strcmp(t->function, "check") != 0)
		return;
	w->looked = true;
	w->differs = t->differs;
	w->failed = t->done != 0;
	e->changes += t->differs;
	t->differs = 0;
	if (!w->failed)
		return;
	engine_say(e, &(struct note){ .kind = NOTE_END, .node = e->c->members[t->member], .stack = t->now->use->stack->name,
		.step = t->now->step->name, .text = engine_task_cause(t, "it could not be looked at", room), .hint = t->hint,
		.log = *t->log_path ? t->log_path : NULL });
}

static void ended(struct engine *e, struct engine_task *t, const struct remote_event *ev)
{
	char why[600];

	for (size_t i = 0; i < e->g->count; i++) {
		const struct work *w = &e->g->at[i];
		const struct engine_work *own = w->data;

		if (w->member == t->member && own->failed) {
			snprintf(why, sizeof why, "step '%s' of '%s' could not be looked at", w->step->name, w->use->stack->name);
			engine_lose(e, t->member, why);
			break;
		}
	}
	if (!ev->ok && !e->stops)
		engine_lose(e, t->member, engine_task_why(t, ev, why));
	engine_task_free(e, t);
}

static bool in_round(const struct work *w, int round)
{
	return !w->step->only_verify && (w->step->takes != NULL) == (round == 1);
}

static void begin(struct engine *e, size_t m, int round)
{
	struct engine_task *t;
	bool any = false;
	struct buf b;

	buf_init(&b, ENGINE_SCRIPT);
	engine_script_head(e, m, &b);
	for (size_t i = 0; i < e->g->count; i++) {
		struct work *w = &e->g->at[i];

		if (w->member != m || !in_round(w, round))
			continue;
		engine_script_step(e, w, NULL, false, &b);
		engine_script_call("check", NULL, &b);
		any = true;
	}
	if (any) {
		if (buf_adds(&b, "exit 0\n") != 0)
			command_nomem();
		t = engine_task_new(e, m, NULL, ended);
		t->record = looked;
		t->each = true;
		engine_task_run(e, t, &b, 0, ENGINE_BEGIN_MS);
	}
	buf_release(&b);
}

void engine_look(struct engine *e)
{
	e->changes = 0;
	e->fresh = 0;
	if (!e->quiet) {
		table_release(&e->shown);
		table_init(&e->shown);
	}
	engine_graph(e);
	for (int round = 0; round < 2; round++) {
		for (size_t m = 0; m < e->c->count && !e->stops; m++)
			if (engine_in(e, m))
				begin(e, m, round);
		engine_run(e);
	}
	e->changes += engine_old_count(e);
	if (!e->quiet)
		engine_old_say(e);
	e->planned_at = clock_ms();
}

int engine_try(struct engine *e)
{
	int status;

	engine_phase(e, ENGINE_PLAN, "plan");
	e->quiet = true;
	engine_look(e);
	e->quiet = false;
	status = e->stops ? STATUS_INT : STATUS_OK;
	for (size_t i = 0; i < e->g->count && !status; i++) {
		const struct engine_work *own = e->g->at[i].data;

		status = own->failed ? STATUS_CHECK : STATUS_OK;
	}
	return status;
}

int engine_plan(struct engine *e, size_t *changes)
{
	int status;

	engine_phase(e, ENGINE_PLAN, "plan");
	engine_look(e);
	*changes = e->changes;
	status = e->stops ? STATUS_OK : engine_old_check(e);
	return status ? status : engine_status(e);
}
