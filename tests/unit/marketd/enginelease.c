/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to leases: extended, sold on, taken back, given back, settled while the host is up or down. */
#include "enginemarket.h"

static void extends(void)
{
	int64_t o;

	open_market(3);
	offer(0, S | P, NOW + 1, NOW + 200, 5);
	offer(1, S | P, NOW + 1, NOW + 200, 5);
	offer(2, S | P, NOW + 1, NOW + 200, 1);
	is_int(buy(alice, X, 1, NOW + 20, NOW + 30, 9), REASON_NOT_OWNED, "an extend of what one does not have");
	buy(alice, 0, 2, NOW + 10, NOW + 20, 4);
	is_int(fills(), 0, "two nodes cost more than that");
	buy(alice, 0, 2, NOW + 10, NOW + 20, 5);
	ok(fill(0).host == host_id[2] && fill(1).host == host_id[0], "two hosts: the cheap one and the first");
	o = buy(alice, X, 2, NOW + 20, NOW + 30, 9);
	ok(status(o) == ORDER_FILLED && has(alice_pool, NOW + 25) == 2, "an extend fills");
	ok((fill(0).host == host_id[2] && fill(1).host == host_id[0]) ||
			(fill(0).host == host_id[0] && fill(1).host == host_id[2]),
		"on the same hosts");
	is_int(buy(alice, X, 3, NOW + 30, NOW + 40, 9), REASON_NOT_OWNED, "not for more nodes than there are");
	buy(bob, 0, 1, NOW + 35, NOW + 40, 1);
	ok(fill(0).host == host_id[2], "somebody else takes some of one host's minutes");
	is_int(buy(alice, X, 2, NOW + 30, NOW + 40, 9), REASON_HOSTS_SOLD,
		"so both cannot be extended, though a third is free");
	is_int(buy(alice, X, 1, NOW + 30, NOW + 40, 4), REASON_PRICE_TOO_LOW, "one could, for more");
	is_int(status(buy(alice, X, 1, NOW + 30, NOW + 40, 5)), ORDER_FILLED, "and is");
	ok(!engine_order_after(market, alice, 0), "an extend leaves no order behind");
	close_market();
}

static void fees(void)
{
	open_market(1);
	apply(EVENT(POLICY, .u.policy = { .fee_bps = 250, .release_bps = 5000, .settle_minutes = 60 }));
	offer(0, S | P, NOW + 1, NOW + 1000, 7);
	buy(alice, 0, 1, NOW + 10, NOW + 100, 7);
	is_int(engine_account(market, alice)->escrow, 630, "the cost is in escrow");
	tick(NOW + 30);
	is_int(engine_unsettled(market, provider), 140 - 4,
		"what is earned and not posted: less a fee that is rounded up");
	is_int(engine_burn(market, alice), 7, "what it costs a minute");
	is_int(money(provider), 0, "nothing is posted yet");
	tick(NOW + 70);
	is_int(money(provider), 420 - 11, "an hour is: 420 less a fee of 10.5 rounded up");
	tick(NOW + 100);
	is_int(money(provider), 420 - 11 + 210 - 6, "and at the end the rest");
	ok(!engine_lease_after(market, 0, 0), "the lease is over and gone");
	is_int(engine_account(market, alice)->escrow, 0, "nothing is left in escrow");
	close_market();
}

static void host_down(void)
{
	open_market(1);
	apply(EVENT(POLICY, .u.policy = { .fee_bps = 100, .settle_minutes = 60 }));
	offer(0, S | P, NOW + 1, NOW + 1000, 10);
	buy(alice, 0, 1, NOW + 10, NOW + 50, 10);
	is_int(apply(EVENT(HOST_STATE, .account = provider, .subject = host_id[0])), REASON_WRONG_STATE,
		"a host that is up is up");
	tick(NOW + 20);
	apply(EVENT(HOST_STATE, .account = provider, .subject = host_id[0], .u.host_state.down = true));
	is_int(money(provider), 100 - 1, "what was earned before is paid when it breaks");
	is_int(status(buy(bob, 0, 1, NOW + 60, NOW + 70, 10)), ORDER_CANCELLED, "a host that is down is not sold");
	tick(NOW + 30);
	apply(EVENT(HOST_STATE, .account = provider, .subject = host_id[0]));
	is_int(money(alice), 1000000 - 400 + 100,
		"the minutes in which it was down are given back, that in which it broke too");
	tick(NOW + 50);
	is_int(money(provider), 99 + 200 - 2, "and the others paid");
	buy(bob, S, 1, NOW + 60, NOW + 70, 10);
	is_int(fills(), 1, "up again it is sold");
	close_market();
}

