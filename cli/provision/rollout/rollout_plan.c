/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all checks of a node in one script, then those that need files which other steps would give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

/* Takes the end of one check. */
static void rollout_plan_looked(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	struct rollout_work *w = t->now ? t->now->data : NULL;
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
	rollout_say(e,
		&(struct note){ .kind = NOTE_END,
			.node = e->c->members[t->member],
			.stack = t->now->use->stack->name,
			.step = t->now->step->name,
			.text = rollout_task_cause(t, "its check did not run", room),
			.hint = t->hint,
			.log = *t->log_path ? t->log_path : NULL });
}

void rollout_lose_task(struct rollout *e, const struct rollout_task *t, const struct remote_event *ev)
{
	char why[600];

	if (ev->lost)
		rollout_say(e, &(struct note){ .kind = NOTE_NODE, .node = e->c->members[t->member], .text = ev->text });
	rollout_lose(e, t->member, rollout_task_why(t, ev, why));
}

static void rollout_plan_ended(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	char why[600];

	for (size_t i = 0; i < e->g->count; i++) {
		const struct work *w = &e->g->at[i];
		const struct rollout_work *own = w->data;

		if (w->member == t->member && own->failed) {
			snprintf(why, sizeof why, "cannot check step '%s' of '%s'", w->step->name, w->use->stack->name);
			rollout_lose(e, t->member, why);
			break;
		}
	}
	if (!ev->ok && !e->stops)
		rollout_lose_task(e, t, ev);
	rollout_task_free(e, t);
}

static bool in_round(const struct work *w, int round)
{
	return !w->step->only_verify && (w->step->takes != NULL) == (round == 1);
}

static void rollout_plan_begin(struct rollout *e, size_t m, int round)
{
	struct rollout_task *t;
	bool any = false;
	struct buf b;

	buf_init(&b, ENGINE_SCRIPT);
	rollout_script_head(e, m, &b);
	for (size_t i = 0; i < e->g->count; i++) {
		struct work *w = &e->g->at[i];

		if (w->member != m || !in_round(w, round))
			continue;
		rollout_script_step(e, w, NULL, false, &b);
		rollout_script_call("check", NULL, &b);
		any = true;
	}
	if (any) {
		if (buf_adds(&b, "exit 0\n") != 0)
			command_nomem();
		t = rollout_task_new(e, m, NULL, rollout_plan_ended);
		t->record = rollout_plan_looked;
		t->each = true;
		rollout_task_run(e, t, &b, 0, ENGINE_BEGIN_MS);
	}
	buf_release(&b);
}

void rollout_look(struct rollout *e)
{
	e->changes = 0;
	e->fresh = 0;
	if (!e->quiet) {
		table_release(&e->shown);
		table_init(&e->shown);
	}
	rollout_graph(e);
	for (int round = 0; round < 2; round++) {
		for (size_t m = 0; m < e->c->count && !e->stops; m++)
			if (rollout_in(e, m))
				rollout_plan_begin(e, m, round);
		rollout_run(e);
	}
	e->changes += rollout_old_count(e);
	if (!e->quiet)
		rollout_old_say(e);
	e->planned_at = clock_ms();
}

int rollout_try(struct rollout *e)
{
	int status;

	rollout_phase(e, ENGINE_PLAN, "plan");
	e->quiet = true;
	rollout_look(e);
	e->quiet = false;
	status = rollout_stopped(e);
	for (size_t i = 0; i < e->g->count && !status; i++) {
		const struct rollout_work *own = e->g->at[i].data;

		status = own->failed ? STATUS_CHECK : STATUS_OK;
	}
	return status;
}

int rollout_plan(struct rollout *e, size_t *changes)
{
	int status;

	rollout_phase(e, ENGINE_PLAN, "plan");
	rollout_look(e);
	*changes = e->changes;
	status = e->stops ? STATUS_OK : rollout_old_check(e);
	return status ? status : rollout_status(e);
}
