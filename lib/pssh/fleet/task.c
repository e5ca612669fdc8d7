/* SPDX-License-Identifier: Apache-2.0 */
/* A task and its runs, one on each host. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "pssh/fleet/fleet.h"

enum { KILL_TRIES = 3, REST_MS = 500, LENT_START_MS = 5000 };

struct run *run_new(struct pssh_task *t, struct pssh_host *h)
{
	struct run *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->task = t;
	r->host = h;
	r->timer.kind = KIND_RUN;
	list_init(&r->streams);
	list_append(&t->runs, &r->in_task);
	list_append(&h->runs, &r->in_host);
	t->left++;
	return r;
}

bool run_takes_session(const struct run *r)
{
	const struct pssh_task *t = r->task;

	return t->kind != TASK_CHANNEL || t->channel == PSSH_CHANNEL_COMMAND || t->channel == PSSH_CHANNEL_SUBSYSTEM;
}

/* The program sees the end of the channel. */
static void close_end(struct pssh_task *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/* They use what this one has. */
static void task_end_streams(struct run *r)
{
	while (!list_empty(&r->streams))
		run_free(list_entry(list_first(&r->streams), struct run, in_task));
	r->streamed = false;
}

void run_free(struct run *r)
{
	task_end_streams(r);
	loop_timer_clear(r->host->fleet->shared.loop, &r->timer);
	assert(r->task->left > 0);
	/* The next command on this connection would count its process among its own. */
	r->host->left |= r->exec && r->exec->state >= EXEC_START && r->exec->state < EXEC_REST;
	r->host->left |= r->channel && channel_runs(r->channel);
	if (r->state != RUN_WAITING && run_takes_session(r)) {
		assert(r->host->active > 0);
		r->host->active--;
	}
	forwardrun_end(r);
	exec_free(r->exec);
	xfer_free(r->xfer);
	copy_source_free(r->source);
	tunnel_free(r->tunnel);
	channel_free(r->channel);
	look_free(r->look);
	close_end(r->task);
	if (r->lend)
		unlinkat(r->task->fleet->keep_folder, r->lend_name, 0);
	lend_free(r->lend);
	kill_remote_free(r->kill);
	run_own_free(r->own);
	if (r->own_input) {
		input_release(r->own_input);
		free(r->own_input);
	}
	list_remove(&r->in_task);
	list_remove(&r->in_host);
	r->task->left -= !r->first;
	free(r);
}

static int open_tunnel(struct run *r, struct fail *f)
{
	struct pssh_task *t = r->task;
	struct tunnel_want want = { .way = t->way, .listen = t->local, .target = t->remote };

	return tunnel_new(t->fleet->shared.loop, KIND_TUNNEL, &want, r, &r->tunnel, f);
}

static int open_exec(struct run *r)
{
	const struct exec_want *want = run_own_want(r);
	int rc = want ? exec_new(&r->host->conn->link, want, r->own_input ? r->own_input : &r->task->input, &r->exec)
		      : PSSH_ENOMEM;

	return rc ? rc : forwardrun_begin(r);
}

int run_open(struct run *r, struct fail *f)
{
	struct pssh_task *t = r->task;
	unsigned ms;
	int rc;

	assert(r->state == RUN_WAITING && r->host->conn->state == CONN_READY);
	if (t->kind == TASK_EXEC)
		rc = open_exec(r);
	else if (t->kind == TASK_TUNNEL)
		rc = open_tunnel(r, f);
	else if (t->kind == TASK_LOOK)
		rc = look_new(&r->host->conn->link, t->look, t->remote, t->limit, &r->look);
	else if (t->kind == TASK_CHANNEL)
		rc = channel_new(t->fleet->shared.loop, KIND_TUNNEL, t->channel, t->remote, t->fd, r,
			&r->host->conn->link, &r->channel);
	else
		rc = copyrun_open(r, f);
	if (rc == PSSH_ENOMEM)
		fail_set(f, rc, "out of memory");
	if (rc)
		return rc;
	if (r->exec)
		r->exec->host_env = r->host->env;
	r->state = RUN_ACTIVE;
	r->host->active += run_takes_session(r);
	ms = r->host->plan.deadline[PSSH_PHASE_HANDSHAKE];
	if (conn_is_lent(r->host->conn) && (!ms || ms > LENT_START_MS)) /* the host may have gone unnoticed */
		ms = LENT_START_MS;
	if (ms)
		loop_timer_set(t->fleet->shared.loop, &r->timer, clock_ms() + ms);
	return 0;
}

bool run_may_restart(const struct run *r)
{
	/* From there on the server may have run the command without telling. */
	return r->state == RUN_ACTIVE && !r->begun && !r->tunnel && !r->lend &&
		!(r->exec && r->exec->state >= EXEC_START) && !(r->channel && channel_asked(r->channel));
}

bool run_must_own(const struct run *r)
{
	const struct pssh_task *t = r->task;

	return (t->kind == TASK_TUNNEL && t->way == TUNNEL_BACK) || forwardrun_agent(r) ||
		(t->kind == TASK_CHANNEL && t->channel == PSSH_CHANNEL_UNIX);
}

void run_restart(struct run *r)
{
	task_end_streams(r);
	forwardrun_end(r);
	exec_free(r->exec);
	xfer_free(r->xfer);
	channel_free(r->channel);
	look_free(r->look);
	r->exec = NULL;
	r->xfer = NULL;
	r->channel = NULL;
	r->look = NULL;
	loop_timer_clear(r->host->fleet->shared.loop, &r->timer);
	r->state = RUN_WAITING;
	r->host->active -= run_takes_session(r);
}

static int task_begun(struct run *r)
{
	unsigned ms = run_own_deadline(r);

	r->begun = true;
	r->order = r->host->served++;
	loop_timer_clear(r->host->fleet->shared.loop, &r->timer);
	if (ms && !r->first)
		loop_timer_set(r->host->fleet->shared.loop, &r->timer, clock_ms() + ms);
	return RUN_BEGUN;
}

static int step_exec(struct run *r, struct pssh_event *ev, struct fail *f)
{
	struct exec *e = r->exec;
	int rc = exec_step(e, &r->host->fleet->room, f);

	switch (rc) {
	case EXEC_BEGUN:
		forwardrun_tell(r);
		return task_begun(r);
	case EXEC_OUTPUT:
		ev->type = e->emit_stream ? PSSH_EV_STDERR : PSSH_EV_STDOUT;
		ev->data = e->emit;
		ev->len = e->emit_len;
		ev->dropped = e->emit_dropped;
		return RUN_OUTPUT;
	case EXEC_DONE:
		ev->type = e->signal ? PSSH_EV_SIGNAL : PSSH_EV_EXIT;
		ev->status = e->status;
		ev->text = e->signal ? e->signal : "";
		return RUN_DONE;
	default:
		return rc;
	}
}

static int step_xfer(struct run *r, struct pssh_event *ev, struct fail *f)
{
	int rc = xfer_step(r->xfer, &r->host->fleet->room, f);
	struct copy_progress now;

	switch (rc) {
	case XFER_BEGUN:
		return task_begun(r);
	case XFER_PROGRESS:
		xfer_progress(r->xfer, &now);
		ev->type = PSSH_EV_PROGRESS;
		ev->done = now.done;
		ev->total = now.total;
		ev->unchanged = now.unchanged;
		ev->text = now.name;
		return RUN_PROGRESS;
	case XFER_NOTE:
		ev->type = PSSH_EV_STDERR;
		ev->data = xfer_note(r->xfer);
		ev->len = strlen(ev->data);
		return RUN_OUTPUT;
	case XFER_BUSY:
		return RUN_BUSY;
	case XFER_DONE:
		ev->type = PSSH_EV_EXIT;
		ev->status = 0;
		return RUN_DONE;
	default:
		return rc;
	}
}

static int step_channel(struct run *r, struct pssh_event *ev, struct fail *f)
{
	struct exec_room *room = &r->host->fleet->room;
	int rc = channel_step(r->channel, room, f);

	switch (rc) {
	case CHANNEL_BEGUN:
		return task_begun(r);
	case CHANNEL_STDERR:
		ev->type = PSSH_EV_STDERR;
		ev->data = room->data;
		ev->len = channel_stderr(r->channel);
		return RUN_OUTPUT;
	case CHANNEL_DONE:
		ev->status = channel_status(r->channel, &ev->text);
		ev->type = ev->text ? PSSH_EV_SIGNAL : PSSH_EV_EXIT;
		ev->text = ev->text ? ev->text : "";
		return RUN_DONE;
	default:
		return rc;
	}
}

static int step_begin_tunnel(struct run *r, struct fail *f)
{
	int rc = tunnel_begin(r->tunnel, &r->host->conn->link, r->host->fleet->shared.resolver, f);

	if (rc)
		return rc;
	r->task->port = tunnel_port(r->tunnel);
	return task_begun(r);
}

static int step_look(struct run *r, struct pssh_event *ev, struct fail *f)
{
	int rc = look_step(r->look, &r->host->fleet->room, f);
	struct sftp_attrs a;

	switch (rc) {
	case LOOK_BEGUN:
		return task_begun(r);
	case LOOK_FILE:
		ev->type = PSSH_EV_FILE;
		ev->text = look_file(r->look, &a);
		ev->status = a.flags & SFTP_ATTR_MODE ? (int)a.mode : 0;
		ev->total = a.flags & SFTP_ATTR_SIZE ? a.size : 0;
		ev->done = a.flags & SFTP_ATTR_TIMES ? a.mtime : 0;
		return RUN_PROGRESS;
	case LOOK_BYTES:
		ev->type = PSSH_EV_STDOUT;
		ev->data = look_bytes(r->look)->data;
		ev->len = look_bytes(r->look)->len;
		return RUN_OUTPUT;
	case LOOK_DONE:
		ev->type = PSSH_EV_EXIT;
		return RUN_DONE;
	default:
		return rc;
	}
}

static int step_tunnel(struct run *r, struct pssh_event *ev, struct fail *f)
{
	int rc = tunnel_step(r->tunnel, &r->host->conn->link, &r->host->fleet->room, f);

	if (rc != TUNNEL_NOTE)
		return rc;
	ev->type = PSSH_EV_STDERR;
	ev->data = tunnel_note(r->tunnel);
	ev->len = strlen(ev->data);
	return RUN_OUTPUT;
}

int run_step(struct run *r, struct pssh_event *ev, struct fail *f)
{
	if (r->exec)
		return step_exec(r, ev, f);
	if (r->xfer)
		return step_xfer(r, ev, f);
	if (r->channel)
		return step_channel(r, ev, f);
	if (r->look)
		return step_look(r, ev, f);
	if (r->lend)
		return lend_step(r->lend, &r->host->conn->link, &r->host->fleet->room, f);
	if (!r->begun)
		return step_begin_tunnel(r, f);
	return step_tunnel(r, ev, f);
}

/* Which of the connection's running processes it is, oldest first. */
static unsigned task_rank(const struct run *r, unsigned *running)
{
	struct list *pos, *tmp;
	unsigned before = 0;

	*running = 0;
	list_each (pos, tmp, &r->host->runs) {
		const struct run *o = list_entry(pos, struct run, in_host);

		if (!o->begun || o->tunnel || !run_takes_session(o) || (o->exec && o->exec->state != EXEC_RUN))
			continue;
		++*running;
		before += o->order < r->order;
	}
	return before;
}

int run_cancel(struct run *r, const char *signal, unsigned grace_ms)
{
	if (r->xfer) {
		xfer_cancel(r->xfer);
		return PSSH_EAGAIN;
	}
	if (!r->exec || !exec_running(r->exec))
		return PSSH_ECANCEL;
	assert(r->state == RUN_ACTIVE);
	snprintf(r->kill_remote_signal, sizeof r->kill_remote_signal, "%s", signal);
	r->kill_remote_grace = grace_ms;
	r->kill_remote_tries = KILL_TRIES;
	r->state = RUN_KILLING;
	return 0;
}

/* Only one at a time on a connection: each needs a channel, and a server grants few. */
static bool another_kills(const struct run *r)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &r->host->runs) {
		const struct run *o = list_entry(pos, struct run, in_host);

		if (o != r && o->kill && !o->kill_over)
			return true;
	}
	return false;
}

