/* SPDX-License-Identifier: Apache-2.0 */
/* Finds nodes that should not be, hosts in a wrong state, and minutes paid but not delivered. See fleet.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "fleet.h"

enum { WATCH_GRACE = 60 };

/* ---- Second by second ------------------------------------------------------------------- */

static void note_up(struct fleet *f, int host, uint64_t instance)
{
	struct up *u = &f->up[(int64_t)host * f->minutes + fleet_minute(f)];
	int at = u->instance[0] == 0 || u->instance[0] == instance ? 0 : 1;

	u->instance[at] = instance;
	u->seconds[at]++;
}

/* The agent runs, and either knows that the lease is over, or can be told, or does not know the node for too long. */
static bool node_leaks(struct fleet *f, struct machine *m, int i)
{
	struct node *n = &m->node[i];
	const struct want *truth = &m->truth[i];
	bool wrong = truth->instance != n->instance || f->clock >= truth->end_at;
	bool asked = post_linked(f, m) && f->market;

	if (!wrong || !machine_alive(f, m)) {
		if (!wrong)
			n->leak = n->overdue = 0;
		return true;
	}
	n->leak += asked;
	n->overdue += n->end_at && f->clock >= n->end_at;
	if (n->leak > f->leak_most)
		f->leak_most = n->leak;
	if (n->overdue > f->overdue_most)
		f->overdue_most = n->overdue;
	if (n->overdue > OVERDUE_MOST)
		return fleet_wrong(f, "instance %" PRIu64 " runs on %d s after its lease was over", n->instance,
			n->overdue);
	if (n->leak > LEAK_MOST)
		return fleet_wrong(f, "instance %" PRIu64 " runs for %d s and should not", n->instance, n->leak);
	if (!n->end_at && f->clock - n->unknown_at > UNKNOWN_MOST && !asked)
		return fleet_wrong(f, "instance %" PRIu64 " runs unknown to its agent", n->instance);
	return true;
}

bool audit_second(struct fleet *f)
{
	for (int k = 0; k < f->machines; k++) {
		struct machine *m = &f->machine[k];

		for (int i = 0; i < HOSTS_EACH; i++) {
			struct node *n = &m->node[i];

			if (n->instance && n->up && !n->gone_at)
				note_up(f, fleet_host(f, m, i), n->instance);
			if (n->instance && !n->failed && !node_leaks(f, m, i))
				return false;
		}
	}
	return true;
}

/* Of a host on which nothing changed for a while: its node is there and runs, or none is; and it is up. */
bool audit_calm(struct fleet *f)
{
	const struct engine *e = market_engine(f->market);

	for (int k = 0; k < f->machines; k++) {
		const struct machine *m = &f->machine[k];

		for (int i = 0; i < HOSTS_EACH; i++) {
			const struct node *n = &m->node[i];
			const struct instance *x = engine_host_instance(e, m->host[i]);
			const struct host *h = engine_host(e, m->host[i]);

			if (f->clock - m->true_since[i] < MAKING_MOST)
				continue;
			if ((x ? x->id : 0) != n->instance || (x && (!n->up || x->status != INSTANCE_RUNNING)))
				return fleet_wrong(f,
					"host %" PRIu64 " should have instance %" PRIu64 " (status %d) and has %" PRIu64
					"%s",
					m->host[i], x ? x->id : 0, x ? (int)x->status : -1, n->instance,
					n->up ? "" : ", not up");
			if (h->down &&
				(x || engine_owned_until(e, h->id, h->pool, engine_minute(e)) > engine_minute(e)))
				return fleet_wrong(f, "host %" PRIu64 " is down%s though all is well", h->id,
					h->watched ? " by the watch" : "");
		}
	}
	return true;
}

/* ---- What was paid ---------------------------------------------------------------------- */

struct minute { uint64_t due; bool paid, refunded; };

struct money {
	struct fleet *f;
	struct engine *e;
	struct effects did;
	struct minute *minute;     /* [host][minute] */
	uint64_t *start;           /* [host]: instance when the minute began */
	uint64_t *failed, *failed_pool; /* [host]: instance that failed, for this pool, and no other runs since */
	int64_t *settled;          /* [lease] */
	size_t settled_cap;
	int *number;               /* [id of host] → its number; -1 */
	size_t number_cap;
	int64_t floor;             /* the event must not pay for minutes from here on */
	bool overpaid;
	struct fail why;
	long due, paid, refunded, lacking, harmed;
	int worst;
};

static int host_number(const struct money *a, uint64_t host)
{
	return host < a->number_cap ? a->number[host] : -1;
}

