/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of the fleet: looks what is due, steps one connection after another with its runs, and
 * stops at the first event.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "pssh/fleet/fleet.h"
#include "pssh/session/transport.h"

enum { BURST_MS = 20 };  /* how long calls in a row may work before the program's own loop has its turn */
enum { LOOK_EVERY = 64 }; /* turns of connections from one look at the network to the next; a burst begins with one */
enum { ACTIVE_MAX = 8 }; /* channels of tasks on one connection; OpenSSH allows ten in all */

/* ---- Runs ---- */

/* Whether its connection, which a keeper lends, can be given up for another one without harm to anybody else. */
static bool fleet_turn_alone(const struct run *r)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &r->host->runs) {
		const struct run *o = list_entry(pos, struct run, in_host);

		if (o != r && o->state != RUN_WAITING)
			return false;
	}
	return list_empty(&r->host->conn->riders);
}

/* If a server does not answer a channel request at all, that connection cannot open another channel. */
static void fleet_turn_begin_due(struct run *r)
{
	struct pssh_host *h = r->host;
	unsigned ms = h->plan.deadline[PSSH_PHASE_HANDSHAKE];
	char text[256];

	if (conn_is_lent(h->conn) && run_may_restart(r) && fleet_turn_alone(r)) {
		conn_fail(h->conn, PSSH_ECLOSED, "the kept connection does not answer");
		fleet_conn_lost(h);
		return;
	}
	if (conn_is_lent(h->conn) && !r->late) {
		r->late = true;
		if (ms)
			loop_timer_set(h->fleet->shared.loop, &r->timer, clock_ms() + ms);
		return;
	}
	snprintf(text, sizeof text, "'%.120s' took too long: no answer for %u s while starting the task", h->spec,
		(h->plan.deadline[PSSH_PHASE_HANDSHAKE] + 999) / 1000);
	if (h->active > 1)
		fleet_end_run(r, PSSH_EV_ERROR, PSSH_ETIMEOUT, text);
	else
		fleet_close_host(h, PSSH_ETIMEOUT, text);
}

/* The deadline of a task has passed, or that of ending its processes. */
static void run_due(struct run *r)
{
	bool copying = r->xfer != NULL;

	if (!r->begun) {
		fleet_turn_begin_due(r);
		return;
	}
	if (r->state == RUN_KILLING || r->timed_out || r->task->cancelled || r->cancelled) {
		if (!*r->said && !copying)
			snprintf(r->said, sizeof r->said, "its processes may still run");
		else if (r->kill && kill_remote_outcome(r->kill) == KILL_ENDED)
			snprintf(r->said, sizeof r->said,
				"its output is still open, so a process that it started may still run");
		fleet_end_run(r, PSSH_EV_ERROR, r->timed_out ? PSSH_ETIMEOUT : PSSH_ECANCEL,
			r->timed_out ? "it did not finish in time" : "cancelled");
		return;
	}
	r->timed_out = true;
	fleet_cancel_run(r, "TERM", 2000);
}

/* An idle connection may have died unnoticed; then the first task on it gets a new connection. */
static bool begin_again(struct run *r, int code)
{
	struct pssh_host *h = r->host;

	if (code != PSSH_ECLOSED && !(conn_is_lent(h->conn) && fleet_turn_alone(r)))
		return false;
	if (!h->served || !run_may_restart(r))
		return false;
	run_restart(r);
	conn_fail(h->conn, code, "'%s' closed the connection", h->spec);
	return true;
}

/* Tells a writer that met a full input once half of it is free. */
static void input_taken(struct run *r, uint64_t before)
{
	struct input *in = r->exec->input;
	uint64_t mark = input_end(in) > INPUT_CEILING / 2 ? input_end(in) - INPUT_CEILING / 2 : 0;
	bool own = in == r->own_input;

	if (!in->full || before >= mark || r->exec->taken < mark)
		return;
	if (own) {
		input_forget(in, r->exec->taken);
		in->full = false;
	}
	if (own || task_trim_input(r->task))
		fleet_tell(r->host->fleet, PSSH_EV_WRITABLE, r->task, own ? r->host : NULL, 0, "");
}

