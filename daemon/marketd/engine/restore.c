/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a state from untrusted bytes: checks each thing before anything relies on it, and every
 * invariant over the whole at the end.
 */
#include <errno.h>
#include <stdlib.h>

#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/engine.h"
#include "marketd/engine/rules/agents.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/rules/account.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/money/tariff.h"
#include "marketd/engine/restore.h"
#include "marketd/engine/rules/live_order.h"

#define PRICE_MAX INT64_C(1000000000000)

static bool window_fits(int64_t start, int64_t end)
{
	return start >= 0 && start < end && end <= MINUTE_MAX;
}

static bool income_fits(const struct reader *r, const struct income *in)
{
	bool fits = in->earned >= 0 && in->paid >= 0;

	for (size_t i = 0; i < in->count; i++)
		fits = fits && in->hours[i].micros > 0 && in->hours[i].hour >= 0 &&
			in->hours[i].hour <= r->e->minute / HOUR && (!i || in->hours[i].hour > in->hours[i - 1].hour);
	return fits;
}

static bool debt_fits(const struct reader *r, const struct account *a)
{
	const struct debt *d = &a->debt;

	if (d->reopened && r->e->rules < 5)
		return false;
	return d->owes
		? r->e->rules >= 5 && d->since >= 0 && d->since <= r->e->minute && d->step <= DUNNING_SUSPENDED &&
			(d->step ? d->stepped >= d->since && d->stepped <= r->e->minute : !d->stepped) &&
			(d->step != DUNNING_SUSPENDED || a->state == ACCOUNT_SUSPENDED)
		: !d->since && !d->stepped && !d->step;
}

static bool read_account(struct reader *r)
{
	struct account a = { 0 };
	bool fits;

	codec_account(&r->c, &a);
	fits = restore_id_fits(r, a.id) && a.name && *a.name && a.beneficiary && a.beneficiary <= a.id &&
		a.state <= ACCOUNT_SUSPENDED && a.floor <= 0 && a.floor > INT64_MIN && a.available >= -2 * MONEY_MAX &&
		!world_named(r->e, ACCOUNTS, 0, a.name) &&
		(a.beneficiary == a.id || world_account(r->e, a.beneficiary)) && income_fits(r, &a.income) &&
		debt_fits(r, &a);
	if (fits)
		world_make_account(r->e, &a);
	else
		free(a.income.hours);
	free(a.name);
	free(a.facts);
	return fits || restore_bad(r);
}

static bool read_grant(struct reader *r)
{
	struct grant *g = must_zalloc(sizeof *g);

	codec_grant(&r->c, g);
	if (!restore_id_fits(r, g->id) || !g->name || !*g->name || !world_account(r->e, g->account) ||
		!world_account(r->e, g->sponsor) || g->sponsor == g->account || g->max < (g->plan ? 0 : 1) ||
		g->spent < 0 || g->spent > g->max || g->units < 0 || g->units > (g->plan ? g->max : 0) ||
		g->until < 1 || g->until > MINUTE_MAX ||
		(!g->ended && !g->plan && world_named(r->e, GRANTS, g->account, g->name))) {
		free(g->name);
		free(g);
		return restore_bad(r);
	}
	grant_add(r->e, g);
	return true;
}

static bool spending_fits(const struct spending *s)
{
	return s->cap >= 0 && s->cap <= MONEY_MAX && (s->capped || !s->cap) && s->month >= 0 && s->spent >= 0;
}

static bool restore_read_token(struct reader *r)
{
	struct token *t = must_zalloc(sizeof *t);
	char key[TOKEN_KEY];

	codec_token(&r->c, t);
	if (!restore_id_fits(r, t->id) || !t->name || !spending_fits(&t->spending) ||
		!world_account(r->e, t->account) || world_named(r->e, TOKENS, 0, token_key(t->hash, key))) {
		free(t->name);
		free(t);
		return restore_bad(r);
	}
	world_add(r->e, TOKENS, t->id, t->account, t);
	if (t->revoked)
		token_end(r->e, t);
	world_name(r->e, TOKENS, 0, key, t);
	return true;
}

