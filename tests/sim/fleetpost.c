/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers between agents and the market, and what a network does to them. See fleet.h. */
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "market/reason.h"

bool post_linked(const struct fleet *f, const struct machine *m)
{
	return f->clock >= m->cut_until && f->clock >= m->off_until;
}

static void post_put(struct fleet *f, const struct letter *l, int64_t delay)
{
	struct bucket *b = &f->ring[(f->clock + 1 + delay) % RING];

	if (b->count == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 64;
		b->list = realloc(b->list, b->cap * sizeof *b->list);
		if (!b->list)
			abort();
	}
	b->list[b->count++] = *l;
}

/* Mostly at once; some late, so that they overtake each other; some twice; some never. */
static int64_t post_delay(struct fleet *f)
{
	if (f->calm || rng_percent(&f->rng, 80))
		return 0;
	return rng_percent(&f->rng, 80) ? rng_below(&f->rng, 4) : rng_below(&f->rng, RING - 2);
}

void post_send(struct fleet *f, const struct letter *l)
{
	if (!post_linked(f, &f->machine[l->machine]))
		return;
	if (!f->calm && rng_percent(&f->rng, 4)) {
		f->lost++;
		return;
	}
	post_put(f, l, post_delay(f));
	if (!f->calm && rng_percent(&f->rng, 3)) {
		f->repeated++;
		post_put(f, l, post_delay(f));
	}
}

void post_stage(struct fleet *f, const struct letter *l)
{
	if (f->staged_count < LETTERS_STAGED)
		f->staged[f->staged_count++] = *l;
}

static void hear(struct fleet *f, int n)
{
	watch_heard(f->watch, f->machine[n].agent, 1000 * f->clock, f->clock);
	f->heard[n * f->minutes + fleet_minute(f)] = true;
}

/* ---- What the market is asked ----------------------------------------------------------- */

static void take_session(struct fleet *f, struct machine *m, const struct letter *l)
{
	struct event ev = { .kind = EVENT_AGENT_SESSION, .account = m->account, .subject = m->agent,
		.u.agent_session.generation = l->generation };
	struct letter back = { .kind = BACK_SESSION,
		.machine = l->machine,
		.asked = l->asked,
		.generation = l->generation };
	int rc;

	ev.u.agent_session.hash[0] = (uint8_t)l->generation;
	rc = market_apply(f->market, &ev, NULL, NULL);
	if (rc == REASON_UNAVAILABLE)
		return;
	hear(f, l->machine);
	if (rc)
		back.kind = BACK_FENCED;
	m->waiting = rc ? m->waiting : 0;
	post_stage(f, &back);
}

/* As the API takes a report: of an instance on a host of this agent; said again it is no event. */
static void take_report(struct fleet *f, struct machine *m, const struct letter *l)
{
	const struct engine *e = market_engine(f->market);
	const struct instance *x = engine_instance(e, l->instance);
	const struct host *h = x ? engine_host(e, x->host) : NULL;
	struct letter back = { .kind = BACK_REPORT,
		.machine = l->machine,
		.instance = l->instance,
		.status = l->status };
	struct event ev = { .kind = EVENT_REPORT, .text = "{}", .subject = l->instance, .u.report.status = l->status };
	uint64_t host = h ? h->id : 0, pool = x ? x->pool : 0;
	int rc = 0;

	if (h && h->agent == m->agent && (l->status != INSTANCE_RUNNING || x->status != INSTANCE_RUNNING)) {
		ev.account = x->account;
		rc = market_apply(f->market, &ev, NULL, NULL);
		if (rc == REASON_UNAVAILABLE)
			return;
		f->reports++;
		if (rc == 0 && l->status == INSTANCE_FAILED) {
			f->failures++;
			watch_failed(f->watch, host, pool, 0);
		}
	}
	post_stage(f, &back);
}

static void take_request(struct fleet *f, const struct letter *l)
{
	struct machine *m = &f->machine[l->machine];
	const struct agent *a = f->market && market_ready(f->market) ? engine_agent(market_engine(f->market), m->agent)
								     : NULL;

	if (!a) /* nobody is there: it is as if it was lost */
		return;
	if (l->kind == TO_SESSION) {
		take_session(f, m, l);
		return;
	}
	if (a->generation != l->generation) {
		post_stage(f,
			&(struct letter){ .kind = BACK_FENCED,
				.machine = l->machine,
				.asked = l->asked,
				.generation = l->generation });
		return;
	}
	hear(f, l->machine);
	if (l->kind == TO_REPORT) {
		take_report(f, m, l);
		return;
	}
	m->waiting = l->asked;
	m->waiting_have = l->version;
	m->waiting_until = f->clock + 25;
}

void post_deliver(struct fleet *f)
{
	struct bucket *b = &f->ring[f->clock % RING];

	for (size_t i = 0; i < b->count; i++) {
		struct letter l = b->list[i]; /* the list may grow meanwhile */
		struct machine *m = &f->machine[l.machine];

		if (!post_linked(f, m))
			f->lost++;
		else if (l.kind <= TO_REPORT)
			take_request(f, &l);
		else if (machine_alive(f, m))
			machine_hears(f, m, &l);
	}
	b->count = 0;
}

/* ---- What it answers -------------------------------------------------------------------- */

static void answer_work(struct fleet *f, int n)
{
	const struct engine *e = market_engine(f->market);
	struct machine *m = &f->machine[n];
	struct letter l = { .kind = BACK_WORK,
		.machine = n,
		.asked = m->waiting,
		.version = engine_agent_version(e, m->agent),
		.generation = engine_agent(e, m->agent)->generation };

	for (int i = 0; i < HOSTS_EACH; i++) {
		const struct instance *x = engine_host_instance(e, m->host[i]);

		if (x)
			l.want[i] = (struct want){ x->id,
				60 * engine_owned_until(e, m->host[i], x->pool, engine_minute(e)) };
	}
	hear(f, n);
	m->waiting = 0;
	post_send(f, &l);
}

void post_staged(struct fleet *f)
{
	for (size_t i = 0; i < f->staged_count; i++)
		post_send(f, &f->staged[i]);
	f->staged_count = 0;
	for (int n = 0; n < f->machines; n++) {
		const struct machine *m = &f->machine[n];

		if (m->waiting && (f->clock >= m->waiting_until ||
			engine_agent_version(market_engine(f->market), m->agent) != m->waiting_have))
			answer_work(f, n);
	}
}
