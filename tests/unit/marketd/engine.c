/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's rules of accounts, pools, hosts, and of what an order fills and at what price. */
#include "enginemarket.h"

static void who_and_what(void)
{
	uint64_t a;

	open_market(1);
	is_int(make(EVENT(ACCOUNT, .name = "alice")), REASON_NAME_TAKEN, "names of accounts are unique");
	is_int(make(EVENT(ACCOUNT, .name = "")), REASON_INVALID, "an account has a name");
	is_int(make(EVENT(ACCOUNT, .name = "x", .u.account.floor = 1)), REASON_INVALID, "a floor is not above 0");
	is_int(make(EVENT(ACCOUNT, .name = "x", .u.account.beneficiary = 999)), REASON_NOT_FOUND,
		"a beneficiary is an account");
	is_int(apply(EVENT(CREDIT, .account = alice)), REASON_INVALID, "a credit of 0");
	is_int(apply(EVENT(CREDIT, .account = alice, .u.credit.micros = -1000001)), REASON_FUNDS,
		"no credit below the floor");
	is_int(apply(EVENT(CREDIT, .account = alice, .u.credit.micros = INT64_MIN)), REASON_FUNDS,
		"nor the least number");
	is_int(apply(EVENT(CREDIT, .account = alice, .u.credit.micros = INT64_MAX)), REASON_OVERFLOW,
		"nor more than can be counted");
	is_int(apply(EVENT(CREDIT, .account = alice, .u.credit.micros = -1000000)), 0, "down to the floor");
	is_int(apply(EVENT(ACCOUNT_STATE, .account = alice, .u.account_state = { ACCOUNT_OPEN, -50 })), 0,
		"a lower floor");
	is_int(apply(EVENT(CREDIT, .account = alice, .u.credit.micros = -50)), 0, "and down to that");
	is_int(apply(EVENT(ACCOUNT_STATE, .account = alice, .u.account_state = { ACCOUNT_OPEN, -49 })), REASON_FUNDS,
		"a floor is not raised above the balance");
	is_int(apply(EVENT(POLICY, .u.policy = { .fee_bps = 10001, .settle_minutes = 60 })), REASON_INVALID,
		"a fee above all");
	is_int(apply(EVENT(POLICY, .u.policy = { .settle_minutes = 0 })), REASON_INVALID, "settling never");
	is_int(make(EVENT(POOL, .account = alice, .name = "a")), REASON_NAME_TAKEN,
		"names of pools are unique in an account");
	is_int(make(EVENT(HOST, .account = provider, .name = "h", .u.host = { sku_id, alice_pool, 0, 2000 })),
		REASON_NOT_FOUND, "a host goes into a pool of its account");
	is_int(make(EVENT(HOST, .account = alice, .name = "h", .u.host = { sku_id, alice_pool, 0, 2000 })),
		REASON_WRONG_STATE, "and into one for hosts");
	is_int(make(EVENT(HOST, .account = provider, .name = "h", .u.host = { sku_id, hosts_pool, 0, NOW })),
		REASON_INVALID, "a host whose minutes are over");
	is_int(apply(EVENT(POOL_DELETE, .account = provider, .subject = hosts_pool)), REASON_HAS_DEPENDENTS,
		"a host's pool stays");
	is_int(apply(EVENT(POOL_DELETE, .account = bob, .subject = alice_pool)), REASON_NOT_FOUND,
		"another's pool is not there");
	is_int(apply(EVENT(POOL_DELETE, .account = alice, .subject = alice_pool)), 0, "an empty pool goes");
	ok(engine_pool(market, alice_pool)->deleted && !engine_pool_named(market, alice, "a"), "and its name is free");
	is_int(tick(NOW), REASON_INVALID, "a tick names a later minute");
	is_int(apply(EVENT(TICK, .at = 1, .u.tick.minute = NOW + 1)), REASON_INVALID, "time does not go back");
	a = account("team", 0);
	ok(engine_account(market, a)->beneficiary == a, "an account is its own beneficiary");
	close_market();
}

