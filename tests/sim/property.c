/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine against the reference on random streams. `property` runs what `make check` should;
 * `property SEED [EVENTS]` one world, compared after every event; `property long EVENTS` many from a
 * seed of today on. What differs is printed as a stream that is as short as it can be made.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "world.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
enum { EVENTS_CHECKED = 300000 };
#else
enum { EVENTS_CHECKED = 1000000 };
#endif

enum { WORLD_EVENTS = 500, CLOSE_WORLDS = 24, COVERING = 1000000 };

/* Seeds on which the two once differed: they go first, compared after every event. */
static const uint64_t seeds_learned[] = { 5156, 1882490442613519 };
/* In this one somebody sells a minute on and buys it back; with it they stay, and come but once. */
static const uint64_t SEED_BOUGHT_BACK = 1882657819462853;

static struct coverage cover;
static uint64_t seed_now;

/* Where a sanitizer or an assertion ends the program, this says in which world. */
static void death(void)
{
	char text[64];
	int n = snprintf(text, sizeof text, "# it was seed %" PRIu64 "\n", seed_now);

	if (n > 0 && write(STDOUT_FILENO, text, (size_t)n) < 0)
		return;
}

static void death_signal(int sig)
{
	death();
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool world_good(uint64_t seed, const struct world_options *how)
{
	struct world w;
	bool good;

	seed_now = seed;
	world_init(&w);
	good = world_run(&w, seed, how, &cover) && world_replays(&w);
	cover.floored += w.floors.sold;
	cover.at_floor += w.floors.dear;
	cover.gifts_paid += w.gifts.paid;
	cover.debts_met += w.debts.met;
	cover.caps_met += w.caps.met;
	cover.volumes_paid += w.volumes.paid;
	cover.volumes_ended += w.volumes.ended;
	cover.months_paid += w.tariffs.paid;
	cover.months_lapsed += w.tariffs.lapsed;
	cover.fees_shown += w.tariffs.shown;
	cover.units_paid += w.tariffs.used;
	cover.paidout_met += w.paidout.met;
	cover.paidout_late += w.paidout.late;
	cover.dunned += w.dunned.suspended;
	cover.undunnable += w.dunned.held;
	cover.undunned_told += w.dunned.told;
	cover.undunned += w.dunned.lifted;
	cover.gifts_back += w.gifts.returned;
	cover.proven += proven_paid(w.proven);
	cover.unproven += proven_free_of_charge(w.proven);
	if (!good)
		shrink_and_tell(&w);
	world_release(&w);
	return good;
}

static bool worlds_good(uint64_t first, long events, const struct world_options *how)
{
	for (long done = 0; done < events; done += how->events)
		if (!world_good(first++, how))
			return false;
	return true;
}

/* ---- That everything was met ------------------------------------------------------------ */

/* By kind of event, the reasons for which it is refused here and there. */
struct reasons {
	enum event_kind kind;
	int reason[14];
};

#define R(name) REASON_##name
static const struct reasons reasons[] = {
	{ EVENT_TICK, { R(INVALID) } },
	{ EVENT_POLICY, { R(INVALID) } },
	{ EVENT_RULES, { R(INVALID) } },
	{ EVENT_ACCOUNT, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN), R(OVERFLOW) } },
	{ EVENT_ACCOUNT_STATE, { R(INVALID), R(NOT_FOUND), R(FUNDS), R(OVERFLOW) } },
	{ EVENT_CREDIT, { R(INVALID), R(NOT_FOUND), R(FUNDS), R(OVERFLOW) } },
	{ EVENT_TOKEN, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN) } },
	{ EVENT_TOKEN_REVOKE, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_SKU, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN) } },
	{ EVENT_HOST, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(NAME_TAKEN) } },
	{ EVENT_AGENT, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(NAME_TAKEN) } },
	{ EVENT_AGENT_SESSION, { R(INVALID), R(NOT_FOUND), R(FENCED) } },
	{ EVENT_AGENT_INVENTORY, { R(INVALID), R(NOT_FOUND) } },
	{ EVENT_AGENT_RETIRE, { R(INVALID), R(NOT_FOUND), R(HAS_DEPENDENTS) } },
	{ EVENT_HOST_STATE, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_HOST_DRAIN, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE), R(PAST) } },
	{ EVENT_HOST_VERIFIED, { R(INVALID), R(NOT_FOUND) } },
	{ EVENT_HOST_RETIRE, { R(INVALID), R(NOT_FOUND), R(HAS_DEPENDENTS) } },
	{ EVENT_POOL, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN) } },
	{ EVENT_POOL_CHANGE, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN) } },
	{ EVENT_POOL_DELETE, { R(INVALID), R(NOT_FOUND), R(HAS_DEPENDENTS) } },
	{ EVENT_ORDER,
		{ R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(PAST), R(OVERFLOW), R(NOT_OWNED),
			R(HOSTS_SOLD), R(PRICE_TOO_LOW), R(FUNDS), R(OVER_MAX_TOTAL), R(BELOW_FLOOR), R(OVER_CAP) } },
	{ EVENT_CANCEL, { R(INVALID), R(NOT_FOUND) } },
	{ EVENT_ORDER_PRICE, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(OVERFLOW), R(BELOW_FLOOR) } },
	{ EVENT_ANNOUNCE, { R(INVALID), R(NOT_FOUND), R(LIMIT) } },
	{ EVENT_ANNOUNCE_END, { R(NOT_FOUND), R(INVALID) } },
	{ EVENT_GRANT, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN) } },
	{ EVENT_GRANT_END, { R(NOT_FOUND), R(WRONG_STATE), R(INVALID) } },
	{ EVENT_ACCOUNT_FACTS, { R(INVALID), R(NOT_FOUND) } },
	{ EVENT_PERSON, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE), R(NAME_TAKEN) } },
	{ EVENT_PERSON_CHANGE, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_PERSON_REMOVE, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_INVITATION, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN), R(LIMIT) } },
	{ EVENT_INVITATION_END, { R(INVALID), R(NOT_FOUND) } },
	{ EVENT_PAYMENT, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE), R(NAME_TAKEN), R(LIMIT), R(OVERFLOW) } },
	{ EVENT_CAP, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_VOLUME_OFFER, { R(INVALID), R(NOT_FOUND), R(HAS_DEPENDENTS) } },
	{ EVENT_VOLUME,
		{ R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(NAME_TAKEN), R(PRICE_TOO_LOW), R(NO_CAPACITY), R(FUNDS) } },
	{ EVENT_VOLUME_CHANGE,
		{ R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(PRICE_TOO_LOW), R(NO_CAPACITY),
			R(FUNDS) } },
	{ EVENT_VOLUME_GONE, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_PLAN, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN) } },
	{ EVENT_SUBSCRIPTION, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(FUNDS), R(OVER_CAP) } },
	{ EVENT_PAYOUT, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(FUNDS) } },
	{ EVENT_DUNNING, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_HOST_FLOOR, { R(INVALID), R(NOT_FOUND), R(BELOW_FLOOR) } },
	{ EVENT_RELEASE, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE), R(NOT_OWNED) } },
	{ EVENT_INSTANCE, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(NAME_TAKEN) } },
	{ EVENT_INSTANCE_CHANGE, { R(INVALID), R(NOT_FOUND), R(NAME_TAKEN) } },
	{ EVENT_INSTANCE_STOP, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_INSTANCE_DELETE, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_REPORT, { R(INVALID), R(NOT_FOUND), R(WRONG_STATE) } },
	{ EVENT_PROCUREMENT, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(NAME_TAKEN) } },
	{ EVENT_PROCUREMENT_CHANGE, { R(INVALID), R(NOT_FOUND), R(SUSPENDED), R(WRONG_STATE), R(NAME_TAKEN) } },
	{ EVENT_PROCUREMENT_DELETE, { R(INVALID), R(NOT_FOUND) } },
};

