/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects like `nanopod run`, with its questions about host keys and passwords; then each script is a task of its own
 * on the same fleet. This is the only place that sleeps.
 */
#include "cli/provision/rollout/remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/provision/rollout/remote_contact.h"
#include "cli/provision/rollout/remote_job.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"

enum { KEEPALIVE_MS = 10000, DEAF = 64 };

struct remote {
	struct nanopod *np;
	struct connect *connect;
	struct remote_peer *peers;
	size_t count, job_count;
	struct list jobs;
	unsigned connections;
	int deaf;

	/* The event of libpssh that is being handed out piece by piece. */
	struct remote_job *job; /* its job; NULL: no event */
	struct buf chunk;
	size_t chunk_at;
	bool is_err;
	enum { NOT_ENDING, END_OF_OUT, END_OF_ERR, END_TELL, END_TOLD } ending;
};

/* The command around this one catches signals, too: one that came before belongs to both. */
static int remote_asked(void)
{
	return signals_next() == SIGTERM ? STATUS_TERM : STATUS_INT;
}

int remote_open(struct nanopod *np, char *const *names, size_t count, const char *script, size_t len,
	struct remote **out)
{
	struct remote *r = calloc(1, sizeof *r);
	struct pssh_list *list = NULL;
	struct contact met = { .np = np, .count = count };
	int status, rc;

	if (!r || pssh_list_new(&list) != 0)
		command_nomem();
	r->np = np;
	r->count = count;
	list_init(&r->jobs);
	buf_init(&r->chunk, 16 << 20);
	r->peers = calloc(count + 1, sizeof *r->peers);
	if (!r->peers)
		command_nomem();
	for (size_t i = 0; i < count; i++) {
		buf_init(&r->peers[i].first.out, REMOTE_FIRST_OUT);
		r->peers[i].alone = settings_given(np->settings, SETTING_ID_FANOUT);
	}
	status = connect_open(np, &r->connect);
	met.peers = r->peers;
	met.connect = r->connect;
	if (!status)
		pssh_set_keepalive(r->connect->fleet, KEEPALIVE_MS);
	for (size_t i = 0; !status && i < count; i++) {
		rc = pssh_list_add(list, names[i]);
		if (rc || pssh_list_count(list) != i + 1)
			status = print_fail(np, STATUS_USAGE, NULL, "'%s' is not a single host, or is named twice",
				names[i]);
	}
	if (!status && signals_begin() != 0)
		status = print_fail(np, STATUS_FAILURE, NULL, "cannot catch signals: %s", strerror(errno));
	else if (!status &&
		(status = signals_asked() ? remote_asked() : remote_contact(&met, list, script, len)) != STATUS_OK)
		signals_end();
	pssh_list_free(list);
	if (status) {
		connect_close(np, r->connect);
		for (size_t i = 0; i < count; i++)
			buf_release(&r->peers[i].first.out);
		free(r->peers);
		free(r);
		return status;
	}
	r->connections = met.connections;
	*out = r;
	return STATUS_OK;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	while (!list_empty(&r->jobs))
		remote_job_free(list_entry(list_first(&r->jobs), struct remote_job, link));
	for (size_t i = 0; i < r->count; i++) {
		struct remote_peer *p = &r->peers[i];

		pssh_host_set_data(p->host, NULL);
		if (p->password)
			explicit_bzero(p->password, strlen(p->password));
		free(p->password);
		buf_release(&p->first.out);
	}
	if (r->chunk.data)
		explicit_bzero(r->chunk.data, r->chunk.cap);
	buf_release(&r->chunk);
	signals_end();
	connect_close(r->np, r->connect);
	free(r->peers);
	free(r);
}

bool remote_up(const struct remote *r, size_t member, const char **why)
{
	if (why)
		*why = r->peers[member].why;
	return r->peers[member].up;
}

void remote_set_root(struct remote *r, size_t member, enum remote_root how, const char *password)
{
	struct remote_peer *p = &r->peers[member];

	p->root = how;
	if (p->password)
		explicit_bzero(p->password, strlen(p->password));
	free(p->password);
	p->password = password ? strdup(password) : NULL;
	if (password && !p->password)
		command_nomem();
}

