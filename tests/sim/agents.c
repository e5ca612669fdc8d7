/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator with agents: a thousand hosts whose machines, agents, links and market fail. `agents` runs
 * what `make check` should; `agents SEED [MINUTES [MACHINES]]` one fleet again; `agents long HOURS` more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/tap.h"
#include "fleet.h"

#ifdef __SANITIZE_ADDRESS__
enum { FLEETS = 4, SMALL = 20, SMALL_MINUTES = 120, LARGE_MINUTES = 40 };
#else
enum { FLEETS = 8, SMALL = 40, SMALL_MINUTES = 240, LARGE_MINUTES = 120 };
#endif

enum { AFTER = 10 }; /* minutes in which nothing fails any more */

/* From here on nothing fails: everybody is back, and all must become as it should be, and stay so. */
static bool calm_down(struct fleet *f)
{
	int64_t from = f->clock, until = f->clock + (int64_t)AFTER * 60 - 1;

	f->calm = true;
	if (f->shim)
		f->shim->faults = (struct faults){ .write = 0 };
	f->start_at = f->clock;
	for (int n = 0; n < f->machines; n++) {
		struct machine *m = &f->machine[n];

		m->cut_until = f->clock;
		m->off_until = m->off_until < f->clock ? m->off_until : f->clock;
		m->dead_until = m->dead_until < f->clock ? m->dead_until : f->clock;
		for (int i = 0; i < HOSTS_EACH; i++)
			if (m->node[i].ready_at > f->clock + 20)
				m->node[i].ready_at = f->clock + 20;
	}
	while (f->clock < until) {
		if (!fleet_second(f))
			return false;
		if (f->clock - from > CALM_MOST && !audit_calm(f))
			return false;
	}
	return true;
}

static bool fleet_good(uint64_t seed, int machines, int64_t minutes)
{
	struct fleet *f = calloc(1, sizeof *f);
	struct fail why = { .code = 0 };
	bool good;

	if (!f)
		abort();
	f->seed = seed;
	f->rng.state = seed * 6364136223846793005 + 1442695040888963407;
	f->clock = 1700000040;
	f->minutes = minutes + AFTER;
	memdisk_init(&f->disk);
	good = fleet_setup(f, machines);
	while (good && f->clock < f->began + minutes * 60)
		good = fleet_second(f);
	good = good && calm_down(f) && audit_money(f);
	if (good && engine_check(market_engine(f->market), &why) != 0)
		good = fleet_wrong(f, "engine_check: %s", why.text);
	if (!good)
		diag("seed %" PRIu64 ", second %" PRId64 ": %s", seed, f->clock - f->began, f->wrong);
	diag("%d hosts: %ld orders, %ld instances, %ld nodes made, %ld hung, %ld reports, %ld failed; %ld letters "
	     "lost, %ld twice; agents died %ld times "
	     "(forgot %ld), %ld reboots, %ld cut off, %ld starts of the market",
		machines * HOSTS_EACH, f->orders, f->instances, f->made, f->hung, f->reports, f->failures, f->lost,
		f->repeated, f->deaths, f->forgets, f->reboots, f->cuts, f->starts);
	diag("longest: overdue %d s, leaked %d s, missing and paid %d s; of %ld minutes due %ld paid, %ld given back "
	     "(%ld of them though the "
	     "node was up), a node missing in %ld",
		f->overdue_most, f->leak_most, f->unpaid_most, f->due, f->paid, f->refunded, f->harmed, f->lacking);
	fleet_release(f);
	free(f);
	return good;
}

int main(int argc, char **argv)
{
	bool good = true;

	plan_none;
	if (argc > 2 && strcmp(argv[1], "long") == 0) {
		uint64_t seed = (uint64_t)time(NULL);

		for (long hours = strtol(argv[2], NULL, 10); good && hours > 0; hours -= 6, seed++)
			ok(good = fleet_good(seed, MACHINES_MOST, 360), "a thousand hosts for six hours, seed %" PRIu64,
				seed);
		return done();
	}
	if (argc > 1) {
		ok(fleet_good(strtoull(argv[1], NULL, 10), argc > 3 ? (int)strtol(argv[3], NULL, 10) : SMALL,
			argc > 2 ? strtol(argv[2], NULL, 10) : SMALL_MINUTES), "fleet %s", argv[1]);
		return done();
	}
	for (int i = 1; good && i <= FLEETS; i++)
		good = fleet_good((uint64_t)i, SMALL, SMALL_MINUTES);
	ok(good, "%d fleets of %d machines", FLEETS, SMALL);
	ok(fleet_good(100, MACHINES_MOST, LARGE_MINUTES), "a thousand hosts for %d minutes", LARGE_MINUTES);
	return done();
}