static int64_t drain(int64_t from, bool ends)
{
	return apply(EVENT(HOST_DRAIN, .account = provider, .subject = host_id[0], .text = "new fans",
		.u.host_drain = { from, ends, false }));
}

static int64_t drain_by_operator(int64_t from)
{
	return apply(
		EVENT(HOST_DRAIN, .account = provider, .subject = host_id[0], .u.host_drain = { from, true, true }));
}

static void host_is(bool down, bool watch)
{
	apply(EVENT(HOST_STATE, .account = provider, .subject = host_id[0],
		.u.host_state = { .down = down, .watch = watch }));
}

/* A seller ends what is sold with a notice that a buyer can use. */
static void drains_with_notice(void)
{
	open_market(1);
	is_int(drain(NOW + 1, true), 0, "a host of which nothing is sold goes out of service now");
	is_int(drain(0, false), 0, "and back");
	offer(0, S | P, NOW + 1, NOW + 9000, 10);
	buy(alice, 0, 1, NOW + 3000, NOW + 4000, 10);
	is_int(drain(NOW + 1, true), 0, "and so it does where what is sold begins later than the notice");
	is_int(money(alice), 1000000, "that buyer has all money back");
	is_int(drain(0, false), 0, "(again)");
	offer(0, S | P, NOW + 1, NOW + 2900, 10);
	buy(alice, 0, 1, NOW + 10, NOW + 1000, 10);
	buy(alice, 0, 1, NOW + 1200, NOW + 2000, 10);
	is_int(drain(NOW + 1440, true), REASON_PAST, "a seller says a day before that time ends");
	is_int(drain_by_operator(NOW + 1440), 0, "the operator need not");
	close_market();

	open_market(1);
	apply(EVENT(POLICY, .u.policy = { .settle_minutes = 60, .drain_notice_minutes = 100 }));
	offer(0, S | P, NOW + 1, NOW + 9000, 10);
	buy(alice, 0, 1, NOW + 1, NOW + 50, 10);
	buy(bob, 0, 1, NOW + 90, NOW + 500, 10);
	is_int(engine_drain_earliest(market, host_id[0], false), NOW + 101, "the operator says how long before");
	is_int(engine_drain_earliest(market, host_id[0], true), NOW + 3, "for sellers");
	host_is(true, false);
	is_int(drain(NOW + 10, true), REASON_PAST, "a host that its owner has put down is none the less sold");
	host_is(false, false);
	at_now = 60 * NOW;
	host_is(true, true);
	tick(NOW + 99);
	is_int(drain(NOW + 109, true), REASON_PAST, "so is one that breaks, which its owner may bring about");
	tick(NOW + 100);
	is_int(engine_drain_earliest(market, host_id[0], false), NOW + 103, "(so it is told)");
	is_int(drain(NOW + 109, true), 0, "one that has been broken for as long needs no more notice");
	close_market();

	open_market(1);
	offer(0, S | P, NOW + 1, NOW + 9000, 10);
	buy(alice, ORDER_INTERRUPTIBLE, 1, NOW + 1, NOW + 500, 10);
	is_int(drain(NOW + 10, true), 0, "nor does time that was bought as interruptible");
	close_market();
}