/* How orders end. */
static const struct { enum order_status status; int reason;
} ends[] = {
	{ ORDER_FILLED, 0 },
	{ ORDER_CANCELLED, 0 },
	{ ORDER_CANCELLED, R(PRICE_TOO_LOW) },
	{ ORDER_CANCELLED, R(NO_CAPACITY) },
	{ ORDER_CANCELLED, R(NO_BUYER) },
	{ ORDER_CANCELLED, R(EXPIRED) },
	{ ORDER_CANCELLED, R(NO_ROOM) },
	{ ORDER_CANCELLED, R(OVER_CAP) },
};

static size_t reason_at(int reason)
{
	return (size_t)(reason - REASON_BASE);
}

static bool reason_listed(const struct reasons *row, int reason)
{
	for (size_t i = 0; i < sizeof row->reason / sizeof row->reason[0]; i++)
		if (row->reason[i] == reason)
			return true;
	return false;
}

/* One line a kind: how many were done, and refused for what. */
static void kind_tell(const struct reasons *row)
{
	const long *seen = cover.event[row->kind];
	char text[400];
	long all = 0;
	int n;

	for (size_t i = 0; i < WORLD_REASONS; i++)
		all += seen[i];
	n = snprintf(text, sizeof text, "%-18s %8ld, done %3ld%%", event_name(row->kind), all,
		all ? 100 * seen[0] / all : 0);
	for (size_t i = 1; i < WORLD_REASONS && n > 0 && (size_t)n < sizeof text; i++)
		if (seen[i])
			n += snprintf(text + n, sizeof text - (size_t)n, ", %s %ld",
				reason_row(REASON_BASE + (int)i)->code, seen[i]);
	diag("%s", text);
}

