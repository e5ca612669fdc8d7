/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person expects of nodes that renew themselves, looked at from outside: nothing here says how a
 * procurement buys. Random markets, and after each event:
 *
 *   lives: a node is not ended in a minute for which, each time that its procurement could buy it, its own host
 *          was on sale below the cap, without a gap to the end of the window, and the money was there.
 *   works: a pool that has as many nodes as its procurement wants pays for no minute of a host without a node.
 *   rests: in a market in which nothing happens a pool makes at most two orders an hour and node.
 *
 * renewaldrain.c says what they expect where an owner takes a host out of service.
 *
 * `renewal SEED [EVENTS [EDITION]]` one world, by an edition of the rules; `renewal long EVENTS` many from today on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/tap.h"
#include "renewal.h"

#ifdef __SANITIZE_ADDRESS__
enum { EVENTS_CHECKED = 40000 };
#else
enum { EVENTS_CHECKED = 200000 };
#endif

/* What was seen, so that nothing is proven by its absence. */
static struct {
	long events, drained, renewed, moved, lives, works, rests, orders, hours;
} seen;

const char *renewal_name(struct market_world *w)
{
	snprintf(w->name, sizeof w->name, "n%ld", ++w->names);
	return w->name;
}

bool renewal_says(struct market_world *w, const char *what, uint64_t thing)
{
	if (!*w->wrong)
		snprintf(w->wrong, sizeof w->wrong, "minute %" PRId64 ": %s (%" PRIu64 ")", renewal_now(w), what,
			thing);
	return false;
}

/* ---- What there is ---------------------------------------------------------------------- */

static const struct procurement *buys_for(const struct market_world *w, const struct buyer_pool *b)
{
	return engine_procurement(w->e, b->procurement);
}

static bool node_lives(const struct instance *x)
{
	return x && (x->status == INSTANCE_AWAITING || x->status == INSTANCE_RUNNING);
}

const struct piece *renewal_piece(const struct market_world *w, uint64_t host, int64_t minute)
{
	const struct host *h = engine_host(w->e, host);

	for (size_t i = 0; i < h->piece_count; i++)
		if (h->pieces[i].start <= minute && minute < h->pieces[i].end)
			return &h->pieces[i];
	return NULL;
}

int32_t renewal_nodes(const struct market_world *w, const struct buyer_pool *b)
{
	int32_t n = 0;

	for (const struct instance *x = NULL; (x = engine_instance_after(w->e, b->account, x ? x->id : 0));)
		n += x->pool == b->pool && node_lives(x);
	return n;
}

static int32_t pool_hosts(const struct market_world *w, const struct buyer_pool *b, int64_t minute)
{
	int32_t n = 0;

	for (int i = 0; i < HOSTS; i++) {
		const struct piece *p = renewal_piece(w, w->hosts[i], minute);

		n += p && p->pool == b->pool;
	}
	return n;
}

static int32_t pool_wants(const struct market_world *w, const struct buyer_pool *b)
{
	const struct procurement *p = buys_for(w, b);

	return p->target < 0 ? renewal_nodes(w, b) : p->target;
}

/* On sale for this pool by a stranger at its cap or below, throughout. */
static bool on_sale(const struct market_world *w, const struct buyer_pool *b, uint64_t host, int64_t from, int64_t to)
{
	const struct procurement *p = buys_for(w, b);

	for (int64_t t = from; t < to; t++) {
		const struct piece *x = renewal_piece(w, host, t);
		const struct order *o = x ? engine_order(w->e, x->order) : NULL;

		if (!o || o->account == b->account || x->price > p->max_buy || x->block || x->interruptible)
			return false;
	}
	return !engine_host(w->e, host)->down;
}

/* More than all that this account's procurements could want by tomorrow's window. */
static bool has_money(const struct market_world *w, uint64_t account)
{
	const struct account *a = engine_account(w->e, account);
	int64_t most = 0;

	for (int i = 0; i < POOLS; i++) {
		const struct buyer_pool *b = &w->pools[i];
		const struct procurement *p = buys_for(w, b);

		if (b->account == account && p)
			most += p->max_buy * (pool_wants(w, b) + HOSTS) * (p->window + 120);
	}
	return a->available - a->floor > most;
}

/* ---- A node lives ----------------------------------------------------------------------- */

static struct buyer_pool *pool_of(struct market_world *w, uint64_t pool)
{
	for (int i = 0; i < POOLS; i++)
		if (w->pools[i].pool == pool)
			return &w->pools[i];
	return NULL;
}

