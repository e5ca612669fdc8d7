/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine whose GPUs lag, spike, ignore limits for a while, round them, refuse them, vanish and come back without
 * any; an owner who changes his mind, and an agent that is killed in the middle. Whatever happens, the enforced limits
 * fit the envelope at every instant after they were first set, no work begins before they are read back, and what is
 * drawn at the wall, as a mean of ten seconds, stays below it.
 *
 *     power                 some thousand machines, as `make check` does
 *     power SEED            one of them, telling what happens
 *     power long [TRACES]   as many as you like
 */
#include <errno.h>
#include <inttypes.h>

#include "../lib/tap.h"
#include "agentd/power/change.h"
#include "rng.h"

enum {
	TICK_MS = 50,
	TRACE_MS = 180 * 1000,
	MEAN_MS = 10 * 1000,
	MEAN = MEAN_MS / TICK_MS,
	GPUS = 6,
	DEVICES = GPUS + 1,
	CHECK_MS = 10 * 1000,
	QUICK = 3000,
	LONG = 100 * 1000,
	IDLE_DRAW = 15000,
	WINDOW_MS = 2000,
	LET_THROUGH = 2000 /* what spikes leave in a mean of ten seconds, per GPU: the reserve has it */
};

enum fault { FAULT_NONE, FAULT_REFUSES, FAULT_DEAF, FAULT_ROUNDS_UP, FAULT_CLAMPS, FAULT_STUBBORN, FAULTS };

struct plant_gpu {
	int64_t limit, before; /* what it enforces; what it still obeys until ignores_until */
	int64_t held;          /* the limit that it had before its driver was loaded again */
	int64_t ignores_until, back_at;
	int64_t draw, demand, debt; /* debt: energy above the limit that its limiter takes back; mW x ms */
	int64_t lag_ms, ignores_ms;
	enum fault fault;
	bool works;  /* a node uses it */
	bool forgot; /* its driver was loaded again, and since then not all have fitted */
};

struct plant {
	struct rng g;
	struct plant_gpu gpus[DEVICES];
	struct power_device list[DEVICES]; /* what the agent knows */
	size_t count;
	struct envelope e, old; /* old: until the new one is in force, both count */
	bool armed, tell;
	int64_t now, changed_at, board, kill_at;
	int64_t ring[MEAN], sum; /* draw at the wall */
	size_t at;
	uint64_t changes, starts, reloads, kills;
	int64_t worst; /* the highest mean, in millionths of the envelope */
	char broken[200];
};

static const struct power_way plant_way = { .name = "plant" };

static __attribute__((format(printf, 2, 3))) void plant_break(struct plant *p, const char *fmt, ...)
{
	va_list ap;

	if (*p->broken)
		return;
	va_start(ap, fmt);
	vsnprintf(p->broken, sizeof p->broken, fmt, ap);
	va_end(ap);
}

static int64_t plant_between(struct plant *p, int64_t least, int64_t most)
{
	return least + rng_below(&p->g, most - least + 1);
}

/* ---- The truth --------------------------------------------------------------------------------- */

/* What the envelope allows now: the looser one until a change of it is in force. */
static const struct envelope *plant_envelope(const struct plant *p)
{
	return p->old.wall > p->e.wall ? &p->old : &p->e;
}

/* At the wall, if each draws its limit. excuses: those that forgot theirs, which have no work, count as before. */
static int64_t plant_may_draw(const struct plant *p, const struct envelope *e, bool excuses)
{
	int64_t sum = e->reserve;

	for (size_t i = 0; i < p->count; i++) {
		const struct plant_gpu *g = &p->gpus[i];

		sum += excuses && g->forgot && g->held < g->limit ? g->held : g->limit;
	}
	return supply_wall(&e->supply, sum);
}

static void plant_check_limits(struct plant *p)
{
	const struct envelope *e = plant_envelope(p);
	int64_t wall = plant_may_draw(p, e, false);

	if (!p->armed)
		return;
	for (size_t i = 0; wall <= e->wall && i < p->count; i++)
		p->gpus[i].forgot = p->gpus[i].forgot && p->now < p->gpus[i].back_at;
	wall = plant_may_draw(p, e, true);
	if (wall > e->wall)
		plant_break(p, "at %" PRId64 " ms the limits may draw %" PRId64 " mW at the wall of %" PRId64, p->now,
			wall, e->wall);
}

