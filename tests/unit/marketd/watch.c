/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market's watch does with time alone: silence, grace after a start, nodes that do not come or
 * fail; and that it does nothing where nothing changed.
 */
#include "watchmarket.h"

static uint64_t instance;

static void test_silence(void)
{
	uint64_t before;

	pass(GRACE / 1000 - 1, false);
	ok(!down(0) && !down(1), "after a start nothing is held against anybody for a minute");
	pass(2, false);
	ok(down(0) && down(1), "then who was not heard of is down");
	pass(1, true);
	ok(!down(0) && !down(1), "and heard of, up at once");
	before = engine_count(market_engine(m));
	pass(60, true);
	is_int(engine_count(market_engine(m)) - before, 1, "nothing happens but the minute, where nothing changed");
	for (int i = 0; i < SILENT / 1000 + 1; i++) {
		watch_heard(w, agents[0], now_ms, now);
		pass(1, false);
	}
	ok(!down(0) && down(1), "one of them falls silent, alone");
	ok(watch_agent(w, agents[1])->silent && !watch_agent(w, agents[0])->silent, "and is called so");
	pass(1, true);
	ok(!down(1), "it comes back");
	now += 600;
	now_ms += 600000;
	watch_paused(w, 600000, now_ms, now - 600, now);
	pass(2, false);
	ok(!down(0) && !down(1), "where the market stood still itself nobody was silent");
}

static void owner_says(int host, bool is_down)
{
	apply((struct event){ .kind = EVENT_HOST_STATE,
		.account = seller,
		.subject = hosts[host],
		.u.host_state.down = is_down });
}

static void test_owner(void)
{
	owner_says(1, true);
	pass(3, true);
	ok(down(1), "what its owner puts down stays down");
	pass(SILENT / 1000 + 1, false);
	pass(2, true);
	ok(down(1), "also when its agent went and came");
	ok(!down(0), "the other one came back");
	owner_says(1, false);
	pass(3, true);
	ok(!down(1), "until he puts it up");
}

static void test_nodes(void)
{
	uint64_t mine = make_pool("mine");
	int64_t start = now / 60 + 1;

	buy_node(mine, start, HOURS);
	instance = make_instance(mine, "one");
	pass((int)(start * 60 - now), true);
	is_int(engine_instance(market_engine(m), instance)->host, (int64_t)hosts[0],
		"a node is to come on the first host");
	pass(180, true);
	ok(!down(0), "three minutes are not too long");
	pass(2, true);
	ok(down(0), "more are");
	report(instance, INSTANCE_RUNNING);
	pass(1, true);
	ok(!down(0), "it comes");
	watch_failed(w, hosts[0], mine, 0);
	report(instance, INSTANCE_FAILED);
	pass(1, true);
	ok(down(0), "it fails");
	instance = make_instance(mine, "two");
	pass(5, true);
	ok(down(0), "another one is asked for");
	report(instance, INSTANCE_RUNNING);
	pass(1, true);
	ok(!down(0), "and runs");
	watch_failed(w, hosts[0], mine, 0);
	report(instance, INSTANCE_FAILED);
	pass(1, true);
	ok(down(0), "and fails");
}

static void test_restart(void)
{
	watch_anew();
	pass(3, true);
	ok(down(0), "after a start what failed is not sold as whole");
	ok(!down(1), "and what was well is");
	pass((int)(HOURS * 60), true);
	ok(!down(0), "when the time is over that was sold, it can be sold again");
}

static void test_slow_start(void)
{
	uint64_t other = make_pool("other");
	int64_t start = now / 60 + 1;

	buy_node(other, start, HOURS);
	make_instance(other, "three");
	pass(400, false);
	ok(down(0) && down(1), "two agents are gone for long");
	watch_anew();
	pass(3, true);
	ok(!down(0), "the market was away: a node that is late may have been ready all along");
	pass(GRACE / 1000, true);
	ok(down(0), "but not for long");
}

