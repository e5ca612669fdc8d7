/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the verify function of every step on all nodes at once, and functions of steps that commands call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

static void rollout_verify_verified(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	char room[80];

	if (!t->now || strcmp(ev->words[0], "done") != 0)
		return;
	e->bads += t->bads;
	if (t->done && !t->bads) {
		e->bads++;
		rollout_say(e,
			&(struct note){ .kind = NOTE_CHECK,
				.node = e->c->members[t->member],
				.stack = t->now->use->stack->name,
				.step = t->now->step->name,
				.text = rollout_task_cause(t, "its check failed", room),
				.hint = t->hint,
				.log = *t->log_path ? t->log_path : NULL });
	}
	t->bads = 0;
}

static void verify_ended(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	if (!ev->ok && !e->stops) {
		e->bads++;
		rollout_lose_task(e, t, ev);
	}
	rollout_task_free(e, t);
}

int rollout_verify(struct rollout *e)
{
	struct buf b;

	rollout_phase(e, ENGINE_VERIFY, "verify");
	e->bads = 0;
	rollout_graph(e);
	buf_init(&b, ENGINE_SCRIPT);
	for (size_t m = 0; m < e->c->count && !e->stops; m++) {
		struct rollout_task *t;

		if (!rollout_in(e, m))
			continue;
		buf_clear(&b);
		rollout_script_head(e, m, &b);
		for (size_t i = 0; i < e->g->count; i++) {
			if (e->g->at[i].member != m)
				continue;
			rollout_script_step(e, &e->g->at[i], NULL, false, &b);
			rollout_script_call("verify", NULL, &b);
		}
		if (buf_adds(&b, "exit 0\n") != 0)
			command_nomem();
		t = rollout_task_new(e, m, NULL, verify_ended);
		t->record = rollout_verify_verified;
		t->each = true;
		rollout_task_run(e, t, &b, 0, ENGINE_BEGIN_MS);
	}
	buf_release(&b);
	rollout_run(e);
	if (e->stops)
		return rollout_stopped(e);
	return e->bads ? STATUS_CHECK : rollout_status(e);
}

/* ---- One function --------------------------------------------------------------------------- */

static void rollout_verify_called(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	const struct work *w = t->work;

	rollout_task_flush(e, t);
	rollout_say(e,
		&(struct note){ .kind = NOTE_END,
			.node = e->c->members[t->member],
			.stack = w->use->stack->name,
			.step = w->step->name,
			.ok = ev->ok,
			.text = ev->ok     ? NULL
				: t->cause ? t->cause
					   : ev->text,
			.hint = t->hint,
			.log = *t->log_path ? t->log_path : NULL,
			.ms = (long)(clock_ms() - t->began) });
	e->bads += !ev->ok;
	rollout_task_free(e, t);
}

static void call_on(struct rollout *e, struct work *w, const char *function, const char *const *words)
{
	struct rollout_task *t = rollout_task_new(e, w->member, w, rollout_verify_called);
	struct buf b;

	rollout_say(e,
		&(struct note){ .kind = NOTE_BEGIN,
			.node = e->c->members[w->member],
			.stack = w->use->stack->name,
			.step = w->step->name,
			.what = function,
			.ok = true });
	buf_init(&b, ENGINE_SCRIPT);
	rollout_script_head(e, w->member, &b);
	rollout_script_step(e, w, NULL, false, &b);
	rollout_script_call(function, words, &b);
	rollout_task_run(e, t, &b, 0, rollout_task_ms(w, function));
	buf_release(&b);
}

int rollout_call(struct rollout *e, const char *stack, const char *step, const char *function, const char *const *words,
	const size_t *members, size_t count)
{
	size_t begun = 0, out = 0;

	rollout_phase(e, ENGINE_CALL, NULL);
	rollout_file_forget(e, NULL);
	e->bads = 0;
	rollout_graph(e);
	for (size_t i = 0; i < count && !e->stops; i++) {
		struct work *w = rollout_find(e, members[i], stack, step);

		if (!w || (e->o.max_fail && e->bads >= e->o.max_fail))
			continue;
		if (!rollout_in(e, members[i])) {
			out++;
			continue;
		}
		while (w->step->wave && e->task_count >= w->step->wave && !e->stops)
			rollout_turn(e);
		call_on(e, w, function, words);
		begun++;
	}
	rollout_run(e);
	e->planned_at = 0; /* the plan may be outdated now */
	if (e->stops)
		return rollout_stopped(e);
	if (!begun)
		return print_fail(e->np, out ? STATUS_UNREACHABLE : STATUS_NOTFOUND, NULL,
			out ? "no node with step '%s' of '%s' is usable" : "no node has step '%s' of '%s'", step,
			stack);
	return !e->bads && !out ? STATUS_OK : e->bads == begun ? STATUS_FAILURE : STATUS_PARTLY;
}