static void sells_nothing_twice(void)
{
	struct buf bytes;
	struct engine *again = NULL;

	open_market(2);
	apply(EVENT(POLICY, .u.policy = { .settle_minutes = 60, .drain_notice_minutes = 10 }));
	offer(0, S | P, NOW + 1, NOW + 1000, 10);
	buy(alice, 0, 1, NOW + 1, NOW + 100, 10);
	buy(bob, 0, 1, NOW + 200, NOW + 300, 10);
	is_int(drain(NOW + 50, true), 0, "(it drains)");
	is_int(drain(0, false), 0, "(and sells again before that)");
	is_int(offer(0, S | P, NOW + 99, NOW + 101, 20), REASON_NOT_OWNED, "minutes of a buyer are not sold again");
	is_int(offer(0, S | P, NOW + 50, NOW + 51, 20), REASON_NOT_OWNED, "not one of them");
	is_int(offer(0, S | P, NOW + 100, NOW + 200, 20) > 0, 1, "what nobody had is");
	is_int(drain(NOW + 20, false), 0, "(again)");
	is_int(drain(0, false), 0, "(and again)");
	tick(NOW + 60);
	is_int(offer(0, S | P, NOW + 61, NOW + 70, 20), REASON_NOT_OWNED, "also when that time has come");
	buf_init(&bytes, SIZE_MAX / 2);
	ok(engine_save(market, &bytes) == 0 && engine_load(&again, bytes.data, bytes.len, NULL) == 0 &&
			engine_hash(again) == engine_hash(market) &&
			engine_host(again, host_id[0])->pieces[0].taken == alice_pool,
		"a snapshot knows them");
	engine_free(again);
	buf_release(&bytes);
	is_int(offer(0, S | P, NOW + 300, NOW + 310, 20) > 0, 1, "and time after them can be sold");
	close_market();

	open_market(1);
	offer(0, S | P, NOW + 1, NOW + 9000, 10);
	buy(alice, 0, 1, NOW + 2000, NOW + 3000, 10);
	is_int(drain(NOW + 2500, true), 0, "(all of it drains)");
	tick(NOW + 2600);
	is_int(apply(EVENT(HOST_RETIRE, .account = provider, .subject = host_id[0])), REASON_HAS_DEPENDENTS,
		"its machine does not come back as another host meanwhile");
	tick(NOW + 3000);
	is_int(apply(EVENT(HOST_RETIRE, .account = provider, .subject = host_id[0])), 0, "later it may");
	close_market();
}

static void drains(void)
{
	open_market(1);
	apply(EVENT(POLICY,
		.u.policy = { .fee_bps = 100, .settle_minutes = 60, .notice_minutes = 5, .drain_notice_minutes = 1 }));
	offer(0, S | P, NOW + 1, NOW + 1000, 10);
	buy(alice, 0, 1, NOW + 1, NOW + 50, 10);
	buy(bob, 0, 1, NOW + 60, NOW + 70, 10);
	tick(NOW + 10);
	is_int(drain(0, false), REASON_WRONG_STATE, "a host that does not drain cannot sell again");
	is_int(drain(NOW + 15, true), REASON_PAST, "what is sold cannot end without notice");
	is_int(drain(NOW + 16, true), 0, "it can with five minutes' notice");
	is_int(money(alice), 1000000 - 10 * 15, "a buyer has back what the time after it cost");
	is_int(money(bob), 1000000, "and so has one whose time had not begun");
	ok(has(alice_pool, NOW + 15) == 1 && has(alice_pool, NOW + 16) == 0, "and has the host until then");
	is_int(status(buy(bob, 0, 1, NOW + 30, NOW + 40, 10)), ORDER_CANCELLED, "it is not sold any more");
	is_int(offer(0, S | P, NOW + 11, NOW + 17, 10), REASON_NOT_OWNED, "nor offered beyond the minute");
	is_str(engine_host(market, host_id[0])->drain_why, "new fans", "it says why");
	tick(NOW + 20);
	is_int(money(provider), 150 - 2, "its owner is paid what was had");
	is_int(drain(0, false), 0, "it sells again");
	offer(0, S | P, NOW + 70, NOW + 100, 10);
	is_int(status(buy(bob, 0, 1, NOW + 70, NOW + 80, 10)), ORDER_FILLED, "where it is offered");
	is_int(drain(1, false), 0, "no more of it is sold from now on");
	ok(engine_host(market, host_id[0])->drain == NOW + 21 && has(bob_pool, NOW + 79) == 1,
		"and what is sold stays sold");
	close_market();
}

static void releases(void)
{
	struct release_quote back = { .refund = -1 };
	int64_t sell;

	open_market(2);
	apply(EVENT(POLICY, .u.policy = { .fee_bps = 1000, .release_bps = 3333, .settle_minutes = 60 }));
	sell = offer(0, S | P, NOW + 1, NOW + 100, 1);
	buy(alice, 0, 1, NOW + 10, NOW + 50, 1);
	is_int(apply(EVENT(RELEASE, .account = provider, .subject = hosts_pool)), REASON_WRONG_STATE,
		"hosts are not given back");
	is_int(apply(EVENT(RELEASE, .account = alice, .subject = alice_pool, .u.release.nodes = 2)), REASON_NOT_OWNED,
		"nor more than one has");
	tick(NOW + 20);
	is_int(engine_release_quote(market,
		       &EVENT(RELEASE, .account = alice, .subject = alice_pool, .u.release.from = NOW + 25), &back,
		       NULL),
		0, "it says first what comes back");
	is_int(back.refund, 8, "a third of 25, rounded down");
	is_int(back.paid, 25, "of what that time cost");
	ok(back.count == 1 && back.hosts[0] == host_id[0], "and which host goes");
	free(back.hosts);
	is_int(apply(EVENT(RELEASE, .account = alice, .subject = alice_pool, .u.release.from = NOW + 25)), 0,
		"given back");
	is_int(money(alice), 1000000 - 40 + 8, "and that it was");
	is_int(money(provider), 17 - 2, "the seller gets the rest of it at once, less the fee");
	ok(has(alice_pool, NOW + 24) == 1 && has(alice_pool, NOW + 25) == 0, "from that minute on");
	buy(bob, 0, 1, NOW + 30, NOW + 50, 1);
	is_int((int64_t)fill(0).sell_order, sell, "and the order that sold it sells it again");
	is_int(engine_order(market, (uint64_t)sell)->filled_minutes, 60, "what was filled does not shrink");
	close_market();
}