static int64_t *settled_of(struct money *a, uint64_t lease)
{
	size_t cap = a->settled_cap;

	while (lease >= cap)
		cap = cap ? 2 * cap : 4096;
	if (cap != a->settled_cap) {
		a->settled = realloc(a->settled, cap * sizeof *a->settled);
		if (!a->settled)
			abort();
		while (a->settled_cap < cap)
			a->settled[a->settled_cap++] = 0;
	}
	return &a->settled[lease];
}

static void see_settled(struct money *a, const struct notice *n, bool paid)
{
	int64_t *settled = settled_of(a, n->subject), first = a->f->began / 60;
	int host = host_number(a, n->other);

	for (int64_t t = *settled; host >= 0 && t < n->minute; t++) {
		struct minute *m = t - first < a->f->minutes ? &a->minute[(int64_t)host * a->f->minutes + t - first]
							     : NULL;

		if (m)
			*(paid ? &m->paid : &m->refunded) = true;
		a->overpaid = a->overpaid || (paid && t >= a->floor);
	}
	if (n->minute > *settled)
		*settled = n->minute;
}

static void see_effects(struct money *a)
{
	for (size_t i = 0; i < a->did.count; i++) {
		const struct effect *x = &a->did.list[i];

		if (x->kind == EFFECT_LEASE)
			*settled_of(a, x->u.lease.lease.id) = x->u.lease.lease.settled;
		if (x->kind == EFFECT_NOTICE &&
			(x->u.notice.kind == NOTICE_SETTLED || x->u.notice.kind == NOTICE_REFUNDED))
			see_settled(a, &x->u.notice, x->u.notice.kind == NOTICE_SETTLED);
	}
}

/* What should be on a host: its instance; where one failed, that one, until another runs or the pool has it no more. */
static uint64_t due_on(struct money *a, uint64_t host, int n)
{
	const struct instance *x = engine_host_instance(a->e, host);

	if (a->failed[n] && ((x && x->status == INSTANCE_RUNNING) ||
		engine_owned_until(a->e, host, a->failed_pool[n], engine_minute(a->e)) == engine_minute(a->e)))
		a->failed[n] = 0;
	return x ? x->id : a->failed[n];
}

/* A minute is over: what was to be there all the time was due. Then the next one begins. */
static void turn_minute(struct money *a, bool over)
{
	int64_t at = engine_minute(a->e) - a->f->began / 60;

	for (int n = 0; n < a->f->machines * HOSTS_EACH; n++) {
		uint64_t now = due_on(a, a->f->machine[n / HOSTS_EACH].host[n % HOSTS_EACH], n);

		if (!over)
			a->start[n] = now;
		else if (now == a->start[n] && at >= 0 && at < a->f->minutes)
			a->minute[n * a->f->minutes + at].due = now;
	}
}

/*
 * A host goes down because nothing came up on it for so long, or its agent was silent: from that time on nobody may pay
 * for it, not even what is settled just then. A market that started in between cannot know how long it was silent.
 */
static int64_t floor_of(struct money *a, const struct event *ev)
{
	const struct instance *x = engine_host_instance(a->e, ev->subject);
	int64_t floor = INT64_MAX, awaits = x ? watch_awaits(a->e, x) : 0, first = a->f->began / 60,
		t = ev->at / 60 - first;
	const bool *heard = &a->f->heard[host_number(a, ev->subject) / HOSTS_EACH * a->f->minutes];

	if (awaits && ev->at - awaits > 180)
		floor = awaits / 60;
	while (t > 0 && !heard[t] && !a->f->started[t])
		t--;
	return heard[t] && !a->f->started[t] && first + t + 1 < floor ? first + t + 1 : floor;
}

static int apply_one(struct money *a, const struct event *ev)
{
	const struct instance *x = ev->kind == EVENT_REPORT ? engine_instance(a->e, ev->subject) : NULL;
	int n = x ? host_number(a, x->host) : -1;

	a->floor = INT64_MAX;
	if (ev->kind == EVENT_HOST_STATE && ev->u.host_state.down && ev->u.host_state.watch)
		a->floor = floor_of(a, ev);
	if (n >= 0 && ev->u.report.status == INSTANCE_FAILED) {
		a->failed[n] = x->id;
		a->failed_pool[n] = x->pool;
	}
	if (engine_apply(a->e, ev, &a->did, &a->why) != 0)
		return -1;
	see_effects(a);
	if (a->overpaid)
		return fail_set(&a->why, -1,
			"host %" PRIu64 " went down in minute %" PRId64 ", and minutes from %" PRId64 " on were paid",
			ev->subject, engine_minute(a->e), a->floor);
	return 0;
}

