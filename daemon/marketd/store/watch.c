/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/idmap.h"

/* A failed node keeps its host down for the pool that owns it, until another node runs there. */
struct failure { uint64_t host, pool; int64_t since; /* a minute; 0: the one in which the watch sees it */ };

struct failures {
	struct failure *list;
	size_t count, cap;
};

struct watch {
	struct idmap agents;       /* struct watched */
	struct watch_settings set;
	int64_t begun_ms, begun_at; /* the start by the clock and by the market; 0 before the first turn */
	struct failures failed;
	struct watched nobody;     /* in place of the agent of hosts without one; seen: 0 after the first look at all */
	uint64_t looked;           /* the host that the last turn's look ended with */
};

enum { SILENT_MS = 45000, AWAIT_SECONDS = 180, LOOKS = 4000 };

/* ---- What is remembered ------------------------------------------------------------------- */

int watch_new(struct watch **out, const struct watch_settings *set, int64_t now_ms)
{
	struct watch *w = calloc(1, sizeof *w);

	if (!w)
		return -ENOMEM;
	w->begun_ms = now_ms;
	w->set = *set;
	w->nobody.seen = UINT64_MAX;
	if (!w->set.silent_ms)
		w->set.silent_ms = SILENT_MS;
	if (!w->set.await_seconds)
		w->set.await_seconds = AWAIT_SECONDS;
	*out = w;
	return 0;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->agents.cap; i++)
		if (w->agents.slots[i].id)
			free(w->agents.slots[i].thing);
	idmap_release(&w->agents);
	free(w->failed.list);
	free(w);
}

static int64_t grace_ends(const struct watch *w)
{
	return w->begun_ms + w->set.silent_ms + w->set.silent_ms / 3;
}

/* An agent that is new here may have called just before the market's start. NULL: out of memory. */
static struct watched *watch_agent_of(struct watch *w, uint64_t agent)
{
	struct watched *a = idmap_get(&w->agents, agent);

	if (a)
		return a;
	a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	a->heard_ms = grace_ends(w) - w->set.silent_ms;
	a->seen = UINT64_MAX;
	a->status.rss = -1;
	idmap_add(&w->agents, agent, a);
	return a;
}

void watch_paused(struct watch *w, int64_t ms)
{
	for (size_t i = 0; i < w->agents.cap; i++)
		if (w->agents.slots[i].id)
			((struct watched *)w->agents.slots[i].thing)->heard_ms += ms;
	w->begun_ms += ms;
}

void watch_heard(struct watch *w, uint64_t agent, int64_t now_ms, int64_t now)
{
	struct watched *a = watch_agent_of(w, agent);

	if (!a)
		return;
	if (now_ms > a->heard_ms)
		a->heard_ms = now_ms;
	a->heard_at = now;
}

void watch_told(struct watch *w, uint64_t agent, const struct agent_status *status)
{
	struct watched *a = watch_agent_of(w, agent);

	if (a)
		a->status = *status;
}

static struct failure *watch_find(const struct failures *all, uint64_t host)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].host == host)
			return &all->list[i];
	return NULL;
}

static void watch_add(struct failures *all, const struct failure *add)
{
	struct failure *f = watch_find(all, add->host);

	if (!f && all->count == all->cap) {
		size_t cap = all->cap ? 2 * all->cap : 16;
		struct failure *more = reallocarray(all->list, cap, sizeof *more);

		if (!more)
			return;
		all->list = more;
		all->cap = cap;
	}
	if (!f)
		f = &all->list[all->count++];
	*f = *add;
}

static void watch_forget(struct failures *all, uint64_t host)
{
	struct failure *f = watch_find(all, host);

	if (f)
		*f = all->list[--all->count];
}

void watch_failed(struct watch *w, uint64_t host, uint64_t pool, int64_t since)
{
	watch_add(&w->failed, &(struct failure){ .host = host, .pool = pool, .since = since });
}

