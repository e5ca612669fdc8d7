/* SPDX-License-Identifier: Apache-2.0 */
/* Procurements of the reference market by edition 2 of the rules. See reference.h. */
#include <stdlib.h>

#include "ref.h"

enum { PRICE_TOP = 1000000000000 };

/* How a procurement stands: what it must cover ends at `must`, what it looks at at `end`. */
struct look {
	struct reference *r;
	struct rprocurement *p;
	int64_t must, end;
	int32_t target;
	bool stays; /* for the hosts that it has: they need no new proof */
};

static struct look look_at(struct reference *r, struct rprocurement *p)
{
	struct look l = { r, p, r->minute + 1 + p->window, 0, ref_target(r, p), false };

	for (l.end = l.must; l.end % 60; l.end++)
		;
	return l;
}

/* Nothing begins or ends on a host of the SKU between t and this minute. */
static int64_t next_edge(const struct look *l, int64_t t, int64_t end)
{
	int64_t notice = l->r->minute + 1 + ref_notice(l->r);

	if (notice > t && notice < end)
		end = notice;
	for (size_t i = 0; i < l->r->hosts.n; i++) {
		const struct rhost *h = l->r->hosts.at[i];

		for (size_t j = 0; j < h->cells && h->sku == l->p->sku; j++) {
			if (h->cell[j].start > t && h->cell[j].start < end)
				end = h->cell[j].start;
			if (h->cell[j].end > t && h->cell[j].end < end)
				end = h->cell[j].end;
		}
	}
	return end;
}

static int32_t keeps(const struct look *l, int64_t t)
{
	int32_t n = 0;

	for (size_t i = 0; i < l->r->hosts.n; i++) {
		const struct rhost *h = l->r->hosts.at[i];
		const struct cell *c = ref_cell_at(h, t);
		const struct rorder *o = c ? ref_list_find(&l->r->orders, c->order) : NULL;

		n += h->sku == l->p->sku && c && c->pool == l->p->pool && !(o && o->procurement == l->p->id);
	}
	return n;
}

/* Does the pool own a host in the minute before and not in this one? */
static bool host_ends(const struct look *l, int64_t t)
{
	for (size_t i = 0; i < l->r->hosts.n; i++) {
		const struct rhost *h = l->r->hosts.at[i];

		if (h->sku == l->p->sku && ref_owns(h, t - 1, l->p->pool) && !ref_owns(h, t, l->p->pool))
			return true;
	}
	return false;
}

/*
 * The next minutes from `from` on with too few (sign 1) or too many (-1); how many they miss or have too many. With
 * `cut` they end where a host ends.
 */
static int32_t next_run(const struct look *l, int sign, int64_t from, bool cut, int64_t *start, int64_t *end)
{
	int32_t many = 0;

	for (int64_t t = from, next; t < l->end; t = next) {
		int32_t n = sign * (l->target - keeps(l, t));

		next = next_edge(l, t, l->end);
		if (many && (n != many || (cut && host_ends(l, t))))
			break;
		if (!many && n > 0) {
			many = n;
			*start = t;
		}
		*end = next;
	}
	return sign > 0 && many && *start >= l->must ? 0 : many;
}

/* The order that sells this minute of the host to the procurement; NULL where none does. */
static const struct rorder *seller(const struct look *l, const struct rhost *h, int64_t t, int64_t limit)
{
	const struct cell *c = ref_cell_at(h, t);
	const struct rorder *o = c ? ref_list_find(&l->r->orders, c->order) : NULL;
	const struct rlease *under = c ? ref_list_find(&l->r->leases, c->lease) : NULL;

	if (!o || h->sku != l->p->sku || h->down || !(o->flags & ORDER_PARTIAL) || o->price > limit)
		return NULL;
	if (!ref_believed(l->r, h, false, l->stays))
		return NULL;
	if (c->pool == l->p->pool || !ref_strangers(l->r, o->account, l->p->account))
		return NULL;
	if (under && under->interruptible && t < l->r->minute + 1 + ref_notice(l->r))
		return NULL;
	return o;
}

