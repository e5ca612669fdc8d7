/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of an event: the engine applies it, the store stages it, the commit makes it durable. If
 * staging or the commit fails, the engine is ahead of the disk; then the market drops the engine and
 * reads the disk again, and answers nothing in between.
 */
#include "marketd/store/market.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "market/reason.h"

enum {
	SNAPSHOT_EVERY = 100 * 1000,
	SNAPSHOT_BYTES = 1 << 30,
	ANSWER_DAYS = 30,
	FORGET_SECONDS = 60, /* between bites */
	FORGET_BITE = 200,
	LOGS_BITE = 64, /* consoles looked at in one bite */
	LOGS_DAYS = 7,  /* kept after the end of their nodes */
	RETRY_MS = 1000,
	STEP_MINUTES = 60, /* of the first tick of many; the next ones grow where little happens */
	STEP_EFFECTS = 1 << 16,
};

struct market {
	struct store *store;
	struct engine *engine; /* an empty one while the disk cannot be read */
	struct effects effects;
	struct buf bytes;          /* of snapshots */
	int64_t now;
	int64_t tried; /* monotonic, of the last try to read the disk again */
	int64_t forgot;
	uint64_t logs_at; /* the last console looked at */
	uint64_t every;
	uint64_t kept;             /* event of the newest snapshot */
	bool dirty;                /* something is staged */
	bool broken;               /* staging failed: the engine knows more than the disk will */
	bool away;                 /* the engine is a stand-in: the disk could not be read again yet */
	bool lost;
	struct fail why;           /* what broke it */
};

/* ---- From disk --------------------------------------------------------------------------- */

struct replay { struct engine *engine; struct effects effects; uint64_t until; struct fail *f; };

static int replay_event(void *arg, uint64_t seq, const struct event *ev)
{
	struct replay *r = arg;
	struct fail why = { 0 };

	if (r->until && seq > r->until)
		return 1;
	if (engine_apply(r->engine, ev, &r->effects, &why) == 0 && engine_count(r->engine) == seq)
		return 0;
	return fail_set(r->f, REASON_INTERNAL,
		"event %" PRIu64 " ('%s') of the journal cannot be replayed (%.200s); restore a "
		"backup with 'nanopod-marketd restore BACKUP', or start the version that wrote it",
		seq, event_name(ev->kind), why.text);
}

int market_catch_up(struct store *store, struct engine *e, uint64_t until, struct fail *f)
{
	struct replay r = { .engine = e, .until = until, .f = f };
	int rc;

	effects_init(&r.effects);
	rc = store->calls->events(store, engine_count(e), replay_event, &r, f);
	effects_release(&r.effects);
	return rc < 0 ? rc : 0;
}

static int market_load(struct store *store, struct engine **out, uint64_t *kept, struct fail *f)
{
	struct fail why = { 0 };
	struct buf bytes;
	struct engine *e = NULL;
	uint64_t seq = 0, hash = 0;
	int rc;

	buf_init(&bytes, SNAPSHOT_BYTES);
	rc = store->calls->load_snapshot(store, &bytes, &seq, &hash, f);
	/* A snapshot of another version may be unreadable or mean something else; the events always count. */
	if (!rc && seq &&
		(engine_load(&e, bytes.data, bytes.len, &why) || engine_hash(e) != hash || engine_count(e) != seq)) {
		engine_free(e);
		e = NULL;
		seq = 0;
	}
	if (!rc && !e && engine_new(&e))
		rc = fail_set(f, REASON_UNAVAILABLE, "out of memory for the market");
	buf_release(&bytes);
	if (rc)
		return rc;
	*out = e;
	*kept = seq;
	return 0;
}

static int store_market_replay(struct store *store, bool from_snapshot, uint64_t until, struct engine **out,
	uint64_t *kept, struct fail *f)
{
	struct engine *e = NULL;
	int rc = 0;

	*kept = 0;
	if (from_snapshot)
		rc = market_load(store, &e, kept, f);
	else if (engine_new(&e))
		rc = fail_set(f, REASON_UNAVAILABLE, "out of memory for the market");
	if (!rc)
		rc = market_catch_up(store, e, until, f);
	if (!rc && !until && engine_count(e) < store->calls->last_seq(store))
		rc = fail_set(f, REASON_INTERNAL,
			"the journal ends at event %" PRIu64 " and the market at %" PRIu64
			"; see 'nanopod-marketd check'",
			store->calls->last_seq(store), engine_count(e));
	if (rc) {
		engine_free(e);
		return rc;
	}
	*out = e;
	return 0;
}

int market_replay(struct store *store, bool from_snapshot, uint64_t until, struct engine **out, struct fail *f)
{
	uint64_t kept;

	return store_market_replay(store, from_snapshot, until, out, &kept, f);
}

