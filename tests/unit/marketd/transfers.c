/* SPDX-License-Identifier: Apache-2.0 */
/* Payouts that wait for their account keep nobody else's from being sent. Stripe's calls are played here. */
#include "marketd/api/api.h"
#include "marketd/api/np/np.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/stripe/stripe_connect.h"

#include "watchmarket.h"

enum { HELD = 1100, CENT = 10000, DAYS = 9, TURNS = 4000 };

struct errand {
	bool sends;
};

static long looked, sent, running;
static uint64_t held[HELD], owes, other;

int connect_account(struct stripe *s, const char *market, const char *account, char *id, struct fail *why)
{
	(void)s, (void)market, (void)account, (void)id;
	return fail_set(why, REASON_UNAVAILABLE, "nobody asks for it here");
}

int connect_page(struct stripe *s, const char *key, const char *account, const char *id, const char *back,
	struct checkout_page *out, struct fail *why)
{
	(void)s, (void)key, (void)account, (void)id, (void)back, (void)out;
	return fail_set(why, REASON_UNAVAILABLE, "nobody asks for it here");
}

static int played(bool sends, struct errand **out)
{
	*out = calloc(1, sizeof **out);
	(*out)->sends = sends;
	*(sends ? &sent : &looked) += 1;
	running++;
	return 0;
}

int connect_look(struct stripe *s, const struct connect_transfer *t, struct errand **out, struct fail *why)
{
	(void)s, (void)t, (void)why;
	return played(false, out);
}

int connect_send(struct stripe *s, const struct connect_transfer *t, struct errand **out, struct fail *why)
{
	(void)s, (void)t, (void)why;
	return played(true, out);
}

bool connect_runs(const struct errand *e)
{
	(void)e;
	return false;
}

void connect_end(struct errand *e)
{
	running -= e != NULL;
	free(e);
}

void connect_take(const struct errand *e, bool look, const struct connect_transfer *t, struct connect_news *out)
{
	(void)look, (void)t;
	*out = (struct connect_news){ .word = e->sends ? CONNECT_SENT : CONNECT_NONE, .id = "tr_1" };
}

static uint64_t sells(const char *name, int64_t price)
{
	int64_t end = now / 60 + DAYS * 1440;
	uint64_t account = apply((struct event){ .kind = EVENT_ACCOUNT, .name = name }), in, host;

	apply((struct event){ .kind = EVENT_ACCOUNT_FACTS,
		.account = account,
		.subject = account,
		.text = "{\"stripe_account\":{\"value\":\"acct_1\"}}" });
	in = apply((
		struct event){ .kind = EVENT_POOL, .account = account, .name = name, .u.pool.kind = POOL_ORIGINATING });
	host = apply((struct event){ .kind = EVENT_HOST,
		.account = account,
		.name = name,
		.u.host = { .sku = sku, .pool = in, .start = now / 60, .end = MINUTE_MAX } });
	apply((struct event){ .kind = EVENT_ORDER,
		.account = account,
		.u.order = { .pool = in,
			.sku = sku,
			.host = host,
			.side = SIDE_SELL,
			.flags = ORDER_STANDING | ORDER_PARTIAL,
			.nodes = 1,
			.start = now / 60 + 1,
			.end = end,
			.price = price } });
	buy_node_at(make_pool(name), now / 60 + 1, end - now / 60 - 1, price);
	return account;
}

static void suspended(uint64_t account, bool yes)
{
	apply((struct event){ .kind = EVENT_ACCOUNT_STATE,
		.account = account,
		.subject = account,
		.u.account_state.state = yes ? ACCOUNT_SUSPENDED : ACCOUNT_OPEN });
}

static uint64_t asks(uint64_t account)
{
	return apply((struct event){ .kind = EVENT_PAYOUT, .account = account, .u.payout.micros = CENT });
}

/* One turn of the server's loop, after as long as it would sleep: not at all where Stripe has answered. */
static void sends(struct api *api)
{
	int ms;

	market_commit(m, &f);
	ms = running ? 0 : np_transfers_timeout(api);
	api->now_ms += ms > 0 ? ms : 0;
	np_transfers_turn(api);
	market_commit(m, &f);
}

static enum payout_state became(uint64_t payout)
{
	return engine_payout(market_engine(m), payout)->state;
}

static bool asks_all(void)
{
	owes = sells("owes", 999);
	other = sells("other", 998);
	now += (DAYS + 1) * 86400;
	if (market_time(m, now, &f) || market_commit(m, &f))
		return false;
	for (int i = 0; i < HELD; i++)
		if (!(held[i] = asks(owes)))
			return false;
	suspended(owes, true);
	return true;
}

static void test_waits(struct api *api)
{
	int64_t began = api->now_ms;
	uint64_t one = asks(other);

	for (int n = 0; n < TURNS && became(one) == PAYOUT_ASKED; n++)
		sends(api);
	is_int(became(one), PAYOUT_SENT, "behind 1,100 payouts of a suspended account, another's is sent");
	is_int(api->now_ms, began, "without a wait");
	is_int(sent, 1, "none of theirs is sent");
	for (int n = 0; n < TURNS && looked <= HELD; n++)
		sends(api);
	is_int(looked, HELD + 1, "Stripe is asked once about each");
	is_int(np_transfer(api, engine_payout(market_engine(m), held[0])), TRANSFER_HELD, "then each can be cancelled");
	is_int(np_transfer(api, engine_payout(market_engine(m), held[HELD - 1])), TRANSFER_HELD, "the last, too");
	apply((struct event){ .kind = EVENT_PAYOUT,
		.account = owes,
		.subject = held[0],
		.u.payout.state = PAYOUT_CANCELLED });
	for (began = api->now_ms; api->now_ms < began + 60000;)
		sends(api);
	is_int(looked, HELD + 1, "while they wait, Stripe is not asked again");
	one = asks(other);
	began = api->now_ms;
	for (int n = 0; n < TURNS && became(one) == PAYOUT_ASKED; n++)
		sends(api);
	is_int(became(one), PAYOUT_SENT, "a new one of the other's is sent");
	is_int(api->now_ms, began, "at once");
}

static void test_opened(struct api *api)
{
	int left = HELD;

	suspended(owes, false);
	for (int n = 0; n < 2 * TURNS && left > 0; n++) {
		sends(api);
		left = 0;
		for (int i = 1; i < HELD; i++)
			left += became(held[i]) == PAYOUT_ASKED;
	}
	is_int(left, 0, "once the account is open, they are sent");
	is_int(became(held[0]), PAYOUT_CANCELLED, "but for the cancelled one");
	is_int(sent, HELD + 1, "each of them once");
	is_int(np_transfers_timeout(api), -1, "and nothing is due any more");
}

int main(void)
{
	const struct log log = { 0 };
	struct api api = { .name = "test", .sends_payouts = true, .now_ms = START_MS, .log = &log };

	if (!tool_begin())
		return 99;
	make_market();
	if (!asks_all())
		return 99;
	api.market = m;
	test_waits(&api);
	test_opened(&api);
	np_transfers_close(&api);
	api_close(&api);
	watch_free(w);
	market_free(m);
	tool_end();
	return done();
}
