/* SPDX-License-Identifier: Apache-2.0 */
/* What people do in a market in which nodes renew themselves, by chance. See renewal.h. */
#include <stdlib.h>

#include "renewal.h"

/* Whoever has a host offers it: its seller or, if they like, those who bought. */
static void do_offer(struct market_world *w, int host, int64_t price, int64_t from, int64_t to)
{
	APPLY(w, ORDER, .account = w->sellers[host % SELLERS],
		.u.order = { .pool = w->seller_pools[host % SELLERS],
			.sku = w->sku,
			.host = w->hosts[host],
			.side = SIDE_SELL,
			.flags = ORDER_PARTIAL | ORDER_STANDING,
			.nodes = 1,
			.start = from,
			.end = to,
			.price = price });
}

/* Offers each stretch that the seller still has and that nobody can buy. */
static void offer_rest(struct market_world *w, int host, int64_t price, int64_t to)
{
	for (int64_t t = renewal_now(w) + 1, end; t < to; t = end) {
		const struct piece *p = renewal_piece(w, w->hosts[host], t);

		end = !p || p->end > to ? to : p->end;
		if (p && p->pool == w->seller_pools[host % SELLERS] && !p->order)
			do_offer(w, host, price, t, end);
	}
}

/* The machine comes back as another host. */
static bool do_anew(struct market_world *w, int host)
{
	if (APPLY(w, HOST_RETIRE, .account = w->sellers[host % SELLERS], .subject = w->hosts[host]))
		return false;
	if (APPLY(w, HOST, .account = w->sellers[host % SELLERS], .name = renewal_name(w),
		    .u.host = { .sku = w->sku,
			    .pool = w->seller_pools[host % SELLERS],
			    .start = FIRST,
			    .end = MINUTE_MAX }))
		abort();
	w->hosts[host] = effects_made(&w->did);
	return true;
}

/* Out of service from a minute on, with or without what was sold beyond; or in service again. */
static void do_drain(struct market_world *w, int host)
{
	const struct host *h = engine_host(w->e, w->hosts[host]);
	bool ends = rng_below(&w->rng, 3) > 0;

	if (h->drain && ends && do_anew(w, host))
		return;
	APPLY(w, HOST_DRAIN, .account = h->account, .subject = h->id,
		.u.host_drain = { .from = h->drain ? 0 : renewal_now(w) + (ends ? 3 : 1) + rng_below(&w->rng, 120),
			.ends = ends && !h->drain,
			.by_operator = rng_below(&w->rng, 8) == 0 });
}

void renewal_do_seller(struct market_world *w)
{
	int host = (int)rng_below(&w->rng, HOSTS);
	int64_t n = rng_below(&w->rng, 100), price = STEP * (1 + rng_below(&w->rng, DEAREST / STEP + 2));
	const struct order *o;

	if (n < 45) {
		offer_rest(w, host, price, renewal_now(w) + 1 + 20 + rng_below(&w->rng, 300));
	} else if (n < 60) {
		int64_t from = renewal_now(w) + 1 + rng_below(&w->rng, 90);

		do_offer(w, host, price, from, from + 1 + rng_below(&w->rng, 120));
	} else if (n < 85) {
		o = engine_order_after(w->e, w->sellers[host % SELLERS],
			(uint64_t)rng_below(&w->rng, (int64_t)engine_next_id(w->e)));
		if (o)
			APPLY(w, CANCEL, .account = o->account, .subject = o->id);
	} else {
		const struct host *h = engine_host(w->e, w->hosts[host]);

		if (rng_below(&w->rng, 2)) {
			do_drain(w, host);
			return;
		}
		APPLY(w, HOST_STATE, .account = h->account, .subject = h->id,
			.u.host_state = { .down = !h->down && n < 92, .watch = !h->down && n < 88 });
	}
}

void renewal_do_trader(struct market_world *w)
{
	int64_t from = renewal_now(w) + 1 + rng_below(&w->rng, 120), n = rng_below(&w->rng, 10);

	APPLY(w, ORDER, .account = w->trader,
		.u.order = { .pool = w->trader_pool,
			.sku = w->sku,
			.side = n < 6 ? SIDE_BUY : SIDE_SELL,
			.flags = (n % 2 ? ORDER_PARTIAL : 0) | (n % 3 ? ORDER_STANDING : 0),
			.nodes = 1,
			.start = from,
			.end = from + 1 + rng_below(&w->rng, 90),
			.price = STEP * (1 + rng_below(&w->rng, 10)) });
}

