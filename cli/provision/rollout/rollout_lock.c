/* SPDX-License-Identifier: Apache-2.0 */
/* Locks each node while this nanopod works on it, so that two do not provision the same nodes at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"

enum { LOCK_MS = 120000 };

static void rollout_lock_heard(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	struct rollout_node *n = &e->nodes[t->member];

	if (strcmp(ev->words[0], "locked") == 0)
		n->locked = true;
	else if (strcmp(ev->words[0], "held") == 0)
		snprintf(n->holder, sizeof n->holder, "%s", ev->count > 1 && *ev->words[1] ? ev->words[1] : "somebody");
}

static void rollout_lock_ended(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	struct rollout_node *n = &e->nodes[t->member];

	n->lock = NULL;
	n->locked = false;
	snprintf(n->lock_why, sizeof n->lock_why, "%s", ev->ok ? "" : t->cause ? t->cause : ev->text);
	e->task_count++; /* locks do not count as tasks */
	rollout_task_free(e, t);
}

static void rollout_lock_begin(struct rollout *e, size_t m)
{
	struct rollout_node *n = &e->nodes[m];
	struct buf b;

	if (n->lock)
		return;
	*n->lock_why = '\0';
	*n->holder = '\0';
	n->locked = false;
	n->lock = rollout_task_new(e, m, NULL, rollout_lock_ended);
	n->lock->record = rollout_lock_heard;
	n->lock->log_left = 0;
	e->task_count--;
	buf_init(&b, 1 << 16);
	rollout_script_lock(e, &b);
	rollout_task_run(e, n->lock, &b, REMOTE_HOLD, 0);
	buf_release(&b);
}

static bool rollout_lock_settled(const struct rollout *e)
{
	for (size_t m = 0; m < e->c->count; m++)
		if (rollout_in(e, m) && e->nodes[m].lock && !e->nodes[m].locked && !*e->nodes[m].holder)
			return false;
	return true;
}

int rollout_lock(struct rollout *e)
{
	int64_t until = clock_ms() + LOCK_MS;
	int status = STATUS_OK;

	for (size_t m = 0; m < e->c->count; m++)
		if (rollout_in(e, m) && !e->nodes[m].locked)
			rollout_lock_begin(e, m);
	while (!rollout_lock_settled(e) && clock_ms() < until && !e->stops)
		rollout_turn(e);
	for (size_t m = 0; m < e->c->count && !e->stops; m++) {
		struct rollout_node *n = &e->nodes[m];

		if (!rollout_in(e, m) || n->locked)
			continue;
		if (*n->holder) {
			status = print_fail(e->np, STATUS_CONFLICT, "wait until it ends, or stop it there",
				"node '%s' is being provisioned by %s", e->c->members[m], n->holder);
			break;
		}
		rollout_lose(e, m, *n->lock_why ? n->lock_why : "cannot take its lock");
	}
	if (status || e->stops)
		rollout_unlock(e);
	return e->stops ? rollout_stopped(e) : status;
}

void rollout_lock_again(struct rollout *e, size_t member)
{
	rollout_lock_begin(e, member);
}

void rollout_unlock(struct rollout *e)
{
	int64_t until = clock_ms() + 2000;
	bool any = true;

	for (size_t m = 0; m < e->c->count; m++)
		if (e->nodes[m].lock && e->nodes[m].lock->job)
			remote_cancel(e->r, e->nodes[m].lock->job);
	while (any && clock_ms() < until) {
		any = false;
		for (size_t m = 0; m < e->c->count; m++)
			any |= e->nodes[m].lock != NULL;
		if (any)
			rollout_turn(e);
	}
}