/* Takes the lease before the last look, so that nobody writes after it; a start that fails takes it from nobody. */
static int read_again(struct market *m, struct fail *f)
{
	struct engine *e = NULL;
	uint64_t kept = 0;
	int rc = store_market_replay(m->store, true, 0, &e, &kept, f);

	if (!rc) {
		rc = m->store->calls->fence(m->store, f);
		m->lost = rc == REASON_WRONG_STATE;
	}
	if (!rc)
		rc = market_catch_up(m->store, e, 0, f);
	if (rc) {
		engine_free(e);
		return rc;
	}
	engine_free(m->engine);
	m->engine = e;
	m->kept = kept;
	m->dirty = m->broken = m->away = false;
	if (engine_at(e) > m->now)
		m->now = engine_at(e);
	return 0;
}

int market_open(struct store *store, struct market **out, struct fail *f)
{
	struct market *m = calloc(1, sizeof *m);
	int rc;

	if (!m)
		return fail_set(f, REASON_UNAVAILABLE, "out of memory for the market");
	m->store = store;
	m->every = SNAPSHOT_EVERY;
	buf_init(&m->bytes, SNAPSHOT_BYTES);
	effects_init(&m->effects);
	rc = read_again(m, f);
	if (rc) {
		m->store = NULL;
		market_free(m);
		return rc;
	}
	*out = m;
	return 0;
}

/* ---- Reading ----------------------------------------------------------------------------- */

const struct engine *market_engine(const struct market *m)
{
	return m->engine;
}

struct store *market_store(const struct market *m)
{
	return m->store;
}

int64_t market_now(const struct market *m)
{
	return m->now;
}

bool market_dirty(const struct market *m)
{
	return m->dirty || m->broken;
}

bool market_ready(const struct market *m)
{
	return m->engine && !m->broken && !m->away;
}

bool market_lost(const struct market *m)
{
	return m->lost;
}

void market_snapshot_every(struct market *m, uint64_t events)
{
	m->every = events;
}

/* ---- Writing ----------------------------------------------------------------------------- */

static int not_ready(const struct market *m, struct fail *f)
{
	return fail_set(f, REASON_UNAVAILABLE, "the market cannot write now: %s", m->why.text);
}

/* The staged rows are gone, so the engine knows too much: nobody may ask it until the commit drops it. */
static int market_broke(struct market *m, const struct fail *why, struct fail *f)
{
	assert(why->code < 0);
	m->why = *why;
	m->broken = true;
	return not_ready(m, f);
}

int market_apply(struct market *m, struct event *ev, const struct effects **did, struct fail *f)
{
	struct fail why = { 0 };
	int rc;

	if (!market_ready(m))
		return not_ready(m, f);
	ev->at = m->now;
	rc = engine_apply(m->engine, ev, &m->effects, f);
	if (rc)
		return rc;
	m->dirty = true;
	if (m->store->calls->append(m->store, engine_count(m->engine), ev, &m->effects, &why))
		return market_broke(m, &why, f);
	if (did)
		*did = &m->effects;
	return 0;
}

int market_keep_answer(struct market *m, const struct answer *a, struct fail *f)
{
	struct fail why = { 0 };

	if (!market_ready(m))
		return not_ready(m, f);
	m->dirty = true;
	return m->store->calls->keep_answer(m->store, a, &why) ? market_broke(m, &why, f) : 0;
}

int market_log(struct market *m, uint64_t instance, const struct log_line *lines, size_t count, struct fail *f)
{
	struct fail why = { 0 };
	int rc;

	if (!market_ready(m))
		return not_ready(m, f);
	rc = m->store->calls->log_append(m->store, instance, lines, count, &why);
	m->dirty = true; /* a transaction is open, even if this failed */
	if (rc == REASON_INVALID)
		return fail_set(f, rc, "%s", why.text);
	return rc ? market_broke(m, &why, f) : 0;
}

/* A market that an earlier program made goes on by the rules of this one; what it did so far stays what it was. */
static int market_edition(struct market *m, struct fail *f)
{
	struct event ev = { .kind = EVENT_RULES, .u.rules.edition = RULES_NEWEST };

	return engine_rules(m->engine) < RULES_NEWEST ? market_apply(m, &ev, NULL, f) : 0;
}

/*
 * After a pause, the missed minutes come in steps that are committed one by one: what a day does to
 * thousands of orders is too much for one event. Not while other events of this turn are staged.
 */
