/* SPDX-License-Identifier: Apache-2.0 */
/* Who buys hosts and wants instances on them, and what their owners do. See fleet.h. */
#include <stdio.h>

#include "fleet.h"

static int64_t any(struct fleet *f, int64_t n)
{
	return rng_below(&f->rng, n);
}

static struct buyer_pool *any_pool(struct fleet *f)
{
	return &f->pool[any(f, POOLS)];
}

static void buy(struct fleet *f, const struct engine *e)
{
	struct buyer_pool *p = any_pool(f);
	struct event ev = { .kind = EVENT_ORDER, .account = p->account };
	const struct effects *did;

	ev.u.order.pool = p->pool;
	ev.u.order.sku = f->sku;
	ev.u.order.nodes = 1 + (int32_t)any(f, 4);
	ev.u.order.start = engine_minute(e) + 1 + (rng_percent(&f->rng, 60) ? 0 : any(f, 8));
	ev.u.order.end = ev.u.order.start + 1 + any(f, rng_percent(&f->rng, 30) ? 5 : 60);
	ev.u.order.price = 1000;
	if (market_apply(f->market, &ev, &did, NULL) != 0)
		return;
	f->orders++;
	if (!p->idle)
		p->owed += ev.u.order.nodes;
}

/* In its last minutes a lease is bought on, on the same host. */
static void extend(struct fleet *f, const struct engine *e)
{
	const struct lease *l = engine_lease_after(e, 0, (uint64_t)any(f, (int64_t)engine_next_id(e)));
	struct event ev = { .kind = EVENT_ORDER };

	if (!l || l->start > engine_minute(e) || l->end > engine_minute(e) + 3)
		return;
	ev.account = l->buyer;
	ev.u.order.pool = l->pool;
	ev.u.order.sku = l->sku;
	ev.u.order.nodes = 1;
	ev.u.order.flags = ORDER_EXTEND;
	ev.u.order.start = l->end;
	ev.u.order.end = l->end + 1 + any(f, 30);
	ev.u.order.price = 1000;
	if (market_apply(f->market, &ev, NULL, NULL) == 0)
		f->orders++;
}

static void make_instance(struct fleet *f)
{
	struct buyer_pool *p = any_pool(f);
	char name[32];
	struct event ev = { .kind = EVENT_INSTANCE, .account = p->account, .name = name, .text = "{}" };

	if (p->owed <= 0)
		return;
	snprintf(name, sizeof name, "n%llu", (unsigned long long)++f->names);
	ev.u.instance.pool = p->pool;
	ev.u.instance.sku = f->sku;
	ev.u.instance.user_data = "a2V5";
	if (market_apply(f->market, &ev, NULL, NULL) == 0) {
		p->owed--;
		f->instances++;
	}
}

static const struct instance *any_instance(struct fleet *f, const struct engine *e)
{
	return engine_instance_before(e, 0, engine_next_id(e) - (uint64_t)any(f, (int64_t)(engine_next_id(e) / 2)));
}

/* Stopped, given other keys, forgotten; where one failed, another is wanted. */
static void with_instance(struct fleet *f, const struct engine *e)
{
	const struct instance *x = any_instance(f, e);
	struct event ev = { .kind = EVENT_INSTANCE_STOP };

	if (!x)
		return;
	ev.account = x->account;
	ev.subject = x->id;
	if (x->status == INSTANCE_TERMINATED || x->status == INSTANCE_FAILED) {
		for (int i = 0; x->status == INSTANCE_FAILED && i < POOLS; i++)
			f->pool[i].owed += f->pool[i].pool == x->pool;
		ev.kind = EVENT_INSTANCE_DELETE;
	} else if (rng_percent(&f->rng, 60)) {
		ev.kind = EVENT_INSTANCE_CHANGE;
		ev.u.instance_change.priority = -1;
		ev.u.instance_change.user_data = "bmV3";
	}
	market_apply(f->market, &ev, NULL, NULL);
}

static void release(struct fleet *f, const struct engine *e)
{
	struct buyer_pool *p = any_pool(f);
	struct event ev = { .kind = EVENT_RELEASE, .account = p->account, .subject = p->pool };

	ev.u.release.from = engine_minute(e) + 1 + any(f, 10);
	ev.u.release.nodes = 1 + (int32_t)any(f, 2);
	market_apply(f->market, &ev, NULL, NULL);
}

/* An owner takes a host down, or brings one back, whoever took it down. */
static void with_host(struct fleet *f, const struct engine *e)
{
	const struct machine *m = &f->machine[any(f, f->machines)];
	const struct host *h = engine_host(e, m->host[any(f, HOSTS_EACH)]);
	struct event ev = { .kind = EVENT_HOST_STATE, .account = h->account, .subject = h->id };

	ev.u.host_state.down = !h->down || (h->watched && rng_percent(&f->rng, 50));
	market_apply(f->market, &ev, NULL, NULL);
}

/* Owners bring up what they took down themselves. */
static void owners_tidy(struct fleet *f, const struct engine *e)
{
	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id)) {
		struct event ev = { .kind = EVENT_HOST_STATE, .account = h->account, .subject = h->id };

		if (h->down && !h->watched && (f->calm || rng_percent(&f->rng, 10)))
			market_apply(f->market, &ev, NULL, NULL);
	}
}

void buyers_second(struct fleet *f)
{
	const struct engine *e = market_engine(f->market);
	int64_t busy = f->machines / 25 + 1;

	if (f->clock % 60 == 0)
		owners_tidy(f, e);
	for (int64_t i = 0; i < busy; i++)
		make_instance(f);
	if (f->calm)
		return;
	for (int64_t n = any(f, busy + 1); n > 0; n--)
		switch (any(f, 24)) {
		case 0: case 1: case 2: case 3: extend(f, e); break;
		case 4: case 5: with_instance(f, e); break;
		case 6: release(f, e); break;
		case 7:
			if (rng_percent(&f->rng, 20))
				with_host(f, e);
			break;
		case 8: case 9: case 10: case 11: buy(f, e); break;
		default: break;
		}
}