static int start_kill(struct run *r)
{
	unsigned running, nth = task_rank(r, &running);

	if (r->exec->state != EXEC_RUN) { /* it has ended by itself */
		r->kill_over = true;
		return 0;
	}
	r->kill_remote_tries--;
	return kill_remote_new(&r->host->conn->link, r->kill_remote_signal, r->kill_remote_grace, nth, running,
		&r->kill);
}

/* A script that ends processes has shown that its host lives: all of that host get more time. */
static void kill_heard(struct pssh_host *h)
{
	int64_t due = clock_ms() + KILL_REMOTE_SPARE_MS;
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs) {
		struct run *r = list_entry(pos, struct run, in_host);
		int64_t at = due < r->kill_remote_last ? due : r->kill_remote_last;

		if (r->state == RUN_KILLING && !r->kill_over && r->timer.due < at)
			loop_timer_set(h->fleet->shared.loop, &r->timer, at);
	}
}

int run_step_kill(struct run *r)
{
	struct fail f = { 0 };
	bool heard = false;
	int rc = 0;

	if (r->state != RUN_KILLING || r->kill_over || (!r->kill && another_kills(r)))
		return PSSH_EAGAIN;
	if (!r->kill)
		rc = start_kill(r);
	if (rc || r->kill_over)
		return rc;
	rc = kill_remote_step(r->kill, &r->host->fleet->room, &heard, &f);
	if (heard)
		kill_heard(r->host);
	/* Other commands ended meanwhile: count again. */
	if (rc == 0 && kill_remote_outcome(r->kill) == KILL_LOST && r->kill_remote_tries) {
		kill_remote_free(r->kill);
		r->kill = NULL;
		return run_step_kill(r);
	}
	snprintf(r->said, sizeof r->said, "%s", kill_remote_said(r->kill));
	if (rc == PSSH_EAGAIN)
		return rc;
	if (rc && !*r->said)
		snprintf(r->said, sizeof r->said, "its processes may still run: %.120s", f.text);
	r->kill_over = true;
	/* They may hold the channel open for ever; only output that is on its way is worth waiting for. */
	if (kill_remote_outcome(r->kill) == KILL_LEFT && r->timer.due > clock_ms() + REST_MS)
		loop_timer_set(r->host->fleet->shared.loop, &r->timer, clock_ms() + REST_MS);
	return rc;
}