/* One thing of an order is changed, and that is why it is refused. */
#define REFUSED(want, change) do { \
	struct event ev = EVENT(ORDER, .account = alice, .u.order = { .pool = alice_pool, .sku = sku_id, .nodes = 1, \
		.start = NOW + 1, .end = NOW + 61, .price = 1 }); \
	ev.u.order.change; \
	is_int(make(ev), want, "order: %s", #change); \
} while (0)

#define REFUSED_SELL(want, change) REFUSED(want, side = SIDE_SELL; ev.u.order.change)

static void order_shapes(void)
{
	REFUSED(REASON_INVALID, nodes = 0);
	REFUSED(REASON_INVALID, nodes = NODES_MAX + 1);
	REFUSED(REASON_INVALID, price = -1);
	REFUSED(REASON_INVALID, price = INT64_C(1000000000001));
	REFUSED(REASON_INVALID, max_total = -1);
	REFUSED(REASON_INVALID, flags = 32);
	REFUSED(REASON_INVALID, end = NOW + 1);
	REFUSED(REASON_INVALID, end = MINUTE_MAX + 1);
	REFUSED(REASON_INVALID, flags = X | P);
	REFUSED(REASON_INVALID, flags = X | S);
	REFUSED(REASON_INVALID, flags = X | I);
	REFUSED(REASON_INVALID, host = 1);
	REFUSED(REASON_INVALID, procurement = 1);
	REFUSED(REASON_INVALID, side = 2);
	REFUSED(REASON_PAST, start = NOW - 2);
	REFUSED(REASON_PAST, start = NOW; ev.u.order.end = NOW + 1);
	REFUSED(REASON_OVERFLOW, price = INT64_C(1000000000000); ev.u.order.end = MINUTE_MAX);
	REFUSED(REASON_NOT_FOUND, pool = bob_pool);
	REFUSED(REASON_NOT_FOUND, sku = 999);
	REFUSED(REASON_NOT_OWNED, flags = X);
	REFUSED_SELL(REASON_INVALID, flags = X);
	REFUSED_SELL(REASON_INVALID, flags = I);
	REFUSED_SELL(REASON_INVALID, max_total = 1);
	REFUSED_SELL(REASON_INVALID, host = 1; ev.u.order.nodes = 2);
	REFUSED_SELL(REASON_NOT_FOUND, host = 999);
	REFUSED_SELL(REASON_NOT_OWNED, host = host_id[0]);
	REFUSED_SELL(REASON_NOT_OWNED, nodes = 1);
	is_int(order(provider, hosts_pool, sku_id, SIDE_BUY, 0, 1, NOW + 1, NOW + 2, 1), REASON_WRONG_STATE,
		"nothing is bought into a pool of hosts");
	ok(buy(alice, 0, 1, NOW - 1, NOW + 61, 1) > 0 && row((int64_t)effects_made(&did)).start == NOW + 1,
		"a start a minute ago is the next minute");
}

static void suspended(void)
{
	int64_t sell;

	open_market(2);
	offer(0, S | P, NOW + 1, NOW + 1000, 5);
	ok(status(buy(alice, 0, 1, NOW + 10, NOW + 100, 5)) == ORDER_FILLED, "alice buys");
	apply(EVENT(ACCOUNT_STATE, .account = alice, .u.account_state.state = ACCOUNT_SUSPENDED));
	is_int(buy(alice, 0, 1, NOW + 10, NOW + 100, 5), REASON_SUSPENDED, "suspended: buys nothing");
	is_int(make(EVENT(INSTANCE, .account = alice, .name = "i",
		       .u.instance = { .pool = alice_pool, .sku = sku_id })),
		REASON_SUSPENDED, "makes no instances");
	is_int(make(EVENT(PROCUREMENT, .account = alice, .name = "p",
		       .u.procurement = { .pool = alice_pool, .sku = sku_id, .window = 10 })),
		REASON_SUSPENDED, "makes no procurements");
	sell = resell(alice, S | P, 1, NOW + 50, NOW + 100, 5);
	ok(sell > 0, "sells what it bought");
	is_int(apply(EVENT(CANCEL, .account = alice, .subject = (uint64_t)sell)), 0, "cancels");
	is_int(apply(EVENT(RELEASE, .account = alice, .subject = alice_pool)), 0, "releases");
	apply(EVENT(ACCOUNT_STATE, .account = provider, .u.account_state.state = ACCOUNT_SUSPENDED));
	is_int(offer(1, S, NOW + 1, NOW + 2, 1), REASON_SUSPENDED, "and offers no hosts of its own");
	close_market();
}