/* Minutes that passed in one go pass one by one here: by the rules that is the same. */
static int see_event(void *arg, uint64_t seq, const struct event *ev)
{
	struct money *a = arg;
	struct event one = *ev;

	(void)seq;
	if (ev->kind != EVENT_TICK || engine_minute(a->e) == 0)
		return apply_one(a, ev);
	while (engine_minute(a->e) < ev->u.tick.minute) {
		turn_minute(a, true);
		one.u.tick.minute = engine_minute(a->e) + 1;
		if (apply_one(a, &one) != 0)
			return -1;
		turn_minute(a, false);
	}
	return 0;
}

static int lacking(const struct fleet *f, int host, int64_t t, uint64_t instance)
{
	const struct up *u = &f->up[(int64_t)host * f->minutes + t];

	return 60 - (u->instance[0] == instance ? u->seconds[0] : 0) - (u->instance[1] == instance ? u->seconds[1] : 0);
}

/*
 * Runs of minutes in which a node was missing: how much of each was paid, but for the time in which there
 * was no market, or one that had just started and holds nothing against anybody yet.
 */
static bool judge_host(struct money *a, int host)
{
	const struct fleet *f = a->f;
	int unpaid = 0, away = 0;
	uint64_t of = 0;

	for (int64_t t = 0; t < f->minutes; t++) {
		const struct minute *m = &a->minute[host * f->minutes + t];
		int lack = m->due ? lacking(f, host, t, m->due) : 0;

		a->due += m->due != 0;
		a->paid += m->due && m->paid;
		a->refunded += m->due && m->refunded;
		a->harmed += m->due && m->refunded && !lack;
		if (!lack || m->due != of)
			unpaid = away = 0;
		of = m->due;
		if (!lack)
			continue;
		a->lacking++;
		unpaid += m->paid ? lack : 0;
		away += f->away[t] + (f->started[t] ? WATCH_GRACE : 0);
		if (unpaid - away > a->worst)
			a->worst = unpaid - away;
		if (unpaid - away > UNPAID_MOST)
			return fleet_wrong(a->f,
				"instance %" PRIu64 " was missing on host %" PRIu64
				" for %d s that were paid, up to minute %" PRId64,
				m->due, f->machine[host / HOSTS_EACH].host[host % HOSTS_EACH], unpaid, t);
	}
	return true;
}

static void money_begin(struct money *a, struct fleet *f)
{
	size_t hosts = (size_t)(f->machines * HOSTS_EACH);

	*a = (struct money){ .f = f, .number_cap = (size_t)f->machine[f->machines - 1].host[HOSTS_EACH - 1] + 1 };
	a->minute = calloc(hosts * (size_t)f->minutes, sizeof *a->minute);
	a->start = calloc(hosts, sizeof *a->start);
	a->failed = calloc(hosts, sizeof *a->failed);
	a->failed_pool = calloc(hosts, sizeof *a->failed_pool);
	a->number = calloc(a->number_cap, sizeof *a->number);
	if (!a->minute || !a->start || !a->failed || !a->failed_pool || !a->number || engine_new(&a->e) != 0)
		abort();
	for (size_t i = 0; i < a->number_cap; i++)
		a->number[i] = -1;
	for (size_t n = 0; n < hosts; n++)
		a->number[f->machine[n / HOSTS_EACH].host[n % HOSTS_EACH]] = (int)n;
	effects_init(&a->did);
}

static void money_end(struct money *a)
{
	free(a->minute);
	free(a->start);
	free(a->failed);
	free(a->failed_pool);
	free(a->number);
	free(a->settled);
	engine_free(a->e);
	effects_release(&a->did);
}

bool audit_money(struct fleet *f)
{
	struct store *store = market_store(f->market);
	struct money a;
	bool good = true;

	money_begin(&a, f);
	if (store->calls->events(store, 0, see_event, &a, &a.why) != 0)
		good = fleet_wrong(f, "replay: %s", a.why.text);
	if (good && engine_hash(a.e) != engine_hash(market_engine(f->market)))
		good = fleet_wrong(f, "minute by minute the journal gives another state");
	for (int n = 0; good && n < f->machines * HOSTS_EACH; n++)
		good = judge_host(&a, n);
	f->due = a.due;
	f->paid = a.paid;
	f->refunded = a.refunded;
	f->lacking = a.lacking;
	f->harmed = a.harmed;
	f->unpaid_most = a.worst;
	money_end(&a);
	return good;
}
