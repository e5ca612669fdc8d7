/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all checks of a node in one script, then those that need files which other steps would give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

/* What a step took last, which its check was told before anybody said what it would take now. */
static void rollout_plan_took(struct rollout_task *t, const struct remote_event *ev)
{
	struct rollout_work *w = t->now ? t->now->data : NULL;

	if (w && t->guesses && ev->count == 2 && strlen(ev->words[1]) < sizeof w->guessed)
		snprintf(w->guessed, sizeof w->guessed, "%s", ev->words[1]);
}

/* The check may have failed or found something for want of the file: it runs again, and says so then. */
static void rollout_plan_guessed(struct rollout_task *t)
{
	struct rollout_work *w = t->now ? t->now->data : NULL;

	if (w && (t->differs || t->done != 0))
		*w->guessed = '\0';
	t->differs = 0;
}

/* Whether it was told what it would be told now. */
static bool rollout_plan_knows(const struct rollout *e, const struct work *w)
{
	const struct rollout_file *taken = w->step->takes ? rollout_file_find(e, w->step->takes) : NULL;
	struct rollout_work *own = w->data;

	if (*own->guessed && taken && taken->hash && strcmp(taken->hash, own->guessed) == 0)
		own->looked = true;
	return own->looked;
}

/* Takes the end of one check. */
static void rollout_plan_looked(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	struct rollout_work *w = t->now ? t->now->data : NULL;
	char room[80];

	if (strcmp(ev->words[0], "took") == 0)
		rollout_plan_took(t, ev);
	if (t->guesses && strcmp(ev->words[0], "done") == 0)
		rollout_plan_guessed(t);
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
	bool good = ev->ok;
	char why[600];

	for (size_t i = 0; i < e->g->count; i++) {
		const struct work *w = &e->g->at[i];
		const struct rollout_work *own = w->data;

		if (w->member == t->member && own->failed) {
			snprintf(why, sizeof why, "cannot check step '%s' of '%s'", w->step->name, w->use->stack->name);
			rollout_lose(e, t->member, why);
			good = false;
			break;
		}
	}
	if (good && *t->log_path)
		runlog_drop_log(e->j, t->log_path);
	if (!ev->ok && !e->stops)
		rollout_lose_task(e, t, ev);
	rollout_task_free(e, t);
}

/* What it does in a round, NULL: nothing. One that takes a file waits for whoever gives it, unless it knows it. */
static const char *in_round(const struct rollout *e, const struct work *w, int round)
{
	if (w->step->only_verify)
		return NULL;
	if (!w->step->takes)
		return round ? NULL : "check";
	if (round)
		return rollout_plan_knows(e, w) ? NULL : "check";
	return w->step->gives ? NULL : "guess";
}

static void rollout_plan_begin(struct rollout *e, size_t m, int round)
{
	struct rollout_task *t;
	bool any = false;
	struct buf b;

	buf_init(&b, ENGINE_SCRIPT);
	rollout_script_head(e, m, &b);
	if (buf_adds(&b, "np_look\n") != 0)
		command_nomem();
	for (size_t i = 0; i < e->g->count; i++) {
		struct work *w = &e->g->at[i];
		const char *function = w->member == m ? in_round(e, w, round) : NULL;

		if (!function)
			continue;
		rollout_script_step(e, w, NULL, false, &b);
		rollout_script_call(function, NULL, &b);
		any = true;
	}
	if (any) {
		if (buf_adds(&b, "exit 0\n") != 0)
			command_nomem();
		t = rollout_task_new(e, m, NULL, rollout_plan_ended);
		t->record = rollout_plan_looked;
		t->each = true;
		rollout_task_run(e, t, &b, REMOTE_LOOK, ENGINE_BEGIN_MS);
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