static bool restore_read_sku(struct reader *r)
{
	struct sku s = { 0 };
	int64_t used = 0;
	bool fits;

	codec_sku(&r->c, &s, &used);
	fits = restore_id_fits(r, s.id) && s.alias && *s.alias && s.gpus >= 0 && !world_named(r->e, SKUS, 0, s.alias);
	if (fits)
		world_make_sku(r->e, &s)->used = used;
	free(s.alias);
	free(s.properties);
	return fits || restore_bad(r);
}

static bool read_stocks(struct reader *r, struct live_pool *p)
{
	size_t count = 0;
	uint64_t last = 0;

	codec_count(&r->c, &count, 3);
	for (size_t i = 0; i < count && !r->c.rc; i++) {
		struct stock s = { 0 };

		codec_stock(&r->c, &s);
		if (s.sku <= last || !world_sku(r->e, s.sku))
			return restore_bad(r);
		last = s.sku;
		*world_stock(p, s.sku) = s;
	}
	return !r->c.rc;
}

static bool restore_read_pool(struct reader *r)
{
	struct pool p = { 0 };
	struct live_pool *d = NULL;

	codec_pool(&r->c, &p);
	if (restore_id_fits(r, p.id) && p.name && *p.name && p.kind <= POOL_ORIGINATING &&
		world_account(r->e, p.account) && (p.deleted || !world_named(r->e, POOLS, p.account, p.name)))
		d = world_make_pool(r->e, &p);
	free(p.name);
	free(p.tags);
	return d ? read_stocks(r, d) : restore_bad(r);
}

static bool read_agent(struct reader *r)
{
	struct agent a = { 0 };
	bool fits;

	codec_agent(&r->c, &a);
	fits = restore_id_fits(r, a.id) && a.name && *a.name && agent_key_fits(a.public_key) &&
		world_account(r->e, a.account) && a.volume_gib >= 0 && a.volume_gib <= VOLUME_GIB_MAX &&
		a.volume_price >= 0 && a.volume_price <= PRICE_MAX &&
		(a.retired ||
			(!world_named(r->e, AGENTS, a.account, a.name) && !world_named(r->e, AGENTS, 0, a.public_key)));
	if (fits)
		world_make_agent(r->e, &a);
	free(a.name);
	free(a.public_key);
	free(a.machine);
	free(a.inventory);
	return fits || restore_bad(r);
}

static bool restore_read_host(struct reader *r)
{
	struct host h = { 0 };
	const struct live_pool *p;
	const struct live_agent *a;
	bool fits;

	codec_host(&r->c, &h);
	p = world_pool(r->e, h.pool);
	a = world_agent(r->e, h.agent);
	fits = restore_id_fits(r, h.id) && h.name && *h.name && world_sku(r->e, h.sku) && p &&
		p->pub.kind == POOL_ORIGINATING && (h.retired || !p->pub.deleted) && p->pub.account == h.account &&
		window_fits(h.start, h.end) && (h.retired || !world_named(r->e, HOSTS, h.account, h.name)) &&
		(h.down || (!h.watched && !h.why && !h.down_at)) && h.drain >= 0 && h.drain < MINUTE_MAX &&
		(h.drain || (!h.drain_ends && !h.drain_why)) && h.proof <= PROOF_OUTGROWN &&
		(h.proof == PROOF_NONE || h.proof == PROOF_FAILED) == (h.proof_until == 0) && h.proof_until >= 0 &&
		h.proof_until <= MINUTE_MAX && h.floor >= 0 && h.floor <= PRICE_MAX &&
		(!h.agent || (a && a->pub.account == h.account && (h.retired || !a->pub.retired)));
	if (fits)
		pool_add_host(r->e, &h, NULL, 0);
	free(h.name);
	free(h.why);
	free(h.drain_why);
	free(h.proof_why);
	free(h.claims);
	return fits || restore_bad(r);
}

