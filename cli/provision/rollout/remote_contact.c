/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/rollout/remote_contact.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/remote/fanout.h"

enum { PIECE = 128 << 10, CONTACT_MS = 90000, LOOK_S = 5, LINES = 2 };

static int make_contact(void *arg, struct fanout *f, struct pssh_task **out)
{
	struct contact *c = arg;
	int rc = pssh_exec(f->connect->fleet, "exec sh -s", out);

	rc = rc ? rc : pssh_task_set_output(*out, PSSH_OUTPUT_CHUNKS, (size_t)1 << 20, PSSH_OVERFLOW_DROP);
	rc = rc ? rc : pssh_task_open_input(*out);
	/* The shells of the task before end with it. */
	for (size_t i = 0; i < c->count; i++)
		c->peers[i].idle = NULL;
	if (rc)
		return print_fail(c->np, STATUS_FAILURE, NULL, "%s", pssh_error(f->connect->fleet));
	return STATUS_OK;
}

static int64_t contact_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void contact_send(const struct contact *c, struct remote_peer *p, const struct pssh_event *ev)
{
	while (p->first.sent < c->script.len) {
		size_t n = c->script.len - p->first.sent;

		n = n < PIECE ? n : PIECE;
		if (pssh_task_write(ev->task, ev->host, c->script.data + p->first.sent, n) != 0)
			return;
		p->first.sent += n;
	}
}

/* Whether the end of its script is the last thing that the host said; then its shell waits for another one. */
static bool contact_over(const struct remote_first *first)
{
	const char *text = first->out.data, *end = text + first->out.len, *at;

	at = first->out.len ? memrchr(text, *REMOTE_MARK, first->out.len) : NULL;
	if (!at || (size_t)(end - at) < sizeof REMOTE_MARK || memcmp(at, REMOTE_MARK, sizeof REMOTE_MARK - 1) != 0)
		return false;
	at += sizeof REMOTE_MARK - 1;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at == end - 1 && *at == '\n';
}

static void contact_event(const struct contact *c, struct fanout *f, struct outcome *o, const struct pssh_event *ev)
{
	struct remote_peer *p = &c->peers[o->index];
	struct remote_first *first = &p->first;

	switch (ev->type) {
	case PSSH_EV_STARTED:
		buf_clear(&first->out);
		first->sent = 0;
		first->heard_us = first->ended_ms = 0;
		first->flooded = false;
		first->told = 0;
		first->began_ms = clock_ms();
		first->started_us = contact_now_us();
		contact_send(c, p, ev);
		break;
	case PSSH_EV_WRITABLE:
		contact_send(c, p, ev);
		break;
	case PSSH_EV_STDOUT:
		first->heard_us = first->heard_us ? first->heard_us : contact_now_us();
		if (buf_add(&first->out, ev->data, ev->len) != 0) {
			first->flooded = true;
			pssh_task_stop_host(ev->task, ev->host);
		}
		if (first->passed || first->flooded || p->alone || !contact_over(first))
			break;
		first->passed = true;
		first->ended = PSSH_EV_EXIT;
		first->ended_ms = clock_ms();
		p->idle = ev->task;
		p->idle_root = REMOTE_AS_IS;
		p->idle_until = first->ended_ms + REMOTE_IDLE_MS;
		fanout_pass(f, o);
		break;
	case PSSH_EV_EXIT:
	case PSSH_EV_SIGNAL:
	case PSSH_EV_ERROR:
		p->idle = NULL;
		p->let_go_at = clock_ms();
		if (first->passed || ev->type == PSSH_EV_ERROR)
			break;
		first->ended = ev->type;
		first->ended_ms = clock_ms();
		first->status = ev->status;
		snprintf(first->text, sizeof first->text, "%s", ev->text ? ev->text : "");
		break;
	default:
		break;
	}
}

static void contact_made(struct contact *c, const struct fanout *f)
{
	for (size_t i = 0; i < c->count; i++) {
		struct remote_peer *p = &c->peers[i];
		const struct outcome *o = &f->hosts[i];

		p->host = o->host;
		p->member = i;
		p->up = outcome_ended(o) && (o->state != OUTCOME_ERROR || p->first.flooded);
		if (!p->up)
			snprintf(p->why, sizeof p->why, "%s",
				p->first.late     ? "it did not finish in time"
					: o->text ? o->text
						  : "nanopod did not reach it");
		p->contact = c->task;
	}
}

/*
 * The node itself ends the script before CONTACT_MS: it counts from the first line (remote_job.c). The shell may read
 * that with the end of the script, so there is another one. A shell whose script has just ended takes it for an empty
 * command.
 */
static void contact_late(struct contact *c, const struct fanout *f)
{
	int64_t now = clock_ms();
	uint64_t ticks;

	if (read(f->watch_fd, &ticks, sizeof ticks) != (ssize_t)sizeof ticks)
		return;
	for (size_t i = 0; i < c->count; i++) {
		struct remote_first *first = &c->peers[i].first;

		if (outcome_ended(&f->hosts[i]) || !first->began_ms)
			continue;
		if (first->told < LINES && first->sent == c->script.len && now - first->began_ms >= LOOK_S * 1000)
			first->told += pssh_task_write(f->task, f->hosts[i].host, "\n", 1) == 0;
		if (now - first->began_ms < CONTACT_MS)
			continue;
		first->late = true;
		pssh_task_stop_host(f->task, f->hosts[i].host);
	}
}

static int contact_watch(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	struct itimerspec each = { .it_interval.tv_sec = LOOK_S, .it_value.tv_sec = LOOK_S };

	if (fd >= 0)
		timerfd_settime(fd, 0, &each, NULL);
	return fd;
}

static int contact_run(struct contact *c, const struct pssh_list *list)
{
	const struct pssh_event *ev;
	struct outcome *o;
	struct fanout f;
	int status = fanout_init(&f, c->np, c->connect, list);

	if (status)
		return status;
	f.make = make_contact;
	f.arg = c;
	f.watch_fd = contact_watch();
	status = fanout_start(&f);
	if (!status)
		for (enum fanout_turn turn; (turn = fanout_next(&f, &ev, &o)) != FANOUT_DONE;) {
			if (turn == FANOUT_EVENT && ev->type == PSSH_EV_HOST_UP)
				c->connections++;
			if (turn == FANOUT_WATCH)
				contact_late(c, &f);
			if (turn == FANOUT_EVENT && o)
				contact_event(c, &f, o, ev);
		}
	if (!status && f.asked)
		status = f.first_signal == SIGTERM ? STATUS_TERM : STATUS_INT;
	if (!status) {
		c->task = f.task;
		f.task = NULL;
		contact_made(c, &f);
	}
	if (f.watch_fd >= 0)
		close(f.watch_fd);
	fanout_release(&f);
	for (size_t i = 0; !status && i < c->count; i++)
		pssh_host_set_data(c->peers[i].host, &c->peers[i]);
	return status;
}

int remote_contact(struct contact *c, const struct pssh_list *list, const char *script, size_t len)
{
	unsigned flags = REMOTE_USER | REMOTE_LOOK | (c->count && c->peers[0].alone ? REMOTE_LAST : 0);
	int status;

	buf_init(&c->script, len + 8192);
	remote_job_text(&c->script, script, len, flags, REMOTE_FIRST, 0);
	status = contact_run(c, list);
	buf_release(&c->script);
	return status;
}