static long shapes_missing(void)
{
	static const char *const names[SHAPES] = {
#define X(name, text) text,
		SHAPES_X(X)
#undef X
	};
	long missing = 0;

	for (int i = 0; i < SHAPES; i++) {
		diag("%s: %ld", names[i], cover.shape[i]);
		missing += cover.shape[i] == 0;
	}
	for (int i = 0; i < NOTICE_KINDS; i++)
		if (cover.notice[i] == 0 && ++missing)
			diag("nobody was told %s", notice_name((enum notice_kind)i));
	return missing;
}

static void coverage_check(void)
{
	long missing = shapes_missing();

	for (size_t k = 0; k < sizeof reasons / sizeof reasons[0]; k++) {
		const struct reasons *row = &reasons[k];

		kind_tell(row);
		if (cover.event[row->kind][0] == 0 && ++missing)
			diag("no %s was ever done", event_name(row->kind));
		for (int i = 1; i < WORLD_REASONS; i++) {
			bool listed = reason_listed(row, REASON_BASE + i), seen = cover.event[row->kind][i] > 0;

			if (listed != seen && ++missing)
				diag("%s: %s is %s", event_name(row->kind), reason_row(REASON_BASE + i)->code,
					seen ? "not in the list" : "never met");
		}
	}
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (cover.closed[ends[i].status][ends[i].reason ? reason_at(ends[i].reason) : 0] == 0 && ++missing)
			diag("no order ended with status %d, reason %d", ends[i].status, ends[i].reason);
	ok(missing == 0, "every kind of event and of trade was done, every reason to refuse was met, and no other");
	ok(cover.dunned > 0 && cover.undunned > 0 && cover.undunned_told > 0,
		"accounts that owed were suspended %ld times, and open again %ld times as they paid, which was "
		"recorded %ld "
		"times",
		cover.dunned, cover.undunned, cover.undunned_told);
	ok(cover.undunnable > 0,
		"accounts that had spent nothing of what their orders held were dunned %ld times, for nothing",
		cover.undunnable);
	ok(cover.event[EVENT_NONE][reason_at(R(INVALID))] > 0, "what is no event is refused");
}
#undef R

/* How worlds are compared: after every event, or now and then in longer ones. */
static struct world_options closely = { .events = WORLD_EVENTS, .compare = 1, .check = 8, .load = 100, .oracle = true };
static struct world_options learned = {
	.events = WORLD_EVENTS, .compare = 1, .check = 8, .load = 100, .oracle = true, .plain = true };
static struct world_options steady = {
	.events = WORLD_EVENTS, .compare = 1, .check = 8, .load = 100, .oracle = true, .steady = true
};
static struct world_options lasting = {
	.events = 4 * WORLD_EVENTS, .compare = 16, .check = 200, .load = 500, .oracle = true };
static struct world_options mostly = {
	.events = WORLD_EVENTS, .compare = 16, .check = 100, .load = 300, .oracle = true };