const struct watched *watch_agent(const struct watch *w, uint64_t agent)
{
	return w ? idmap_get(&w->agents, agent) : NULL;
}

/* ---- What is wrong with a host -------------------------------------------------------------- */

static const struct piece *piece_at(const struct host *h, int64_t minute)
{
	for (size_t i = 0; i < h->piece_count && h->pieces[i].start <= minute; i++)
		if (minute < h->pieces[i].end)
			return &h->pieces[i];
	return NULL;
}

int64_t watch_awaits(const struct engine *e, const struct instance *i)
{
	const struct host *h = i->host && i->status == INSTANCE_AWAITING ? engine_host(e, i->host) : NULL;
	const struct piece *p = h ? piece_at(h, engine_minute(e)) : NULL;
	const struct lease *l = p ? engine_lease(e, p->lease) : NULL;
	int64_t start;

	if (!p || p->pool != i->pool)
		return 0;
	if (i->placed_at) /* it has waited from then on, even if a second lease has begun meanwhile */
		return i->placed_at;
	start = 60 * (l ? l->start : p->start);
	return start > i->created_at ? start : i->created_at;
}

struct wrong {
	bool down;
	int64_t since;             /* a minute */
};

static void is_wrong(struct wrong *x, int64_t since)
{
	if (!x->down || since < x->since)
		x->since = since;
	x->down = true;
}

static void look_at_failure(struct watch *w, const struct engine *e, const struct host *h, const struct instance *i,
	struct wrong *x)
{
	struct failure *f = watch_find(&w->failed, h->id);
	const struct piece *p = f ? piece_at(h, engine_minute(e)) : NULL;

	if (!f)
		return;
	if (!p || p->pool != f->pool || (i && i->status == INSTANCE_RUNNING))
		watch_forget(&w->failed, h->id);
	else
		is_wrong(x, f->since ? f->since : engine_minute(e));
}

/* The pool that owns the host's time had a node fail there, through no fault of the buyer, and none since. */
static bool failed_here(const struct engine *e, const struct host *h, const struct piece *p)
{
	const struct pool *pool = engine_pool(e, p->pool);
	const struct instance *last = NULL;
	uint64_t after = 0;

	for (const struct instance *i; pool && (i = engine_instance_after(e, pool->account, after)); after = i->id)
		if (i->had == h->id && i->pool == p->pool && i->updated_at >= 60 * p->start &&
			(!last || i->placed_at >= last->placed_at))
			last = i;
	return last && last->status == INSTANCE_FAILED && !watch_own_fault(last->detail);
}

/*
 * After a start the watch does not know why a host is down: its agent was silent, or a node failed there;
 * in that case it stays down for the pool that owns it.
 */
static void watch_remember(struct watch *w, const struct engine *e, const struct host *h, const struct instance *i)
{
	const struct piece *p = piece_at(h, engine_minute(e));

	if (h->down && h->watched && !i && p && p->pool != h->pool && failed_here(e, h, p))
		watch_failed(w, h->id, p->pool, 0);
}

bool watch_own_fault(const char *detail)
{
	return detail && strstr(detail, "\"fault\":\"node\"");
}

static int watch_set(struct market *m, const struct host *h, bool down, int64_t since, struct fail *f)
{
	struct event ev = { .kind = EVENT_HOST_STATE,
		.account = h->account,
		.subject = h->id,
		.u.host_state = { .down = down, .watch = true, .since = since } };

	return market_apply(m, &ev, NULL, f);
}

