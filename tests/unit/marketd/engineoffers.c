/* SPDX-License-Identifier: Apache-2.0 */
/* Many hosts: what the engine finds by its index is what a look at every minute of every host finds. */
#include "enginemarket.h"

enum { HOSTS = 150, ROUNDS = 400, FAR = 2048 * 60 };

static uint64_t seed = 88172645463325252u, many[HOSTS];

static int64_t pick(int64_t low, int64_t high)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return low + (int64_t)(seed % (uint64_t)(high - low + 1));
}

/* What a minute of a host costs; -1: it is not on sale within the limit. */
static int64_t price_of(uint64_t host, int64_t minute, int64_t limit)
{
	const struct host *h = engine_host(market, host);

	for (size_t i = 0; i < h->piece_count && !h->down; i++)
		if (h->pieces[i].start <= minute && minute < h->pieces[i].end)
			return h->pieces[i].order && h->pieces[i].price <= limit ? h->pieces[i].price : -1;
	return -1;
}

static int cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The n least of a list; -1 where there are fewer. */
static int64_t least(int64_t *list, int count, int n)
{
	int64_t sum = 0;

	if (count < n)
		return -1;
	qsort(list, (size_t)count, sizeof *list, cmp);
	for (int i = 0; i < n; i++)
		sum += list[i];
	return sum;
}

static int64_t whole(const struct event *ev)
{
	int64_t costs[HOSTS];
	int count = 0;

	for (int i = 0; i < HOSTS; i++) {
		int64_t sum = 0, p = 0;

		for (int64_t t = ev->u.order.start; t < ev->u.order.end && p >= 0; t++) {
			p = price_of(many[i], t, ev->u.order.price);
			sum += p;
		}
		if (p >= 0)
			costs[count++] = sum;
	}
	return least(costs, count, ev->u.order.nodes);
}

static int64_t in_part(const struct event *ev)
{
	int64_t prices[HOSTS], sum = 0;
	bool any = false;

	for (int64_t t = ev->u.order.start; t < ev->u.order.end; t++) {
		int count = 0;

		for (int i = 0; i < HOSTS; i++) {
			int64_t p = price_of(many[i], t, ev->u.order.price);

			if (p >= 0)
				prices[count++] = p;
		}
		any = any || count;
		sum += least(prices, count, count < ev->u.order.nodes ? count : ev->u.order.nodes);
	}
	return any ? sum : -1;
}

static void set_up(void)
{
	char name[32];

	open_market(0);
	apply(EVENT(CREDIT, .account = alice, .u.credit.micros = INT64_C(1000000000000)));
	for (int i = 0; i < HOSTS; i++) {
		snprintf(name, sizeof name, "many-%d", i);
		many[i] = (uint64_t)make(EVENT(HOST, .account = provider, .name = name, .u.host = { .sku = sku_id,
			.pool = hosts_pool, .start = 0, .end = MINUTE_MAX }));
		make(EVENT(ORDER, .account = provider,
			.u.order = { .pool = hosts_pool,
				.sku = sku_id,
				.host = many[i],
				.side = SIDE_SELL,
				.flags = S | P,
				.nodes = 1,
				.start = NOW + 1,
				.end = pick(0, 3) ? MINUTE_MAX : NOW + FAR + 500,
				.price = pick(1, 6) }));
	}
}

int main(void)
{
	unsigned unlike = 0, filled = 0;

	set_up();
	for (int i = 0; i < ROUNDS; i++) {
		int64_t now = engine_minute(market), start = now + 1 + pick(0, 300) + (pick(0, 9) ? 0 : FAR - 100);
		struct event ev = EVENT(ORDER, .account = alice,
			.u.order = { .pool = alice_pool,
				.sku = sku_id,
				.flags = pick(0, 3) ? 0 : P,
				.nodes = (int32_t)pick(1, pick(1, 60)),
				.start = start,
				.end = start + pick(1, 150),
				.price = pick(2, 7) });
		bool hours = pick(0, 1); /* whole ones, as people ask for */
		struct quote q = { .cost = -1 };
		int64_t want, made;

		if (hours) {
			ev.u.order.start = (start + 59) / 60 * 60;
			ev.u.order.end = ev.u.order.start + pick(1, 3) * 60;
		}
		want = ev.u.order.flags ? in_part(&ev) : whole(&ev);
		if (engine_quote(market, &ev, &q, NULL) != 0)
			q.cost = -1;
		made = make(ev);
		if (q.cost != want ||
			(want >= 0 ? row(made).filled_cost != want : row(made).status != ORDER_CANCELLED)) {
			diag("round %d: %" PRId64 " was said, %" PRId64 " is right", i, q.cost, want);
			unlike++;
		}
		filled += want >= 0;
		if (i % 7 == 0)
			tick(now + pick(1, 90));
		if (i % 11 == 0)
			apply(EVENT(HOST_STATE, .account = provider, .subject = many[pick(0, HOSTS - 1)],
				.u.host_state.down = pick(0, 1)));
	}
	ok(filled > ROUNDS / 4 && filled < ROUNDS, "%u of %d buys filled", filled, ROUNDS);
	is_int(unlike, 0, "each costs what a look at every minute of %d hosts says", HOSTS);
	is_int(wrong, 0, "every invariant held after every event, and refusals changed nothing");
	close_market();
	return done();
}
