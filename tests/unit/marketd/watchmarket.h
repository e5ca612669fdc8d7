/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small market for the tests of its watch: two agents with a host each, which are on sale, and a clock that only the
 * test moves.
 */
#ifndef TESTS_UNIT_WATCHMARKET_H
#define TESTS_UNIT_WATCHMARKET_H

#include "marketd/store/watch.h"

#include "market/reason.h"

#include "../../lib/tap.h"
#include "../../lib/tool.h"

enum { T0 = 1800000000, SILENT = 45000, GRACE = 60000, START_MS = 5000000, HOURS = 60 };

static struct fail f;
static struct market *m;
static struct watch *w;
static int64_t now, now_ms;
static uint64_t sku, seller, buyer, pool, agents[2], hosts[2];

static uint64_t apply(struct event ev)
{
	const struct effects *did = NULL;

	if (market_apply(m, &ev, &did, &f)) {
		diag("'%s': %s", event_name(ev.kind), f.text);
		return 0;
	}
	return effects_made(did);
}

static void turn(void)
{
	if (watch_turn(w, m, now_ms, now, &f))
		diag("%s", f.text);
	market_commit(m, &f);
}

/* A new watch knows nothing but what is in the market. */
static TAP_UNUSED void watch_anew(void)
{
	watch_free(w);
	watch_new(&w, &(struct watch_settings){ 0 }, now_ms);
}

static TAP_UNUSED uint64_t make_pool(const char *name)
{
	return apply((struct event){ .kind = EVENT_POOL, .account = buyer, .name = name, .u.pool.kind = POOL_MARKET });
}

static TAP_UNUSED void buy_node_at(uint64_t in, int64_t start, int64_t minutes, int64_t price)
{
	apply((struct event){ .kind = EVENT_ORDER,
		.account = buyer,
		.u.order = { .pool = in,
			.sku = sku,
			.side = SIDE_BUY,
			.nodes = 1,
			.start = start,
			.end = start + minutes,
			.price = price } });
}

/* At most at the price of the first host. */
static TAP_UNUSED void buy_node(uint64_t in, int64_t start, int64_t minutes)
{
	buy_node_at(in, start, minutes, 1000);
}

/* So many seconds later, a turn each of them. */
static TAP_UNUSED void pass(int seconds, bool heard)
{
	for (int i = 0; i < seconds; i++) {
		now++;
		now_ms += 1000;
		watch_time(w, m, now_ms, now, &f);
		if (heard)
			for (int n = 0; n < 2; n++)
				watch_heard(w, agents[n], now_ms, now);
		turn();
	}
}

static TAP_UNUSED bool down(int host)
{
	return engine_host(market_engine(m), hosts[host])->down;
}

static void make_agent(int n, const char *key)
{
	char name[16];

	snprintf(name, sizeof name, "agent%d", n);
	agents[n] = apply((struct event){ .kind = EVENT_AGENT,
		.account = seller,
		.name = name,
		.text = key,
		.u.agent.machine = "m" });
	snprintf(name, sizeof name, "host%d", n);
	hosts[n] = apply((struct event){ .kind = EVENT_HOST,
		.account = seller,
		.name = name,
		.u.host = { .sku = sku, .pool = pool, .start = now / 60, .end = MINUTE_MAX, .agent = agents[n] } });
	apply((struct event){ .kind = EVENT_ORDER,
		.account = seller,
		.u.order = { .pool = pool,
			.sku = sku,
			.host = hosts[n],
			.side = SIDE_SELL,
			.flags = ORDER_STANDING | ORDER_PARTIAL,
			.nodes = 1,
			.start = now / 60 + 1,
			.end = now / 60 + 10000,
			.price = 1000 + n } });
}

static TAP_UNUSED void make_market(void)
{
	struct store *s = NULL;

	now = T0;
	now_ms = START_MS;
	if (store_open("market.db", &s, &f) || market_open(s, &m, &f) || market_time(m, now, &f)) {
		diag("%s", f.text);
		exit(1);
	}
	sku = apply((struct event){ .kind = EVENT_SKU, .name = "cpu" });
	seller = apply((struct event){ .kind = EVENT_ACCOUNT, .name = "seller" });
	buyer = apply((struct event){ .kind = EVENT_ACCOUNT, .name = "buyer" });
	apply((struct event){ .kind = EVENT_CREDIT,
		.account = buyer,
		.subject = buyer,
		.u.credit.micros = 1000000000 });
	pool = apply((struct event){ .kind = EVENT_POOL,
		.account = seller,
		.name = "hosts",
		.u.pool.kind = POOL_ORIGINATING });
	make_agent(0, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
	make_agent(1, "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
	market_commit(m, &f);
	watch_new(&w, &(struct watch_settings){ 0 }, now_ms);
}

static TAP_UNUSED uint64_t make_instance(uint64_t in, const char *name)
{
	return apply((struct event){ .kind = EVENT_INSTANCE,
		.account = buyer,
		.name = name,
		.u.instance = { .pool = in, .sku = sku, .image = 1, .priority = PRIORITY_NORMAL } });
}

static TAP_UNUSED void report(uint64_t which, enum instance_status status)
{
	apply((struct event){ .kind = EVENT_REPORT,
		.account = buyer,
		.subject = which,
		.text = "{}",
		.u.report.status = (int32_t)status });
}

#endif
