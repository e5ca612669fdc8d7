/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/idmap.h"
#include "marketd/store/sick.h"

/* A failed node keeps its host down for the pool that owns it, until another node runs there. */
struct failure { uint64_t host, pool; int64_t since; /* a minute; 0: the one in which the watch sees it */ };

struct failures {
	struct failure *list;
	size_t count, cap;
};

struct watch {
	struct idmap agents;       /* struct watched */
	struct watch_settings set;
	int64_t begun_ms, begun_at; /* since when it hears, by the caller's clock and in Unix seconds; 0: no turn yet */
	int64_t away_at;            /* since when it did not before */
	struct failures failed;
	struct sick sick;
	struct watched nobody;     /* in place of the agent of hosts without one; seen: 0 after the first look at all */
	uint64_t looked;           /* the host that the last turn's look ended with */
};

enum { SILENT_MS = 45000, AWAIT_SECONDS = 180, LOOKS = 4000, LACKS_SECONDS = 600 };

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
	sick_release(&w->sick);
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

static void watch_begin(struct watch *w, int64_t from, int64_t now)
{
	w->away_at = from;
	w->begun_at = now;
}

void watch_paused(struct watch *w, int64_t ms, int64_t now_ms, int64_t from, int64_t now)
{
	for (size_t i = 0; i < w->agents.cap; i++)
		if (w->agents.slots[i].id)
			((struct watched *)w->agents.slots[i].thing)->heard_ms += ms;
	w->begun_ms = now_ms;
	watch_begin(w, from, now);
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

bool watch_lacks(struct watch *w, uint64_t agent, enum watch_lack lack, int64_t now)
{
	struct watched *a = watch_agent_of(w, agent);

	if (!a)
		return false;
	if (lack != LACKS_FOR_OFFERS)
		a->lacks_since = 0;
	else if (!a->lacks_since)
		a->lacks_since = now;
	if (lack == LACKS_NOTHING)
		a->withdrawn = false;
	if (!a->lacks_since || now - a->lacks_since < LACKS_SECONDS)
		return false;
	a->lacks_since = 0;
	a->withdrawn = true;
	return true;
}

static const struct piece *piece_at(const struct host *h, int64_t minute)
{
	for (size_t i = 0; i < h->piece_count && h->pieces[i].start <= minute; i++)
		if (minute < h->pieces[i].end)
			return &h->pieces[i];
	return NULL;
}

static bool watch_leased(const struct engine *e, const struct host *h)
{
	const struct piece *p = piece_at(h, engine_minute(e));

	return p && p->lease;
}

void watch_told_host(struct watch *w, const struct engine *e, uint64_t host, enum health health, const char *why,
	int64_t now)
{
	const struct host *h = engine_host(e, host);
	struct watched *a = h ? watch_agent_of(w, h->agent) : NULL;
	bool mild = health == HEALTH_DRAINING;

	if (!a)
		return;
	if (health == HEALTH_UNHEALTHY || (mild && !watch_leased(e, h))) {
		sick_tell(&w->sick, host, mild, now / 60, now, why && *why ? why : health_word(health));
		a->due = 0; /* look at once */
	} else {
		sick_well(&w->sick, host, now);
	}
}

void watch_passed_over(struct watch *w, const struct engine *e, uint64_t agent, int64_t now)
{
	if (!w->sick.hosts.count)
		return;
	for (const struct host *h = engine_host_of_agent(e, agent, 0); h; h = engine_host_of_agent(e, agent, h->id))
		sick_passed_over(&w->sick, h->id, now);
}

const char *watch_unfit(struct watch *w, const struct host *h, int64_t now)
{
	const struct sick_host *ill = w ? sick_find(&w->sick, h->id, now) : NULL;

	if (ill)
		return ill->why;
	return h->watched && sick_is(h->why) ? h->why : NULL; /* after a start, before the first look at it */
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
	const char *why;           /* the first that was found */
};

static void is_wrong(struct wrong *x, int64_t since, const char *why)
{
	if (!x->down || since < x->since)
		x->since = since;
	if (!x->down)
		x->why = why;
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
		is_wrong(x, f->since ? f->since : engine_minute(e), "a node failed on it");
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
static void watch_remember(struct watch *w, const struct engine *e, const struct host *h, const struct instance *i,
	int64_t now)
{
	const struct piece *p = piece_at(h, engine_minute(e));

	if (h->down && h->watched && sick_is(h->why) && !sick_find(&w->sick, h->id, now))
		sick_tell(&w->sick, h->id, sick_is_mild(h->why), 0, now, h->why);

	if (h->down && h->watched && !i && p && p->pool != h->pool && failed_here(e, h, p))
		watch_failed(w, h->id, p->pool, 0);
}

bool watch_own_fault(const char *detail)
{
	return detail && strstr(detail, "\"fault\":\"node\"");
}

/* `why`: where it goes down. */
static int watch_set(struct market *m, const struct host *h, const char *why, int64_t since, struct fail *f)
{
	struct event ev = { .kind = EVENT_HOST_STATE,
		.account = h->account,
		.subject = h->id,
		.text = why,
		.u.host_state = { .down = why != NULL, .watch = true, .since = since } };

	return market_apply(m, &ev, NULL, f);
}

int watch_before_settling(const struct watch *w, struct market *m, const struct host *h, struct fail *f)
{
	const struct instance *i = engine_host_instance(market_engine(m), h->id);
	const struct watched *a = watch_agent(w, h->agent);

	return hold_give_back(a ? &a->hold : NULL, m, h, i ? watch_awaits(market_engine(m), i) : 0, f);
}

int watch_hold(struct watch *w, struct market *m, uint64_t agent, bool held, int64_t now, struct fail *f)
{
	struct watched *a = watch_agent_of(w, agent);
	const struct host *h;
	uint64_t id = 0;
	int rc = 0;

	if (!a || held == (a->hold.since != 0))
		return 0;
	while (!held && !rc && (h = engine_host_of_agent(market_engine(m), agent, id))) {
		id = h->id;
		rc = watch_before_settling(w, m, h, f);
	}
	hold_set(&a->hold, held, now);
	a->due = 0; /* look at once */
	return rc;
}

static int watch_look_at(struct watch *w, struct market *m, struct watched *a, uint64_t host, int64_t now_ms,
	int64_t now, struct fail *f)
{
	const struct engine *e = market_engine(m);
	const struct host *h = engine_host(e, host);
	const struct instance *i = engine_host_instance(e, host);
	int64_t awaits = i ? watch_awaits(e, i) : 0, due;
	const struct sick_host *ill;
	struct wrong x = { 0 };

	if (a->seen == UINT64_MAX)
		watch_remember(w, e, h, i, now);
	ill = sick_find(&w->sick, h->id, now);
	if (ill && !(ill->mild && watch_leased(e, h)))
		is_wrong(&x, ill->since ? ill->since : engine_minute(e), ill->why);
	look_at_failure(w, e, h, i, &x);
	if (a->silent) /* before begun_at nobody listened */
		is_wrong(&x, (a->heard_at > w->begun_at ? a->heard_at : w->begun_at) / 60, "its agent is silent");
	due = hold_awaits(&a->hold, awaits) + w->set.await_seconds + 1;
	if (awaits && now < due)
		a->due = due < a->due ? due : a->due;
	else if (awaits && now_ms < grace_ends(w))
		a->due = now;
	else if (awaits)
		is_wrong(&x, awaits / 60, "its node did not start");
	if (x.down && awaits && a->hold.since)
		is_wrong(&x, hold_from(&a->hold, awaits), x.why);
	if (x.down && !a->silent)
		a->due = now; /* a repair does not change the agent's version, so look each time */
	if (x.down == h->down || (h->down && !h->watched))
		return 0;
	return watch_set(m, h, x.down ? x.why : NULL, x.down ? x.since : 0, f);
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
	if (!w->begun_at)
		watch_begin(w, now, now);
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

/* It should have come while the market was away, or soon after: who would have said that it runs cannot have, yet. */
static bool watch_missed(const struct watch *w, int64_t awaits, int64_t now_ms)
{
	return w->away_at < w->begun_at && awaits < w->begun_at && awaits + w->set.await_seconds > w->away_at &&
		now_ms < grace_ends(w);
}

/* The pool had another instance on this host in the same lease: the time was of use. */
static bool watch_redeployed(const struct engine *e, const struct instance *i)
{
	const struct piece *p = piece_at(engine_host(e, i->host), engine_minute(e));
	const struct lease *l = p ? engine_lease(e, p->lease) : NULL;
	uint64_t after = 0;

	for (const struct instance *x; l && (x = engine_instance_after(e, i->account, after)); after = x->id)
		if (x->had == i->host && x->pool == i->pool && x->updated_at >= 60 * l->start &&
			(x->status == INSTANCE_TERMINATED ||
				(x->status == INSTANCE_FAILED && watch_own_fault(x->detail))))
			return true;
	return false;
}

struct walk {
	struct watch *w;
	struct market *m;
	int64_t now_ms, last, step; /* the minute to reach, and the next on the way there */
	bool took;
};

static void step_until(struct walk *k, int64_t minute)
{
	int64_t next = engine_minute(market_engine(k->m)) + 1;

	minute = minute > next ? minute : next;
	k->step = minute < k->step ? minute : k->step;
}

/* Stops a minute before a waiting instance's lease settles. There: takes its host down if it is overdue or too late. */
static int look_before_paying(struct walk *k, const struct instance *i, struct fail *f)
{
	const struct engine *e = market_engine(k->m);
	const struct watched *a = watch_agent(k->w, engine_host(e, i->host)->agent);
	int64_t next = engine_minute(e) + 1, awaits = watch_awaits(e, i), settles;
	bool held = a && a->hold.since;

	if (!awaits || engine_host(e, i->host)->down || (!held && watch_missed(k->w, awaits, k->now_ms)))
		return 0;
	settles = watch_settles(e, i);
	if (settles > next) {
		step_until(k, settles - 1);
		return 0;
	}
	if (held) {
		step_until(k, next);
		return watch_before_settling(k->w, k->m, engine_host(e, i->host), f);
	}
	if (60 * next < hold_awaits(a ? &a->hold : NULL, awaits) + k->w->set.await_seconds &&
		(engine_owned_until(e, i->host, i->pool, engine_minute(e)) > next || watch_redeployed(e, i))) {
		step_until(k, next);
		return 0;
	}
	k->took = true;
	return watch_set(k->m, engine_host(e, i->host), "its node did not start", awaits / 60, f);
}

/* Looks once at all that waits, and sets how far the clock can then move. */
static int watch_look_ahead(struct walk *k, struct fail *f)
{
	const struct instance *i;
	uint64_t after = 0;
	int rc = 0;

	k->step = k->last;
	while (!rc && market_ready(k->m) && (i = engine_instance_after(market_engine(k->m), 0, after))) {
		after = i->id;
		if (i->status == INSTANCE_AWAITING && i->host)
			rc = look_before_paying(k, i, f);
		else if (i->status == INSTANCE_AWAITING && !watch_missed(k->w, market_now(k->m), k->now_ms))
			step_until(k, engine_next_lease(market_engine(k->m))); /* there it may get a host */
	}
	return rc;
}

/* A failed node goes down before the time is paid; then step by step. */
static int watch_walk(struct walk *k, struct fail *f)
{
	bool alone = !market_dirty(k->m);
	int rc = watch_turn(k->w, k->m, k->now_ms, market_now(k->m), f);

	while (!rc && market_ready(k->m) && engine_minute(market_engine(k->m)) < k->last) {
		rc = watch_look_ahead(k, f);
		if (!rc && alone && market_dirty(k->m))
			rc = market_commit(k->m, f);
		if (rc || !market_ready(k->m) || k->step == k->last)
			break;
		rc = market_time(k->m, 60 * k->step, f);
	}
	return rc;
}

int watch_time(struct watch *w, struct market *m, int64_t now_ms, int64_t now, struct fail *f)
{
	struct walk k = { .w = w, .m = m, .now_ms = now_ms, .last = now / 60 };
	int64_t minute = market_ready(m) ? engine_minute(market_engine(m)) : 0;
	int rc = 0, late;

	if (!w->begun_at)
		watch_begin(w, market_now(m), now);
	if (minute && minute < k.last)
		rc = watch_walk(&k, f);
	late = market_time(m, now, f); /* time goes on, whatever became of the rest */
	if (!late && k.took)
		rc = watch_turn(w, m, now_ms, now, f); /* a host whose time is over is on sale again */
	return late ? late : rc;
}