static bool restore_read_lease(struct reader *r)
{
	struct lease l = { 0 };
	const struct live_pool *p;
	const struct live_host *h;

	codec_lease(&r->c, &l);
	p = world_pool(r->e, l.pool);
	h = world_host(r->e, l.host);
	if (!restore_id_fits(r, l.id) || !p || p->pub.account != l.buyer || !world_account(r->e, l.seller) || !h ||
		h->pub.retired || h->pub.sku != l.sku || !window_fits(l.start, l.end) || l.end <= r->e->minute ||
		l.price < 0 || l.price > PRICE_MAX || l.paid_end < l.start || l.paid_end > l.end ||
		l.settled < l.start || l.settled > l.end || l.parent >= r->e->next_id || l.since < 0 ||
		l.since > l.start || l.month < 0 || !l.month != !l.token || !grant_fits(r->e, &l))
		return restore_bad(r);
	lease_schedule(r->e, world_make_lease(r->e, &l));
	return true;
}

static bool place_fits(const struct reader *r, const struct order *o)
{
	return o->side != SIDE_SELL || (o->place >= o->id && o->place < r->e->next_id);
}

static bool order_fits(struct reader *r, const struct order *o)
{
	const struct live_pool *p = world_pool(r->e, o->pool);

	return restore_id_fits(r, o->id) && p && p->pub.account == o->account && world_sku(r->e, o->sku) &&
		o->side <= SIDE_SELL && o->nodes >= 1 && o->nodes <= NODES_MAX && window_fits(o->start, o->end) &&
		o->price >= 0 && o->price <= PRICE_MAX && place_fits(r, o) && o->month >= 0 && o->end > r->e->minute &&
		(o->side == SIDE_SELL || o->start > r->e->minute);
}

/* A sell's hosts, ascending. */
static bool restore_read_hosts(struct reader *r, const struct order *o, uint64_t **hosts, size_t *count)
{
	*count = 0;
	codec_count(&r->c, count, 1);
	if (r->c.rc || *count != (o->side == SIDE_SELL ? (size_t)o->nodes : 0))
		return false;
	*hosts = must_realloc(NULL, *count, sizeof **hosts);
	for (size_t i = 0; i < *count; i++) {
		(*hosts)[i] = 0;
		codec_field(&r->c, (*hosts)[i]);
		if ((i && (*hosts)[i] <= (*hosts)[i - 1]) || !world_host(r->e, (*hosts)[i]))
			return false;
	}
	return !r->c.rc;
}

static bool restore_read_rest(struct reader *r, const struct order *o, struct span *list, size_t count)
{
	int64_t last = o->start;

	for (size_t i = 0; i < count; i++) {
		list[i] = (struct span){ 0 };
		codec_span(&r->c, &list[i]);
		if (r->c.rc || list[i].start < last || list[i].start >= list[i].end || list[i].end > o->end ||
			list[i].nodes < 1 || list[i].nodes > o->nodes)
			return false;
		last = list[i].end;
	}
	return !r->c.rc;
}

static bool restore_read_order(struct reader *r)
{
	struct order o = { 0 };
	uint64_t *hosts = NULL;
	struct span *rest;
	struct live_order t, *made;
	size_t count = 0, host_count;

	codec_order(&r->c, &o);
	if (!order_fits(r, &o))
		return restore_bad(r);
	codec_count(&r->c, &count, 3);
	rest = must_realloc(NULL, count, sizeof *rest);
	if (!restore_read_rest(r, &o, rest, count) || (count > 0) != (o.side == SIDE_BUY) ||
		!restore_read_hosts(r, &o, &hosts, &host_count)) {
		free(rest);
		free(hosts);
		return restore_bad(r);
	}
	live_order_init(r->e, &t, &o);
	t.pub.rest = rest;
	t.pub.rest_count = count;
	made = live_order_open(r->e, &t, hosts, host_count);
	free(rest);
	if (made->pub.side == SIDE_SELL)
		made->last = 0;
	return true;
}

