/* SPDX-License-Identifier: Apache-2.0 */
/* What renewing costs: work that grows with what a pool has, not with its square, and memory that does not grow. */
#include "enginemarket.h"
#include "marketd/engine/procure/round.h"

enum { OWNED = 300, NODES = 5 };

/* Counts how often a pool's whole calendar is gone through. */
static long surveys;
struct steps __real_round_survey(const struct round *r);
struct steps __wrap_round_survey(const struct round *r);

struct steps __wrap_round_survey(const struct round *r)
{
	surveys++;
	return __real_round_survey(r);
}

/* By the newest edition; alice owns every second minute of a host. */
static void open_combed(void)
{
	open_market(2);
	apply(EVENT(RULES, .u.rules.edition = 2));
	offer(0, S | P, NOW + 1, NOW + 100000, 5);
	for (int i = 0; i < OWNED; i++)
		buy(alice, 0, 1, NOW + 10 + 2 * i, NOW + 11 + 2 * i, 5);
}

static int64_t procure(int target, int64_t low, int64_t high)
{
	return make(EVENT(PROCUREMENT, .account = alice, .name = "p",
		.u.procurement = { .pool = alice_pool,
			.sku = sku_id,
			.target = target,
			.window = 129600,
			.min_sell = low,
			.max_buy = high,
			.enabled = true }));
}

static void surveys_without_funds(void)
{
	int64_t id;

	open_combed();
	apply(EVENT(CREDIT, .account = alice, .subject = alice, .u.credit.micros = -money(alice)));
	for (int i = 0; i < NODES; i++)
		make(EVENT(INSTANCE, .account = alice, .name = (char[]){ (char)('a' + i), 0 },
			.u.instance = { .pool = alice_pool, .sku = sku_id }));
	id = procure(-1, 0, 9);
	surveys = 0;
	tick(NOW + 1);
	is_int(engine_procurement(market, (uint64_t)id)->reason, REASON_FUNDS,
		"a pool lacks many minutes and the money");
	ok(surveys > 0 && surveys < 10, "its minutes are gone through a few times a minute (%ld)", surveys);
	close_market();
}

static void surveys_without_offers(void)
{
	int64_t id;

	open_combed();
	apply(EVENT(HOST_STATE, .account = provider, .subject = host_id[0], .u.host_state.down = true));
	id = procure(2, 0, 9);
	surveys = 0;
	tick(NOW + 1);
	is_int(engine_procurement(market, (uint64_t)id)->reason, REASON_NO_CAPACITY,
		"it lacks them, and none is for sale");
	ok(surveys > 0 && surveys < 10, "its minutes are gone through a few times a minute (%ld)", surveys);
	close_market();
}

/* The bytes of tags and user data that the market holds. */
static size_t texts(const struct engine *e)
{
	const struct instance *x;
	size_t sum = 0;

	for (uint64_t at = 0; (x = engine_instance_after(e, alice, at)); at = x->id)
		sum += (x->tags ? strlen(x->tags) : 0) + (x->user_data ? strlen(x->user_data) : 0);
	return sum;
}

/* Two hosts by turns, a minute each: a node goes on as a new one each time. */
static void moves(void)
{
	const struct instance *x;
	struct engine *again;
	struct buf bytes;

	open_market(2);
	apply(EVENT(RULES, .u.rules.edition = 2));
	for (int i = 0; i < 20; i++)
		offer(i % 2, S | P, NOW + 1 + i, NOW + 2 + i, 5);
	make(EVENT(PROCUREMENT, .account = alice, .name = "p",
		.u.procurement = { .pool = alice_pool,
			.sku = sku_id,
			.target = -1,
			.window = 1,
			.max_buy = 9,
			.enabled = true }));
	make(EVENT(INSTANCE, .account = alice, .name = "n", .text = "{\"a\":\"tag\"}",
		.u.instance = { .pool = alice_pool, .sku = sku_id, .user_data = "script" }));
	for (int i = 1; i <= 20; i++)
		tick(NOW + i);
	is_int(engine_kept(market, alice).instances, 19, "a node moves each minute");
	x = engine_instance_named(market, alice, "n");
	ok(x && strcmp(x->tags, "{\"a\":\"tag\"}") == 0 && strcmp(x->user_data, "script") == 0,
		"with its tags and user data");
	is_int(texts(market), strlen("{\"a\":\"tag\"}script"), "which the market keeps once");
	buf_init(&bytes, 1 << 24);
	ok(engine_save(market, &bytes) == 0 && engine_load(&again, bytes.data, bytes.len, NULL) == 0 &&
			texts(again) == texts(market) && engine_hash(again) == engine_hash(market),
		"in a snapshot too");
	engine_free(again);
	buf_release(&bytes);
	close_market();
}

/* Its owner takes the host out of service under a node that renews itself. */
static void drained(void)
{
	const struct instance *x;

	open_market(2);
	apply(EVENT(RULES, .u.rules.edition = 2));
	offer(0, S | P, NOW + 1, NOW + 1000, 5);
	offer(1, S | P, NOW + 1, NOW + 1000, 7);
	make(EVENT(PROCUREMENT, .account = alice, .name = "p",
		.u.procurement = { .pool = alice_pool,
			.sku = sku_id,
			.target = -1,
			.window = 60,
			.max_buy = 9,
			.enabled = true }));
	make(EVENT(INSTANCE, .account = alice, .name = "n", .u.instance = { .pool = alice_pool, .sku = sku_id }));
	tick(NOW + 1);
	tick(NOW + 2);
	apply(EVENT(HOST_DRAIN, .account = provider, .subject = host_id[0], .u.host_drain = { NOW + 30, true, true }));
	tick(NOW + 3);
	ok(engine_owned_until(market, host_id[0], alice_pool, NOW + 3) == NOW + 30 &&
			engine_owned_until(market, host_id[1], alice_pool, NOW + 30) > NOW + 60,
		"a node whose host ends early has its successor's time at once");
	tick(NOW + 30);
	x = engine_instance_named(market, alice, "n");
	ok(x && x->host == host_id[1], "and goes on there in the minute in which it ends");
	close_market();
}

int main(void)
{
	surveys_without_funds();
	surveys_without_offers();
	moves();
	drained();
	is_int(wrong, 0, "every invariant held after every event, and refusals changed nothing");
	return done();
}