static void priority(void)
{
	int64_t dear, cheap, later, o;

	open_market(3);
	dear = offer(0, S | P, NOW + 1, NOW + 1000, 9);
	cheap = offer(1, S | P, NOW + 1, NOW + 1000, 7);
	later = offer(2, S | P, NOW + 1, NOW + 1000, 7);
	o = buy(alice, 0, 1, NOW + 10, NOW + 20, 100);
	ok(fill(0).sell_order == (uint64_t)cheap && fill(0).price == 7, "the cheapest is taken, at its price");
	is_int(row(o).filled_cost, 70, "which is what it costs");
	buy(alice, 0, 1, NOW + 10, NOW + 20, 100);
	ok(fill(0).sell_order == (uint64_t)later, "of one price the older sell goes first, then the later");
	buy(alice, 0, 1, NOW + 20, NOW + 30, 100);
	ok(fill(0).host == host_id[1], "the host that the pool has already goes before others of the same order");
	buy(bob, 0, 2, NOW + 40, NOW + 50, 8);
	ok(fills() == 2 && row((int64_t)effects_made(&did)).status == ORDER_FILLED, "two nodes within the limit");
	o = buy(bob, 0, 3, NOW + 40, NOW + 50, 100);
	ok(status(o) == ORDER_CANCELLED && fills() == 0 && row(o).reason == REASON_NO_CAPACITY,
		"all or nothing: nothing");
	o = buy(bob, 0, 3, NOW + 60, NOW + 70, 8);
	ok(status(o) == ORDER_CANCELLED && row(o).reason == REASON_PRICE_TOO_LOW, "and told that the limit is too low");
	o = buy(bob, 0, 3, NOW + 60, NOW + 70, 9);
	ok(status(o) == ORDER_FILLED && row(o).filled_cost == 230, "with the limit at the dearest it fills");
	ok(fill(2).sell_order == (uint64_t)dear, "the dearest last");
	close_market();
}

static void older_price(void)
{
	int64_t rest, o;

	open_market(2);
	rest = buy(alice, S, 1, NOW + 10, NOW + 20, 12);
	ok(status(rest) == ORDER_RESTING && row(rest).hold == 120, "a standing buy rests and holds its worst case");
	is_int(money(alice), 1000000 - 120, "which is not available");
	o = buy(bob, S, 1, NOW + 10, NOW + 20, 15);
	offer(0, S | P, NOW + 1, NOW + 100, 10);
	ok(fill(0).buyer == bob && fill(0).price == 15 && row(o).status == ORDER_FILLED,
		"the higher buy first, at its own, older price");
	offer(1, S | P, NOW + 1, NOW + 100, 10);
	ok(fill(0).buyer == alice && fill(0).price == 12 && row(rest).status == ORDER_FILLED, "then the other");
	is_int(engine_account(market, alice)->held, 0, "and nothing is held any more");
	is_int(engine_account(market, alice)->escrow, 120, "but in escrow");
	close_market();
}