/* Until when it sells from t on without a gap. */
static int64_t sold_until(const struct look *l, const struct rhost *h, int64_t t, int64_t end)
{
	while (t < end && seller(l, h, t, l->p->max_buy))
		t = ref_cell_at(h, t)->end;
	return t < end ? t : end;
}

static wide host_cost(const struct look *l, const struct rhost *h, int64_t start, int64_t end)
{
	wide sum = 0;

	for (int64_t t = start, next; t < end; t = next) {
		next = ref_cell_at(h, t)->end < end ? ref_cell_at(h, t)->end : end;
		sum += (wide)seller(l, h, t, l->p->max_buy)->price * (next - t);
	}
	return sum;
}

static wide funds(const struct look *l)
{
	const struct raccount *a = ref_list_find(&l->r->accounts, l->p->account);

	return (wide)ref_available(l->r, a->id) - a->floor;
}

static bool may(const struct look *l, wide cost)
{
	return cost <= funds(l) && ref_may_spend(l->r, l->p->token, ref_month(l->r, l->p->token), cost);
}

static int32_t order_most(int64_t price, int64_t minutes, int32_t nodes)
{
	while (nodes > 1024 || (wide)price * nodes * minutes > INT64_MAX)
		nodes--;
	return nodes;
}

static struct rorder order_for(const struct look *l, int side, int64_t start, int64_t end, int32_t nodes)
{
	return (struct rorder){ .account = l->p->account,
		.pool = l->p->pool,
		.sku = l->p->sku,
		.procurement = l->p->id,
		.token = l->p->token,
		.month = side == SIDE_BUY ? ref_month(l->r, l->p->token) : 0,
		.nodes = nodes,
		.start = start,
		.end = end,
		.side = side,
		.flags = side == SIDE_SELL ? ORDER_PARTIAL | ORDER_STANDING : 0,
		.price = side == SIDE_SELL ? l->p->min_sell : l->p->max_buy };
}

/* Buys these minutes of these hosts by one order. */
static void take(const struct look *l, struct rhost **host, int32_t n, int64_t start, int64_t end)
{
	struct rorder o = order_for(l, SIDE_BUY, start, end, n);
	struct plan plan = { 0 };

	for (int32_t i = 0; i < n; i++)
		for (int64_t t = start, next; t < end; t = next) {
			next = ref_cell_at(host[i], t)->end < end ? ref_cell_at(host[i], t)->end : end;
			plan.at = ref_more(plan.at, plan.n + 1, sizeof *plan.at);
			plan.at[plan.n++] = (struct slice){ host[i], t, next };
		}
	ref_order_take(l->r, &o, &plan);
	ref_plan_release(&plan);
}

/* ---- Hosts that the pool has ------------------------------------------------------------ */

static int32_t without_host(const struct look *l, int64_t t)
{
	int32_t n = 0;

	for (size_t i = 0; i < l->r->instances.n; i++) {
		const struct rinstance *in = l->r->instances.at[i];
		const struct rhost *h = ref_list_find(&l->r->hosts, in->host);

		n += in->pool == l->p->pool && in->sku == l->p->sku && ref_instance_lives(in) &&
			!(h && ref_owns(h, t, in->pool));
	}
	return n;
}

struct mine {
	struct rhost *host;
	int rank;
	uint64_t id;
	int64_t end;
};

static int mine_order(const void *a, const void *b)
{
	const struct mine *x = a, *y = b;

	if (x->rank != y->rank)
		return y->rank - x->rank;
	return x->id < y->id ? -1 : 1;
}

/* Hosts owned until `start` that are for sale from then on, in the order in which they go on. */
static size_t mine_list(const struct look *l, int64_t start, int64_t end, struct mine *out)
{
	size_t n = 0;

	for (size_t i = 0; i < l->r->hosts.n; i++) {
		struct rhost *h = l->r->hosts.at[i];

		if (h->sku != l->p->sku || !ref_owns(h, start - 1, l->p->pool) || !seller(l, h, start, l->p->max_buy))
			continue;
		out[n] = (struct mine){ h, -1, h->id, sold_until(l, h, start, end) };
		for (size_t j = 0; j < l->r->instances.n; j++) {
			const struct rinstance *in = l->r->instances.at[j];

			if (in->host != h->id || in->pool != l->p->pool || !ref_instance_lives(in))
				continue;
			out[n].rank = in->priority;
			out[n].id = in->id;
		}
		n++;
	}
	qsort(out, n, sizeof *out, mine_order);
	return n;
}