/* alice sells on to bob, who sells on to carol: leases are split all the way up. */
static void resale(void)
{
	uint64_t carol, carol_pool;
	struct lease of_alice, of_bob, of_carol;
	int64_t sell;

	open_market(1);
	carol = account("carol", 1000000);
	carol_pool = pool(carol, "c", POOL_MARKET);
	sell = offer(0, S | P, NOW + 1, NOW + 1000, 5);
	buy(alice, 0, 1, NOW + 100, NOW + 400, 5);
	of_alice = fill(0);
	is_int(apply(EVENT(CANCEL, .account = provider, .subject = (uint64_t)sell)), 0, "the provider sells no more");
	is_int(resell(alice, S | P, 1, NOW + 50, NOW + 200, 8), REASON_NOT_OWNED, "one sells only what one has");
	resell(alice, S | P, 1, NOW + 100, NOW + 400, 8);
	buy(bob, 0, 1, NOW + 150, NOW + 350, 9);
	of_bob = fill(0);
	ok(of_bob.price == 8 && of_bob.seller == alice && of_bob.parent && of_bob.parent != of_alice.id,
		"bob buys a part of it");
	ok(engine_lease(market, of_alice.id)->end == NOW + 150 && engine_lease(market, of_bob.parent)->sold_on,
		"alice's lease is split");
	resell(bob, S | P, 1, NOW + 200, NOW + 300, 20);
	order(carol, carol_pool, sku_id, SIDE_BUY, 0, 1, NOW + 220, NOW + 240, 20);
	of_carol = fill(0);
	ok(of_carol.seller == bob && engine_lease(market, of_carol.parent)->start == NOW + 220 &&
			engine_lease(market, engine_lease(market, of_carol.parent)->parent)->end == NOW + 240,
		"carol's split both above hers");
	ok(has(carol_pool, NOW + 230) == 1 && has(bob_pool, NOW + 230) == 0 && has(bob_pool, NOW + 240) == 1 &&
		has(alice_pool, NOW + 149) == 1, "one owner a minute");
	is_int(apply(EVENT(POOL_DELETE, .account = alice, .subject = alice_pool)), REASON_HAS_DEPENDENTS,
		"alice's pool stays");
	is_int(apply(EVENT(RELEASE, .account = carol, .subject = carol_pool, .u.release.from = NOW + 230)), 0,
		"carol gives half back");
	ok(has(bob_pool, NOW + 235) == 1 && has(carol_pool, NOW + 229) == 1, "to bob");
	order(carol, carol_pool, sku_id, SIDE_BUY, 0, 1, NOW + 230, NOW + 240, 20);
	ok(fill(0).seller == bob, "whose order sells it again");
	is_int(apply(EVENT(RELEASE, .account = bob, .subject = bob_pool)), 0, "bob gives back what he still has");
	ok(has(bob_pool, NOW + 160) == 0 && has(alice_pool, NOW + 160) == 1 && has(carol_pool, NOW + 225) == 1,
		"not what he sold on");
	tick(NOW + 500);
	ok(!engine_lease_after(market, 0, 0), "all is over");
	is_int(money(alice) + money(bob) + money(carol) + money(provider), 3000000, "and no money is lost");
	is_int(engine_account(market, alice)->escrow + engine_account(market, bob)->escrow +
			engine_account(market, carol)->escrow,
		0, "or left over");
	close_market();
}

