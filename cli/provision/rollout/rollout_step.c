/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one step on one node: uploads its files, applies it, and starts it again after a lost connection. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

/* GOING: a machine that is shutting down may still accept a connection or two. */
enum { BACK_MS = 180000, GOING_MS = 20000, FIRST_MS = 1000, AGAIN_MS = 3000, ROOM_MS = 60000 };

static const char *local_of(const struct work *w)
{
	return w->step->upload ? pairs_or(&w->use->settings, w->step->upload, "") : "";
}

static struct note rollout_step_about(const struct rollout *e, const struct rollout_task *t, enum note_kind kind)
{
	return (struct note){ .kind = kind, .node = e->c->members[t->member], .stack = t->work->use->stack->name,
		.step = t->work->step->name };
}

static void rollout_step_over(struct rollout *e, struct rollout_task *t, bool ok, const char *why)
{
	struct rollout_work *own = t->work->data;
	struct work *w = t->work;
	struct note n = rollout_step_about(e, t, NOTE_END);
	char lost[300];
	size_t m = t->member;

	rollout_task_flush(e, t);
	own->applied = t->dids || own->differs;
	n.ok = ok;
	n.text = ok ? NULL : why;
	n.hint = t->hint;
	n.log = *t->log_path ? t->log_path : NULL;
	n.ms = (long)(clock_ms() - t->began);
	rollout_say(e, &n);
	rollout_task_free(e, t);
	if (!ok && !e->force) {
		snprintf(lost, sizeof lost, "step '%s' of '%s' failed", w->step->name, w->use->stack->name);
		graph_end(e->g, w, WORK_FAILED);
		rollout_lose(e, m, lost);
	} else {
		graph_end(e->g, w, WORK_DONE);
	}
}

static int first_stage(const struct rollout *e, const struct work *w)
{
	const struct rollout_work *own = w->data;

	return e->phase == ENGINE_APPLY && own->differs && *local_of(w) ? STAGE_ROOM : STAGE_STEP;
}

static void rollout_step_go(struct rollout *e, struct rollout_task *t);

/* rollout_step_again() starts it again when it is time. */
static void rollout_step_lost(struct rollout *e, struct rollout_task *t, const char *why)
{
	int64_t now = clock_ms();
	struct note n = rollout_step_about(e, t, NOTE_SAID);
	char text[700];

	if (!t->give_up_at) {
		t->give_up_at = now + BACK_MS;
		t->was_lost = true;
		snprintf(text, sizeof text, "%.500s; waiting up to 3 minutes for it to come back", why);
		n.text = text;
		n.ok = true;
		rollout_say(e, &n);
	}
	t->again_at = now + FIRST_MS;
	t->stage = STAGE_AWAY;
}

static void step_ended(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	char text[1024];
	bool ok = ev->ok && !t->still && t->done == 0;

	if (ok || (ev->status >= 0 && !t->still)) {
		rollout_step_over(e, t, ok, t->cause ? t->cause : ev->text);
		return;
	}
	if (t->still) {
		snprintf(text, sizeof text, "applied, but it still differs: %.900s", t->still);
		rollout_step_over(e, t, false, text);
		return;
	}
	rollout_step_over(e, t, false, ev->text);
}

static void room_record(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	(void)e;
	if (t->stage != STAGE_ROOM || ev->count != 3 || strcmp(ev->words[0], "fact") != 0 ||
		strcmp(ev->words[1], "upload") != 0)
		return;
	if (ev->words[2][0] == '/' && !strpbrk(ev->words[2], "\n\r'\"\\") && strlen(ev->words[2]) < sizeof t->upload)
		snprintf(t->upload, sizeof t->upload, "%s", ev->words[2]);
}

static void rollout_step_ended(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	/* A machine that is shutting down ends its processes before the connection. */
	bool killed = ev->status > 0 && t->stage == STAGE_STEP &&
		(t->done == 128 + SIGHUP || t->done == 128 + SIGKILL || t->done == 128 + SIGTERM);
	bool again = (ev->lost || killed) && !e->stops &&
		(!t->was_lost || clock_ms() < t->give_up_at - BACK_MS + GOING_MS);

	if (again) {
		rollout_step_lost(e, t, killed ? "the node ended its processes" : ev->text);
		return;
	}
	switch (t->stage) {
	case STAGE_STEP:
		step_ended(e, t, ev);
		return;
	case STAGE_ROOM:
	case STAGE_COPY:
		if (ev->ok && (t->stage == STAGE_COPY || *t->upload)) {
			t->stage = t->stage == STAGE_ROOM ? STAGE_COPY : STAGE_STEP;
			rollout_step_go(e, t);
			return;
		}
		break;
	default:
		break;
	}
	rollout_step_over(e, t, false, *ev->text ? ev->text : "cannot upload its files");
}

