/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what a pool has: instances and their hosts, procurements, what can be deleted. */
#include "enginemarket.h"

static int64_t instance(const char *name, int priority)
{
	return make(EVENT(INSTANCE, .account = alice, .name = name, .u.instance = { .pool = alice_pool, .sku = sku_id,
		.priority = priority }));
}

static const struct instance *get(int64_t id)
{
	return engine_instance(market, (uint64_t)id);
}

static int on(enum event_kind kind, int64_t id)
{
	return apply((struct event){ .kind = kind, .account = alice, .subject = (uint64_t)id });
}

static void instances(void)
{
	int64_t low, high, mid;

	open_market(3);
	offer(0, S | P, NOW + 1, NOW + 1000, 1);
	offer(1, S | P, NOW + 1, NOW + 1000, 1);
	low = instance("low", PRIORITY_YIELD);
	high = instance("high", PRIORITY_CRITICAL);
	is_int(instance("low", 0), REASON_NAME_TAKEN, "names of instances are unique");
	is_int(instance("x", 9), REASON_INVALID, "there is no such priority");
	is_int(instance(NULL, 0), REASON_INVALID, "an instance has a name");
	buy(alice, 0, 1, NOW + 2, NOW + 50, 1);
	ok(!get(high)->host && !get(low)->host, "before the lease begins there is no host");
	tick(NOW + 2);
	ok(get(high)->host == host_id[0] && !get(low)->host, "the higher priority gets the host");
	is_int(on(EVENT_INSTANCE_DELETE, high), REASON_WRONG_STATE, "what is not over is not deleted");
	is_int(apply(EVENT(REPORT, .account = alice, .subject = (uint64_t)low, .u.report.status = INSTANCE_RUNNING)),
		REASON_WRONG_STATE, "nothing is reported of one without a host");
	is_int(apply(EVENT(REPORT, .account = alice, .subject = (uint64_t)high, .u.report.status = INSTANCE_AWAITING)),
		REASON_INVALID, "only running and failed are reported");
	is_int(apply(EVENT(REPORT, .account = alice, .subject = (uint64_t)high, .text = "up",
		       .u.report.status = INSTANCE_RUNNING)),
		0, "it runs");
	ok(get(high)->status == INSTANCE_RUNNING && strcmp(get(high)->detail, "up") == 0, "as is seen");
	is_int(on(EVENT_INSTANCE_STOP, high), 0, "stopped");
	ok(get(high)->status == INSTANCE_TERMINATED && get(low)->host == host_id[0],
		"its host goes to the next at once");
	is_int(on(EVENT_INSTANCE_STOP, high), REASON_WRONG_STATE, "once");
	mid = instance("high", PRIORITY_NORMAL);
	ok(mid > 0, "its name is free");
	tick(NOW + 50);
	ok(get(low)->status == INSTANCE_TERMINATED && strcmp(get(low)->detail, "lease ended") == 0,
		"with the lease the instance ends");
	is_int(on(EVENT_POOL_DELETE, (int64_t)alice_pool), REASON_HAS_DEPENDENTS, "a pool with an instance stays");
	is_int(on(EVENT_INSTANCE_STOP, mid), 0, "which is stopped");
	is_int(on(EVENT_INSTANCE_DELETE, mid), 0, "and deleted");
	ok(!get(mid), "and gone");
	is_int(on(EVENT_POOL_DELETE, (int64_t)alice_pool), 0, "then the pool goes");
	close_market();
}

static void sell_spares_instances(void)
{
	int64_t i;

	open_market(2);
	offer(0, S | P, NOW + 1, NOW + 1000, 1);
	offer(1, S | P, NOW + 1, NOW + 1000, 1);
	buy(alice, 0, 2, NOW + 1, NOW + 100, 1);
	tick(NOW + 1);
	i = instance("one", PRIORITY_NORMAL);
	is_int((int64_t)get(i)->host, (int64_t)host_id[0], "an instance takes the first host");
	resell(alice, S | P, 1, NOW + 10, NOW + 20, 1);
	buy(bob, 0, 1, NOW + 10, NOW + 20, 1);
	ok(fill(0).host == host_id[1], "a sell takes a host without an instance first");
	tick(NOW + 10);
	is_int(get(i)->status, INSTANCE_AWAITING, "so it goes on");
	apply(EVENT(RELEASE, .account = alice, .subject = alice_pool, .u.release = { .from = NOW + 30, .nodes = 1 }));
	tick(NOW + 30);
	ok(get(i)->status == INSTANCE_AWAITING && has(alice_pool, NOW + 40) == 1, "and so does a release");
	close_market();
}

static int64_t procurement(int target, int window, int64_t low, int64_t high)
{
	return make(EVENT(PROCUREMENT, .account = alice, .name = "p",
		.u.procurement = { .pool = alice_pool,
			.sku = sku_id,
			.target = target,
			.window = window,
			.min_sell = low,
			.max_buy = high,
			.enabled = true }));
}

static int target(int64_t id, int now)
{
	return apply(EVENT(PROCUREMENT_CHANGE, .account = alice, .subject = (uint64_t)id,
		.u.procurement_change = { .target = now, .window = -1, .min_sell = -1, .max_buy = -1, .enabled = -1 }));
}