/* Looks up the order and the lease that a piece names. 0 if they fit it. */
static bool piece_fits(struct reader *r, const struct live_host *h, struct piece *p, int64_t at)
{
	const struct live_order *sell = world_order(r->e, p->order);
	const struct live_lease *l = world_lease(r->e, p->lease);

	if (r->c.rc || p->start != at || p->start >= p->end || p->end > h->pub.end || !world_pool(r->e, p->pool) ||
		(p->order && (!sell || sell->pub.side != SIDE_SELL)) || (p->lease && !l) ||
		(p->taken && (!world_pool(r->e, p->taken) || p->pool != h->pub.pool || p->lease || p->order)))
		return false;
	p->price = sell ? sell->pub.price : 0;
	p->place = sell ? sell->pub.place : 0;
	p->block = sell && order_block(&sell->pub);
	p->interruptible = l && l->pub.interruptible;
	p->granted = l && l->pub.grant;
	return true;
}

static bool read_pieces(struct reader *r, struct live_host *h)
{
	int64_t at = h->pub.start > r->e->minute ? h->pub.start : r->e->minute;
	size_t count = 0;
	struct piece *list;

	codec_count(&r->c, &count, 5);
	if (r->c.rc || (h->pub.retired || h->pub.end <= r->e->minute) != (count == 0))
		return restore_bad(r);
	list = must_zalloc(count * sizeof *list);
	for (size_t i = 0; i < count; i++) {
		codec_piece(&r->c, &list[i]);
		if (!piece_fits(r, h, &list[i], at)) {
			free(list);
			return restore_bad(r);
		}
		at = list[i].end;
	}
	if (count && at == h->pub.end)
		calendar_start(h, list, count);
	for (size_t i = 0; i < count && at == h->pub.end; i++)
		if (list[i].order)
			live_order_on_sale(r->e, world_order(r->e, list[i].order), h, list[i].start, list[i].end);
	free(list);
	return !count || at == h->pub.end || restore_bad(r);
}

static bool read_instance(struct reader *r)
{
	struct instance *x = must_zalloc(sizeof *x);
	struct live_pool *p;
	struct live_host *h;
	bool live;

	codec_instance(&r->c, x);
	p = world_pool(r->e, x->pool);
	h = world_host(r->e, x->host);
	live = x->status == INSTANCE_AWAITING || x->status == INSTANCE_RUNNING;
	if (!restore_id_fits(r, x->id) || !x->name || !*x->name || !p || p->pub.account != x->account ||
		!world_sku(r->e, x->sku) || x->priority > PRIORITY_CRITICAL || x->status > INSTANCE_FAILED ||
		(x->host && (!h || h->instance || !live)) ||
		(live && world_named(r->e, INSTANCES, x->account, x->name))) {
		free(x->name);
		free(x->tags);
		free(x->user_data);
		free(x->detail);
		free(x);
		return restore_bad(r);
	}
	world_add(r->e, INSTANCES, x->id, x->account, x);
	if (live) {
		world_instance_begin(p, x);
		world_name(r->e, INSTANCES, x->account, x->name, x);
	}
	if (instance_waits(x))
		world_wait(p, x);
	if (h)
		h->instance = x->id;
	return true;
}

