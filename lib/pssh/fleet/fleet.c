/* SPDX-License-Identifier: Apache-2.0 */
/* Which host has a connection, which gets one next, and which events the end of a run or connection makes. */
#include <assert.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pssh/fleet/fleet.h"
#include "pssh/keep/borrow.h"

enum { REAP_MS = 200 };

void fleet_tell(struct pssh *p, enum pssh_event_type type, struct pssh_task *t, struct pssh_host *h, int status,
	const char *text)
{
	struct pssh_event ev = { .type = type,
		.task = t,
		.host = h,
		.status = status,
		.text = text,
		.attempt = h ? h->attempt : 0 };

	if (h && h->stream) /* nobody has heard of it */
		return;
	events_add(&p->events, &ev);
}

/* ---- Ends ---- */

void fleet_check_done(struct pssh_task *t)
{
	if (t->started && t->left == 0)
		fleet_tell(t->fleet, PSSH_EV_DONE, t, NULL, 0, "");
}

/* A further stream of a copy costs only speed by its end: the copy goes on over the others. */
static void fleet_end_stream(struct run *r, const char *text)
{
	struct pssh_host *h = r->host, *first = r->first->host;

	log_at(&h->fleet->shared.log, LOG_INFO, "'%s': the copy lost one of its streams: %s", h->spec, text);
	run_free(r);
	host_poke(h);
	host_poke(first);
}

void fleet_end_run(struct run *r, int type, int status, const char *text)
{
	struct pssh_task *t = r->task;
	struct pssh_host *h = r->host;
	struct pssh_event ev = {
		.type = type,
		.task = t,
		.host = h,
		.status = status,
		.text = text,
		.attempt = h->attempt,
		.cancelled = r->state == RUN_KILLING || t->cancelled || r->cancelled || r->timed_out,
	};
	char both[640];

	if (r->first) {
		fleet_end_stream(r, text);
		return;
	}
	if (r->timed_out && type != PSSH_EV_ERROR) {
		ev.type = PSSH_EV_ERROR;
		ev.status = PSSH_ETIMEOUT;
		snprintf(both, sizeof both, "it did not finish in time%s%s", *r->said ? "; " : "", r->said);
		ev.text = both;
	} else if (*r->said && type == PSSH_EV_EXIT) {
		ev.text = r->said;
	} else if (*r->said && type == PSSH_EV_ERROR) {
		snprintf(both, sizeof both, "%s; %s", text, r->said);
		ev.text = both;
	}
	if (ev.type == PSSH_EV_ERROR && ev.text != h->why.text) {
		h->why.code = ev.status;
		snprintf(h->why.text, sizeof h->why.text, "%s", ev.text);
	}
	events_add(&h->fleet->events, &ev);
	run_free(r);
	if (task_trim_input(t))
		fleet_tell(t->fleet, PSSH_EV_WRITABLE, t, NULL, 0, "");
	fleet_check_done(t);
	host_poke(h);
}

/* Ends all that waited for a connection. */
static void fail_runs(struct pssh_host *h, int code, const char *text)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs) {
		struct run *r = list_entry(pos, struct run, in_host);

		if (r->task->started)
			fleet_end_run(r, PSSH_EV_ERROR, code, text);
	}
	if (h->wanted) {
		h->wanted = false;
		fleet_tell(h->fleet, PSSH_EV_HOST_DOWN, NULL, h, code, text);
	}
}

static void kill_remote_due(struct run *r, unsigned grace_ms)
{
	/* Runs of one connection end their processes one after another, so the last waits for all others. */
	int64_t turns = r->host->active ? r->host->active : 1, now = clock_ms();

	r->kill_remote_last = now + turns * (grace_ms + KILL_REMOTE_MOST_MS);
	loop_timer_set(r->host->fleet->shared.loop, &r->timer, now + turns * (grace_ms + KILL_REMOTE_SPARE_MS));
}