static void procurements(void)
{
	int64_t p;
	const struct procurement *q;

	open_market(3);
	is_int(procurement(2, 0, 1, 2), REASON_INVALID, "a window of nothing");
	is_int(procurement(2, 10, 3, 2), REASON_INVALID, "sells below what it buys at");
	offer(0, S | P, NOW + 1, NOW + 1000, 5);
	offer(1, S | P, NOW + 1, NOW + 1000, 9);
	p = procurement(2, 10, 3, 5);
	q = engine_procurement(market, (uint64_t)p);
	ok(p > 0 && has(alice_pool, NOW + 5) == 1 && has(alice_pool, NOW + 10) == 1 && has(alice_pool, NOW + 11) == 0,
		"buys what it can at its price, as far as its window");
	is_int(q->reason, REASON_PRICE_TOO_LOW, "and says why not more");
	is_int(procurement(1, 5, 1, 1), REASON_WRONG_STATE, "one for a pool and SKU");
	is_int(on(EVENT_POOL_DELETE, (int64_t)alice_pool), REASON_HAS_DEPENDENTS, "its pool stays");
	offer(2, S | P, NOW + 1, NOW + 1000, 4);
	tick(NOW + 1);
	ok(has(alice_pool, NOW + 5) == 2 && has(alice_pool, NOW + 11) == 2 && q->reason == 0,
		"in the next minute it buys the rest");
	is_int(target(p, 1), 0, "fewer are needed");
	ok(engine_order_after(market, alice, 0) && engine_order_after(market, alice, 0)->side == SIDE_SELL &&
		engine_order_after(market, alice, 0)->procurement == (uint64_t)p, "what is too much is on sale");
	buy(bob, 0, 1, NOW + 3, NOW + 6, 3);
	ok(fill(0).seller == alice && fill(0).price == 3, "at the least price that it sells at");
	is_int(target(p, 2), 0, "more again");
	ok(has(alice_pool, NOW + 4) == 1 && q->reason == REASON_PRICE_TOO_LOW && !engine_order_after(market, alice, 0),
		"what was on sale is kept; what was sold costs more elsewhere, and that is said");
	is_int(apply(EVENT(PROCUREMENT_CHANGE, .account = alice, .subject = (uint64_t)p,
		       .u.procurement_change = { .target = 0,
			       .window = -1,
			       .min_sell = -1,
			       .max_buy = -1,
			       .enabled = -1 })),
		0, "none");
	is_int(apply(EVENT(PROCUREMENT_CHANGE, .account = alice, .subject = (uint64_t)p,
		       .u.procurement_change = { .target = -1,
			       .window = -1,
			       .min_sell = -1,
			       .max_buy = -1,
			       .enabled = 0 })),
		0, "disabled");
	ok(!engine_order_after(market, alice, 0), "its orders are withdrawn");
	is_int(on(EVENT_PROCUREMENT_DELETE, p), 0, "deleted");
	ok(!engine_procurement(market, (uint64_t)p), "and gone");
	close_market();
}

static void procurement_of_instances(void)
{
	open_market(2);
	offer(0, S | P, NOW + 1, NOW + 1000, 5);
	offer(1, S | P, NOW + 1, NOW + 1000, 5);
	procurement(-1, 10, 1, 5);
	is_int(has(alice_pool, NOW + 5), 0, "without instances nothing is bought");
	instance("a", 1);
	instance("b", 1);
	tick(NOW + 1);
	is_int(has(alice_pool, NOW + 5), 2, "with two instances two hosts");
	tick(NOW + 2);
	ok(engine_instance_named(market, alice, "a")->host && engine_instance_named(market, alice, "b")->host,
		"on which they run");
	tick(NOW + 30);
	ok(engine_instance_named(market, alice, "a")->host && has(alice_pool, NOW + 40) == 2,
		"for as long as they are");
	close_market();
}

/* What it buys counts for Ann, who may spend less than two nodes cost: also where the market itself changes it. */
static void procurement_of_capped(bool removed)
{
	const struct procurement *q;
	uint64_t ann, token;
	int64_t p;

	open_market(2);
	apply(EVENT(RULES, .u.rules.edition = RULES_NEWEST));
	offer(0, S | P, NOW + 1, NOW + 1000, 5);
	offer(1, S | P, NOW + 1, NOW + 1000, 5);
	ann = (uint64_t)make(
		EVENT(PERSON, .account = alice, .name = "Ann", .text = "ann", .u.person.roles = ROLE_BUYER));
	token = (uint64_t)make(
		EVENT(TOKEN, .account = alice, .u.token = { .scopes = SCOPE_TRADE, .hash = { 7 }, .person = ann }));
	is_int(apply(EVENT(CAP, .account = alice, .subject = ann, .u.cap.micros = 120)), 0, "a person with a cap");
	p = make(EVENT(PROCUREMENT, .account = alice, .name = "p", .token = token,
		.u.procurement = { .pool = alice_pool,
			.sku = sku_id,
			.target = 1,
			.window = 10,
			.max_buy = 5,
			.enabled = true }));
	q = engine_procurement(market, (uint64_t)p);
	is_int(has(alice_pool, NOW + 5), 1, "buys for 95");
	if (removed)
		is_int(apply(EVENT(PERSON_REMOVE, .account = alice, .subject = ann)), 0, "the person is removed");
	is_int(target(p, 2), 0, "changed by no token");
	ok(has(alice_pool, NOW + 5) == 1 && q->reason == REASON_OVER_CAP, "it is still Ann's cap that counts");
	for (int64_t at = NOW + 1; at <= NOW + 100; at++)
		tick(at);
	ok(engine_account(market, alice)->available >= 1000000 - 120 && q->reason == REASON_OVER_CAP, "and later, too");
	close_market();
}

int main(void)
{
	procurement_of_capped(false);
	procurement_of_capped(true);
	instances();
	sell_spares_instances();
	procurements();
	procurement_of_instances();
	is_int(wrong, 0, "every invariant held after every event, and refusals changed nothing");
	return done();
}