static void plant_check_draw(struct plant *p, int64_t behind)
{
	int64_t wall = supply_wall(&p->e.supply, behind), mean;

	if (wall == SUPPLY_TOO_MUCH) /* a spike, which a supply bears for a moment */
		wall = supply_wall(&p->e.supply, p->e.supply.rated) * (behind / 1000) / (p->e.supply.rated / 1000);
	p->sum += wall - p->ring[p->at];
	p->ring[p->at] = wall;
	p->at = (p->at + 1) % MEAN;
	mean = p->sum / MEAN;
	if (p->now < MEAN_MS || p->now < p->changed_at + MEAN_MS)
		return;
	if (mean * 1000 / (plant_envelope(p)->wall / 1000) > p->worst)
		p->worst = mean * 1000 / (plant_envelope(p)->wall / 1000);
	if (mean > plant_envelope(p)->wall)
		plant_break(p, "at %" PRId64 " ms the last ten seconds drew %" PRId64 " mW at the wall of %" PRId64,
			p->now, mean, plant_envelope(p)->wall);
}

/* Mostly all that it gets. */
static int64_t plant_demand(struct plant *p)
{
	return rng_percent(&p->g, 70) ? 700 * 1000 : plant_between(p, IDLE_DRAW, 700 * 1000);
}

/* A limiter keeps the average: what a spike took is given back in the next moments. */
static int64_t plant_gpu_draws(struct plant *p, struct plant_gpu *g)
{
	bool ignores = p->now < g->ignores_until;
	int64_t limit = ignores && g->before > g->limit ? g->before : g->limit, goal, more = 0;

	if (p->now < g->back_at) {
		g->draw = g->debt = 0;
		return IDLE_DRAW;
	}
	if (ignores && g->fault == FAULT_STUBBORN)
		return g->draw;
	if (g->works && rng_percent(&p->g, 1))
		g->demand = plant_demand(p);
	goal = !g->works ? IDLE_DRAW : g->demand < limit ? g->demand : limit;
	g->draw += (goal - g->draw) * TICK_MS / (g->lag_ms + TICK_MS);
	if (!g->debt && g->works) /* three percent of noise, and now and then a spike of 20 ms to nearly the double */
		more = rng_below(&p->g, g->draw * 3 / 100 + 1) +
			(rng_percent(&p->g, 3) ? g->draw * 8 / 10 * 20 / TICK_MS : 0);
	else if (g->debt > 0)
		more = -(g->debt / TICK_MS < g->draw / 10 ? g->debt / TICK_MS : g->draw / 10);
	g->debt += more * TICK_MS;
	if (g->debt < TICK_MS * 10)
		g->debt = 0;
	return g->draw + more;
}

static void plant_tick(struct plant *p)
{
	int64_t behind = 0;

	for (size_t i = 0; i < p->count; i++)
		behind += plant_gpu_draws(p, &p->gpus[i]);
	if (rng_percent(&p->g, 5))
		p->board = plant_between(p, p->e.reserve / 2, p->e.reserve - (int64_t)p->count * LET_THROUGH);
	p->now += TICK_MS;
	plant_check_draw(p, behind + p->board);
	plant_check_limits(p);
}

/* Its driver is unloaded, which no program that uses it survives, and loaded again some seconds later. */
static void plant_reload(struct plant *p, size_t i)
{
	struct plant_gpu *g = &p->gpus[i];

	if (p->now < g->back_at)
		return;
	p->reloads++;
	g->works = false;
	g->held = g->forgot ? g->held : g->limit;
	g->forgot = true;
	g->back_at = p->now + plant_between(p, 3000, 8000);
	g->limit = g->before = p->list[i].usual;
	g->ignores_until = 0;
	if (p->tell)
		diag("%" PRId64 " ms: gpu %zu loses its driver", p->now, i);
}

/* Lets time pass, with what may happen in it. True: the agent was killed. */
static bool plant_pass(struct plant *p, int64_t ms)
{
	for (; ms > 0 && !*p->broken; ms -= TICK_MS) {
		plant_tick(p);
		if (rng_below(&p->g, 60 * 1000 / TICK_MS) == 0)
			plant_reload(p, (size_t)rng_below(&p->g, (int64_t)p->count));
		if (p->kill_at && p->now >= p->kill_at)
			return true;
	}
	return *p->broken != '\0';
}

/* ---- What the agent touches ---------------------------------------------------------------------- */