static bool read_procurement(struct reader *r)
{
	struct procurement *p = must_zalloc(sizeof *p);
	struct live_pool *d;

	codec_procurement(&r->c, p);
	d = world_pool(r->e, p->pool);
	if (!restore_id_fits(r, p->id) || !p->name || !*p->name || !d || d->pub.account != p->account ||
		d->pub.kind != POOL_MARKET || !world_sku(r->e, p->sku) || p->target < -1 || p->target > NODES_MAX ||
		p->window < 1 || p->window > 129600 || p->min_sell < 0 || p->max_buy > PRICE_MAX ||
		p->min_sell > p->max_buy || world_named(r->e, PROCUREMENTS, p->account, p->name)) {
		free(p->name);
		free(p);
		return restore_bad(r);
	}
	world_add(r->e, PROCUREMENTS, p->id, p->account, p);
	world_name(r->e, PROCUREMENTS, p->account, p->name, p);
	rank_add(&d->procurements, p->id, p);
	r->e->enabled += p->enabled;
	return true;
}

static bool read_announcement(struct reader *r)
{
	struct announcement *x = must_zalloc(sizeof *x);

	codec_announcement(&r->c, x);
	if (r->c.rc || !restore_id_fits(r, x->id) || !x->text || !*x->text || x->severity > SEVERITY_CRITICAL ||
		(x->account && !world_account(r->e, x->account)) || x->from < 0 || x->until <= r->e->minute ||
		x->from >= x->until || x->until > MINUTE_MAX) {
		free(x->text);
		free(x);
		return restore_bad(r);
	}
	world_add(r->e, ANNOUNCEMENTS, x->id, x->account, x);
	return true;
}

static bool read_person(struct reader *r)
{
	struct person *x = must_zalloc(sizeof *x);

	codec_person(&r->c, x);
	if (r->c.rc || !restore_id_fits(r, x->id) || !spending_fits(&x->spending) || !x->identity || !*x->identity ||
		!x->name || !*x->name || !x->roles || (x->roles & ~ROLES_ALL) || !world_account(r->e, x->account) ||
		world_named(r->e, PEOPLE, 0, x->identity)) {
		free(x->identity);
		free(x->name);
		free(x->email);
		free(x);
		return restore_bad(r);
	}
	world_add(r->e, PEOPLE, x->id, x->account, x);
	world_name(r->e, PEOPLE, 0, x->identity, x);
	return true;
}

static bool read_invitation(struct reader *r)
{
	struct invitation *i = must_zalloc(sizeof *i);
	char key[TOKEN_KEY];

	codec_invitation(&r->c, i);
	if (r->c.rc || !restore_id_fits(r, i->id) || !i->roles || (i->roles & ~ROLES_ALL) ||
		!world_account(r->e, i->account) || (i->maker && !world_person(r->e, i->maker)) ||
		world_named(r->e, INVITATIONS, 0, token_key(i->hash, key))) {
		free(i->name);
		free(i);
		return restore_bad(r);
	}
	world_add(r->e, INVITATIONS, i->id, i->account, i);
	world_name(r->e, INVITATIONS, 0, key, i);
	return true;
}

static bool restore_read_head(struct reader *r)
{
	struct engine *e = r->e;

	codec_engine(&r->c, e, &r->h);
	if (r->c.rc || e->minute < 0 || e->minute >= MINUTE_MAX || e->next_id < 1 || e->next_transfer < 1 ||
		e->next_id > INT64_MAX || e->next_transfer > INT64_MAX || e->policy.fee_bps < 0 ||
		e->policy.fee_bps > 10000 || e->policy.release_bps < 0 || e->policy.release_bps > 10000 ||
		e->policy.settle_minutes < 1 || e->policy.settle_minutes > 525600 || e->policy.notice_minutes < 0 ||
		e->policy.notice_minutes > 1440 || e->policy.drain_notice_minutes < 0 ||
		e->policy.drain_notice_minutes > DRAIN_NOTICE_MAX || e->policy.volume_grace_minutes < 0 ||
		e->policy.volume_grace_minutes > VOLUME_GRACE_MAX || e->rules < 1 || e->rules > RULES_NEWEST)
		return restore_bad(r);
	return true;
}