void fleet_cancel_run(struct run *r, const char *signal, unsigned grace_ms)
{
	int rc;

	if (r->state == RUN_KILLING)
		return;
	if (!r->begun) {
		fleet_end_run(r, PSSH_EV_ERROR, r->timed_out ? PSSH_ETIMEOUT : PSSH_ECANCEL,
			r->timed_out ? "it did not begin in time" : "cancelled before it began");
		return;
	}
	rc = run_cancel(r, signal, grace_ms);
	if (rc == 0 || rc == PSSH_EAGAIN) {
		kill_remote_due(r, grace_ms);
		host_poke(r->host);
		return;
	}
	fleet_end_run(r, PSSH_EV_ERROR, r->timed_out ? PSSH_ETIMEOUT : PSSH_ECANCEL,
		r->timed_out ? "it did not finish in time" : "cancelled");
}

/* ---- Connections ---- */

static void keep_proxy(struct pssh *p, struct proxy *px)
{
	struct proxy **more;

	if (!px || proxy_end(px, 0))
		return;
	more = realloc(p->reaping, (p->reap_count + 1) * sizeof *more);
	if (!more) {
		proxy_end(px, 1);
		return;
	}
	p->reaping = more;
	more[p->reap_count++] = px;
	loop_timer_set(p->shared.loop, &p->reap_timer, clock_ms() + REAP_MS);
}

void fleet_reap(struct pssh *p)
{
	for (size_t i = 0; i < p->reap_count;) {
		if (proxy_end(p->reaping[i], 0))
			p->reaping[i] = p->reaping[--p->reap_count];
		else
			i++;
	}
	if (p->reap_count)
		loop_timer_set(p->shared.loop, &p->reap_timer, clock_ms() + REAP_MS);
}

void fleet_not_opening(struct pssh_host *h)
{
	if (h->opening) {
		assert(h->fleet->opening > 0);
		h->opening = false;
		h->fleet->opening--;
	}
}

/* Frees the host's connection; connections through it notice at their next step. */
static void drop_conn(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	struct conn *c = h->conn;
	struct conn *via = c->via;
	struct list *pos, *tmp;
	struct proxy *px = conn_take_proxy(c);

	fleet_not_opening(h);
	fleet_close_streams(h);
	question_forget(h);
	forward_free(h->forward);
	h->forward = NULL;
	list_remove(&h->in_idle);
	loop_timer_clear(p->shared.loop, &h->timer);
	list_each (pos, tmp, &c->riders) {
		struct conn *rider = list_entry(pos, struct conn, in_riders);

		conn_wake(rider);
	}
	assert(p->open > 0);
	if (!h->facts)
		h->facts = malloc(sizeof *h->facts);
	if (h->facts)
		*h->facts = c->facts.now;
	h->conn = NULL;
	h->served = 0;
	conn_free(c);
	keep_proxy(p, px);
	p->open--;
	if (via)
		host_poke(via->owner);
}

/* Ends the runs that had a channel: they cannot go on without the connection. */
static void end_active(struct pssh_host *h, int code, const char *text)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs) {
		struct run *r = list_entry(pos, struct run, in_host);

		if (conn_is_lent(h->conn) && run_may_restart(r))
			run_restart(r);
		else if (r->state != RUN_WAITING)
			fleet_end_run(r, PSSH_EV_ERROR, code, text);
	}
}

/* From 0 to most, so that hosts which failed together do not all come back together. */
static unsigned retry_jitter(unsigned most)
{
	unsigned n = 0;

	return RAND_bytes((unsigned char *)&n, sizeof n) == 1 ? n % (most + 1) : most / 2;
}

static void plan_retry(struct pssh_host *h, int code, const char *text)
{
	struct pssh *p = h->fleet;
	unsigned ms = p->first_ms;
	struct list *pos, *tmp;

	for (unsigned i = 1; i < h->attempt && ms < p->most_ms; i++)
		ms *= 2;
	ms = ms > p->most_ms ? p->most_ms : ms;
	ms = ms - ms / 4 + retry_jitter(ms / 2);
	list_each (pos, tmp, &h->runs) {
		struct pssh_task *t = list_entry(pos, struct run, in_host)->task;

		if (t->started)
			fleet_tell(p, PSSH_EV_RETRY, t, h, code, text);
	}
	loop_timer_set(p->shared.loop, &h->timer, clock_ms() + ms);
}

