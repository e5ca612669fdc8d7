/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small market for the engine's tests: short names for events, and after each of them all
 * invariants; a refusal must leave the state as it was.
 */
#ifndef TESTS_UNIT_ENGINEMARKET_H
#define TESTS_UNIT_ENGINEMARKET_H

#include <string.h>

#include "../../lib/tap.h"
#include "market/reason.h"
#include "marketd/engine/engine.h"

enum { S = ORDER_STANDING, P = ORDER_PARTIAL, X = ORDER_EXTEND, I = ORDER_INTERRUPTIBLE, NOW = 1000 };

static struct engine *market;
static struct effects did;
static struct fail said;
static int64_t at_now;
static unsigned wrong; /* events after which an invariant did not hold, and refusals that changed something */

#define EVENT(name, ...) (struct event){ .kind = EVENT_##name, __VA_ARGS__ }

static TAP_UNUSED int apply(struct event ev)
{
	uint64_t before = engine_hash(market), count = engine_count(market);
	struct fail why = { 0 };
	int rc;

	ev.at = ev.at ? ev.at : ++at_now;
	said = (struct fail){ 0 };
	rc = engine_apply(market, &ev, &did, &said);
	if (rc && (engine_hash(market) != before || engine_count(market) != count || !said.text[0])) {
		wrong++;
		diag("a refusal (%s) changed something, or has no sentence", said.text);
	}
	if (engine_check(market, &why) != 0) {
		wrong++;
		diag("after event %d: %s", (int)ev.kind, why.text);
	}
	return rc;
}

/* What it made, or the reason as a negative number. */
static TAP_UNUSED int64_t make(struct event ev)
{
	int rc = apply(ev);

	return rc ? rc : (int64_t)effects_made(&did);
}

static TAP_UNUSED int tick(int64_t minute)
{
	return apply(EVENT(TICK, .u.tick.minute = minute));
}

static TAP_UNUSED uint64_t account(const char *name, int64_t credit)
{
	uint64_t id = (uint64_t)make(EVENT(ACCOUNT, .name = name));

	if (credit)
		apply(EVENT(CREDIT, .account = id, .u.credit.micros = credit));
	return id;
}

static TAP_UNUSED uint64_t pool(uint64_t owner, const char *name, int kind)
{
	return (uint64_t)make(EVENT(POOL, .account = owner, .name = name, .u.pool.kind = kind));
}

static TAP_UNUSED int64_t order(uint64_t who, uint64_t in, uint64_t sku, int side, int flags, int nodes, int64_t start,
	int64_t end, int64_t price)
{
	return make(EVENT(ORDER, .account = who,
		.u.order = { .pool = in,
			.sku = sku,
			.side = side,
			.flags = flags,
			.nodes = nodes,
			.start = start,
			.end = end,
			.price = price }));
}

/* The last row of an order in what the last event did; all 0 where there is none. */
static TAP_UNUSED struct order row(int64_t id)
{
	struct order o = { 0 };

	for (size_t i = 0; i < did.count; i++)
		if (did.list[i].kind == EFFECT_ORDER && did.list[i].u.order.id == (uint64_t)id)
			o = did.list[i].u.order;
	return o;
}

static TAP_UNUSED int status(int64_t id)
{
	return id < 0 ? (int)id : (int)row(id).status;
}

/* The nth new lease (from 0) of the last event. */
static TAP_UNUSED struct lease fill(int nth)
{
	struct lease none = { 0 };

	for (size_t i = 0; i < did.count; i++)
		if (did.list[i].kind == EFFECT_LEASE && did.list[i].u.lease.is_new && nth-- == 0)
			return did.list[i].u.lease.lease;
	return none;
}

static TAP_UNUSED int fills(void)
{
	int n = 0;

	for (size_t i = 0; i < did.count; i++)
		n += did.list[i].kind == EFFECT_LEASE && did.list[i].u.lease.is_new;
	return n;
}

static TAP_UNUSED int64_t money(uint64_t who)
{
	return engine_account(market, who)->available;
}

/* How many nodes a pool has in a minute. */
static TAP_UNUSED int has(uint64_t in, int64_t minute)
{
	uint64_t at = 0;
	int n = 0;

	while (engine_pool_host(market, in, minute, &at))
		n++;
	return n;
}

/* The market that most tests begin with: a provider with three hosts, two buyers with money, minute NOW. */
static TAP_UNUSED uint64_t provider, hosts_pool, sku_id, host_id[8], alice, bob, alice_pool, bob_pool;

static TAP_UNUSED void open_market(int hosts)
{
	char name[32];

	engine_new(&market);
	effects_init(&did);
	at_now = 1;
	tick(NOW);
	provider = account("provider", 0);
	sku_id = (uint64_t)make(EVENT(SKU, .name = "h100", .u.sku.gpus = 8));
	hosts_pool = pool(provider, "hosts", POOL_ORIGINATING);
	for (int i = 0; i < hosts; i++) {
		snprintf(name, sizeof name, "host-%d", i);
		host_id[i] = (uint64_t)make(EVENT(HOST, .account = provider, .name = name, .u.host = { .sku = sku_id,
			.pool = hosts_pool, .start = 0, .end = MINUTE_MAX }));
	}
	alice = account("alice", 1000000);
	bob = account("bob", 1000000);
	alice_pool = pool(alice, "a", POOL_MARKET);
	bob_pool = pool(bob, "b", POOL_MARKET);
}

static TAP_UNUSED void close_market(void)
{
	engine_free(market);
	effects_release(&did);
	market = NULL;
}

/* The provider offers one host. */
static TAP_UNUSED int64_t offer(int host, int flags, int64_t start, int64_t end, int64_t price)
{
	return make(EVENT(ORDER, .account = provider,
		.u.order = { .pool = hosts_pool,
			.sku = sku_id,
			.host = host_id[host],
			.side = SIDE_SELL,
			.flags = flags,
			.nodes = 1,
			.start = start,
			.end = end,
			.price = price }));
}

static TAP_UNUSED int64_t buy(uint64_t who, int flags, int nodes, int64_t start, int64_t end, int64_t price)
{
	return order(who, who == bob ? bob_pool : alice_pool, sku_id, SIDE_BUY, flags, nodes, start, end, price);
}

static TAP_UNUSED int64_t resell(uint64_t who, int flags, int nodes, int64_t start, int64_t end, int64_t price)
{
	return order(who, who == bob ? bob_pool : alice_pool, sku_id, SIDE_SELL, flags, nodes, start, end, price);
}

#endif
