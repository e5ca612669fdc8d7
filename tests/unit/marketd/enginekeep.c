/* SPDX-License-Identifier: Apache-2.0 */
/* The state kept and read back, bytes that are none, and what is said beforehand: quotes, and what would fill. */
#include <errno.h>

#include "enginemarket.h"

static uint64_t seed = 88172645463325252u;

static int64_t pick(int64_t low, int64_t high)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return low + (int64_t)(seed % (uint64_t)(high - low + 1));
}

/* One random event of a busy market. */
static struct event any_event(void)
{
	uint64_t who = pick(0, 1) ? alice : bob;
	int64_t start = engine_minute(market) + pick(0, 60);
	struct event ev = EVENT(ORDER, .account = who,
		.u.order = { .pool = who == alice ? alice_pool : bob_pool,
			.sku = sku_id,
			.nodes = (int32_t)pick(1, 2),
			.start = start,
			.end = start + pick(1, 40),
			.price = pick(1, 9),
			.flags = (int32_t)pick(0, 15) });

	switch (pick(0, 9)) {
	case 0:
		return EVENT(TICK, .u.tick.minute = engine_minute(market) + pick(1, 9));
	case 1:
		return EVENT(RELEASE, .account = who, .subject = ev.u.order.pool, .u.release.from = start);
	case 2:
		return EVENT(HOST_STATE, .account = provider, .subject = host_id[pick(0, 3)],
			.u.host_state.down = pick(0, 1));
	case 3:
		ev.u.order.side = SIDE_SELL;
		ev.u.order.flags &= S | P;
		return ev;
	case 4:
		ev.account = provider;
		ev.u.order.pool = hosts_pool;
		ev.u.order.side = SIDE_SELL;
		ev.u.order.flags &= S | P;
		return ev;
	case 5:
		return EVENT(INSTANCE, .account = who, .name = pick(0, 1) ? "one" : "two", .text = "{}",
			.u.instance = { .pool = ev.u.order.pool, .sku = sku_id });
	case 6:
		return EVENT(PROCUREMENT, .account = who, .name = "p",
			.u.procurement = { .pool = ev.u.order.pool,
				.sku = sku_id,
				.target = 1,
				.window = 20,
				.min_sell = 2,
				.max_buy = 8,
				.enabled = pick(0, 1) });
	default:
		return ev;
	}
}

static struct buf saved(const struct engine *e)
{
	struct buf b;

	buf_init(&b, 1 << 24);
	if (engine_save(e, &b) != 0)
		abort();
	return b;
}

/* At many points: saved, read, saved again; and both go on alike. */
static void save_and_load(void)
{
	unsigned unlike = 0, unread = 0, apart = 0;
	struct engine *twin = NULL;
	struct effects theirs;

	open_market(4);
	effects_init(&theirs);
	make(EVENT(TOKEN, .account = alice, .name = "t", .u.token = { .hash = { 1, 2, 3 }, .scopes = 3 }));
	for (int i = 0; i < 1500; i++) {
		struct event ev = any_event();
		int rc = apply(ev);

		ev.at = at_now;
		if (twin && (engine_apply(twin, &ev, &theirs, NULL) != rc || engine_hash(twin) != engine_hash(market)))
			apart++;
		if (i % 10 == 0) {
			struct buf first = saved(market), second;

			engine_free(twin);
			twin = NULL;
			if (engine_load(&twin, first.data, first.len, &said) != 0) {
				diag("%s", said.text);
				unread++;
			} else {
				second = saved(twin);
				unlike += first.len != second.len || memcmp(first.data, second.data, first.len) != 0;
				unlike += engine_hash(twin) != engine_hash(market) ||
					engine_count(twin) != engine_count(market);
				buf_release(&second);
			}
			buf_release(&first);
		}
	}
	is_int(unread, 0, "what was saved can be read, at 150 points");
	is_int(unlike, 0, "and gives the same state and the same bytes");
	is_int(apart, 0, "and goes on as the other does");
	ok(twin && engine_token_hashed(twin, (const uint8_t[TOKEN_HASH]){ 1, 2, 3 }),
		"tokens are found by their hash in it");
	engine_free(twin);
	effects_release(&theirs);
}