static size_t mine_paid(const struct look *l, const struct mine *m, size_t n, int64_t start)
{
	wide sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += host_cost(l, m[i].host, start, m[i].end);
		if (!may(l, sum))
			return i;
	}
	return n;
}

static void mine_take(const struct look *l, struct mine *m, size_t n, int64_t start)
{
	struct rhost **host = ref_more(NULL, n + 1, sizeof *host);

	for (size_t i = 0; i < n; i++) {
		int64_t end = m[i].end;
		int32_t most = order_most(l->p->max_buy, end - start, 1024), count = 0;

		for (size_t j = i; j < n && end; j++)
			if (m[j].end == end && count < most) {
				host[count++] = m[j].host;
				m[j].end = 0;
			}
		if (end)
			take(l, host, count, start, end);
	}
	free(host);
}

void ref_renew(struct reference *r, struct rprocurement *p)
{
	const struct raccount *a = ref_list_find(&r->accounts, p->account);
	struct look l = look_at(r, p);
	struct mine *m = ref_more(NULL, r->hosts.n + 1, sizeof *m);
	int64_t start, end;
	int32_t missing;

	l.stays = true;
	if (ref_overdone(r, p, l.end))
		ref_procurement_cancel(r, p, SIDE_SELL);
	for (int64_t t = r->minute + 1; a->state == ACCOUNT_OPEN && (missing = next_run(&l, 1, t, true, &start, &end));
		t = end) {
		size_t n = mine_list(&l, start, end, m), most = (size_t)without_host(&l, start);

		most = most < (size_t)missing ? most : (size_t)missing;
		n = n < most ? n : most;
		if (mine_paid(&l, m, n, start) < n && end > l.must)
			for (size_t i = 0; i < n; i++)
				m[i].end = m[i].end < l.must ? m[i].end : l.must;
		mine_take(&l, m, mine_paid(&l, m, n, start), start);
	}
	free(m);
}

/* ---- Other hosts ------------------------------------------------------------------------ */

/* The hosts that sell all of [start, end), the best first. */
static size_t choices(const struct look *l, int64_t start, int64_t end, struct ref_fit *out)
{
	size_t n = 0;

	for (size_t i = 0; i < l->r->hosts.n; i++) {
		struct rhost *h = l->r->hosts.at[i];

		if (sold_until(l, h, start, end) < end)
			continue;
		out[n++] = (struct ref_fit){ h, host_cost(l, h, start, end), ref_owns(h, start - 1, l->p->pool) ? 0 : 1,
			seller(l, h, start, l->p->max_buy)->place };
	}
	qsort(out, n, sizeof *out, ref_fit_order);
	return n;
}

/* 1: bought something; 0: there is nothing in its first minute; -1: no money. */
static int buy_some(const struct look *l, int64_t start, int64_t end, int32_t nodes)
{
	struct ref_fit *c = ref_more(NULL, l->r->hosts.n + 1, sizeof *c);
	struct rhost **host = ref_more(NULL, l->r->hosts.n + 1, sizeof *host);
	int64_t until = end, longest = start;
	size_t n, most = (size_t)order_most(l->p->max_buy, end - start, nodes);
	wide sum = 0;
	int did = 0;

	n = choices(l, start, until, c);
	if (n == 0) {
		for (size_t i = 0; i < l->r->hosts.n; i++) {
			int64_t t = sold_until(l, l->r->hosts.at[i], start, end);

			longest = t > longest ? t : longest;
		}
		until = longest;
		most = 1;
		n = until > start ? choices(l, start, until, c) : 0;
	}
	n = n < most ? n : most;
	for (size_t i = 0; i < n; i++) {
		host[i] = c[i].host;
		sum += c[i].cost;
	}
	if (n && !may(l, sum) && end > l->must) {
		did = buy_some(l, start, l->must, nodes);
	} else if (n) {
		while (n && !may(l, sum))
			sum -= c[--n].cost;
		did = n ? 1 : -1;
		if (n)
			take(l, host, (int32_t)n, start, until);
	}
	free(c);
	free(host);
	return did;
}