static int watch_look_at(struct watch *w, struct market *m, struct watched *a, uint64_t host, int64_t now_ms,
	int64_t now, struct fail *f)
{
	const struct engine *e = market_engine(m);
	const struct host *h = engine_host(e, host);
	const struct instance *i = engine_host_instance(e, host);
	int64_t awaits = i ? watch_awaits(e, i) : 0, due;
	struct wrong x = { 0 };

	if (a->seen == UINT64_MAX)
		watch_remember(w, e, h, i);
	look_at_failure(w, e, h, i, &x);
	if (a->silent)
		is_wrong(&x, (a->heard_at ? a->heard_at : w->begun_at) / 60); /* before the start nobody listened */
	due = awaits + w->set.await_seconds + 1;
	if (awaits && now < due)
		a->due = due < a->due ? due : a->due;
	else if (awaits && now_ms < grace_ends(w))
		a->due = now;
	else if (awaits)
		is_wrong(&x, awaits / 60);
	if (x.down && !a->silent)
		a->due = now; /* a repair does not change the agent's version, so look each time */
	if (x.down == h->down || (h->down && !h->watched))
		return 0;
	return watch_set(m, h, x.down, x.down ? x.since : 0, f);
}

static int look_at_agent(struct watch *w, struct market *m, const struct agent *known, int64_t now_ms, int64_t now,
	struct fail *f)
{
	struct watched *a = watch_agent_of(w, known->id);
	const struct engine *e = market_engine(m);
	bool silent = a && now_ms - a->heard_ms >= w->set.silent_ms;
	const struct host *h;
	uint64_t id = known->id;
	int rc = 0;

	if (!a || (!silent && !a->heard_at)) /* it may have been silent before the start: unknown yet */
		return 0;
	if (silent == a->silent && a->seen == engine_agent_version(e, id) && now < a->due)
		return 0;
	a->silent = silent;
	a->due = INT64_MAX;
	for (h = engine_host_of_agent(e, id, 0); h && !rc; h = h ? engine_host_of_agent(e, id, h->id) : NULL) {
		uint64_t host = h->id;

		rc = watch_look_at(w, m, a, host, now_ms, now, f);
		h = engine_host(market_engine(m), host);
	}
	if (!rc)
		a->seen = engine_agent_version(market_engine(m), id);
	else
		a->due = 0; /* look at all of it again */
	return rc;
}

static void forget_agent(struct watch *w, uint64_t agent)
{
	struct watched *a = idmap_get(&w->agents, agent);

	if (!a)
		return;
	idmap_remove(&w->agents, agent);
	free(a);
}

/* Whoever owns a host without an agent reports on its nodes himself, so that no silence is wrong. Some hosts a turn. */
static int look_at_agentless(struct watch *w, struct market *m, int64_t now_ms, int64_t now, struct fail *f)
{
	int rc = 0;

	for (int n = 0; n < LOOKS && !rc; n++) {
		const struct host *h = engine_host_after(market_engine(m), 0, w->looked);

		w->looked = h ? h->id : 0;
		if (!h) {
			w->nobody.seen = 0;
			break;
		}
		if (!h->agent && !h->retired)
			rc = watch_look_at(w, m, &w->nobody, h->id, now_ms, now, f);
		if (!market_ready(m))
			break;
	}
	return rc;
}

int watch_turn(struct watch *w, struct market *m, int64_t now_ms, int64_t now, struct fail *f)
{
	uint64_t id = 0;
	const struct agent *a;
	int rc = 0;

	if (!market_ready(m))
		return 0;
	w->begun_at = w->begun_at ? w->begun_at : now;
	while (!rc && (a = engine_agent_after(market_engine(m), 0, id))) {
		id = a->id;
		if (a->retired)
			forget_agent(w, id);
		else
			rc = look_at_agent(w, m, a, now_ms, now, f);
		if (!market_ready(m))
			return rc;
	}
	return rc ? rc : look_at_agentless(w, m, now_ms, now, f);
}

/* ---- The clock ------------------------------------------------------------------------------ */

/* The minute in which the lease of a waiting instance is settled next, or one that it was sold on from. */
static int64_t watch_settles(const struct engine *e, const struct instance *i)
{
	const struct piece *p = piece_at(engine_host(e, i->host), engine_minute(e));
	const struct lease *l = p ? engine_lease(e, p->lease) : NULL;
	int64_t next = MINUTE_MAX;

	for (; l; l = l->parent ? engine_lease(e, l->parent) : NULL) {
		int64_t at = l->settled + engine_policy(e)->settle_minutes;

		at = at < l->end ? at : l->end;
		next = at < next ? at : next;
	}
	return next > engine_minute(e) ? next : engine_minute(e) + 1;
}