static bool plans_met(void)
{
	return cover.months_paid > EVENTS_CHECKED / 1000 && cover.months_lapsed &&
		cover.fees_shown > EVENTS_CHECKED / 5000 && cover.units_paid > EVENTS_CHECKED / 2000;
}

int main(int argc, char **argv)
{
	bool more = argc > 2 && strcmp(argv[1], "long") == 0;
	bool good = true;

#ifdef __SANITIZE_ADDRESS__
	__sanitizer_set_death_callback(death);
#else
	signal(SIGSEGV, death_signal);
#endif
	signal(SIGABRT, death_signal);
	signal(SIGTERM, death_signal); /* of one that hangs */
	plan_none;
	if (argc > 1 && !more) {
		closely.events = argc > 2 ? strtol(argv[2], NULL, 10) : WORLD_EVENTS;
		ok(world_good(strtoull(argv[1], NULL, 10), &closely), "world %s", argv[1]);
		return done();
	}
	if (more) {
		uint64_t first = (uint64_t)time(NULL) << 20;

		diag("from seed %" PRIu64 " on", first);
		ok(worlds_good(first, strtol(argv[2], NULL, 10), &mostly), "%s events", argv[2]);
		if (cover.events >= COVERING) /* in few, something rare may be missing */
			coverage_check();
		return done();
	}
	for (size_t i = 0; good && i < sizeof seeds_learned / sizeof seeds_learned[0]; i++)
		good = world_good(seeds_learned[i], &learned);
	good = good && world_good(SEED_BOUGHT_BACK, &steady);
	ok(good, "worlds that taught something");
	good = good && worlds_good(1000, CLOSE_WORLDS * WORLD_EVENTS, &closely);
	ok(good, "%d worlds, compared after each event", CLOSE_WORLDS);
	good = good && worlds_good(3000, EVENTS_CHECKED / 5, &lasting) &&
		worlds_good(5000, EVENTS_CHECKED / 5 * 4, &mostly);
	ok(good, "%d events in worlds of %d and of %d, compared now and then", EVENTS_CHECKED, WORLD_EVENTS,
		4 * WORLD_EVENTS);
	if (good)
		coverage_check();
	ok(!good || (cover.proven > EVENTS_CHECKED / 1000 && cover.unproven > EVENTS_CHECKED / 1000),
		"who wants proof paid for %ld minutes, and not for %ld without it", cover.proven, cover.unproven);
	ok(!good || (cover.floored > EVENTS_CHECKED / 100 && cover.at_floor > EVENTS_CHECKED / 1000),
		"of hosts with a floor %ld minutes were sold, %ld of them at that", cover.floored, cover.at_floor);
	ok(!good || (cover.gifts_paid > EVENTS_CHECKED / 2000 && cover.gifts_back > EVENTS_CHECKED / 2000),
		"grants paid %ld times, and got something back %ld times", cover.gifts_paid, cover.gifts_back);
	ok(!good || cover.debts_met, "accounts came below their floors %ld times while buys of theirs rested",
		cover.debts_met);
	ok(!good || cover.caps_met > EVENTS_CHECKED / 1000, "people and tokens with a cap spent %ld times",
		cover.caps_met);
	ok(!good || (cover.volumes_paid > EVENTS_CHECKED / 500 && cover.volumes_ended > EVENTS_CHECKED / 50000),
		"hours of volumes were paid %ld times, and %ld volumes were deleted because they were not",
		cover.volumes_paid, cover.volumes_ended);
	ok(!good || plans_met(), "months of plans were paid %ld times, %ld as shown, not %ld times, and paid %ld nodes",
		cover.months_paid, cover.fees_shown, cover.months_lapsed, cover.units_paid);
	ok(!good || (cover.paidout_met > EVENTS_CHECKED / 5000 && cover.paidout_late),
		"%ld payouts were sent, %ld of them though they were cancelled", cover.paidout_met, cover.paidout_late);
	diag("what agents have to do changed %ld times, its version %ld times", cover.duty_changed, cover.duty_grown);
	diag("%ld events, %ld times saved and loaded, %ld times asked what else would fill", cover.events, cover.loads,
		cover.whys);
	return done();
}