void renewal_do_nodes(struct market_world *w)
{
	struct buyer_pool *b = &w->pools[rng_below(&w->rng, POOLS)];
	const struct instance *x = NULL, *one = NULL;
	int64_t n = rng_below(&w->rng, 100);

	while ((x = engine_instance_after(w->e, b->account, x ? x->id : 0)))
		if (x->pool == b->pool && (!one || rng_below(&w->rng, 3) == 0))
			one = x;
	if (n < 35 && renewal_nodes(w, b) < NODES) {
		APPLY(w, INSTANCE, .account = b->account, .name = renewal_name(w),
			.u.instance = { .pool = b->pool,
				.sku = w->sku,
				.image = 1,
				.priority = (int32_t)rng_below(&w->rng, 4) });
	} else if (one && n < 70) {
		APPLY(w, REPORT, .account = b->account, .subject = one->id, .u.report.status = INSTANCE_RUNNING);
	} else if (one && n < 85) {
		APPLY(w, INSTANCE_DELETE, .account = b->account, .subject = one->id);
	} else if (one) {
		renewal_loosen(w, b);
		if (n < 95)
			APPLY(w, INSTANCE_STOP, .account = b->account, .subject = one->id);
		else
			APPLY(w, REPORT, .account = b->account, .subject = one->id, .u.report.status = INSTANCE_FAILED);
	}
}

void renewal_do_owner(struct market_world *w)
{
	struct buyer_pool *b = &w->pools[rng_below(&w->rng, POOLS)];
	const struct account *a = engine_account(w->e, b->account);
	int64_t n = rng_below(&w->rng, 100);

	renewal_loosen(w, b);
	if (n < 60)
		APPLY(w, PROCUREMENT_CHANGE, .account = b->account, .subject = b->procurement,
			.u.procurement_change = { .target = rng_below(&w->rng, 3) ? -1 : (int32_t)rng_below(&w->rng, 3),
				.window = rng_below(&w->rng, 3) ? -1 : 1 + (int32_t)rng_below(&w->rng, 90),
				.min_sell = -1,
				.max_buy = STEP * (3 + rng_below(&w->rng, DEAREST / STEP - 2)),
				.enabled = rng_below(&w->rng, 8) != 0 });
	else if (n < 75)
		APPLY(w, ACCOUNT_STATE, .account = a->id, .subject = a->id,
			.u.account_state = { .state = a->state == ACCOUNT_OPEN ? ACCOUNT_SUSPENDED : ACCOUNT_OPEN });
	else if (n < 85)
		APPLY(w, CREDIT, .account = a->id, .subject = a->id,
			.u.credit.micros = a->available > RICH / 2 ? 500 - a->available : RICH);
	else
		APPLY(w, RELEASE, .account = a->id, .subject = b->pool,
			.u.release = { .from = renewal_now(w) + rng_below(&w->rng, 90), .nodes = 1 });
	renewal_loosen(w, b);
}

/* From now on nothing happens for a while, and all that is not sold is on sale. */
void renewal_be_quiet(struct market_world *w)
{
	for (int i = 0; i < BUYERS; i++) {
		uint64_t id = w->pools[i].account;

		APPLY(w, ACCOUNT_STATE, .account = id, .subject = id, .u.account_state.state = ACCOUNT_OPEN);
		if (engine_account(w->e, id)->available < RICH / 2)
			APPLY(w, CREDIT, .account = id, .subject = id, .u.credit.micros = RICH);
	}
	for (int i = 0; i < HOSTS; i++) {
		const struct host *h = engine_host(w->e, w->hosts[i]);

		if (h->down)
			APPLY(w, HOST_STATE, .account = h->account, .subject = h->id);
		if (h->drain)
			APPLY(w, HOST_DRAIN, .account = h->account, .subject = h->id);
		offer_rest(w, i, STEP * (1 + rng_below(&w->rng, 3)), renewal_now(w) + 900);
	}
	w->quiet = QUIET;
	for (int i = 0; i < POOLS; i++)
		w->pools[i].orders = 0;
}