bool fleet_drop_unwanted(struct pssh_host *h)
{
	if (!h->opening || host_is_busy(h))
		return false;
	drop_conn(h);
	return true;
}

/* What wanted to go through a connection that a keeper does not lend begins again, by another one. */
static void restart_riders(struct pssh_host *h)
{
	while (!list_empty(&h->conn->riders)) {
		struct conn *c = list_entry(list_first(&h->conn->riders), struct conn, in_riders);
		struct pssh_host *rider = c->owner;

		restart_riders(rider);
		drop_conn(rider);
		rider->attempt--;
		if (host_is_busy(rider))
			fleet_need(rider);
	}
}

/* Handles a connection that was lost or could not be made: retries it or fails the runs. */
void fleet_conn_lost(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	struct fail why = h->conn->why;
	bool was_up = !h->opening, served = h->served > 0, hopeless = h->conn->hopeless;

	if (conn_is_lent(h->conn)) {
		if (why.code != PSSH_EREFUSED) /* whoever does not answer, or not as it should, is asked no more */
			h->keep_slot = KEEPFOLDER_SLOTS;
		if (!was_up) {
			h->attempt--;
			restart_riders(h);
			drop_conn(h);
			if (host_is_busy(h))
				fleet_need(h);
			return;
		}
	}
	h->why = why;
	snprintf(h->fingerprint, sizeof h->fingerprint, "%s", h->conn->fingerprint);
	if (was_up) {
		fleet_tell(p, PSSH_EV_HOST_DOWN, NULL, h, why.code, why.text);
		end_active(h, why.code, why.text);
	}
	drop_conn(h);
	if (!host_is_busy(h))
		return;
	if (was_up && served) { /* it worked before, so the waiting runs get a new one */
		h->attempt = 0;
		fleet_need(h);
	} else if (!hopeless && pssh_retryable(why.code) && h->attempt < h->tries) {
		plan_retry(h, why.code, why.text);
	} else {
		fail_runs(h, why.code, why.text);
	}
}

void fleet_close_host(struct pssh_host *h, int code, const char *why)
{
	if (h->waiting) {
		list_remove(&h->in_waiting);
		h->waiting = false;
	}
	loop_timer_clear(h->fleet->shared.loop, &h->timer);
	if (h->conn) {
		if (h->conn->state == CONN_READY)
			fleet_tell(h->fleet, PSSH_EV_HOST_DOWN, NULL, h, code, why);
		end_active(h, code, why);
		drop_conn(h);
	}
	fail_runs(h, code, why);
}

void fleet_close_streams(struct pssh_host *h)
{
	for (unsigned i = 0; h->streams && i < PSSH_STREAMS; i++)
		if (h->streams[i])
			fleet_close_host(h->streams[i], PSSH_ECLOSED, "closed with the first connection");
}

void fleet_need(struct pssh_host *h)
{
	struct pssh *p = h->fleet;

	list_remove(&h->in_idle);
	if (h->conn) {
		host_poke(h);
		return;
	}
	if (h->waiting || h->timer.at)
		return;
	h->waiting = true;
	list_append(&p->waiting, &h->in_waiting);
}

static int start_conn(struct pssh_host *h);

/* Starts the jump host's connection if there is none, outside the window: its rider was admitted already. */
static int start_via(struct pssh_host *h)
{
	struct pssh_host *via = h->via;

	if (via->conn)
		return 0;
	if (via->waiting) {
		list_remove(&via->in_waiting);
		via->waiting = false;
	}
	loop_timer_clear(h->fleet->shared.loop, &via->timer);
	return start_conn(via);
}

