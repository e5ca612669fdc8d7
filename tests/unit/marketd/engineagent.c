/* SPDX-License-Identifier: Apache-2.0 */
/* Agents in the engine: joining once, sessions that fence, what they have to do, and money for time without a node. */
#include <errno.h>

#include "enginemarket.h"

#define KEY "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define KEY_2 "//////////////////////////////////////////8="

static int64_t join(uint64_t who, const char *name, const char *key, uint64_t token)
{
	return make(EVENT(AGENT, .account = who, .name = name, .text = key, .token = token, .u.agent.machine = "m"));
}

static uint64_t token(uint64_t who, int scopes, uint8_t hash)
{
	return (uint64_t)make(EVENT(TOKEN, .account = who, .u.token = { .scopes = scopes, .hash = { hash } }));
}

static int session(uint64_t who, uint64_t agent, uint64_t generation, uint8_t hash)
{
	return apply(
		EVENT(AGENT_SESSION, .account = who, .subject = agent, .u.agent_session = { generation, { hash } }));
}

static int64_t host_of(uint64_t who, const char *name, uint64_t in, uint64_t agent)
{
	return make(EVENT(HOST, .account = who, .name = name,
		.u.host = { .sku = sku_id, .pool = in, .start = 0, .end = MINUTE_MAX, .agent = agent }));
}

static int state(uint64_t host, bool down, int64_t since, bool watch)
{
	return apply(EVENT(HOST_STATE, .account = provider, .subject = host, .u.host_state = { down, since, watch }));
}