static void rollout_step_go(struct rollout *e, struct rollout_task *t)
{
	const struct rollout_work *own = t->work->data;
	struct buf b;

	buf_init(&b, ENGINE_SCRIPT);
	if (t->stage == STAGE_ROOM) {
		rollout_script_room(t->work, &b);
		rollout_task_run(e, t, &b, REMOTE_USER, ROOM_MS);
	} else if (t->stage == STAGE_COPY) {
		remote_upload(e->r, t->member, local_of(t->work), t->upload, t, &t->job);
	} else {
		rollout_script_head(e, t->member, &b);
		if (e->phase == ENGINE_REMOVE) {
			rollout_script_undo(e, t->work, e->staying, &b);
		} else {
			rollout_script_apply(e, t->work, own->forced, t->upload, &b);
		}
		t->stage = STAGE_STEP;
		rollout_task_run(e, t, &b, 0, 3 * rollout_task_ms(t->work, "apply"));
	}
	if (b.data)
		explicit_bzero(b.data, b.cap);
	buf_release(&b);
}

void rollout_step(struct rollout *e, struct work *w)
{
	struct rollout_task *t = rollout_task_new(e, w->member, w, rollout_step_ended);
	struct note n = rollout_step_about(e, t, NOTE_BEGIN);

	n.ok = true;
	rollout_say(e, &n);
	t->record = room_record;
	t->stage = first_stage(e, w);
	if (e->nodes[w->member].locked) {
		rollout_step_go(e, t);
		return;
	}
	t->stage = STAGE_AWAY;
	t->again_at = clock_ms();
	t->give_up_at = t->again_at + BACK_MS;
}

/* Takes the lock of the task's node again, unless another nanopod holds it. */
static void lock_it(struct rollout *e, struct rollout_task *t, int64_t now)
{
	struct rollout_node *n = &e->nodes[t->member];
	char text[400];

	if (*n->holder) {
		snprintf(text, sizeof text, "its lock was lost, and now %s is provisioning the node", n->holder);
		rollout_step_over(e, t, false, text);
	} else if (!n->lock && now >= n->lock_at) {
		rollout_lock_again(e, t->member);
		n->lock_at = now + AGAIN_MS;
	}
}

/*
 * Whether a step runs there. Its lock ends first where this nanopod stood still; taking it again would end the step, as
 * one that a lost connection left behind.
 */
static bool rollout_step_goes_on(const struct rollout *e, size_t member)
{
	struct list *at, *tmp;

	list_each (at, tmp, &e->tasks) {
		const struct rollout_task *t = list_entry(at, struct rollout_task, link);

		if (t->member == member && t->work && t->job)
			return true;
	}
	return false;
}

/* Restarts tasks that lost their connection or their node's lock, when it is time. */
void rollout_step_again(struct rollout *e)
{
	struct list *at, *tmp;
	int64_t now = clock_ms();

	list_each(at, tmp, &e->tasks) {
		struct rollout_task *t = list_entry(at, struct rollout_task, link);

		if (!t->work || t->job || t->stage != STAGE_AWAY)
			continue;
		if (e->stops || now >= t->give_up_at) {
			rollout_step_over(e, t, false,
				!t->was_lost ? "the lock of its node was lost, and nanopod could not take it again"
					: e->stops ? "its connection was lost, and then you stopped it"
						   : "its connection was lost, and it did not come back");
			continue;
		}
		/* The node's lock ended with the connection. */
		if (now < t->again_at)
			continue;
		if (!e->nodes[t->member].locked) {
			if (!t->was_lost && rollout_step_goes_on(e, t->member)) {
				t->give_up_at = now + BACK_MS;
				continue;
			}
			lock_it(e, t, now);
			continue;
		}
		if (!t->was_lost)
			t->give_up_at = 0;
		t->stage = first_stage(e, t->work);
		rollout_step_go(e, t);
	}
}

void rollout_backwards(struct rollout *e)
{
	struct work *w;

	e->moved = true;
	while (!graph_over(e->g) || e->task_count) {
		while (e->moved && !e->stops && (w = graph_next(e->g, 0)))
			if (w->step->only_verify)
				graph_end(e->g, w, WORK_LEFT);
			else
				rollout_step(e, w);
		if (graph_over(e->g) && !e->task_count)
			break;
		e->moved = false;
		rollout_turn(e);
		rollout_step_again(e);
	}
}