/* Silence over a restart is over with the first word: nothing failed, though the buyer runs nothing there. */
static void test_silent_restart(void)
{
	uint64_t idle = make_pool("idle"), i;
	int64_t start;

	pass((int)(HOURS * 60), true);
	start = now / 60 + 1;
	buy_node(idle, start, HOURS);
	pass(120, true);
	i = make_instance(idle, "four");
	pass(1, true);
	report(i, INSTANCE_RUNNING);
	apply((struct event){ .kind = EVENT_INSTANCE_STOP, .account = buyer, .subject = i });
	pass(400, false);
	ok(down(0), "an agent is gone for long, and what ran was stopped by its owner");
	watch_anew();
	pass(GRACE / 1000 + 3, true);
	ok(!down(0), "after a start of the market and of the agent its host is paid for again");
}

/* ---- Hosts that are sick ---------------------------------------------------------------------- */

static void told(int host, enum health health, const char *why)
{
	watch_told_host(w, market_engine(m), hosts[host], health, why, now);
}

static void test_sick(void)
{
	uint64_t mine = make_pool("sick"), before;
	int64_t start, money, half;

	pass((int)(HOURS * 60), true);
	start = now / 60 + 1;
	buy_node(mine, start, HOURS);
	pass((int)(start * 60 - now), true);
	report(make_instance(mine, "ill"), INSTANCE_RUNNING);
	pass(300, true);
	told(0, HEALTH_DRAINING, "its disk is full");
	pass(1, true);
	ok(!down(0), "a host that should get no new node stays up while it is leased");
	told(1, HEALTH_DRAINING, "it is hot");
	pass(1, true);
	ok(down(1) && strcmp(engine_host(market_engine(m), hosts[1])->why, "unfit for new nodes: it is hot") == 0,
		"one without a node is not sold, and says why");
	money = engine_account(market_engine(m), buyer)->available;
	told(0, HEALTH_UNHEALTHY, "Xid 79");
	pass(1, true);
	ok(down(0) && !strcmp(engine_host(market_engine(m), hosts[0])->why, "unfit: Xid 79"),
		"a host that is unhealthy is down at once, though its node runs");
	before = engine_count(market_engine(m));
	half = now;
	for (int i = 0; i < 30; i++) {
		told(0, i % 2 ? HEALTH_UNHEALTHY : HEALTH_OK, "Xid 79");
		told(1, HEALTH_OK, NULL);
		pass(60, true);
	}
	ok(down(0) && engine_count(market_engine(m)) - before == 30 + 1, "one that is sick now and then stays down");
	ok(!down(1), "the other one has been well for long");
	told(0, HEALTH_OK, NULL);
	pass(540 - 1, true);
	ok(down(0), "it must be well for ten minutes");
	pass(2, true);
	ok(!down(0), "then it is up");
	is_int((engine_account(market_engine(m), buyer)->available - money) / 1000, (now - half) / 60,
		"the buyer has the money for all that time back");
	told(0, HEALTH_UNHEALTHY, "Xid 79");
	pass(1, true);
	told(0, HEALTH_DRAINING, "its disk is full");
	pass(60, true);
	ok(down(0), "what is mild does not end what is not");
	pass(600, true);
	ok(!down(0), "which ends in its own time");
}

static bool leased(int host, int64_t minute)
{
	const struct host *h = engine_host(market_engine(m), hosts[host]);

	for (size_t i = 0; i < h->piece_count; i++)
		if (h->pieces[i].lease && h->pieces[i].start <= minute && minute < h->pieces[i].end)
			return true;
	return false;
}

static void told_both(enum health health)
{
	told(0, health, "its disk is full");
	told(1, health, "its disk is full");
	pass(1, true);
}