/* Steps one run. 1: it moved on; 0: nothing to do now. *out: an event to hand out at once. */
static int fleet_turn_run(struct run *r, const struct pssh_event **out)
{
	struct pssh *p = r->host->fleet;
	struct pssh_event ev = { .task = r->task, .host = r->host };
	struct fail f = { 0 };
	uint64_t taken;
	int rc;

	if (r->state == RUN_WAITING) {
		if (!r->task->started || (run_takes_session(r) && r->host->active >= ACTIVE_MAX) || forwardrun_waits(r))
			return 0;
		if (conn_is_lent(r->host->conn) && run_must_own(r) && fleet_turn_alone(r)) {
			conn_fail(r->host->conn, PSSH_ECLOSED, "closed, as a task needs a connection of its own");
			return 1;
		}
		rc = run_open(r, &f);
		if (rc) {
			fleet_end_run(r, PSSH_EV_ERROR, rc, f.text);
			return 1;
		}
	}
	rc = run_step_kill(r);
	if (rc != PSSH_EAGAIN && rc != 0 && r->state == RUN_KILLING) {
		fleet_end_run(r, PSSH_EV_ERROR, r->timed_out ? PSSH_ETIMEOUT : PSSH_ECANCEL, "cancelled");
		return 1;
	}
	taken = r->exec ? r->exec->taken : 0;
	rc = run_step(r, &ev, &f);
	if (r->exec)
		input_taken(r, taken);
	if (r->xfer)
		streamrun_turn(r);
	switch (rc) {
	case PSSH_EAGAIN:
		return 0;
	case RUN_BUSY:
		r->host->busy = true;
		return 0;
	case RUN_BEGUN:
		fleet_tell(p, PSSH_EV_STARTED, r->task, r->host, 0, "");
		return 1;
	case RUN_OUTPUT:
		if (ev.len || ev.dropped)
			*out = events_direct(&p->events, &ev);
		return 1;
	case RUN_PROGRESS:
		events_add(&p->events, &ev);
		return 1;
	case RUN_DONE:
		/* Wait for the news of the other processes; run_due() ends that if it takes too long. */
		if (run_kill_has_news(r))
			return 0;
		fleet_end_run(r, ev.type, ev.status, ev.text);
		return 1;
	default:
		if (!begin_again(r, rc))
			fleet_end_run(r, PSSH_EV_ERROR, r->timed_out ? PSSH_ETIMEOUT : rc, f.text);
		return 1;
	}
}

static bool any_reader(const struct pssh_host *h)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs) {
		const struct run *r = list_entry(pos, struct run, in_host);

		if (r->state != RUN_WAITING && !r->tunnel && !r->channel && !r->lend)
			return true;
	}
	return false;
}

static bool several_channels(const struct pssh_host *h)
{
	const struct run *r;

	if (list_empty(&h->runs) || h->runs.next != h->runs.prev)
		return !list_empty(&h->runs);
	r = list_entry(h->runs.next, struct run, in_host);
	return r->tunnel || r->channel || r->look || r->xfer || r->kill || r->lend || h->forward;
}

/*
 * Steps every run until none has more to do. libssh2 reads for all channels whenever one reads, so
 * any bytes that came in may be for another run.
 */
static const struct pssh_event *fleet_turn_runs(struct pssh_host *h)
{
	const struct pssh_event *out = NULL;
	struct link *l = &h->conn->link;
	uint64_t news;
	int went;

	do {
		struct list *pos, *tmp;

		news = l->news;
		went = 0;
		if (!forwardrun_turn(h))
			return NULL;
		list_each (pos, tmp, &h->runs) {
			went |= fleet_turn_run(list_entry(pos, struct run, in_host), &out);
			if (out) { /* let another run begin the next turn */
				if (pos->next != pos && !list_empty(&h->runs)) {
					list_remove(pos);
					list_append(&h->runs, pos);
				}
				return out;
			}
			if (h->conn->state != CONN_READY || (went && !events_empty(&h->fleet->events)))
				return NULL;
		}
	} while (went || (l->news != news && several_channels(h)));
	return NULL;
}

/* Wakes the connections that go through this one for which something may have come. */
static void wake_riders(struct pssh_host *h, bool first)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->conn->riders) {
		struct conn *c = list_entry(pos, struct conn, in_riders);
		bool wake = c->state == CONN_VIA || first || (c->via_chan && chan_pending(c->via_chan)) ||
			(link_wants_write(&c->link) && !link_wants_write(&h->conn->link));

		first = first && c->state == CONN_VIA;
		if (wake)
			conn_wake(c);
	}
}

static void ready_timers(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	bool busy = host_is_busy(h);
	unsigned idle = h->plan.deadline[PSSH_PHASE_IDLE];
	int64_t due = 0;

	if (busy) {
		list_remove(&h->in_idle);
		h->idle_since = 0;
	} else if (list_empty(&h->in_idle)) {
		list_append(&p->idle, &h->in_idle);
		h->idle_since = clock_ms();
	}
	if (!busy && idle)
		due = h->idle_since + idle;
	if (h->keepalive && (!due || h->conn->kept + h->keepalive < due))
		due = h->conn->kept + h->keepalive;
	if (due && (!h->timer.at || h->timer.due != due))
		loop_timer_set(p->shared.loop, &h->timer, due);
}