static int market_tick(struct market *m, struct fail *f)
{
	int64_t until = m->now / 60, step = engine_minute(m->engine) ? STEP_MINUTES : until;
	bool alone = !market_dirty(m);
	int rc = market_edition(m, f);

	if (rc)
		return rc;
	while (engine_minute(m->engine) < until) {
		int64_t from = engine_minute(m->engine);
		struct event ev = { .kind = EVENT_TICK, .u.tick.minute = until - from > step ? from + step : until };

		rc = market_apply(m, &ev, NULL, f);
		if (rc)
			return rc;
		if (m->effects.count < STEP_EFFECTS)
			step = 2 * step;
		else if (step > 1)
			step = step / 2;
		if (alone && ev.u.tick.minute < until && market_commit(m, f))
			return not_ready(m, f);
	}
	return 0;
}

int market_time(struct market *m, int64_t now, struct fail *f)
{
	int64_t clock = clock_ms();

	if (now > m->now)
		m->now = now;
	if (m->broken || m->lost)
		return not_ready(m, f);
	if (m->away) {
		if (m->tried && clock - m->tried < RETRY_MS)
			return not_ready(m, f);
		m->tried = clock;
		if (read_again(m, &m->why))
			return not_ready(m, f);
	}
	return market_tick(m, f);
}

static int market_snapshot(struct market *m, struct fail *f)
{
	uint64_t seq = engine_count(m->engine);

	buf_clear(&m->bytes);
	/* Without a snapshot the next start takes longer; that is no reason to refuse the request. */
	m->kept = seq; /* do not try again with every commit */
	if (engine_save(m->engine, &m->bytes))
		return 0;
	return m->store->calls->snapshot(m->store, seq, m->bytes.data, m->bytes.len, engine_hash(m->engine), f);
}

struct old_logs {
	const struct market *m;
	uint64_t list[LOGS_BITE], last;
	size_t count, seen;
};

static int old_log(void *arg, const struct log_head *h)
{
	struct old_logs *o = arg;
	const struct instance *i = engine_instance(o->m->engine, h->instance);
	bool ended = !i || i->status == INSTANCE_TERMINATED || i->status == INSTANCE_FAILED;

	o->last = h->instance;
	o->seen++;
	if (ended && (!i || o->m->now - i->updated_at > (int64_t)LOGS_DAYS * 86400))
		o->list[o->count++] = h->instance;
	return 0;
}

/* Drops consoles of deleted nodes, and of those that ended long ago: some at a time, in turn. */
static int forget_logs(struct market *m, struct fail *f)
{
	const struct store_calls *calls = m->store->calls;
	struct old_logs o = { .m = m };
	int rc = calls->log_heads(m->store, m->logs_at, LOGS_BITE, old_log, &o, f);

	m->logs_at = o.seen < LOGS_BITE ? 0 : o.last;
	for (size_t i = 0; i < o.count && !rc; i++)
		rc = calls->log_drop(m->store, o.list[i], f);
	return rc;
}

static int stage_rest(struct market *m, struct fail *f)
{
	int rc = 0;

	if (m->every && engine_count(m->engine) - m->kept >= m->every)
		rc = market_snapshot(m, f);
	if (!rc && m->now - m->forgot >= FORGET_SECONDS) {
		m->forgot = m->now;
		rc = m->store->calls->forget_answers(m->store, m->now - (int64_t)ANSWER_DAYS * 86400, FORGET_BITE, f);
		rc = rc ? rc : forget_logs(m, f);
	}
	return rc;
}

/* Drops the engine. An empty one stands in, so that readers find no things instead of no engine. */
static int throw_away(struct market *m, struct fail *f)
{
	struct engine *empty = NULL;

	m->store->calls->rollback(m->store);
	if (engine_new(&empty))
		abort(); /* out of memory */
	engine_free(m->engine);
	m->engine = empty;
	m->dirty = m->broken = false;
	m->away = true;
	return not_ready(m, f);
}

int market_commit(struct market *m, struct fail *f)
{
	if (m->away)
		return not_ready(m, f);
	if (!market_dirty(m))
		return 0;
	if (!m->broken && stage_rest(m, &m->why) == 0 && m->store->calls->commit(m->store, &m->why) == 0) {
		m->dirty = false;
		assert(m->store->calls->last_seq(m->store) == engine_count(m->engine));
		return 0;
	}
	m->lost = m->lost || m->why.code == REASON_WRONG_STATE;
	return throw_away(m, f);
}

void market_free(struct market *m)
{
	if (!m)
		return;
	if (m->store && market_ready(m) && m->every && engine_count(m->engine) > m->kept &&
		market_snapshot(m, NULL) == 0)
		m->store->calls->commit(m->store, NULL);
	if (m->store)
		m->store->calls->close(m->store);
	engine_free(m->engine);
	effects_release(&m->effects);
	buf_release(&m->bytes);
	free(m);
}