/* What a tenant may have caused takes nobody's lease away, not even where no node runs yet. */
static void test_sick_mild(void)
{
	uint64_t mine = make_pool("mild");
	int64_t start, money;
	int his;

	pass((int)(HOURS * 60), true);
	start = now / 60 + 10;
	buy_node(mine, start, HOURS);
	pass(1, true);
	his = leased(1, start);
	ok(leased(0, start) != leased(1, start), "(a host is sold for later)");
	told_both(HEALTH_DRAINING);
	ok(down(0) && down(1), "hosts that nobody leases now are not sold");
	money = engine_account(market_engine(m), buyer)->available;
	pass((int)(start * 60 - now) + 1, true);
	ok(!down(his) && down(!his), "when its lease begins, a host is up");
	told_both(HEALTH_DRAINING);
	pass(60, true);
	ok(!down(his) && down(!his), "whatever its agent says");
	is_int(engine_account(market_engine(m), buyer)->available, money, "and its buyer is not refunded");
	told_both(HEALTH_OK);
	pass((int)(HOURS * 60), true);
}

/* After a start the journal says how bad it was, whoever leases the host then. */
static void test_sick_start(void)
{
	uint64_t mine = make_pool("start");
	int64_t start;

	pass((int)(HOURS * 60), true);
	start = now / 60 + 10;
	buy_node(mine, start, HOURS);
	pass(1, true);
	told_both(HEALTH_UNHEALTHY);
	ok(down(0) && down(1), "(both are broken)");
	watch_anew();
	pass((int)(start * 60 - now) + 1, true);
	ok(down(0) && down(1), "after a start a broken host stays down when its lease begins");
	told_both(HEALTH_OK);
	pass((int)(HOURS * 60), true);
	start = now / 60 + 10;
	buy_node(mine, start, HOURS);
	pass(1, true);
	told_both(HEALTH_DRAINING);
	ok(down(0) && down(1), "(both have a mild fault)");
	now = start * 60 + 1;
	market_time(m, now, NULL);
	watch_anew();
	pass(1, true);
	ok(!down(leased(0, start) ? 0 : 1), "one with a mild fault is up, though its lease began meanwhile");
	told_both(HEALTH_OK);
	pass((int)(HOURS * 60), true);
}

static bool unfit(int host)
{
	return watch_unfit(w, engine_host(market_engine(m), hosts[host]), now) != NULL;
}

/* Whether its owner may bring a host up. */
static void test_unfit(void)
{
	ok(!unfit(0), "a host that is well may come up");
	told(0, HEALTH_UNHEALTHY, "Xid 79");
	pass(1, true);
	ok(unfit(0), "one that is sick may not");
	watch_anew();
	ok(unfit(0), "nor just after a start");
	pass(1, true);
	owner_says(0, true);
	ok(!engine_host(market_engine(m), hosts[0])->watched && unfit(0), "nor where its owner takes it over");
	told(0, HEALTH_OK, NULL);
	pass(601, true);
	ok(down(0) && !unfit(0), "when it has been well for ten minutes it may");
	owner_says(0, false);
	pass(1, true);
	ok(!down(0), "and does, by its owner's word");
}

static void test_sick_restart(void)
{
	char lengthy[600];

	told(0, HEALTH_UNHEALTHY, "Xid 79");
	pass(1, true);
	watch_anew();
	pass(700, true);
	ok(down(0), "after a start it is not well because nobody says that it is sick");
	memset(lengthy, 'x', sizeof lengthy);
	memcpy(lengthy + 240, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 13);
	told(0, HEALTH_UNHEALTHY, lengthy);
	told(0, HEALTH_OK, NULL);
	pass(601, true);
	ok(!down(0), "but once it has said so");
	told(0, HEALTH_UNHEALTHY, lengthy);
	pass(1, true);
	is_int(strlen(engine_host(market_engine(m), hosts[0])->why), 253, "a long reason is cut between characters");
	told(0, HEALTH_OK, NULL);
	pass((int)(HOURS * 60), true);
	watch_told_host(w, market_engine(m), 999999, HEALTH_UNHEALTHY, "no such host", now);
}

/* ---- The market was away -------------------------------------------------------------------- */

/* A pool with a host from the next minute on, which begins; *start: that minute. */
static uint64_t begin_lease(const char *name, int minutes, int64_t *start)
{
	uint64_t in = make_pool(name);

	*start = now / 60 + 1;
	buy_node(in, *start, minutes);
	pass((int)(*start * 60 - now), true);
	return in;
}