static void interruptible(void)
{
	int64_t sell;

	open_market(1);
	sell = offer(0, S | P, NOW + 1, NOW + 1000, 10);
	buy(alice, I, 1, NOW + 10, NOW + 110, 10);
	ok(fill(0).interruptible && engine_order(market, (uint64_t)sell), "bought, and still on sale");
	is_int(resell(alice, S | P, 1, NOW + 20, NOW + 30, 1), REASON_NOT_OWNED, "it cannot be sold on");
	is_int(status(buy(bob, I, 1, NOW + 20, NOW + 30, 10)), ORDER_CANCELLED,
		"an interruptible buy takes none from another");
	tick(NOW + 20);
	is_int(status(buy(bob, 0, 1, NOW + 22, NOW + 30, 10)), ORDER_CANCELLED, "two minutes' notice is not one");
	is_int(status(buy(bob, 0, 1, NOW + 23, NOW + 30, 10)), ORDER_FILLED, "a reserved buy takes it after that");
	ok(has(alice_pool, NOW + 22) == 1 && has(alice_pool, NOW + 23) == 0 && has(bob_pool, NOW + 23) == 1 &&
		has(hosts_pool, NOW + 30) == 1, "alice keeps what is before, the provider has what is after");
	is_int(money(alice), 1000000 - 120, "and pays for 12 minutes of 13: that which broke is given back");
	tick(NOW + 200);
	is_int(money(provider), 120 + 70, "as the provider sees");
	buy(alice, I, 1, NOW + 300, NOW + 310, 10);
	is_int(status(buy(bob, 0, 1, NOW + 300, NOW + 305, 10)), ORDER_FILLED, "one that has not begun is taken whole");
	is_int(money(alice), 1000000 - 120, "and all of it given back");
	buy(alice, I, 1, NOW + 400, NOW + 410, 10);
	apply(EVENT(CANCEL, .account = provider, .subject = (uint64_t)sell));
	is_int(status(buy(bob, 0, 1, NOW + 400, NOW + 405, 10)), ORDER_CANCELLED,
		"where the sell was withdrawn it is safe");
	is_int(apply(EVENT(RELEASE, .account = alice, .subject = alice_pool)), 0, "given back");
	is_int(money(alice), 1000000 - 120, "it costs nothing");
	close_market();
}

/* What an interruption leaves over goes to whoever waits for it. */
static void interrupted_rest(void)
{
	int64_t rest;

	open_market(1);
	offer(0, S | P, NOW + 1, NOW + 60, 10);
	buy(alice, I, 1, NOW + 10, NOW + 60, 10);
	rest = buy(alice, S | I, 1, NOW + 30, NOW + 40, 10);
	is_int(row(rest).status, ORDER_RESTING, "a second interruptible buy waits");
	buy(bob, 0, 1, NOW + 10, NOW + 20, 10);
	is_int(row(rest).status, ORDER_FILLED, "and gets what bob's leaves over");
	close_market();
}

/* The same where it is another resting buy that interrupts: who comes after it in that pass has a chance. */
static void interrupted_in_a_pass(void)
{
	uint64_t carol, carol_pool;

	open_market(1);
	carol = account("carol", 1000000);
	carol_pool = pool(carol, "c", POOL_MARKET);
	offer(0, S | P, NOW + 1, NOW + 60, 10);
	buy(alice, 0, 1, NOW + 10, NOW + 20, 10);
	buy(bob, S | P | I, 2, NOW + 20, NOW + 60, 10);
	is_int(fills(), 1, "bob has one node that can be taken back, and waits for another");
	order(carol, carol_pool, sku_id, SIDE_BUY, S, 1, NOW + 10, NOW + 30, 15);
	is_int(fills(), 0, "carol waits for alice's minutes");
	resell(alice, S | P, 1, NOW + 10, NOW + 20, 5);
	ok(fills() == 3 && fill(0).buyer == carol && fill(2).buyer == bob && fill(2).start == NOW + 30,
		"alice sells: carol takes bob's first minutes too, and bob gets back what she leaves");
	close_market();
}

/* What is sold, given back and sold again is counted every time, but not past what a number holds. */
static void sold_again_and_again(void)
{
	const int64_t price = INT64_C(1000000000000), cost = 2900000 * price;
	int64_t sell;

	open_market(1);
	apply(EVENT(CREDIT, .account = alice, .u.credit.micros = cost));
	sell = offer(0, S | P, NOW + 10, NOW + 10 + 2900000, price);
	for (int i = 0; i < 5; i++) {
		ok(buy(alice, I, 1, NOW + 10, NOW + 10 + 2900000, price) > 0, "bought again");
		is_int(apply(EVENT(RELEASE, .account = alice, .subject = alice_pool)), 0, "and given back");
	}
	is_int(money(alice), cost + 1000000, "which cost nothing");
	ok(engine_order(market, (uint64_t)sell)->filled_cost == INT64_MAX, "and is counted as far as can be");
	close_market();
}