static void set_sum(struct buf *b)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i + 8 < b->len; i++)
		h = (h ^ (unsigned char)b->data[i]) * UINT64_C(1099511628211);
	for (int i = 0; i < 8; i++)
		b->data[b->len - 8 + (size_t)i] = (char)(h >> 8 * i);
}

/* Bytes that are bent, cut, or another's: refused, or a state in which all invariants hold. */
static void hostile(void)
{
	struct buf good = saved(market), bent;
	struct engine *e = NULL;
	unsigned taken = 0, refused = 0, silent = 0;

	good.data[good.len / 2] ^= 1;
	is_int(engine_load(&e, good.data, good.len, &said), -EINVAL, "a bit that is turned is seen");
	good.data[good.len / 2] ^= 1;
	is_int(engine_load(&e, good.data, 0, NULL), -EINVAL, "nothing is no state");
	for (int i = 0; i < 4000; i++) {
		struct fail why = { 0 };

		buf_init(&bent, 1 << 24);
		buf_add(&bent, good.data, good.len);
		for (int64_t n = pick(1, 3); n > 0; n--)
			bent.data[pick(0, (int64_t)bent.len - 9)] = (char)pick(0, 255);
		if (i % 4 == 0)
			buf_cut(&bent, (size_t)pick(9, (int64_t)bent.len));
		set_sum(&bent);
		if (engine_load(&e, bent.data, bent.len, &why) == 0) {
			struct event ev = EVENT(TICK, .at = engine_at(e), .u.tick.minute = engine_minute(e) + 30);
			struct effects d;

			effects_init(&d);
			engine_apply(e, &ev, &d, NULL);
			effects_release(&d);
			engine_free(e);
			taken++;
		} else {
			refused++;
			silent += !why.text[0];
		}
		buf_release(&bent);
	}
	diag("%u bent states were refused, %u were states all the same", refused, taken);
	ok(refused > 1000 && silent == 0, "bent states are refused with a sentence");
	buf_release(&good);
	close_market();
}

static void quotes(void)
{
	struct quote q = { 0 };
	struct event ev;
	uint64_t before;
	int64_t o;

	open_market(3);
	offer(0, S | P, NOW + 1, NOW + 100, 5);
	offer(1, S | P, NOW + 1, NOW + 100, 8);
	before = engine_hash(market);
	ev = EVENT(ORDER, .account = alice,
		.u.order = { .sku = sku_id, .nodes = 2, .start = NOW + 10, .end = NOW + 20, .price = 9 });
	is_int(engine_quote(market, &ev, &q, &said), 0, "a quote without a pool");
	ok(q.cost == 130 && q.price == 8 && q.nodes == 2, "says what it costs, and the limit that would do");
	ev.u.order.pool = alice_pool;
	ev.u.order.nodes = 3;
	is_int(engine_quote(market, &ev, &q, &said), REASON_NO_CAPACITY, "too many nodes");
	ev.u.order.flags = P;
	ok(engine_quote(market, &ev, &q, &said) == 0 && q.nodes == 2 && q.cost == 130, "in part: two of them");
	ev.u.order.price = 4;
	is_int(engine_quote(market, &ev, &q, &said), REASON_PRICE_TOO_LOW, "below every price");
	ev.u.order.price = INT64_C(1000000000);
	ev.u.order.flags = 0;
	ev.u.order.nodes = 2;
	ev.u.order.max_total = 129;
	ok(engine_quote(market, &ev, &q, &said) == REASON_OVER_MAX_TOTAL && q.cost == 130,
		"over the total: the cost is told all the same");
	ok(engine_hash(market) == before, "and nothing has changed");
	ev.u.order.max_total = 0;
	engine_quote(market, &ev, &q, &said);
	o = make(ev);
	is_int(row(o).filled_cost, q.cost, "it costs what was said");
	buy(bob, S, 1, NOW + 40, NOW + 50, 3);
	buy(bob, S, 1, NOW + 40, NOW + 50, 2);
	ev = EVENT(ORDER, .account = provider,
		.u.order = { .pool = hosts_pool,
			.sku = sku_id,
			.side = SIDE_SELL,
			.flags = P,
			.nodes = 1,
			.start = NOW + 30,
			.end = NOW + 50,
			.price = 1 });
	ok(engine_quote(market, &ev, &q, &said) == 0 && q.cost == 30 && q.price == 3 && q.nodes == 1,
		"a sell: what the dearest buy pays");
	ev.u.order.price = 4;
	is_int(engine_quote(market, &ev, &q, &said), REASON_NO_BUYER, "and nobody pays 4");
	close_market();
}