/* The next instance that waits. It may have a host, which then is up. */
static const struct instance *watch_waiting(const struct engine *e, uint64_t after)
{
	const struct instance *i;

	while ((i = engine_instance_after(e, 0, after))) {
		after = i->id;
		if (i->status == INSTANCE_AWAITING &&
			(!i->host || (watch_awaits(e, i) && !engine_host(e, i->host)->down)))
			return i;
	}
	return NULL;
}

/* Takes down the hosts whose leases the next minute would settle though their node is overdue, or can come no more. */
static int refund_undelivered(struct watch *w, struct market *m, bool *took, struct fail *f)
{
	const struct engine *e = market_engine(m);
	int64_t next = engine_minute(e) + 1;
	const struct instance *i;
	uint64_t after = 0;
	int rc = 0;

	while (!rc && market_ready(m) && (i = watch_waiting(e, after))) {
		int64_t awaits = watch_awaits(e, i);

		after = i->id;
		if (!i->host || watch_settles(e, i) > next)
			continue;
		if (60 * next < awaits + w->set.await_seconds &&
			engine_owned_until(e, i->host, i->pool, engine_minute(e)) > next)
			continue;
		rc = watch_set(m, engine_host(e, i->host), true, awaits / 60, f);
		*took = true;
	}
	return rc;
}

/* The minute up to which the clock can move at once, at most `last`: one before a waiting instance's lease settles. */
static int64_t watch_step(const struct engine *e, int64_t last)
{
	const struct instance *i;
	uint64_t after = 0;

	while (last > engine_minute(e) + 1 && (i = watch_waiting(e, after))) {
		/* One without a host may get one when a lease begins. */
		int64_t at = i->host ? watch_settles(e, i) - 1 : engine_next_lease(e);

		after = i->id;
		at = at > engine_minute(e) ? at : engine_minute(e) + 1;
		last = at < last ? at : last;
	}
	return last;
}

/* A failed node goes down before the time is paid; then step by step. */
static int watch_walk(struct watch *w, struct market *m, int64_t now_ms, int64_t last, bool *took, struct fail *f)
{
	bool alone = !market_dirty(m);
	int rc = watch_turn(w, m, now_ms, market_now(m), f);

	while (!rc && market_ready(m) && engine_minute(market_engine(m)) < last) {
		int64_t step;

		rc = refund_undelivered(w, m, took, f);
		if (!rc && alone && market_dirty(m))
			rc = market_commit(m, f);
		step = !rc && market_ready(m) ? watch_step(market_engine(m), last) : last;
		if (step == last)
			break;
		rc = market_time(m, 60 * step, f);
	}
	return rc;
}

int watch_time(struct watch *w, struct market *m, int64_t now_ms, int64_t now, struct fail *f)
{
	int64_t minute = market_ready(m) ? engine_minute(market_engine(m)) : 0;
	bool took = false;
	int rc = 0, late;

	if (minute && minute < now / 60)
		rc = watch_walk(w, m, now_ms, now / 60, &took, f);
	late = market_time(m, now, f); /* time goes on, whatever became of the rest */
	if (!late && took)
		rc = watch_turn(w, m, now_ms, now, f); /* a host whose time is over is on sale again */
	return late ? late : rc;
}

/* ---- Words ---------------------------------------------------------------------------------- */

static const char *const words[] = {
	NULL,
#define HEALTH_X(name, word) word,
	HEALTHS(HEALTH_X)
#undef HEALTH_X
};

const char *health_word(enum health h)
{
	return words[h];
}

enum health health_read(const char *word)
{
	for (int h = 1; h < HEALTH_KINDS; h++)
		if (strcmp(words[h], word) == 0)
			return (enum health)h;
	return HEALTH_UNTOLD;
}