static void self_trade(void)
{
	uint64_t twin, twin_pool;

	open_market(2);
	offer(0, S | P, NOW + 1, NOW + 100, 10);
	twin = (uint64_t)make(EVENT(ACCOUNT, .name = "twin", .u.account.beneficiary = provider));
	apply(EVENT(CREDIT, .account = twin, .u.credit.micros = 100000));
	twin_pool = pool(twin, "t", POOL_MARKET);
	is_int(status(order(twin, twin_pool, sku_id, SIDE_BUY, 0, 1, NOW + 1, NOW + 10, 20)), ORDER_CANCELLED,
		"two accounts of one beneficiary do not trade");
	order(twin, twin_pool, sku_id, SIDE_BUY, S, 1, NOW + 1, NOW + 10, 20);
	offer(1, S | P, NOW + 1, NOW + 100, 10);
	is_int(fills(), 0, "nor where the buy rests");
	is_int(status(buy(alice, 0, 2, NOW + 1, NOW + 10, 20)), ORDER_FILLED, "others may");
	close_market();
}

static void partial(void)
{
	struct order o;
	int64_t id;

	open_market(2);
	offer(0, S | P, NOW + 10, NOW + 20, 5);
	offer(1, S | P, NOW + 15, NOW + 30, 6);
	id = buy(alice, S | P, 2, NOW + 10, NOW + 40, 6);
	o = row(id);
	ok(o.status == ORDER_PARTIALLY_FILLED && o.filled_minutes == 25 && o.filled_cost == 50 + 90,
		"takes what there is");
	ok(o.rest_count == 3 && o.rest[0].start == NOW + 10 && o.rest[0].end == NOW + 15 && o.rest[0].nodes == 1 &&
			o.rest[1].start == NOW + 20 && o.rest[1].end == NOW + 30 && o.rest[1].nodes == 1 &&
			o.rest[2].end == NOW + 40 && o.rest[2].nodes == 2,
		"and keeps the rest");
	is_int(o.hold, 6 * (5 + 10 + 20), "for which it holds");
	tick(NOW + 12);
	o = *engine_order(market, (uint64_t)id);
	ok(o.start == NOW + 13 && o.rest[0].start == NOW + 13 && o.hold == 6 * (2 + 10 + 20),
		"time takes its first minutes");
	offer(0, S | P, NOW + 20, NOW + 25, 1);
	ok(fill(0).price == 6 && fill(0).start == NOW + 20 && fill(0).end == NOW + 25, "and more of it fills later");
	tick(NOW + 39);
	ok(!engine_order(market, (uint64_t)id) && row(id).reason == REASON_EXPIRED,
		"what is left expires with the window");
	is_int(engine_account(market, alice)->held, 0, "and holds nothing");
	ok(status(buy(alice, P, 1, NOW + 50, NOW + 60, 6)) == ORDER_CANCELLED,
		"a partial buy that takes nothing is cancelled");
	close_market();
}

static void funds(void)
{
	struct event ev;

	open_market(1);
	offer(0, S | P, NOW + 1, NOW + 100000, 100);
	is_int(buy(alice, 0, 1, NOW + 1, NOW + 10002, 100), REASON_FUNDS, "a buy that the balance does not cover");
	is_int(status(buy(alice, 0, 1, NOW + 1, NOW + 10001, 200)), ORDER_FILLED, "one that takes all of it");
	is_int(money(alice), 0, "leaves nothing");
	is_int(buy(bob, S, 2, NOW + 1, NOW + 10001, 51), REASON_FUNDS, "a rest must be covered too");
	ev = EVENT(ORDER, .account = bob,
		.u.order = { .pool = bob_pool,
			.sku = sku_id,
			.nodes = 1,
			.start = NOW + 20000,
			.end = NOW + 20010,
			.price = 200,
			.max_total = 999 });
	is_int(make(ev), REASON_OVER_MAX_TOTAL, "more than the stated total");
	ev.u.order.max_total = 1000;
	is_int(status(make(ev)), ORDER_FILLED, "the stated total");
	close_market();
}