/* Each alternative alone, bought in a copy of the market, fills. */
static unsigned alternatives(const struct event *ev, unsigned *offered)
{
	struct buf state = saved(market);
	struct effects d;
	struct diagnosis w;
	unsigned bad = 0;

	effects_init(&d);
	engine_diagnose(market, ev, &w);
	for (int i = 0; i < 4; i++) {
		struct event x = *ev;
		struct engine *e;
		uint64_t made;
		bool full = false;

		if (!(i == 0 ? w.has_price : i == 1 ? w.has_nodes : i == 2 ? w.has_start : w.has_end))
			continue;
		x.u.order.price = i == 0 ? w.price : x.u.order.price;
		x.u.order.nodes = i == 1 ? w.nodes : x.u.order.nodes;
		x.u.order.end = i == 2 ? w.start + x.u.order.end - x.u.order.start : i == 3 ? w.end : x.u.order.end;
		x.u.order.start = i == 2 ? w.start : x.u.order.start;
		engine_load(&e, state.data, state.len, NULL);
		x.at = at_now + 1;
		if (engine_apply(e, &x, &d, NULL) == 0) {
			made = effects_made(&d);
			for (size_t k = 0; k < d.count; k++)
				full = full || (d.list[k].kind == EFFECT_ORDER && d.list[k].u.order.id == made &&
					d.list[k].u.order.status == ORDER_FILLED);
		}
		++*offered;
		bad += !full;
		engine_free(e);
	}
	effects_release(&d);
	buf_release(&state);
	return bad;
}

static void why_not(void)
{
	struct event ev;
	struct diagnosis w;
	unsigned bad = 0, offered = 0;

	open_market(4);
	offer(0, S | P, NOW + 1, NOW + 100, 5);
	offer(1, S | P, NOW + 1, NOW + 60, 9);
	offer(2, S | P, NOW + 80, NOW + 200, 5);
	ev = EVENT(ORDER, .account = alice,
		.u.order = { .pool = alice_pool,
			.sku = sku_id,
			.nodes = 2,
			.start = NOW + 10,
			.end = NOW + 30,
			.price = 5 });
	engine_diagnose(market, &ev, &w);
	is_int(w.reason, REASON_PRICE_TOO_LOW, "two nodes cost more");
	ok(w.has_price && w.price == 9, "9 would do");
	ok(w.has_nodes && w.nodes == 1, "or one node");
	ok(w.has_start && w.start == NOW + 80, "or later");
	ok(!w.has_end, "but no shorter window");
	ev.u.order.nodes = 1;
	ev.u.order.end = NOW + 150;
	engine_diagnose(market, &ev, &w);
	ok(w.reason == REASON_NO_CAPACITY && w.has_end && w.end == NOW + 100, "until then it would go");
	close_market();
	for (int i = 0; i < 1200; i++) {
		if (i % 40 == 0) {
			open_market(4);
			for (int k = 0; k < 4; k++)
				offer(k, S | P, NOW + 1 + pick(0, 60), NOW + 100 + pick(0, 60), pick(1, 9));
		}
		ev = any_event();
		if (ev.kind == EVENT_ORDER && ev.u.order.side == SIDE_BUY)
			bad += alternatives(&ev, &offered);
		apply(ev);
		if (i % 40 == 39)
			close_market();
	}
	ok(offered > 100, "%u alternatives were offered", offered);
	is_int(bad, 0, "and each of them fills");
}

int main(void)
{
	save_and_load();
	hostile();
	quotes();
	why_not();
	is_int(wrong, 0, "every invariant held after every event, and refusals changed nothing");
	return done();
}