static void host_due(struct pssh_host *h)
{
	int64_t now = clock_ms();
	unsigned idle = h->plan.deadline[PSSH_PHASE_IDLE];

	if (!h->conn) {
		fleet_need(h);
		return;
	}
	if (h->conn->state != CONN_READY)
		return;
	if (!host_is_busy(h) && idle && now >= h->idle_since + idle) {
		fleet_close_host(h, PSSH_ECLOSED, "closed after being idle");
		return;
	}
	if (h->keepalive && now >= h->conn->kept + h->keepalive) {
		/* This process stood still: it could neither ask nor hear, so the count begins anew. */
		if (now >= h->conn->kept + 2 * (int64_t)h->keepalive)
			h->conn->heard = now;
		if (now - h->conn->heard > (int64_t)h->missed * h->keepalive) {
			conn_fail(h->conn, PSSH_ETIMEOUT, "'%s' has not answered for %lld s", h->spec,
				(long long)(now - h->conn->heard) / 1000);
			fleet_conn_lost(h);
			return;
		}
		conn_keep_alive(h->conn);
	}
	ready_timers(h);
}

static void became_ready(struct pssh_host *h)
{
	fleet_not_opening(h);
	h->attempt = 0;
	h->served = h->wanted || conn_is_lent(h->conn); /* as it may die unnoticed before its first task */
	h->wanted = false;
	snprintf(h->fingerprint, sizeof h->fingerprint, "%s", h->conn->fingerprint);
	fleet_tell(h->fleet, PSSH_EV_HOST_UP, NULL, h, 0, "");
	wake_riders(h, true);
}

/* Steps a ready connection; NULL: no event to hand out at once. */
static const struct pssh_event *fleet_turn_ready(struct pssh_host *h)
{
	struct conn *c = h->conn;
	const struct pssh_event *out;
	uint64_t reads;
	int rc = 0;

	c->link.looking = true;
	out = fleet_turn_runs(h);
	if (h->conn != c)
		return out;
	c->link.looking = false;
	if (out || !events_empty(&h->fleet->events)) {
		host_poke(h); /* there may be more to read */
		if (out)
			return out;
	}
	if (h->busy) {
		h->busy = false;
		host_poke(h);
	}
	reads = c->reads;
	link_reap(&c->link);
	if (!any_reader(h))
		rc = link_pump(&c->link, c->unread);
	c->unread = false;
	if (rc == 0 && c->ended && !c->flushed && list_empty(&c->in_ready)) {
		c->flushed = true;
		host_poke(h);
	} else if (rc == 0 && c->ended && c->flushed && !any_reader(h)) {
		rc = PSSH_ECLOSED;
	}
	if (rc) {
		conn_fail(c, PSSH_ECLOSED, "'%s' closed the connection", h->spec);
		fleet_conn_lost(h);
		return NULL;
	}
	wake_riders(h, !c->link.spare || c->reads != reads);
	ready_timers(h);
	return NULL;
}

static const struct pssh_event *fleet_turn_conn(struct conn *c)
{
	struct pssh_host *h = c->owner;
	const struct pssh_event *out = NULL;
	struct pssh_host *via = c->via ? c->via->owner : NULL;
	int rc;

	if (fleet_drop_unwanted(h))
		return NULL;
	rc = conn_step(c);
	if (rc == 0) {
		if (h->opening)
			became_ready(h);
		out = fleet_turn_ready(h);
		if (h->conn != c)
			return out;
	} else if (rc == PSSH_EAGAIN) {
		question_pass_on(h);
		if (c->state == CONN_VIA && c->barred && c->via && fleet_change_lane(h))
			return NULL;
	} else {
		fleet_conn_lost(h);
		return NULL;
	}
	if (!c->room) /* there may be more to read, but others come first */
		host_poke(h);
	conn_arm(c);
	if (c->ahead.len && c->watch.want & LOOP_READ) { /* as if the loop had found it in the socket */
		transport_due(c);
		host_poke(h);
	}
	if (c->state == CONN_GONE) {
		fleet_conn_lost(h);
	} else if (via && via->conn && via->conn->state == CONN_READY) {
		conn_arm(via->conn);
	}
	return out;
}

/* ---- What is due ---- */

static void agent_news(struct pssh *p, struct keyring_agent *held)
{
	struct agent_sign_request *req;
	struct list *pos, *tmp;

	while ((req = agent_next_done(held->agent)))
		host_poke(((struct conn *)req->owner)->owner);
	if (held->listed || agent_state(held->agent) == AGENT_ASKING)
		return;
	/* The list arrives once; then all connections that wait for it go on. */
	held->listed = true;
	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		if (h->conn && h->conn->state == CONN_AUTH && h->plan.auth.agent == held->agent)
			host_poke(h);
	}
}

/* A tunnel may wait for the addresses of its target here. */
static bool tunnel_starts(const struct pssh_host *h)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs) {
		const struct run *r = list_entry(pos, struct run, in_host);

		if (r->tunnel && !r->begun)
			return true;
	}
	return false;
}