static void blocks(void)
{
	int64_t block, o;

	open_market(3);
	block = order(provider, hosts_pool, sku_id, SIDE_SELL, S, 2, NOW + 10, NOW + 20, 5);
	ok(block > 0, "two hosts as a block");
	is_int(status(buy(alice, 0, 1, NOW + 10, NOW + 20, 100)), ORDER_CANCELLED, "no part of its nodes is sold");
	is_int(status(buy(alice, 0, 2, NOW + 10, NOW + 19, 100)), ORDER_CANCELLED, "nor of its window");
	is_int(status(buy(alice, P, 2, NOW + 10, NOW + 20, 100)), ORDER_CANCELLED, "nor to a buy in part");
	o = buy(alice, 0, 2, NOW + 10, NOW + 20, 5);
	ok(status(o) == ORDER_FILLED && row(block).status == ORDER_FILLED && row(block).filled_minutes == 20,
		"all of it is");
	ok(fill(0).host < fill(1).host, "hosts in order");
	block = order(provider, hosts_pool, sku_id, SIDE_SELL, S, 1, NOW + 30, NOW + 40, 6);
	tick(NOW + 30);
	ok(row(block).status == ORDER_CANCELLED && row(block).reason == REASON_EXPIRED,
		"a block expires in its first minute");
	close_market();
}

static void sells(void)
{
	int64_t o, rest;

	open_market(2);
	o = offer(0, P, NOW + 10, NOW + 20, 5);
	ok(status(o) == ORDER_CANCELLED && row(o).reason == REASON_NO_BUYER,
		"a sell that does not stand finds no buyer");
	o = offer(0, S | P, NOW + 10, NOW + 20, 5);
	is_int(offer(0, S | P, NOW + 15, NOW + 25, 5), REASON_NOT_OWNED, "what is on sale is not put on sale again");
	is_int(apply(EVENT(CANCEL, .account = bob, .subject = (uint64_t)o)), REASON_NOT_FOUND,
		"another's order is not cancelled");
	is_int(apply(EVENT(HOST_RETIRE, .account = provider, .subject = host_id[0])), REASON_HAS_DEPENDENTS,
		"a host on sale stays");
	is_int(apply(EVENT(CANCEL, .account = provider, .subject = (uint64_t)o)), 0, "one's own is");
	is_int(apply(EVENT(CANCEL, .account = provider, .subject = (uint64_t)o)), REASON_NOT_FOUND, "once");
	is_int(status(buy(alice, 0, 1, NOW + 10, NOW + 20, 5)), ORDER_CANCELLED, "after which nothing is on sale");
	rest = buy(alice, S, 1, NOW + 10, NOW + 20, 5);
	o = order(provider, hosts_pool, sku_id, SIDE_SELL, P, 2, NOW + 10, NOW + 30, 4);
	ok(row(o).status == ORDER_CANCELLED && row(o).filled_minutes == 10 && row(rest).status == ORDER_FILLED,
		"a sell fills what rests, and the rest of it is cancelled");
	o = order(provider, hosts_pool, sku_id, SIDE_SELL, S | P, 1, NOW + 40, NOW + 50, 4);
	ok(engine_host(market, host_id[1])->pieces[1].order == (uint64_t)o,
		"hosts are taken from the last registered on");
	tick(NOW + 50);
	ok(row(o).status == ORDER_CANCELLED && row(o).reason == REASON_EXPIRED, "a sell expires with its window");
	is_int(apply(EVENT(HOST_RETIRE, .account = provider, .subject = host_id[0])), 0,
		"and a host that nothing is on retires");
	is_int(make(EVENT(HOST, .account = provider, .name = "host-0",
		       .u.host = { sku_id, hosts_pool, 0, MINUTE_MAX })) > 0,
		1, "its name is free");
	close_market();
}

int main(void)
{
	who_and_what();
	open_market(1);
	order_shapes();
	close_market();
	suspended();
	priority();
	older_price();
	self_trade();
	partial();
	funds();
	blocks();
	sells();
	is_int(wrong, 0, "every invariant held after every event, and refusals changed nothing");
	return done();
}