static bool restore_read_all(struct reader *r, enum kind k, bool (*one)(struct reader *))
{
	static const char *const names[KINDS] = { "account", "token", "instance SKU", "host", "pool", "order", "lease",
		"instance", "procurement", "agent", "announcement", "grant", "person", "invitation", "payment",
		"volume", "plan", "subscription", "payout" };

	r->last = 0;
	r->what = names[k];
	for (size_t i = 0; i < r->h.count[k]; i++)
		if (!one(r))
			return false;
	return true;
}

static bool restore_read_state(struct reader *r)
{
	struct live_host *h;
	struct live_sku *s;
	struct live_agent *a;

	if (!restore_read_head(r) || !restore_read_all(r, ACCOUNTS, read_account) ||
		!restore_read_all(r, TOKENS, restore_read_token) || !restore_read_all(r, SKUS, restore_read_sku) ||
		!restore_read_all(r, POOLS, restore_read_pool) || !restore_read_all(r, AGENTS, read_agent) ||
		!restore_read_all(r, GRANTS, read_grant) || !restore_read_all(r, HOSTS, restore_read_host) ||
		!restore_read_all(r, LEASES, restore_read_lease) || !restore_read_all(r, ORDERS, restore_read_order))
		return false;
	r->what = "schedule";
	for (size_t at = 0; (h = rank_next(&r->e->all[HOSTS], &at));)
		if (!read_pieces(r, h))
			return false;
	if (!restore_read_all(r, INSTANCES, read_instance) || !restore_read_all(r, PROCUREMENTS, read_procurement) ||
		!restore_read_all(r, ANNOUNCEMENTS, read_announcement) || !restore_read_all(r, PEOPLE, read_person) ||
		!restore_read_all(r, INVITATIONS, read_invitation) ||
		!restore_read_all(r, PAYMENTS, restore_read_payment) ||
		!restore_read_all(r, VOLUMES, restore_read_volume))
		return false;
	if (!restore_read_all(r, TARIFFS, restore_read_tariff) || !tariff_grants_fit(r->e) ||
		!restore_read_all(r, SUBSCRIPTIONS, restore_read_subscription) ||
		!restore_read_all(r, PAYOUTS, restore_read_payout))
		return false;
	for (size_t at = 0; (s = rank_next(&r->e->all[SKUS], &at));)
		s->crossed = true; /* nobody knows any more which buys were tried */
	for (size_t at = 0; (h = rank_next(&r->e->all[HOSTS], &at));)
		h->version = r->e->count;
	for (size_t at = 0; (a = rank_next(&r->e->all[AGENTS], &at));)
		a->version = r->e->count;
	r->what = "end";
	return r->c.at == r->c.end || restore_bad(r);
}

int engine_load(struct engine **out, const void *bytes, size_t len, struct fail *why)
{
	struct reader r = { .c = { .at = bytes }, .what = "head" };
	uint64_t sum = 0;
	bool whole;

	if (len <= SNAPSHOT_SUM)
		return fail_set(why, -EINVAL, "the snapshot is cut off");
	for (int i = 0; i < SNAPSHOT_SUM; i++)
		sum |= (uint64_t)r.c.at[len - SNAPSHOT_SUM + (size_t)i] << 8 * i;
	if (sum != codec_sum(bytes, len - SNAPSHOT_SUM))
		return fail_set(why, -EINVAL, "the snapshot is damaged: its checksum does not match");
	r.c.end = r.c.at + len - SNAPSHOT_SUM;
	r.e = world_new();
	whole = restore_read_state(&r);
	idmap_release(&r.seen);
	if (!whole || engine_check(r.e, why) != 0) {
		engine_free(r.e);
		return whole
			? -EINVAL
			: fail_set(why, -EINVAL, "the snapshot holds no valid market: its %s after id %llu is wrong",
				  r.what, (unsigned long long)r.last);
	}
	*out = r.e;
	return 0;
}