size_t remote_jobs(const struct remote *r)
{
	return r->job_count;
}

unsigned remote_connections(const struct remote *r)
{
	return r->connections;
}

/* ---- Jobs ----------------------------------------------------------------------------------- */

static struct remote_job *new_job(struct remote *r, size_t member, void *data)
{
	struct remote_job *job = calloc(1, sizeof *job);

	if (!job)
		command_nomem();
	list_init(&job->link);
	list_append(&r->jobs, &job->link);
	remote_wire_init(&job->out, false);
	remote_wire_init(&job->err, true);
	job->peer = &r->peers[member];
	job->data = data;
	job->status = -1;
	r->job_count++;
	return job;
}

/* If it cannot start, remote_next() reports its end like any other. */
static void remote_begun(struct remote *r, struct remote_job *job, int rc)
{
	if (rc == PSSH_ENOMEM)
		command_nomem();
	if (rc) {
		job->over = true;
		snprintf(job->text, sizeof job->text, "%s", pssh_error(r->connect->fleet));
	}
}

void remote_begin(struct remote *r, size_t member, const char *script, size_t len, unsigned flags, int64_t timeout_ms,
	void *data, struct remote_job **out)
{
	struct remote_job *job = new_job(r, member, data);

	job->flags = flags;
	job->limit_ms = timeout_ms;
	remote_begun(r, job, remote_job_begin(job, r->connect->fleet, script, len));
	if (out)
		*out = job;
}

void remote_upload(struct remote *r, size_t member, const char *local, const char *path, void *data,
	struct remote_job **out)
{
	struct remote_job *job = new_job(r, member, data);

	remote_begun(r, job, remote_job_copy(job, r->connect->fleet, local, path));
	if (out)
		*out = job;
}

struct remote_job *remote_first(struct remote *r, size_t member, void *data)
{
	struct remote_job *job = new_job(r, member, data);

	job->first = job->over = true;
	job->started_us = job->peer->first.started_us;
	job->limit_ms = strtol(REMOTE_FIRST, NULL, 10) * 1000;
	return job;
}

int64_t remote_heard_us(const struct remote_job *job)
{
	return job->peer->first.heard_us;
}

void remote_cancel(struct remote *r, struct remote_job *job)
{
	(void)r;
	remote_job_cancel(job);
}

/* ---- What comes ------------------------------------------------------------------------------ */

static void remote_fill(struct remote_event *ev, enum remote_kind kind, struct remote_job *job)
{
	*ev = (struct remote_event){
		.kind = kind,
		.job = job,
		.member = job ? job->peer->member : 0,
		.data = job ? job->data : NULL,
		.text = "",
	};
}

static bool hand_line(struct remote_job *job, const struct remote_wire *w, struct remote_event *ev)
{
	remote_fill(ev, REMOTE_LOG, job);
	ev->line = w->words[0];
	ev->out = w == &job->out;
	if (w == &job->err && job->gate && str_starts(ev->line, REMOTE_ASK))
		ev->line += sizeof REMOTE_ASK - 1;
	if (*ev->line)
		snprintf(job->last, sizeof job->last, "%s", ev->line);
	return true;
}

static bool hand_out(struct remote_job *job, enum remote_wire_kind kind, struct remote_wire *w, struct remote_event *ev)
{
	switch (kind) {
	case REMOTE_WIRE_LINE:
		return !remote_job_mark(job, w) && hand_line(job, w, ev);
	case REMOTE_WIRE_BAD:
		remote_job_nonsense(job, w->why);
		return false;
	case REMOTE_WIRE_RECORD:
		if (remote_job_record(job, w))
			return false;
		remote_fill(ev, REMOTE_RECORD, job);
		memcpy(ev->words, w->words, sizeof ev->words);
		ev->count = w->count;
		return true;
	case REMOTE_WIRE_MORE:
		break;
	}
	return false;
}

static void forget_chunk(struct remote *r)
{
	if (r->chunk.data)
		explicit_bzero(r->chunk.data, r->chunk.len);
	buf_clear(&r->chunk);
	r->chunk_at = 0;
}