/* What the seller has been paid, in minutes of his first host. */
static int64_t minutes_paid(void)
{
	return engine_account(market_engine(m), seller)->available / 1000;
}

/* The market ends, and begins again so much later. */
static void stay_away(int seconds)
{
	watch_free(w);
	now += seconds;
	now_ms += 1000 * (int64_t)seconds;
	watch_new(&w, &(struct watch_settings){ 0 }, now_ms);
	watch_time(w, m, now_ms, now, &f);
	market_commit(m, &f);
}

static void test_away_node(void)
{
	int64_t start, before = minutes_paid();

	pass((int)(HOURS * 60), true);
	make_instance(begin_lease("away", 30, &start), "five");
	before = minutes_paid();
	pass(20, true);
	stay_away(3600);
	is_int(minutes_paid() - before, 30, "a node that may have come while the market was away is paid");
	pass(3, true);
	ok(!down(0), "and its host is not down");

	make_instance(begin_lease("overdue", 30, &start), "six");
	before = minutes_paid();
	pass(200, true);
	stay_away(3600);
	is_int(minutes_paid() - before, 0, "one that was overdue before is not");
	pass(3, true);

	make_instance(begin_lease("asleep", 30, &start), "seven");
	before = minutes_paid();
	pass(20, true);
	now += 3600; /* the machine slept: the clock that never goes back stood still */
	watch_paused(w, 0, now_ms, now - 3600, now);
	watch_time(w, m, now_ms, now, &f);
	is_int(minutes_paid() - before, 30, "where its machine slept it is paid too");
	pass(3, true);
}

static void test_away_silent(void)
{
	int64_t start, before, back;
	uint64_t i = make_instance(begin_lease("quiet", 120, &start), "eight");

	before = minutes_paid();
	report(i, INSTANCE_RUNNING);
	pass(60, true);
	stay_away(1800);
	back = now / 60;
	pass(GRACE / 1000 + 3, false);
	ok(down(0), "an agent does not come back after the market does");
	now += 7200;
	now_ms += 7200000;
	watch_time(w, m, now_ms, now, &f);
	is_int(minutes_paid() - before, back - start, "its host is down from then on, and paid until then");
	pass(3, true);
}

static void test_redeploy(void)
{
	int64_t start, before;
	uint64_t in = begin_lease("again", 30, &start), i = make_instance(in, "nine");

	before = minutes_paid();
	report(i, INSTANCE_RUNNING);
	pass(28 * 60 + 30, true);
	apply((struct event){ .kind = EVENT_INSTANCE_STOP, .account = buyer, .subject = i });
	i = make_instance(in, "ten");
	ok(engine_instance(market_engine(m), i)->host == hosts[0], "another node is asked for on the same host");
	pass(60, true);
	ok(!down(0), "just before its time ends");
	pass(60, true);
	is_int(minutes_paid() - before, 30, "all of it is paid, as the host was of use");
}

/* What waits without a host, or not at all, is no reason to go through a long absence step by step. */
static void test_away_long(void)
{
	int64_t start;
	uint64_t before, first, nowhere = make_pool("nowhere");

	begin_lease("long", 1200, &start);
	before = engine_count(market_engine(m));
	stay_away(8 * 3600);
	first = engine_count(market_engine(m));
	make_instance(nowhere, "eleven");
	stay_away(8 * 3600);
	is_int(engine_count(market_engine(m)) - first - 1, first - before,
		"a long absence has as many steps where a node waits without a host");
}

int main(void)
{
	plan_none;
	if (!tool_begin())
		return 1;
	make_market();
	test_silence();
	test_owner();
	test_nodes();
	test_restart();
	test_slow_start();
	test_silent_restart();
	test_sick();
	test_sick_mild();
	test_sick_start();
	test_unfit();
	test_sick_restart();
	test_away_node();
	test_away_silent();
	test_redeploy();
	test_away_long();
	is_int(engine_check(market_engine(m), &f), 0, "the market keeps its invariants (%s)", f.text);
	watch_free(w);
	market_free(m);
	tool_end();
	return done();
}
