/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: markets on failing disks, killed and started again, for clients that ask twice.
 * `market` runs what `make check` should; `market SEED [TURNS]` one of them again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "market/reason.h"
#include "sim.h"

#ifdef __SANITIZE_ADDRESS__
enum { MEMORY_WORLDS = 40, DISK_WORLDS = 3 };
#else
enum { MEMORY_WORLDS = 300, DISK_WORLDS = 8 };
#endif

/* Worlds from DISK_SEED on are on a real SQLite database, whose commits are slower. */
enum { TURNS = 120, DISK_TURNS = 60, DISK_SEED = 1000000, DRAIN_ROUNDS = 200 };

static struct sim total;

/* Mostly on; at times it stands still, jumps or goes back. */
static void clock_moves(struct sim *s)
{
	switch (rng_below(&s->rng, 20)) {
	case 0: case 1: case 2: break;
	case 3: s->clock -= rng_below(&s->rng, 3600); break;
	case 4: s->clock += rng_below(&s->rng, 7200); break;
	case 5: case 6: case 7: s->clock += 60 * (1 + rng_below(&s->rng, 10)); break;
	default: s->clock += rng_below(&s->rng, 40); break;
	}
}

/* The clock that counts never goes back, whatever the real one does. */
static bool time_passes(struct sim *s)
{
	int64_t before = market_now(s->market);
	int rc = sim_time(s);

	if (market_now(s->market) < before)
		return sim_wrong(s, "the market's time went back");
	if (rc == 0 && market_now(s->market) != (s->clock > before ? s->clock : before))
		return sim_wrong(s, "the market's time is not the clock's");
	if (rc != 0 && market_ready(s->market) && rc != REASON_UNAVAILABLE)
		return sim_wrong(s, "a minute was refused for reason %d", rc);
	if (rc == 0 || market_ready(s->market))
		return true;
	/* It cannot read its disk, and would try again in a second: the operator starts it anew. */
	if (rng_percent(&s->rng, 50) || s->shim->faults.read == 0)
		return sim_again(s);
	return true;
}

static bool turn(struct sim *s)
{
	s->turns++;
	clock_moves(s);
	if (!time_passes(s))
		return false;
	for (int64_t n = rng_below(&s->rng, 6); n > 0; n--)
		sim_ask(s);
	if (rng_percent(&s->rng, 30))
		sim_meddle(s);
	if (*s->wrong)
		return false;
	if (rng_percent(&s->rng, 3)) { /* killed with a turn half done */
		sim_kill(s);
		return sim_start(s);
	}
	if (!sim_commit(s))
		return false;
	if (market_ready(s->market) && rng_percent(&s->rng, 2))
		return sim_take_over(s);
	if (market_ready(s->market) && rng_percent(&s->rng, 2)) { /* ended as it should be */
		market_free(s->market);
		s->market = NULL;
		return sim_start(s);
	}
	return true;
}

/* The disk is good again, and everybody asks until there is an answer. */
static bool drain(struct sim *s)
{
	bool open = true;

	s->faults = (struct faults){ .write = 0 };
	sim_kill(s);
	if (!sim_start(s))
		return false;
	for (int round = 0; open && round < DRAIN_ROUNDS; round++) {
		size_t asked = 0;

		open = false;
		s->clock += 5;
		if (!time_passes(s))
			return false;
		for (size_t i = 0; i < s->intents && asked < ANSWERS_MOST; i++)
			if (!s->intent[i].told) {
				open = true;
				asked++;
				sim_ask_for(s, i, true);
			}
		if (*s->wrong || !sim_commit(s))
			return false;
	}
	return !open || sim_wrong(s, "somebody has no answer in the end");
}

static bool world(struct sim *s, long turns)
{
	/* Once half an hour before noon; the minute does not matter. */
	s->clock = 1700000000 + (int64_t)(s->seed % 60);
	s->rng.state = s->seed * 7919 + 1;
	memdisk_init(&s->disk);
	s->committed = UINT64_C(0); /* set below: of the empty market */
	{
		struct engine *none;

		if (engine_new(&none) != 0)
			abort();
		s->committed = engine_hash(none);
		engine_free(none);
	}
	if (!sim_start(s) || !sim_setup(s))
		return false;
	s->faults = (struct faults){ .write = (int)(s->seed % 4) * 3,
		.commit = (int)(s->seed % 3) * 20,
		.read = (int)(s->seed % 5) * 4,
		.die = (int)(s->seed % 7) * 5 };
	s->shim->faults = s->faults;
	for (long i = 0; i < turns; i++)
		if (!turn(s))
			return false;
	return drain(s) && sim_audit(s);
}

static void add_up(const struct sim *s)
{
	total.turns += s->turns;
	total.deaths += s->deaths;
	total.repeats += s->repeats;
	total.kept += s->kept;
	total.refused_commits += s->refused_commits;
	total.takeovers += s->takeovers;
	total.intents += s->intents;
	for (size_t i = 0; i < s->intents; i++)
		total.answers += s->intent[i].done;
}

static bool world_good(uint64_t seed, long turns)
{
	struct sim *s = calloc(1, sizeof *s);
	char path[64] = "";
	bool good;

	if (!s)
		abort();
	s->seed = seed;
	if (seed >= DISK_SEED) {
		const char *tmp = getenv("TMPDIR");

		snprintf(path, sizeof path, "%.30s/np-sim-%ld.db", tmp ? tmp : "/tmp", (long)getpid());
		s->path = path;
	}
	good = world(s, turns);
	if (!good)
		diag("seed %" PRIu64 ", turn %ld: %s", seed, s->turns, s->wrong);
	add_up(s);
	if (s->market)
		sim_kill(s);
	if (s->path) {
		static const char *const ends[] = { "", "-wal", "-shm" };
		char name[80];

		for (int i = 0; i < 3; i++) {
			snprintf(name, sizeof name, "%s%s", path, ends[i]);
			unlink(name);
		}
	}
	memdisk_release(&s->disk);
	free(s);
	return good;
}

static bool worlds_good(uint64_t first, int n, long turns)
{
	for (int i = 0; i < n; i++)
		if (!world_good(first + (uint64_t)i, turns))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	plan_none;
	if (argc > 1) {
		uint64_t seed = strtoull(argv[1], NULL, 10);
		long turns = argc > 2 ? strtol(argv[2], NULL, 10) : seed >= DISK_SEED ? DISK_TURNS : TURNS;

		ok(world_good(seed, turns), "world %s", argv[1]);
		diag("%ld turns, %ld deaths, %ld asked again, %ld commits refused", total.turns, total.deaths,
			total.repeats, total.refused_commits);
		return done();
	}
	ok(worlds_good(1, MEMORY_WORLDS, TURNS), "%d markets in memory", MEMORY_WORLDS);
	ok(worlds_good(DISK_SEED, DISK_WORLDS, DISK_TURNS), "%d markets in SQLite", DISK_WORLDS);
	diag("%ld turns, %ld deaths, %ld take-overs, %ld commits refused; %zu things asked for, %ld times again, %zu "
	     "done, %ld answers from "
	     "the store",
		total.turns, total.deaths, total.takeovers, total.refused_commits, total.intents, total.repeats,
		total.answers, total.kept);
	ok(total.deaths > 0 && total.takeovers > 0 && total.refused_commits > 0 && total.kept > 0 &&
			total.answers > total.intents / 4,
		"enough went wrong, and enough went right");
	return done();
}