static bool sells_in(const struct look *l, int64_t t, int64_t limit)
{
	for (size_t i = 0; i < l->r->hosts.n; i++)
		if (seller(l, l->r->hosts.at[i], t, limit))
			return true;
	return false;
}

static void keep(int *reason, int now)
{
	*reason = *reason ? *reason : now;
}

static int too_dear(const struct look *l)
{
	bool capped = !ref_may_spend(l->r, l->p->token, ref_month(l->r, l->p->token), funds(l));

	return capped ? REASON_OVER_CAP : REASON_FUNDS;
}

static void buy_all(const struct look *l, int *reason)
{
	int64_t start, end, t = l->r->minute + 1;
	int32_t missing;

	while ((missing = next_run(l, 1, t, false, &start, &end))) {
		int did = buy_some(l, start, end, missing);

		t = did < 0 ? end : start;
		if (did > 0)
			continue;
		if (did < 0)
			keep(reason, too_dear(l));
		else
			keep(reason, sells_in(l, start, PRICE_TOP) ? REASON_PRICE_TOO_LOW : REASON_NO_CAPACITY);
		while (t < end && !sells_in(l, t, l->p->max_buy))
			t = next_edge(l, t, end);
	}
}

/* ---- What is too much ------------------------------------------------------------------- */

static bool spare(struct reference *r, struct rhost *h, const struct rprocurement *p, int64_t t)
{
	const struct cell *c = ref_cell_at(h, t);
	const struct rlease *l = c ? ref_list_find(&r->leases, c->lease) : NULL;

	return h->sku == p->sku && c && c->pool == p->pool && !c->order && !(l && (l->interruptible || l->gift));
}

static int64_t spare_until(struct reference *r, struct rhost *h, const struct rprocurement *p, int64_t t, int64_t end)
{
	while (t < end && spare(r, h, p, t))
		t = ref_cell_at(h, t)->end;
	return t < end ? t : end;
}

struct spare_in {
	const struct rprocurement *p;
	int64_t t;
};

static bool may_give(struct reference *r, struct rhost *h, const void *arg)
{
	const struct spare_in *s = arg;

	return spare(r, h, s->p, s->t);
}

static bool sell_some(const struct look *l, int64_t start, int64_t end, int32_t nodes)
{
	struct rhost **host = ref_more(NULL, l->r->hosts.n + 1, sizeof *host);
	struct spare_in in = { l->p, start };
	size_t n = ref_hosts_to_give(l->r, l->p->pool, l->p->sku, host, may_give, &in), some = 0;
	int64_t until = n ? spare_until(l->r, host[0], l->p, start, end) : 0;
	int32_t most = n ? order_most(l->p->min_sell, until - start, nodes) : 0;

	for (size_t i = 0; i < n && i < (size_t)most; i++)
		if (spare_until(l->r, host[i], l->p, start, end) == until)
			host[some++] = host[i];
	if (n) {
		struct rorder o = order_for(l, SIDE_SELL, start, until, (int32_t)some);

		ref_order_offer(l->r, &o, host);
	}
	free(host);
	return n > 0;
}

static void sell_all(const struct look *l, int *reason)
{
	int64_t start, end, t = l->r->minute + 1;
	int32_t many;

	while ((many = next_run(l, -1, t, false, &start, &end))) {
		t = start;
		if (sell_some(l, start, end, many))
			continue;
		keep(reason, REASON_NOT_OWNED);
		for (bool any = false; t < end && !any;) {
			t = next_edge(l, t, end);
			for (size_t i = 0; t < end && i < l->r->hosts.n; i++)
				any = any || spare(l->r, l->r->hosts.at[i], l->p, t);
		}
	}
}

void ref_fill_up(struct reference *r, struct rprocurement *p)
{
	const struct raccount *a = ref_list_find(&r->accounts, p->account);
	struct look l = look_at(r, p);
	int reason = 0;

	if (a->state == ACCOUNT_OPEN)
		buy_all(&l, &reason);
	sell_all(&l, &reason);
	p->reason = reason;
}