static int verified(enum host_proof result, int64_t until)
{
	return apply(EVENT(HOST_VERIFIED, .account = provider, .subject = host_id[0],
		.u.host_verified = { .result = result, .until = until, .why = until ? NULL : "too slow" }));
}

static int64_t refund_of(int64_t from)
{
	struct release_quote back = { .refund = -1 };

	engine_release_quote(market, &EVENT(RELEASE, .account = alice, .subject = alice_pool, .u.release.from = from),
		&back, NULL);
	free(back.hosts);
	return back.refund;
}

/* Who was proven when the buyer came is paid for as long as he stays, unless it failed. */
static void stays_with_proof(void)
{
	open_market(1);
	apply(EVENT(POLICY, .u.policy = { .release_bps = 1000, .settle_minutes = 60 }));
	is_int(apply(EVENT(SKU, .subject = sku_id, .name = "h100", .u.sku = { .gpus = 8, .proof = true })), 0,
		"a type begins to ask for proof");
	offer(0, S | P, NOW + 1, NOW + 9000, 10);
	verified(PROOF_PASSED, NOW + 50);
	buy(alice, 0, 1, NOW + 10, NOW + 100, 10);
	tick(NOW + 60);
	is_int(refund_of(NOW + 60), 10 * 39 / 10,
		"a proof that ends after the buyer came makes time no cheaper to give back");
	is_int(status(buy(bob, 0, 1, NOW + 200, NOW + 300, 10)), ORDER_CANCELLED,
		"though it is not sold to others any more");
	buy(alice, X, 1, NOW + 100, NOW + 200, 10);
	is_int(fills(), 1, "who is there can stay");
	is_int(refund_of(NOW + 99), 10 * 101 / 10, "and cannot give the rest back for nothing");
	tick(NOW + 200);
	is_int(money(provider), 190 * 10, "and pays for it");
	verified(PROOF_PASSED, NOW + 220);
	buy(alice, 0, 1, NOW + 210, NOW + 300, 10);
	tick(NOW + 230);
	verified(PROOF_FAILED, 0);
	is_int(refund_of(NOW + 231), 10 * 69, "what failed meanwhile is given back for nothing");
	tick(NOW + 300);
	is_int(money(provider), 210 * 10, "and not paid any more");
	verified(PROOF_PASSED, NOW + 310);
	buy(alice, 0, 1, NOW + 320, NOW + 330, 10);
	tick(NOW + 315);
	is_int(refund_of(NOW + 320), 100, "nor does who has not come yet have to take what is not proven any more");
	close_market();
}

static bool measured(const char *claims, int64_t at)
{
	const struct host *h = engine_host(market, host_id[0]);

	return h->proof_at == at && (claims ? h->claims && strcmp(h->claims, claims) == 0 : !h->claims);
}

/* Its SKU asks for another value: what was measured, and when, stays. */
static void keeps_what_was_measured(void)
{
	struct event ev = EVENT(HOST_VERIFIED, .text = "{\"disk\":900}",
		.u.host_verified = { .result = PROOF_PASSED, .until = NOW + 50 });
	int64_t at;

	open_market(1);
	ev.account = provider;
	ev.subject = host_id[0];
	apply(ev);
	at = at_now;
	ok(measured("{\"disk\":900}", at), "what was measured is kept, with its time");
	verified(PROOF_OUTGROWN, NOW + 50);
	ok(measured("{\"disk\":900}", at), "also where the type has come to ask for more");
	verified(PROOF_PASSED, NOW + 50);
	ok(measured("{\"disk\":900}", at), "and for less again");
	ev.text = "{\"disk\":1100}";
	apply(ev);
	ok(measured("{\"disk\":1100}", at_now), "what is measured anew replaces it");
	verified(PROOF_FAILED, 0);
	ok(measured(NULL, at_now), "a failure without measurements leaves none");
	close_market();
}

int main(void)
{
	stays_with_proof();
	keeps_what_was_measured();
	extends();
	fees();
	host_down();
	drains();
	drains_with_notice();
	sells_nothing_twice();
	releases();
	resale();
	interruptible();
	interrupted_rest();
	interrupted_in_a_pass();
	sold_again_and_again();
	is_int(wrong, 0, "every invariant held after every event, and refusals changed nothing");
	return done();
}