/* Hands out unfinished last lines, then the END. */
static bool drain_end(struct remote *r, struct remote_event *ev)
{
	struct remote_job *job = r->job;

	while (r->ending == END_OF_OUT || r->ending == END_OF_ERR) {
		struct remote_wire *w = r->ending++ == END_OF_OUT ? &job->out : &job->err;

		if (hand_out(job, remote_wire_end(w), w, ev))
			return true;
	}
	r->ending = END_TOLD;
	remote_fill(ev, REMOTE_END, job);
	ev->ok = job->said_end && job->status == 0 && !*job->text;
	ev->status = job->status;
	ev->lost = job->lost;
	ev->text = job->text;
	return true;
}

static void begin_end(struct remote *r, struct remote_job *job)
{
	r->job = job;
	r->ending = END_OF_OUT;
}

/* Hands out the next piece of the event. False after the last. */
static bool remote_drain(struct remote *r, struct remote_event *ev)
{
	struct remote_job *job = r->job;
	struct remote_wire *w;

	while (job && r->chunk_at < r->chunk.len) {
		const char *data = r->chunk.data + r->chunk_at;
		size_t len = r->chunk.len - r->chunk_at;
		enum remote_wire_kind kind;

		w = r->is_err ? &job->err : &job->out;
		kind = remote_wire_next(w, &data, &len);
		r->chunk_at = r->chunk.len - len;
		if (hand_out(job, kind, w, ev))
			return true;
	}
	forget_chunk(r);
	if (job && !r->ending && remote_job_leave(job)) {
		remote_job_ended(job, &(struct pssh_event){ .type = PSSH_EV_EXIT });
		begin_end(r, job);
	}
	if (job && r->ending)
		return drain_end(r, ev);
	r->job = NULL;
	return false;
}

/* The caller has seen the END, so the job is freed. */
static void remote_bury(struct remote *r)
{
	if (r->ending != END_TOLD)
		return;
	remote_job_free(r->job);
	r->job_count--;
	r->job = NULL;
	r->ending = NOT_ENDING;
}

static void keep_chunk(struct remote *r, struct remote_job *job, const struct pssh_event *ev)
{
	forget_chunk(r);
	if (buf_add(&r->chunk, ev->data, ev->len) != 0)
		command_nomem();
	r->job = job;
	r->ending = NOT_ENDING;
	r->is_err = ev->type == PSSH_EV_STDERR;
	if (r->is_err)
		remote_job_stderr(job, ev->data, ev->len);
}

/* Handles an event of a host. True if the caller gets an event. */
static bool host_event(struct remote *r, const struct pssh_event *ev, struct remote_event *out)
{
	struct remote_peer *p = ev->host ? pssh_host_data(ev->host) : NULL;

	if (ev->type == PSSH_EV_HOST_UP) {
		r->connections++;
		if (p)
			p->up = true;
		return false;
	}
	if (!p)
		return false;
	p->up = false;
	snprintf(p->why, sizeof p->why, "%s", ev->text);
	remote_fill(out, REMOTE_DOWN, NULL);
	out->member = p->member;
	out->text = p->why;
	return true;
}

/* A shell that waits for a script has ended. */
static void remote_idle_event(const struct pssh_event *ev)
{
	struct remote_peer *p = ev->host ? pssh_host_data(ev->host) : NULL;

	if (p && p->idle == ev->task &&
		(ev->type == PSSH_EV_EXIT || ev->type == PSSH_EV_SIGNAL || ev->type == PSSH_EV_ERROR))
		p->idle = NULL;
}

static bool remote_take(struct remote *r, const struct pssh_event *ev, struct remote_event *out)
{
	struct remote_peer *p = ev->host ? pssh_host_data(ev->host) : NULL;
	struct remote_job *job = !ev->task    ? NULL
		: p && ev->task == p->contact ? p->on_contact
					      : pssh_task_data(ev->task);

	if (ev->type == PSSH_EV_PROMPT) {
		prompt_add(r->connect->prompt, r->connect->fleet, ev);
		return false;
	}
	if (ev->type == PSSH_EV_HOST_UP || ev->type == PSSH_EV_HOST_DOWN)
		return host_event(r, ev, out);
	if (!job) {
		remote_idle_event(ev);
		return false;
	}
	switch (ev->type) {
	case PSSH_EV_WRITABLE:
		job->full = false;
		remote_job_send(job);
		break;
	case PSSH_EV_STARTED:
		job->peer->up = true;
		remote_job_send(job);
		break;
	case PSSH_EV_STDOUT:
	case PSSH_EV_STDERR:
		keep_chunk(r, job, ev);
		break;
	case PSSH_EV_EXIT:
	case PSSH_EV_SIGNAL:
	case PSSH_EV_ERROR:
		if (remote_job_refused(job, ev))
			break;
		remote_job_ended(job, ev);
		begin_end(r, job);
		break;
	default:
		break;
	}
	return false;
}