static struct watched *watch_find(struct market_world *w, uint64_t id)
{
	for (size_t i = 0; i < w->node_count; i++)
		if (w->nodes[i].id == id)
			return &w->nodes[i];
	return NULL;
}

/* Those of the pool whose hosts end in this minute. */
static int32_t ending(const struct market_world *w, const struct buyer_pool *b, int64_t minute)
{
	int32_t n = 0;

	for (const struct instance *x = NULL; (x = engine_instance_after(w->e, b->account, x ? x->id : 0));)
		n += x->pool == b->pool && x->host &&
			engine_owned_until(w->e, x->host, b->pool, renewal_now(w)) == minute;
	return n;
}

/* Before a tick: which nodes need the next minute of their hosts now, and can it be bought? */
static void watch_node(struct market_world *w, const struct buyer_pool *b, const struct instance *x, int64_t next)
{
	int64_t until = engine_owned_until(w->e, x->host, b->pool, renewal_now(w)),
		end = next + 1 + buys_for(w, b)->window;
	struct watched *n = watch_find(w, x->id);

	if (!n) {
		if (w->node_count == w->node_cap) {
			w->node_cap = w->node_cap ? 2 * w->node_cap : 16;
			w->nodes = realloc(w->nodes, w->node_cap * sizeof *w->nodes);
			if (!w->nodes)
				abort();
		}
		n = &w->nodes[w->node_count++];
		*n = (struct watched){ .id = x->id };
	}
	if (n->host != x->host || n->until != until) {
		seen.renewed += n->host == x->host && n->until < until;
		*n = (struct watched){ .id = x->id, .host = x->host, .until = until, .offered = true };
	}
	if (until > next && until < end && pool_hosts(w, b, until) + ending(w, b, until) <= pool_wants(w, b)) {
		n->due = true;
		n->offered = n->offered && on_sale(w, b, x->host, until, end) && has_money(w, b->account) &&
			engine_account(w->e, b->account)->state == ACCOUNT_OPEN && buys_for(w, b)->enabled;
	}
}

static void watch_before(struct market_world *w, const struct event *ev)
{
	for (int i = 0; i < POOLS; i++) {
		struct buyer_pool *b = &w->pools[i];

		for (const struct instance *x = NULL; (x = engine_instance_after(w->e, b->account, x ? x->id : 0));) {
			if (x->pool != b->pool || !x->host || !node_lives(x))
				continue;
			if (ev->kind == EVENT_TICK)
				watch_node(w, b, x, ev->u.tick.minute);
			else if (ev->kind >= EVENT_PROCUREMENT && ev->kind <= EVENT_PROCUREMENT_DELETE &&
				watch_find(w, x->id))
				watch_find(w, x->id)->offered = false; /* another cap, another number */
		}
	}
}

/* Somebody else, who does not renew, bought it by this event. */
static bool taken_by_order(struct market_world *w, const struct watched *n)
{
	const struct piece *p = renewal_piece(w, n->host, n->until);

	for (size_t i = 0; p && p->lease && !pool_of(w, p->pool) && i < w->did.count; i++)
		if (w->did.list[i].kind == EFFECT_LEASE && w->did.list[i].u.lease.is_new &&
			w->did.list[i].u.lease.lease.id == p->lease)
			return true;
	return false;
}

static bool nodes_live(struct market_world *w, const struct event *ev)
{
	for (size_t i = 0; i < w->node_count; i++) {
		struct watched *n = &w->nodes[i];
		const struct instance *x = engine_instance(w->e, n->id);

		if (ev->kind == EVENT_TICK && n->due && n->offered && taken_by_order(w, n))
			n->offered = false;
		if (node_lives(x))
			continue;
		if (ev->kind == EVENT_TICK) {
			seen.moved++;
			seen.lives += n->due && n->offered;
			if (n->due && n->offered)
				return renewal_says(w, "a node was ended though its host was on sale all along", n->id);
		}
		*n = w->nodes[--w->node_count];
		i--;
	}
	return true;
}

/* ---- What is paid works ----------------------------------------------------------------- */

/* What the owner does explains what is there for as long as it was bought before. */
void renewal_loosen(struct market_world *w, struct buyer_pool *b)
{
	for (int i = 0; i < HOSTS; i++) {
		const struct host *h = engine_host(w->e, w->hosts[i]);

		for (size_t k = 0; k < h->piece_count; k++)
			if (h->pieces[k].pool == b->pool && h->pieces[k].end > b->loose)
				b->loose = h->pieces[k].end;
	}
}