static void resolver_news(struct pssh *p)
{
	struct list *pos, *tmp;

	resolver_clear(p->shared.resolver);
	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		if (h->conn && (h->conn->state == CONN_RESOLVE || tunnel_starts(h)))
			host_poke(h);
	}
}

static void watch_due(struct pssh *p, struct loop_watch *w, uint32_t ready)
{
	struct keyring_agent *held;
	struct loop_owned *tw;
	struct conn *c;
	eventfd_t raised; /* pssh_wait() looks at p->woken */

	switch (w->kind) {
	case KIND_CONN:
		c = list_entry(w, struct conn, watch);
		if ((ready & LOOP_HANGUP) && !w->want) {
			conn_fail(c, PSSH_ECLOSED, "'%s' closed the connection", c->plan->name);
			fleet_conn_lost(c->owner);
			return;
		}
		transport_due(c);
		host_poke(c->owner);
		break;
	case KIND_RESOLVER:
		resolver_news(p);
		break;
	case KIND_AGENT:
		held = keyring_agent_of(&p->shared.keyring, w, NULL);
		if (held) {
			agent_ready(held->agent, ready);
			agent_news(p, held);
		}
		break;
	case KIND_TUNNEL:
		tw = list_entry(w, struct loop_owned, watch);
		tw->due = true;
		host_poke(((struct run *)tw->owner)->host);
		break;
	case KIND_FORWARD:
		host_poke(list_entry(w, struct loop_owned, watch)->owner);
		break;
	case KIND_UNLOCK:
		question_unlocked(p);
		break;
	case KIND_WAKE:
		eventfd_read(p->wake_fd, &raised);
		break;
	default:
		break;
	}
}

static void timer_due(struct pssh *p, struct loop_timer *t)
{
	struct keyring_agent *held;
	struct conn *c;
	int rc;

	switch (t->kind) {
	case KIND_CONN:
		c = list_entry(t, struct conn, timer);
		rc = conn_due(c);
		if (c->state == CONN_GONE) {
			fleet_conn_lost(c->owner);
		} else if (rc == 0 || rc == PSSH_EAGAIN) {
			conn_arm(c);
			host_poke(c->owner);
		}
		break;
	case KIND_HOST:
		host_due(list_entry(t, struct pssh_host, timer));
		break;
	case KIND_RUN:
		run_due(list_entry(t, struct run, timer));
		break;
	case KIND_TUNNEL:
		host_poke(((struct run *)list_entry(t, struct door, timer)->tw.owner)->host);
		break;
	case KIND_FORWARD:
		host_poke(list_entry(t, struct forward, timer)->owner);
		break;
	case KIND_AGENT:
		held = keyring_agent_of(&p->shared.keyring, NULL, t);
		if (held) {
			agent_due(held->agent);
			agent_news(p, held);
		}
		break;
	case KIND_REAP:
		fleet_reap(p);
		break;
	default:
		break;
	}
}

/* The next connection to step; NULL: none is ready. */
static struct conn *next_ready(struct pssh *p)
{
	struct list *first = list_first(&p->shared.ready);
	struct conn *c;

	if (!first)
		return NULL;
	c = list_entry(first, struct conn, in_ready);
	list_remove(&c->in_ready);
	return c;
}

/* True when this burst of calls has lasted long enough; the next call begins another. */
static bool burst_over(struct pssh *p)
{
	int64_t now = clock_ms();

	if (!p->burst)
		p->burst = now;
	if (now - p->burst < BURST_MS)
		return false;
	p->burst = 0;
	p->turns = LOOK_EVERY - 1;
	return true;
}

const struct pssh_event *fleet_turn(struct pssh *p)
{
	struct loop_watch *w;
	struct loop_timer *t;
	uint32_t ready;

	while (!burst_over(p)) {
		const struct pssh_event *ev = events_next(&p->events);
		struct conn *c;

		if (ev)
			return ev;
		fleet_admit(p);
		/* Some connections may be ready for ever: the others, and deadlines, have their turn. */
		c = loop_has(p->shared.loop) || ++p->turns % LOOK_EVERY == 0 ? NULL : next_ready(p);
		if (c) {
			ev = fleet_turn_conn(c);
			if (ev)
				return ev;
		} else if (loop_next(p->shared.loop, &w, &ready, &t)) {
			if (w)
				watch_due(p, w, ready);
			else
				timer_due(p, t);
		} else if (list_empty(&p->shared.ready) && events_empty(&p->events)) {
			p->burst = 0;
			return NULL;
		}
	}
	return NULL;
}

int fleet_timeout(const struct pssh *p)
{
	if (!events_empty(&p->events) || !list_empty(&p->shared.ready) || fleet_has_room(p))
		return 0;
	return loop_timeout(p->shared.loop);
}