static bool remote_take_signals(struct remote *r, struct remote_event *ev)
{
	int signal = signals_next();

	r->deaf = 0;
	if (!signal || signal == SIGWINCH)
		return false;
	remote_fill(ev, REMOTE_SIGNAL, NULL);
	ev->status = signal;
	return true;
}

/* Hands out what the first script said, then its end. */
static void remote_retell(struct remote *r, struct remote_job *job)
{
	struct remote_first *first = &job->peer->first;

	if (first->flooded)
		snprintf(job->text, sizeof job->text, "its output is too long");
	else if (first->out.len) {
		keep_chunk(r, job,
			&(struct pssh_event){ .type = PSSH_EV_STDOUT, .data = first->out.data, .len = first->out.len });
		buf_release(&first->out);
		return;
	}
	job->first = false;
	job->timed_out = !job->said_end && first->ended_ms - first->began_ms >= job->limit_ms;
	remote_job_ended(job,
		&(struct pssh_event){ .type = first->ended, .status = first->status, .text = first->text });
	begin_end(r, job);
}

/* Handles due timers and jobs that could not start, and returns the time of the next timer. */
static bool remote_look(struct remote *r, int64_t *next)
{
	int64_t now = clock_ms();
	struct list *at, *tmp;

	list_each(at, tmp, &r->jobs) {
		struct remote_job *job = list_entry(at, struct remote_job, link);

		if (job->first) {
			remote_retell(r, job);
			return true;
		}
		if (!job->over && remote_job_when(job) <= now)
			remote_job_due(job, now);
		if (job->over) {
			begin_end(r, job);
			return true;
		}
		if (remote_job_when(job) < *next)
			*next = remote_job_when(job);
	}
	return false;
}

static void remote_rest(struct remote *r, int64_t until)
{
	struct pollfd fds[] = {
		{ .fd = pssh_fd(r->connect->fleet), .events = POLLIN },
		{ .fd = signals_fd(), .events = POLLIN },
		{ .fd = prompt_fd(r->connect->prompt), .events = POLLIN },
	};
	int ms = pssh_timeout(r->connect->fleet);
	int64_t left = until == INT64_MAX ? -1 : until - clock_ms();

	if (until != INT64_MAX && left < 0)
		left = 0;
	if (left >= 0 && (ms < 0 || left < ms))
		ms = left > 60000 ? 60000 : (int)left;
	if (poll(fds, sizeof fds / sizeof *fds, ms) > 0 && fds[2].revents && prompt_fd(r->connect->prompt) >= 0)
		prompt_step(r->connect->prompt, r->connect->fleet);
}

void remote_next(struct remote *r, int ms, struct remote_event *ev)
{
	int64_t until = ms < 0 ? INT64_MAX : clock_ms() + ms;

	remote_bury(r);
	for (;;) {
		const struct pssh_event *got;
		int64_t next = until;
		int rc;

		if (remote_drain(r, ev))
			return;
		if (++r->deaf >= DEAF && remote_take_signals(r, ev))
			return;
		rc = pssh_next(r->connect->fleet, &got);
		if (rc < 0)
			command_nomem();
		if (rc > 0) {
			if (remote_take(r, got, ev))
				return;
			continue;
		}
		if (remote_take_signals(r, ev))
			return;
		if (remote_look(r, &next))
			continue;
		if (clock_ms() >= until) {
			remote_fill(ev, REMOTE_TICK, NULL);
			return;
		}
		remote_rest(r, next);
	}
}
