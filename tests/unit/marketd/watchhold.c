/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that the market itself holds up: nobody is taken down for that, and nobody pays for it. */
#include "watchmarket.h"

static int64_t money(uint64_t account)
{
	return engine_account(market_engine(m), account)->available;
}

/* The market keeps new nodes from that agent's machine, or no longer. */
static void hold(int agent, bool held)
{
	if (watch_hold(w, m, agents[agent], held, now, &f))
		diag("%s", f.text);
}

static void until_minute(int64_t minute)
{
	pass((int)(60 * minute - now), true);
}

/* Two hosts, each with a node that is to come with the lease, for an hour; hosts[0] is 1000 a minute. */
static void test_wait(void)
{
	uint64_t mine = make_pool("mine"), other = make_pool("other"), one, two;
	int64_t start = now / 60 + 1, before;

	buy_node(mine, start, 60);
	buy_node_at(other, start, 60, 1001);
	before = money(buyer);
	one = make_instance(mine, "one");
	two = make_instance(other, "two");
	until_minute(start);
	ok(engine_instance(market_engine(m), one)->host == hosts[0] &&
			engine_instance(market_engine(m), two)->host == hosts[1],
		"a node is to come on each of two hosts");
	hold(0, true);
	pass(182, true);
	ok(!down(0), "where the market keeps it back, its machine is not late");
	ok(down(1), "where it does not, it is");
	report(two, INSTANCE_RUNNING);
	pass(78, true);
	hold(0, false);
	ok(!down(0), "nor after four minutes");
	is_int(money(buyer) - before, 5 * 1000 + 3 * 1001,
		"nobody pays for them, nor for the one in which the node is let go");
	pass(180, true);
	ok(!down(0), "from then on it has three minutes");
	pass(2, true);
	ok(down(0), "and no more");
	report(one, INSTANCE_RUNNING);
	pass(1, true);
	ok(!down(0) && !down(1), "(both run)");
	until_minute(start + 60);
	is_int(money(seller), (60 - 7) * 1000 + (60 - 3) * 1001, "what follows is paid for");
}

static void test_end(void)
{
	uint64_t mine = make_pool("brief"), one;
	int64_t start = now / 60 + 1, before = money(buyer), downs = 0, earned = money(seller);

	buy_node(mine, start, 3);
	one = make_instance(mine, "brief");
	until_minute(start);
	ok(one && engine_instance(market_engine(m), one)->host == hosts[0], "(a lease of three minutes)");
	hold(0, true);
	for (int i = 0; i < 4 * 60; i++) {
		pass(1, true);
		downs += down(0);
	}
	hold(0, false);
	is_int(downs, 0, "who has a lease that ends meanwhile");
	ok(money(buyer) == before && money(seller) == earned, "pays nothing");
}

/* A node that comes all the same has its minutes paid. */
static void test_runs(void)
{
	uint64_t mine = make_pool("runs"), one;
	int64_t start = now / 60 + 1, earned = money(seller);

	buy_node(mine, start, 10);
	one = make_instance(mine, "runs");
	until_minute(start);
	hold(0, true);
	pass(10, true);
	report(one, INSTANCE_RUNNING);
	pass(120, true);
	hold(0, false);
	until_minute(start + 10);
	is_int(money(seller) - earned, 10 * 1000, "a node that ran meanwhile is paid for");
}

/* The market was away: it heard of no node, and there was none, because it had kept it back. */
static void test_away(void)
{
	uint64_t mine = make_pool("away"), one;
	int64_t start = now / 60 + 1, before = money(buyer), earned = money(seller);

	buy_node(mine, start, 10);
	one = make_instance(mine, "away");
	until_minute(start);
	ok(one && engine_instance(market_engine(m), one)->host == hosts[0], "(a node is to come)");
	hold(0, true);
	pass(60, true);
	now += 60 * 20;
	watch_paused(w, 0, now_ms, now - 60 * 20, now);
	watch_time(w, m, now_ms, now, &f);
	hold(0, false);
	ok(one && !down(0) && money(seller) == earned && money(buyer) == before,
		"nobody pays for it while the market is away either");
}

/* The market starts anew, and is told that it may have kept the node back before. */
static void test_anew(bool told)
{
	uint64_t mine = make_pool(told ? "told" : "untold"), one;
	int64_t start = now / 60 + 1, before = money(buyer);

	buy_node(mine, start, 10);
	one = make_instance(mine, "anew");
	until_minute(start);
	hold(0, true);
	pass(200, true);
	watch_anew();
	if (told)
		watch_hold(w, m, agents[0], true, now - 600, &f);
	watch_time(w, m, now_ms, now, &f);
	hold(0, false);
	pass(100, true);
	is_int(down(0), !told, told ? "after a start nobody is blamed for it" : "whoever is late without that is");
	report(one, INSTANCE_RUNNING);
	until_minute(start + 10);
	is_int(before - money(buyer), (told ? 10 - 4 : 10 - 5) * 1000, "nor pays for it");
}

/* The clock jumps, and what the market held up is settled on the way. */
static void test_jump(void)
{
	uint64_t mine = make_pool("jump"), one;
	int64_t start = now / 60 + 1, before = money(buyer), earned;

	buy_node(mine, start, 300);
	one = make_instance(mine, "jump");
	until_minute(start);
	earned = money(seller);
	hold(0, true);
	pass(1, true);
	now += 60 * 150;
	watch_time(w, m, now_ms, now, &f);
	watch_heard(w, agents[0], now_ms, now);
	watch_heard(w, agents[1], now_ms, now);
	hold(0, false);
	ok(one && !down(0) && money(seller) == earned, "nothing of it is its seller's");
	is_int(before - money(buyer), (300 - 151) * 1000, "its buyer has all of it");
	report(one, INSTANCE_RUNNING);
}

int main(void)
{
	plan_none;
	if (!tool_begin())
		return 1;
	make_market();
	test_wait();
	test_end();
	test_runs();
	test_away();
	test_anew(true);
	test_anew(false);
	test_jump();
	is_int(engine_check(market_engine(m), &f), 0, "the market keeps its invariants (%s)", f.text);
	watch_free(w);
	market_free(m);
	tool_end();
	return done();
}