static bool pools_work(struct market_world *w)
{
	for (int i = 0; i < POOLS; i++) {
		const struct buyer_pool *b = &w->pools[i];
		int32_t idle = 0, nodes = renewal_nodes(w, b), spare;

		if (renewal_now(w) < b->loose)
			continue;
		for (int k = 0; k < HOSTS; k++) {
			const struct piece *p = renewal_piece(w, w->hosts[k], renewal_now(w));
			const struct instance *x = engine_host_instance(w->e, w->hosts[k]);

			idle += p && p->pool == b->pool && !(x && x->pool == b->pool);
		}
		spare = buys_for(w, b)->target > nodes ? buys_for(w, b)->target - nodes : 0;
		if (idle > spare) {
			seen.works++;
			return renewal_says(w, "a minute is paid in which nothing can run", b->pool);
		}
	}
	return true;
}

/* ---- A market at rest ------------------------------------------------------------------- */

static bool pools_rest(struct market_world *w)
{
	for (size_t i = 0; i < w->did.count; i++) {
		const struct effect *f = &w->did.list[i];
		struct buyer_pool *b = f->kind == EFFECT_ORDER && f->u.order.procurement &&
				f->u.order.side == SIDE_BUY && f->u.order.closed_at
			? pool_of(w, f->u.order.pool)
			: NULL;

		if (b)
			b->orders++;
	}
	for (int i = 0; w->quiet && renewal_now(w) % 60 == 0 && i < POOLS; i++) {
		struct buyer_pool *b = &w->pools[i];

		if (w->quiet < SETTLED) {
			seen.orders += b->orders;
			seen.hours++;
			if (b->orders > 2 * pool_wants(w, b)) {
				seen.rests++;
				return renewal_says(w, "a pool at rest makes an order again and again", b->pool);
			}
		}
		b->orders = 0;
	}
	return true;
}

/* ---- Chance ----------------------------------------------------------------------------- */

int renewal_apply(struct market_world *w, struct event *ev)
{
	int rc;

	ev->at = ev->kind == EVENT_TICK ? 60 * ev->u.tick.minute : engine_at(w->e);
	watch_before(w, ev);
	renewal_drain_before(w, ev);
	rc = engine_apply(w->e, ev, &w->did, NULL);
	seen.events++;
	seen.drained += rc == 0 && ev->kind == EVENT_HOST_DRAIN;
	if (rc == 0 && renewal_drain_after(w, ev) && nodes_live(w, ev) && ev->kind == EVENT_TICK && pools_rest(w))
		pools_work(w);
	return rc;
}

static uint64_t made(struct market_world *w, int rc)
{
	if (rc) {
		printf("Bail out! the market cannot be made: %d\n", rc);
		exit(1);
	}
	return effects_made(&w->did);
}

static void world_event(struct market_world *w)
{
	int64_t n = rng_below(&w->rng, 1000);

	if (w->quiet || n < 600) {
		w->quiet -= w->quiet > 0;
		APPLY(w, TICK, .u.tick.minute = renewal_now(w) + 1);
	} else if (n < 750) {
		renewal_do_seller(w);
	} else if (n < 820) {
		renewal_do_trader(w);
	} else if (n < 960) {
		renewal_do_nodes(w);
	} else if (n < 999) {
		renewal_do_owner(w);
	} else {
		renewal_be_quiet(w);
	}
}

static uint64_t rich_account(struct market_world *w)
{
	uint64_t id = made(w, APPLY(w, ACCOUNT, .name = renewal_name(w)));

	APPLY(w, CREDIT, .account = id, .subject = id, .u.credit.micros = RICH);
	return id;
}

static uint64_t new_pool(struct market_world *w, uint64_t account, enum pool_kind kind)
{
	return made(w, APPLY(w, POOL, .account = account, .name = renewal_name(w), .u.pool.kind = kind));
}