static void joining(void)
{
	uint64_t once, other, agent;

	open_market(0);
	once = token(provider, SCOPE_JOIN, 1);
	other = token(provider, SCOPE_HOST, 2);
	is_int(make(EVENT(TOKEN, .account = provider, .u.token = { .scopes = SCOPE_AGENT, .hash = { 3 } })),
		REASON_INVALID, "no token has the scope of sessions");
	is_int(join(provider, "one", NULL, 0), REASON_INVALID, "no agent without a key");
	is_int(join(provider, "one", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 0), REASON_INVALID,
		"nor with a short one");
	is_int(join(provider, "one", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", 0), REASON_INVALID,
		"nor with one that is written in another way than the one there is");
	is_int(join(provider, "", KEY, 0), REASON_INVALID, "nor without a name");
	ok((int64_t)(agent = (uint64_t)join(provider, "one", KEY, once)) > 0 && engine_token(market, once)->revoked,
		"a machine joins, and its token is used up");
	ok(did.count == 2 && did.list[1].u.notice.kind == NOTICE_AGENT && did.list[1].u.notice.code == AGENT_JOINED,
		"its owner is told");
	is_int(join(provider, "two", KEY_2, once), REASON_WRONG_STATE, "nobody else gets in by it");
	is_int(join(provider, "one", KEY_2, other), REASON_NAME_TAKEN, "names are not shared");
	is_int(join(alice, "one", KEY, 0), REASON_NAME_TAKEN, "nor keys, by whomever");
	ok(join(alice, "one", KEY_2, other) > 0 && !engine_token(market, other)->revoked,
		"another account's may be called the same");
	ok(engine_agent_named(market, provider, "one") == engine_agent(market, agent) &&
			engine_agent_keyed(market, KEY) == engine_agent(market, agent) &&
			!engine_agent_named(market, 0, KEY) &&
			engine_agent_after(market, 0, agent) == engine_agent_after(market, alice, 0),
		"agents are found by id, name and key");
	ok(strcmp(engine_agent(market, agent)->machine, "m") == 0 && !engine_agent(market, agent)->inventory,
		"the machine is known");
	is_int(apply(EVENT(AGENT_INVENTORY, .account = provider, .subject = agent, .text = "{\"cpus\":2}")), 0,
		"what is in it too");
	is_str(engine_agent(market, agent)->inventory, "{\"cpus\":2}", "as it told");
	is_int(apply(EVENT(ACCOUNT_STATE, .account = provider, .u.account_state.state = ACCOUNT_SUSPENDED)), 0,
		"the owner is suspended");
	is_int(join(provider, "two", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ=", 0), REASON_SUSPENDED,
		"no more machines of his");
	is_int(session(provider, agent, 1, 1), 0, "but those that are there come back");
	close_market();
}

static void fencing(void)
{
	uint64_t agent;

	open_market(0);
	agent = (uint64_t)join(provider, "one", KEY, 0);
	is_int(session(alice, agent, 1, 1), REASON_NOT_FOUND, "a session for somebody else's agent");
	is_int(session(provider, agent, 0, 1), REASON_FENCED, "session 0 is none");
	is_int(session(provider, agent, 7, 7), 0, "a session");
	is_int(session(provider, agent, 7, 8), REASON_FENCED, "the same number again is somebody else");
	is_int(session(provider, agent, 6, 8), REASON_FENCED, "an older one too");
	ok(engine_agent(market, agent)->generation == 7 && engine_agent(market, agent)->session[0] == 7,
		"the one that is there stays");
	is_int(session(provider, agent, 8, 8), 0, "a later one comes in its place");
	ok(did.count == 1 && did.list[0].u.notice.code == AGENT_CAME, "which is told");
	is_int(apply(EVENT(AGENT_RETIRE, .account = provider, .subject = agent)), 0, "it leaves");
	is_int(engine_agent(market, agent)->session[0], 0, "and with it its session");
	is_int(session(provider, agent, 9, 9), REASON_NOT_FOUND, "it does not come back");
	ok(!engine_agent_keyed(market, KEY) && join(provider, "one", KEY, 0) > (int64_t)agent,
		"its name and key are free");
	close_market();
}

static void hosts(void)
{
	uint64_t mine, theirs, gone, a, b, alices;

	open_market(0);
	alices = pool(alice, "hosts", POOL_ORIGINATING);
	mine = (uint64_t)join(provider, "one", KEY, 0);
	theirs = (uint64_t)join(alice, "one", KEY_2, 0);
	gone = (uint64_t)join(provider, "two", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ=", 0);
	apply(EVENT(AGENT_RETIRE, .account = provider, .subject = gone));
	is_int(host_of(provider, "h", hosts_pool, theirs), REASON_NOT_FOUND, "no host of another account's agent");
	is_int(host_of(provider, "h", hosts_pool, gone), REASON_NOT_FOUND, "nor of one that left");
	a = (uint64_t)host_of(provider, "h", hosts_pool, mine);
	b = (uint64_t)host_of(provider, "i", hosts_pool, mine);
	ok(host_of(alice, "h", alices, theirs) > 0 && host_of(provider, "j", hosts_pool, 0) > 0, "other hosts");
	ok(engine_host_of_agent(market, mine, 0) == engine_host(market, a) &&
			engine_host_of_agent(market, mine, a)->id == b && !engine_host_of_agent(market, mine, b) &&
			!engine_host_of_agent(market, 0, 0),
		"an agent's own hosts are listed");
	is_int(apply(EVENT(AGENT_RETIRE, .account = provider, .subject = mine)), REASON_HAS_DEPENDENTS,
		"it does not leave them behind");
	apply(EVENT(HOST_RETIRE, .account = provider, .subject = a));
	ok(engine_host_of_agent(market, mine, 0)->id == b && engine_host(market, a)->agent == mine,
		"a retired one is not its own any more");
	apply(EVENT(HOST_RETIRE, .account = provider, .subject = b));
	is_int(apply(EVENT(AGENT_RETIRE, .account = provider, .subject = mine)), 0, "without hosts it leaves");
	close_market();
}

/* Whether the last event was one for the agent of a host: what it has to do may be another thing. */
static bool news(uint64_t host)
{
	return engine_host_version(market, host) == engine_count(market) &&
		engine_agent_version(market, engine_host(market, host)->agent) == engine_count(market);
}

static uint64_t instance(uint64_t who, const char *name)
{
	return (uint64_t)make(EVENT(INSTANCE, .account = who, .name = name,
		.u.instance = { .pool = alice_pool, .sku = sku_id, .user_data = "a2V5" }));
}

static void work(void)
{
	uint64_t agent, x, h;
	int64_t ended;

	open_market(0);
	agent = (uint64_t)join(provider, "one", KEY, 0);
	host_id[0] = h = (uint64_t)host_of(provider, "h", hosts_pool, agent);
	host_id[1] = (uint64_t)host_of(provider, "i", hosts_pool, agent);
	ok(news(host_id[1]) && !news(h), "a host is news for its agent");
	offer(0, S | P, NOW + 1, NOW + 1000, 5);
	ok(!news(h) && engine_owned_until(market, h, hosts_pool, NOW) == MINUTE_MAX, "an offer is not");
	ok(buy(alice, 0, 1, NOW + 1, NOW + 60, 5) > 0 && news(h) && !news(host_id[1]),
		"what is sold is, for that host");
	ok(engine_owned_until(market, h, alice_pool, NOW + 1) == NOW + 60 &&
			engine_owned_until(market, h, alice_pool, NOW) == NOW &&
			engine_owned_until(market, h, hosts_pool, NOW) == NOW + 1,
		"how long it is whose");
	ok(!engine_host_instance(market, h), "nothing runs on it yet");
	x = instance(alice, "n");
	ok(!news(h), "an instance that waits for its minutes is not on it");
	tick(NOW + 1);
	ok(news(h) && engine_host_instance(market, h) == engine_instance(market, x), "then it is");
	is_int(engine_instance(market, x)->placed_at, 60 * (NOW + 1), "from the minute on that gave it the host");
	apply(EVENT(REPORT, .account = alice, .subject = x, .u.report.status = INSTANCE_RUNNING));
	ok(!news(h), "that it runs is no news for who said it");
	ok(buy(alice, X, 1, NOW + 60, NOW + 90, 5) > 0 && news(h) &&
			engine_owned_until(market, h, alice_pool, NOW + 1) == NOW + 90,
		"an extension is");
	apply(EVENT(INSTANCE_CHANGE, .account = alice, .subject = x, .u.instance_change = { -1, "bmV3" }));
	ok(news(h) && strcmp(engine_instance(market, x)->user_data, "bmV3") == 0, "so are other keys");
	apply(EVENT(INSTANCE_CHANGE, .account = alice, .subject = x, .name = "m",
		.u.instance_change = { .priority = -1 }));
	is_str(engine_instance(market, x)->user_data, "bmV3", "which stay when the name is changed");
	ok(state(h, true, 0, true) == 0 && news(h) && state(h, false, 0, true) == 0 && news(h),
		"so is a host that is down, or up");
	ok(apply(EVENT(RELEASE, .account = alice, .subject = alice_pool, .u.release.from = NOW + 30)) == 0 && news(h) &&
		engine_owned_until(market, h, alice_pool, NOW + 1) == NOW + 30, "so is what was given back");
	x = instance(alice, "waits");
	apply(EVENT(INSTANCE_STOP, .account = alice, .subject = engine_host_instance(market, h)->id));
	ok(engine_host_instance(market, h) == engine_instance(market, x) &&
			engine_instance(market, x)->placed_at == at_now &&
			engine_instance(market, x)->created_at < at_now,
		"another one takes its place when it is stopped, from then on");
	tick(NOW + 29);
	ok(!news(h) && engine_host_instance(market, h), "the last minute is no news");
	tick(NOW + 30);
	ok(news(h) && !engine_host_instance(market, h), "the end is, and nothing is to run");
	is_int(engine_instance(market, x)->ended_at, ended = at_now, "which is when it ended");
	apply(EVENT(INSTANCE_CHANGE, .account = alice, .subject = x, .name = "late",
		.u.instance_change = { .priority = -1 }));
	ok(engine_instance(market, x)->updated_at > ended && engine_instance(market, x)->ended_at == ended,
		"another name does not move that");
	close_market();
}

/* One host of an agent, sold to alice at 10 a minute for [NOW + 1, NOW + 101); no fees. */
static uint64_t sold_host(int settle)
{
	open_market(0);
	apply(EVENT(POLICY, .u.policy.settle_minutes = settle));
	host_id[0] = (uint64_t)host_of(provider, "h", hosts_pool, (uint64_t)join(provider, "one", KEY, 0));
	offer(0, S | P, NOW + 1, NOW + 1000, 10);
	buy(alice, 0, 1, NOW + 1, NOW + 101, 10);
	return host_id[0];
}

static void since(void)
{
	uint64_t h = sold_host(60);
	int64_t before = money(alice);

	tick(NOW + 50);
	is_int(state(h, true, -1, true), REASON_INVALID, "down since before all time");
	is_int(state(h, true, NOW + 41, true), 0, "down, and has been for nine minutes");
	is_int(money(provider), 400, "the forty before are the seller's");
	tick(NOW + 70);
	is_int(money(alice), before, "the rest is not settled yet");
	is_int(state(h, false, NOW + 60, true), REASON_INVALID, "nobody is up since earlier");
	is_int(state(h, false, 0, true), 0, "up");
	is_int(money(alice) - before, 290, "all minutes from the first silent one on have come back");
	tick(NOW + 101);
	ok(money(provider) == 400 + 310 && money(alice) - before == 290, "what follows is paid");
	close_market();

	h = sold_host(20);
	before = money(alice);
	tick(NOW + 25);
	is_int(state(h, true, NOW + 3, true), 0, "down since before what is settled");
	is_int(money(provider), 200, "what is settled stays paid");
	tick(NOW + 60);
	ok(money(provider) == 200 && money(alice) - before == 200, "and from there on nothing is, in the usual steps");
	close_market();

	h = sold_host(60);
	tick(NOW + 2);
	is_int(state(h, true, NOW - 500, true), 0, "down since before it was sold");
	is_int(money(provider), 0, "nothing is paid");
	is_int(state(h, false, 0, true), 0, "up again");
	is_int(state(h, true, NOW + 900, true), 0, "down since a minute to come is down now");
	tick(NOW + 101);
	is_int(money(provider), 0, "so nothing is");
	close_market();
}

/* With leases that settle every minute, what is not settled is overdue at once: it is in the next minute. */
static void since_overdue(void)
{
	uint64_t h = sold_host(60);
	int64_t before = money(alice);

	tick(NOW + 31);
	apply(EVENT(POLICY, .u.policy.settle_minutes = 5));
	is_int(state(h, true, NOW + 11, false), 0, "down for twenty minutes, in a market that settles every five");
	is_int(money(provider), 100, "ten are paid");
	tick(NOW + 32);
	is_int(money(alice) - before, 210, "the next minute gives back all that is overdue");
	close_market();
}

/* What the market itself holds up: those minutes go back, and the host stays up. */
static void held_up(void)
{
	uint64_t h = sold_host(60);
	int64_t before = money(alice);

	tick(NOW + 21);
	is_int(state(h, false, NOW + 11, false), REASON_WRONG_STATE,
		"an owner gives nothing back of a host that is up");
	is_int(state(h, false, -1, true), REASON_WRONG_STATE, "nor does the watch since before all time");
	ok(state(h, false, NOW + 11, true) == 0 && news(h) && !engine_host(market, h)->down,
		"the watch gives back what the market held up: the host stays up, and its agent hears of it");
	ok(money(provider) == 100 && money(alice) - before == 110,
		"ten are paid, those since then are not, nor is this one");
	ok(state(h, false, NOW + 11, true) == 0 && money(alice) - before == 110, "once");
	ok(buy(alice, X, 1, NOW + 101, NOW + 111, 10) > 0, "and it is in the book all the time");
	tick(NOW + 111);
	is_int(money(provider), 100 + 790 + 100, "what follows is paid");
	close_market();

	h = sold_host(20);
	before = money(alice);
	tick(NOW + 25);
	ok(state(h, false, NOW + 3, true) == 0 && money(provider) == 200 && money(alice) - before == 50,
		"what is settled stays paid");
	close_market();

	h = sold_host(60);
	before = money(alice);
	tick(NOW + 100);
	is_int(state(h, false, NOW + 71, true), 0, "in the last minute of a lease");
	tick(NOW + 101);
	ok(money(provider) == 700 && money(alice) - before == 300, "so it is with all the rest");
	state(h, true, 0, true);
	is_int(state(h, false, NOW + 90, true), REASON_INVALID, "a host that is down comes up now");
	close_market();
}

static void watched(void)
{
	uint64_t h = sold_host(60);

	tick(NOW + 2);
	ok(state(h, true, 0, true) == 0 && engine_host(market, h)->watched, "the watch takes it down");
	is_int(state(h, true, 0, true), REASON_WRONG_STATE, "once");
	ok(state(h, true, 0, false) == 0 && !engine_host(market, h)->watched && engine_host(market, h)->down &&
			did.count == 0,
		"its owner takes that over");
	is_int(state(h, true, 0, true), REASON_WRONG_STATE, "the watch has nothing to add");
	is_int(state(h, false, 0, true), REASON_WRONG_STATE, "and does not raise it");
	ok(state(h, false, 0, false) == 0 && !engine_host(market, h)->down, "the owner does");
	ok(state(h, true, 0, true) == 0 && state(h, false, 0, false) == 0 && !engine_host(market, h)->watched,
		"an owner may raise what the watch took down");
	ok(state(h, true, 0, true) == 0 && state(h, false, 0, true) == 0 && !engine_host(market, h)->watched,
		"as the watch may");
	close_market();
}

/* Kept and read back: all of it, and versions that do not go back. */
static void kept(void)
{
	uint64_t h = sold_host(60), agent, version;
	struct engine *again = NULL;
	struct buf b;

	agent = engine_host(market, h)->agent;
	session(provider, agent, 3, 9);
	apply(EVENT(AGENT_INVENTORY, .account = provider, .subject = agent, .text = "{}"));
	tick(NOW + 2);
	state(h, true, 0, true);
	version = engine_host_version(market, h);
	apply(EVENT(CREDIT, .account = bob, .u.credit.micros = 1));
	buf_init(&b, 1 << 20);
	ok(engine_save(market, &b) == 0 && engine_load(&again, b.data, b.len, NULL) == 0, "saved and read");
	ok(again && engine_hash(again) == engine_hash(market) && engine_agent(again, agent)->session[0] == 9 &&
			strcmp(engine_agent(again, agent)->inventory, "{}") == 0 &&
			engine_agent_keyed(again, KEY) == engine_agent(again, agent) &&
			engine_host_of_agent(again, agent, 0) == engine_host(again, h) &&
			engine_host(again, h)->watched,
		"nothing is lost");
	ok(again && engine_host_version(again, h) == engine_count(again) && engine_host_version(again, h) > version &&
			engine_agent_version(again, agent) == engine_count(again),
		"versions are those of the moment of saving");
	engine_free(again);
	buf_release(&b);
	close_market();
}

/* Pinned: as markets wrote it before there were agents. */
static void old_snapshot(void)
{
	static const uint8_t bytes[] = {
		226, 180, 130, 229, 9, 218, 15, 152, 174, 7, 24, 22, 6, 0, 0, 120, 0, 143, 78, 0, 4, 0, 2, 2,
		4, 2, 2, 2, 0, 2, 2, 4, 112, 0, 194, 169, 7, 0, 0, 0, 0, 4, 4, 4, 98, 0, 196, 169,
		7, 0, 190, 73, 0, 210, 4, 6, 4, 115, 0, 16, 200, 169, 7, 0, 8, 2, 2, 4, 104, 0, 202, 169,
		7, 0, 2, 6, 0, 197, 1, 10, 4, 0, 4, 109, 0, 204, 169, 7, 0, 2, 6, 198, 1, 0, 12, 2,
		6, 8, 4, 110, 0, 144, 78, 0, 0, 206, 169, 7, 18, 16, 14, 12, 6, 0, 4, 2, 10, 210, 15, 152,
		17, 6, 152, 17, 210, 15, 0, 0, 210, 169, 7, 14, 2, 0, 8, 6, 0, 0, 2, 6, 2, 210, 15, 160,
		31, 6, 0, 208, 169, 7, 4, 0, 198, 1, 210, 4, 0, 2, 12, 6, 218, 15, 152, 17, 10, 18, 0, 152,
		17, 160, 31, 8, 0, 14, 160, 31, 144, 78, 8, 0, 0, 20, 4, 10, 6, 0, 12, 4, 105, 0, 0, 0,
		0, 0, 212, 169, 7, 152, 174, 7, 24, 26, 231, 144, 88, 212, 196, 33,
	};
	struct fail why = { 0 };
	struct engine *e = NULL;
	struct buf b, text;

	is_int(engine_load(&e, bytes, sizeof bytes, &why), 0, "a snapshot from before there were agents is read %s",
		why.text);
	buf_init(&b, 1 << 20);
	buf_init(&text, 1 << 20);
	ok(e && engine_dump(e, &text) == 0 && strstr(buf_text(&text), "host 6 1 3 4 0 5000 0 0 n\n") &&
			strstr(buf_text(&text), "instance 10 2 5 3 6 0 0 i\n") && !engine_agent_after(e, 0, 0),
		"with what was in it");
	ok(e && engine_save(e, &b) == 0 && (b.len != sizeof bytes || memcmp(b.data, bytes, b.len) != 0),
		"what is saved is in the new form");
	engine_free(e);
	buf_release(&b);
	buf_release(&text);
}

int main(void)
{
	plan_none;
	joining();
	fencing();
	hosts();
	work();
	since();
	since_overdue();
	held_up();
	watched();
	kept();
	old_snapshot();
	is_int(wrong, 0, "every invariant held after every event, and refusals changed nothing");
	return done();
}