bool run_kill_has_news(struct run *r)
{
	if (r->state != RUN_KILLING)
		return false;
	run_step_kill(r); /* what came with the command's end */
	return r->kill && !r->kill_over && !*r->said && kill_remote_outcome(r->kill) == KILL_FOUND;
}

bool task_trim_input(struct pssh_task *t)
{
	struct list *pos, *tmp;
	uint64_t least = input_end(&t->input);

	if (!t->input.data.len)
		return false;
	list_each (pos, tmp, &t->runs) {
		const struct run *r = list_entry(pos, struct run, in_task);
		uint64_t taken = r->own_input           ? least
			: r->exec && !r->exec->eof_sent ? r->exec->taken
			: r->exec                       ? least
							: 0;

		least = taken < least ? taken : least;
	}
	input_forget(&t->input, least);
	if (!t->input.full || t->input.data.len > INPUT_CEILING / 2)
		return false;
	t->input.full = false;
	return true;
}

int task_find_run(struct pssh_task *t, const struct pssh_host *h, struct run **out)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs) {
		struct run *r = list_entry(pos, struct run, in_host);

		if (r->task == t) {
			*out = r;
			return 0;
		}
	}
	return PSSH_ENOENT;
}

void task_free(struct pssh_task *t)
{
	while (!list_empty(&t->runs))
		run_free(list_entry(list_first(&t->runs), struct run, in_task));
	close_end(t);
	list_remove(&t->in_tasks);
	copy_source_free(t->source);
	if (t->data_fd >= 0)
		close(t->data_fd);
	input_release(&t->input);
	strings_free(&t->env, &t->env_count);
	free(t->command);
	free(t->local);
	free(t->remote);
	free(t->term);
	free(t);
}