static int start_conn(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	int kept, rc = host_make_plan(h);

	assert(!h->conn);
	h->typed = h->left = false;
	kept = rc ? -1 : keepfind(h);
	if (!rc && kept < 0 && h->via)
		rc = start_via(h);
	if (!rc)
		rc = conn_new(&p->shared, &h->plan, kept < 0 && h->via ? h->via->conn : NULL, h, &h->conn);
	if (!rc && kept >= 0)
		rc = conn_borrow(h->conn, kept, keepfind_window(h), borrow_init);
	if (rc) {
		conn_free(h->conn);
		h->conn = NULL;
	}
	if (rc && !h->why.code && h->via && h->via->why.code)
		return fail_set(&h->why, rc, "%s", h->via->why.text);
	if (rc)
		return h->why.code ? rc : fail_set(&h->why, rc, "out of memory");
	h->given_fd = -1;
	h->opening = true;
	h->attempt++;
	p->opening++;
	p->open++;
	host_poke(h);
	return 0;
}

bool fleet_change_lane(struct pssh_host *h)
{
	if (!link_clogged(&h->conn->via->link) || host_make_plan(h) != 0 || !h->via || h->via->conn == h->conn->via)
		return false;
	drop_conn(h);
	h->attempt--;
	fleet_need(h);
	return true;
}

/* Makes room for another connection by closing the longest idle one. */
static bool close_one_idle(struct pssh *p)
{
	struct list *first = list_first(&p->idle);

	if (!first)
		return false;
	fleet_close_host(list_entry(first, struct pssh_host, in_idle), PSSH_ECLOSED, "closed to make room for others");
	return true;
}

bool fleet_has_room(const struct pssh *p)
{
	return !list_empty(&p->waiting) && p->opening < p->opening_max &&
		(!p->open_max || p->open < p->open_max || !list_empty(&p->idle));
}

void fleet_admit(struct pssh *p)
{
	while (!list_empty(&p->waiting) && p->opening < p->opening_max) {
		struct pssh_host *h = list_entry(list_first(&p->waiting), struct pssh_host, in_waiting);

		if (!host_is_busy(h)) { /* its tasks have ended meanwhile */
			list_remove(&h->in_waiting);
			h->waiting = false;
			continue;
		}
		if (p->open_max && p->open >= p->open_max && !close_one_idle(p))
			return;
		list_remove(&h->in_waiting);
		h->waiting = false;
		if (!host_is_busy(h)) /* closing an idle host may have ended its runs */
			continue;
		h->why.code = 0;
		if (start_conn(h) != 0)
			fail_runs(h, h->why.code, h->why.text);
		return;
	}
}

static int release_host(struct pssh_host *h)
{
	if (h->conn)
		drop_conn(h);
	loop_timer_clear(h->fleet->shared.loop, &h->timer);
	list_remove(&h->in_waiting);
	return 0;
}

void fleet_free_host(struct pssh_host *h)
{
	for (unsigned i = 0; h->streams && i < PSSH_STREAMS; i++) {
		if (!h->streams[i])
			continue;
		release_host(h->streams[i]);
		list_remove(&h->streams[i]->in_hosts);
		host_free(h->streams[i]);
		h->streams[i] = NULL;
	}
	events_forget_host(&h->fleet->events, h);
	release_host(h);
	table_remove(&h->fleet->hosts, h->spec);
	list_remove(&h->in_hosts);
	host_free(h);
}

void fleet_release(struct pssh *p)
{
	struct list *pos, *tmp;
	size_t at = 0;
	void *value;

	while (!list_empty(&p->tasks))
		task_free(list_entry(list_first(&p->tasks), struct pssh_task, in_tasks));
	/* Jump hosts have the greater depth, so this frees riders before the connections that carry them. */
	for (unsigned depth = 0; depth < 16; depth++) {
		list_each (pos, tmp, &p->host_list) {
			struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

			if (h->depth == depth)
				release_host(h);
		}
	}
	while (!list_empty(&p->host_list)) {
		struct pssh_host *h = list_entry(list_first(&p->host_list), struct pssh_host, in_hosts);

		list_remove(&h->in_hosts);
		host_free(h);
	}
	for (size_t i = 0; i < p->reap_count; i++)
		proxy_end(p->reaping[i], 1);
	free(p->reaping);
	table_release(&p->hosts);
	while (table_next(&p->known, &at, NULL, &value))
		knownhosts_free(value);
	table_release(&p->known);
	events_release(&p->events);
}
