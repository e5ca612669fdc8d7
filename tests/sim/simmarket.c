/* SPDX-License-Identifier: Apache-2.0 */
/* The process of the simulated market: it starts, commits, dies and is taken over from. See sim.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "market/reason.h"
#include "sim.h"

enum { START_TRIES = 200 };

bool sim_wrong(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->wrong, sizeof s->wrong, fmt, ap);
	va_end(ap);
	return false;
}

int sim_open_store(struct sim *s, struct store **out, struct fail *f)
{
	return s->path ? store_sqlite_open(s->path, out, f) : memstore_open(&s->disk, out, f);
}

/* What was read from the disk is what was last known to be there, or what may have got there. */
static bool sim_remembers(struct sim *s)
{
	uint64_t hash = engine_hash(market_engine(s->market));

	if (hash != s->committed && !(s->unsure && hash == s->staged))
		return sim_wrong(s, "after a start the state is not what was committed");
	s->committed = hash;
	s->unsure = false;
	return true;
}

/* One try. 0, or a reason; never a market that is half there. */
static int sim_open(struct sim *s, struct fail *f)
{
	struct store *inner;
	int rc = sim_open_store(s, &inner, f);

	if (rc)
		return rc;
	s->shim = faulty_new(inner, s->path ? NULL : &s->disk, &s->rng);
	s->shim->faults = s->faults;
	rc = market_open(&s->shim->base, &s->market, f);
	if (rc) {
		s->shim->base.calls->close(&s->shim->base);
		s->shim = NULL;
		s->market = NULL;
	}
	return rc;
}

/* Of the market that is being asked, which is none while one is opened or another takes over. */
static uint64_t state_now(void *arg)
{
	struct sim *s = arg;

	return s->market ? engine_hash(market_engine(s->market)) : 0;
}

bool sim_start(struct sim *s)
{
	struct fail f = { .code = 0 };
	int rc = REASON_UNAVAILABLE;

	for (int i = 0; i < START_TRIES && rc == REASON_UNAVAILABLE; i++)
		rc = sim_open(s, &f);
	if (rc)
		return sim_wrong(s, "the market does not start: %s", f.text);
	market_snapshot_every(s->market, 40);
	s->shim->state = state_now;
	s->shim->arg = s;
	return sim_remembers(s);
}

int sim_time(struct sim *s)
{
	int rc;

	s->shim->heard = false;
	rc = market_time(s->market, s->clock, NULL);
	if (s->shim->heard)
		s->committed = s->shim->kept;
	return rc;
}

bool sim_again(struct sim *s)
{
	s->unsure = s->shim->unsure;
	s->staged = s->shim->asked;
	sim_kill(s);
	return sim_start(s);
}

void sim_kill(struct sim *s)
{
	if (!s->market)
		return;
	s->shim->dead = true;
	s->deaths++;
	s->failures += s->shim->failed;
	market_free(s->market);
	s->market = NULL;
	s->shim = NULL;
	s->answers = 0; /* nobody is told */
}

bool sim_commit(struct sim *s)
{
	struct fail f = { .code = 0 };
	bool good = true;
	int rc;

	s->staged = engine_hash(market_engine(s->market));
	rc = market_commit(s->market, &f);
	if (rc == 0 && !market_ready(s->market))
		return sim_wrong(s, "the market is not ready after a commit that was done");
	if (rc == 0) {
		s->committed = s->staged;
		for (size_t i = 0; good && i < s->answers; i++)
			if (rng_percent(&s->rng, 85)) /* else it is lost on its way */
				good = sim_hear(s, &s->answering[i]);
		s->answers = 0;
		return good;
	}
	s->refused_commits++;
	s->answers = 0; /* they hear that nothing was done, or nothing at all: both ask again */
	if (market_ready(s->market))
		return sim_wrong(s, "the market is ready after a commit that failed");
	if (!s->shim->dead)
		return true;
	return sim_again(s);
}

/* Another process takes the market over while this one believes that it has it. */
bool sim_take_over(struct sim *s)
{
	struct event ev = { .kind = EVENT_CREDIT,
		.account = s->account[0],
		.subject = s->account[0],
		.u.credit.micros = 1 };
	struct market *old = s->market;
	struct faulty *old_shim = s->shim;
	struct fail f = { .code = 0 };
	bool good = true;

	s->takeovers++;
	s->market = NULL;
	s->shim = NULL;
	if (!sim_start(s))
		good = false;
	if (good && market_apply(old, &ev, NULL, &f) == 0 && market_commit(old, &f) == 0)
		good = sim_wrong(s, "a market that was taken over could commit");
	old_shim->dead = true;
	market_free(old);
	return good;
}