static int plant_read(void *arg, struct power_device *list, size_t count)
{
	struct plant *p = arg;

	if (plant_pass(p, rng_below(&p->g, 3) * TICK_MS))
		return -EINTR;
	for (size_t i = 0; i < count; i++) {
		const struct plant_gpu *g = &p->gpus[i];
		bool there = p->now >= g->back_at;

		list[i].enforced = there ? g->limit : POWER_UNKNOWN;
		list[i].draw = there ? g->draw + plant_between(p, -g->draw / 100, g->draw / 100) : POWER_UNKNOWN;
	}
	return 0;
}

static void plant_obey(struct plant *p, size_t i, int64_t milliwatts)
{
	struct plant_gpu *g = &p->gpus[i];
	bool lowers = milliwatts < g->limit;

	if (g->fault == FAULT_DEAF)
		return;
	if (g->fault == FAULT_CLAMPS && lowers && milliwatts < p->list[i].least + 40 * 1000)
		milliwatts = p->list[i].least + 40 * 1000 < g->limit ? p->list[i].least + 40 * 1000 : g->limit;
	if (g->fault == FAULT_ROUNDS_UP)
		milliwatts += rng_below(&p->g, POWER_GRAIN);
	/* What it obeyed until now; while it ignores one limit it ignores the next one, too. */
	if (p->now >= g->ignores_until || g->limit > g->before)
		g->before = g->limit;
	g->ignores_until = p->now + g->ignores_ms;
	g->limit = milliwatts;
}

static int plant_set(void *arg, struct power_device *d, int64_t milliwatts, struct fail *f)
{
	struct plant *p = arg;
	size_t i = (size_t)(d - p->list);

	if (plant_pass(p, rng_below(&p->g, 2) * TICK_MS))
		return -EINTR;
	p->changes++;
	if (p->gpus[i].fault == FAULT_REFUSES || p->now < p->gpus[i].back_at)
		return fail_set(f, -EPERM, "it refuses");
	plant_obey(p, i, milliwatts);
	plant_check_limits(p);
	if (p->tell)
		diag("%" PRId64 " ms: gpu %zu is told %" PRId64 " mW, enforces %" PRId64, p->now, i, milliwatts,
			p->gpus[i].limit);
	return rng_below(&p->g, 200) == 0 && (p->kill_at = p->now) ? -EINTR : 0;
}

static int plant_wait(void *arg, int64_t ms)
{
	return plant_pass(arg, ms) ? -EINTR : 0;
}

/* ---- The agent, the owner and the market ----------------------------------------------------------- */

/* Applies the settings. Its agent may be killed at it: then another one starts some seconds later. */
static bool plant_hold(struct plant *p)
{
	const struct change_ways ways = { p, plant_read, plant_set, plant_wait };
	struct budget b;
	struct fail f = { 0 };
	int rc = budget_plan(&p->e, p->list, p->count, &b, &f);

	rc = rc ? rc : change_make(&ways, &p->e, p->list, p->count, &f);
	if (rc == -EINTR) {
		p->kills++;
		p->kill_at = 0;
		plant_pass(p, plant_between(p, 0, 5000));
		p->kill_at = 0;
		return false;
	}
	if (p->tell)
		diag("%" PRId64 " ms: %s", p->now, rc ? f.text : "limits hold");
	if (!rc) {
		p->armed = true;
		if (p->old.wall)
			p->changed_at = p->now;
		p->old.wall = 0;
	}
	return rc == 0;
}

/* A node wants a GPU: only when all limits were read back just now. */
static void plant_start(struct plant *p)
{
	size_t i = (size_t)rng_below(&p->g, (int64_t)p->count);

	if (!plant_hold(p) || p->now < p->gpus[i].back_at)
		return;
	if (p->gpus[i].limit > p->list[i].target + POWER_GRAIN)
		plant_break(p, "at %" PRId64 " ms work begins on gpu %zu, which has no limit", p->now, i);
	p->starts++;
	p->gpus[i].works = true;
	p->gpus[i].demand = plant_demand(p);
}

static void plant_set_envelope(struct plant *p)
{
	if (p->old.wall < p->e.wall)
		p->old = p->e;
	p->e.wall = plant_between(p, 900, 2400) * 1000;
	if (p->tell)
		diag("%" PRId64 " ms: envelope %" PRId64 " mW", p->now, p->e.wall);
}