static void world_start(struct market_world *w, uint64_t seed, int32_t edition)
{
	static const int32_t windows[] = { 1, 10, 60, 60, 120 };
	uint64_t buyers[BUYERS];

	*w = (struct market_world){ .rng.state = seed * 7919 + 13, .edition = edition };
	if (engine_new(&w->e))
		abort();
	effects_init(&w->did);
	if (edition > 1)
		APPLY(w, RULES, .u.rules.edition = edition);
	engine_apply(w->e, &(struct event){ .kind = EVENT_TICK, .at = 60 * (int64_t)FIRST, .u.tick.minute = FIRST },
		&w->did, NULL);
	APPLY(w, POLICY, .u.policy = { .settle_minutes = 60, .drain_notice_minutes = DRAIN_TOLD });
	w->sku = made(w, APPLY(w, SKU, .name = "h100", .u.sku.gpus = 8));
	for (int i = 0; i < SELLERS; i++) {
		w->sellers[i] = rich_account(w);
		w->seller_pools[i] = new_pool(w, w->sellers[i], POOL_ORIGINATING);
	}
	for (int i = 0; i < HOSTS; i++)
		w->hosts[i] = made(w,
			APPLY(w, HOST, .account = w->sellers[i % SELLERS], .name = renewal_name(w),
				.u.host = { .sku = w->sku,
					.pool = w->seller_pools[i % SELLERS],
					.start = FIRST,
					.end = MINUTE_MAX }));
	w->trader = rich_account(w);
	w->trader_pool = new_pool(w, w->trader, POOL_MARKET);
	for (int i = 0; i < BUYERS; i++)
		buyers[i] = rich_account(w);
	for (int i = 0; i < POOLS; i++) {
		struct buyer_pool *b = &w->pools[i];

		b->account = buyers[i % BUYERS];
		b->pool = new_pool(w, b->account, POOL_MARKET);
	}
	for (int i = 0; i < POOLS; i++) {
		struct buyer_pool *b = &w->pools[i];

		b->procurement = made(w,
			APPLY(w, PROCUREMENT, .account = b->account, .name = renewal_name(w),
				.u.procurement = { .pool = b->pool,
					.sku = w->sku,
					.target = i == POOLS - 1 ? 2 : -1,
					.window = windows[rng_below(&w->rng, 5)],
					.min_sell = STEP * rng_below(&w->rng, 3),
					.max_buy = STEP * (4 + rng_below(&w->rng, 7)),
					.enabled = true }));
	}
}

static bool renewal_good(uint64_t seed, long events, int32_t edition, bool tell)
{
	struct market_world w;

	world_start(&w, seed, edition);
	for (long i = 0; i < events && !*w.wrong; i++)
		world_event(&w);
	if (*w.wrong && tell)
		diag("seed %" PRIu64 ": %s", seed, w.wrong);
	engine_free(w.e);
	effects_release(&w.did);
	free(w.nodes);
	return !*w.wrong;
}

static bool renewals_good(uint64_t first, long events)
{
	for (long done = 0; done < events; done += WORLD_EVENTS)
		if (!renewal_good(first++, WORLD_EVENTS, RULES_NEWEST, true))
			return false;
	return true;
}

/* The rules of before broke all three promises: so these markets can tell. */
static void first_edition(void)
{
	long lives, works;

	memset(&seen, 0, sizeof seen);
	for (uint64_t seed = 1; seed <= 60; seed++)
		renewal_good(seed, WORLD_EVENTS, 1, false);
	lives = seen.lives;
	works = seen.works;
	ok(lives > 0, "by edition 1 nodes died on hosts that were on sale, in %ld of 60 markets", lives);
	ok(works > 0, "and empty hosts were paid, in %ld", works);
	diag("at rest an order again and again in %ld", seen.rests);
	memset(&seen, 0, sizeof seen);
}

int main(int argc, char **argv)
{
	bool more = argc > 2 && strcmp(argv[1], "long") == 0;

	plan_none;
	if (argc > 1 && !more) {
		long events = argc > 2 ? strtol(argv[2], NULL, 10) : WORLD_EVENTS;

		ok(renewal_good(strtoull(argv[1], NULL, 10), events,
			   argc > 3 ? (int32_t)strtol(argv[3], NULL, 10) : RULES_NEWEST, true),
			"world %s", argv[1]);
		return done();
	}
	if (!more)
		first_edition();
	ok(renewals_good(more ? (uint64_t)time(NULL) << 20 : 1, more ? strtol(argv[2], NULL, 10) : EVENTS_CHECKED),
		"nodes live, what is paid works, markets rest");
	ok(seen.drained > 100, "hosts were taken out of service %ld times", seen.drained);
	ok(seen.renewed > 100 && seen.moved > 10 && seen.hours > 10, "hosts were renewed (%ld times) and lost (%ld)",
		seen.renewed, seen.moved);
	diag("%ld events; %ld orders in %ld hours of pools at rest", seen.events, seen.orders, seen.hours);
	return done();
}