static void plant_live(struct plant *p)
{
	while (p->now < TRACE_MS && !*p->broken) {
		int64_t kind = rng_below(&p->g, 100);
		size_t i = (size_t)rng_below(&p->g, (int64_t)p->count);

		p->kill_at = rng_percent(&p->g, 20) ? p->now + rng_below(&p->g, 5000) + 1 : 0;
		if (kind < 45)
			plant_start(p);
		else if (kind < 55)
			p->gpus[i].works = false;
		else if (kind < 80)
			p->list[i].idle = !p->list[i].idle;
		else if (kind < 86)
			plant_set_envelope(p);
		if (kind >= 45)
			plant_hold(p);
		p->kill_at = 0;
		plant_pass(p, plant_between(p, 0, CHECK_MS));
	}
}

static void plant_make(struct plant *p, uint64_t seed)
{
	static const char *const supplies[] = { "gold", "platinum:2400W", "bronze:2000W", "20=70,50=93,100=85:2200W" };
	struct fail f = { 0 };

	memset(p, 0, sizeof *p);
	p->g.state = seed;
	p->count = (size_t)plant_between(p, 1, GPUS);
	p->e.wall = plant_between(p, 1200, 2000) * 1000;
	p->e.reserve = plant_between(p, 80, 250) * 1000;
	p->board = p->e.reserve / 2;
	if (supply_parse(supplies[rng_below(&p->g, 4)], &p->e.supply, &f))
		plant_break(p, "%s", f.text);
	for (size_t i = 0; i < p->count; i++) {
		struct plant_gpu *g = &p->gpus[i];
		struct power_device *d = &p->list[i];

		*d = (struct power_device){ .kind = POWER_GPU, .way = &plant_way, .number = (unsigned)i };
		snprintf(d->address, sizeof d->address, "0000:%02x:00.0", (unsigned)(i + 1) & 0xff);
		d->least = plant_between(p, 50, 150) * 1000;
		d->usual = plant_between(p, 250, 575) * 1000;
		d->most = d->usual + plant_between(p, 0, 50) * 1000;
		d->window_ms = WINDOW_MS;
		g->limit = g->before = d->usual;
		g->fault = rng_percent(&p->g, 50) ? FAULT_NONE : (enum fault)rng_below(&p->g, FAULTS);
		g->lag_ms = plant_between(p, 10, 200);
		g->ignores_ms = g->fault == FAULT_STUBBORN ? plant_between(p, 0, 20000)
							   : plant_between(p, 0, WINDOW_MS - 6 * g->lag_ms);
		g->draw = IDLE_DRAW;
	}
}

static void power_traces(uint64_t first, uint64_t traces)
{
	uint64_t changes = 0, starts = 0, reloads = 0, kills = 0, broken = 0;
	static struct plant p;
	int64_t worst = 0;

	for (uint64_t i = 0; i < traces && !broken; i++) {
		plant_make(&p, first + i);
		plant_live(&p);
		changes += p.changes;
		starts += p.starts;
		reloads += p.reloads;
		kills += p.kills;
		worst = p.worst > worst ? p.worst : worst;
		if (*p.broken) {
			broken++;
			diag("seed %" PRIu64 ": %s", first + i, p.broken);
		}
	}
	ok(!broken, "limits and draw fit the envelope at every instant of %" PRIu64 " traces", traces);
	ok(broken || (changes > traces && starts > traces && reloads > traces / 2 && kills > traces / 4),
		"in which limits changed, work began, drivers were loaded again and agents killed");
	diag("%" PRIu64 " changes, %" PRIu64 " starts, %" PRIu64 " reloads, %" PRIu64
	     " kills; the highest mean was %" PRId64 ".%02" PRId64 " %% of the envelope",
		changes, starts, reloads, kills, worst / 10000, worst / 100 % 100);
}

int main(int argc, char **argv)
{
	static struct plant one;
	bool is_long = argc > 1 && strcmp(argv[1], "long") == 0;

	plan_none;
	if (argc > 1 && !is_long) {
		plant_make(&one, strtoull(argv[1], NULL, 10));
		one.tell = true;
		plant_live(&one);
		ok(!*one.broken, "seed %s: %s", argv[1], *one.broken ? one.broken : "good");
		return done();
	}
	power_traces(1, is_long ? argc > 2 ? strtoull(argv[2], NULL, 10) : LONG : QUICK);
	return done();
}
