/* SPDX-License-Identifier: Apache-2.0 */
/* What a buy would take now, for the reference market: nothing here changes anything. See reference.h. */
#include <stdlib.h>

#include "ref.h"

bool ref_strangers(const struct reference *r, uint64_t account, uint64_t other)
{
	const struct raccount *a = ref_list_find(&r->accounts, account), *b = ref_list_find(&r->accounts, other);

	return a->beneficiary != b->beneficiary;
}

int64_t ref_trade_price(const struct rorder *buy, const struct rorder *sell)
{
	return sell->place < buy->id ? sell->price : buy->price;
}

/* Whether a buy may have the host: any at all, or none without proof but those that it has and that did not fail. */
bool ref_believed(const struct reference *r, const struct rhost *h, bool anyhow, bool stays)
{
	const struct rsku *s = ref_list_find(&r->skus, h->sku);

	if (anyhow || !s->asks)
		return true;
	if (h->proof == PROOF_PASSED && r->minute < h->valid)
		return true;
	return stays && h->proof != PROOF_FAILED;
}

static bool buy_believes(const struct reference *r, const struct rorder *buy, const struct rhost *h)
{
	return ref_believed(r, h, buy->flags & ORDER_UNVERIFIED, buy->flags & ORDER_EXTEND);
}

void ref_plan_release(struct plan *p)
{
	free(p->at);
	*p = (struct plan){ 0 };
}

static void plan_add(struct plan *p, const struct rorder *buy, const struct rorder *sell, struct slice s)
{
	p->at = ref_more(p->at, p->n + 1, sizeof *p->at);
	p->at[p->n++] = s;
	p->minutes += s.end - s.start;
	p->cost += (wide)ref_trade_price(buy, sell) * (s.end - s.start);
}

static bool takeable(const struct reference *r, const struct rorder *buy, const struct cell *c)
{
	const struct rlease *l = ref_list_find(&r->leases, c->lease);
	int64_t first = c->start > buy->start ? c->start : buy->start;

	if (!l || !l->interruptible)
		return true;
	return !(buy->flags & ORDER_INTERRUPTIBLE) && first >= r->minute + 1 + ref_notice(r);
}

/* The order that sells this piece to this buy; NULL where it does not. */
static const struct rorder *usable(const struct reference *r, const struct rorder *buy, int64_t limit,
	const struct rhost *h, const struct cell *c)
{
	const struct rorder *sell = ref_list_find(&r->orders, c->order);

	if (!sell || h->sku != buy->sku || h->down || !(sell->flags & ORDER_PARTIAL))
		return NULL;
	if (sell->price > limit || !ref_strangers(r, sell->account, buy->account) || !buy_believes(r, buy, h))
		return NULL;
	return takeable(r, buy, c) ? sell : NULL;
}

/* ---- All or nothing --------------------------------------------------------------------- */

int ref_fit_order(const void *a, const void *b)
{
	const struct ref_fit *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	if (x->other != y->other)
		return x->other - y->other;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->host->id < y->host->id ? -1 : 1;
}

static bool host_fits(const struct reference *r, const struct rorder *buy, int64_t limit, struct rhost *h,
	struct ref_fit *f)
{
	*f = (struct ref_fit){ .host = h, .other = ref_owns(h, buy->start - 1, buy->pool) ? 0 : 1 };
	for (int64_t t = buy->start; t < buy->end; ) {
		const struct cell *c = ref_cell_at(h, t);
		const struct rorder *sell = c ? usable(r, buy, limit, h, c) : NULL;
		int64_t end;

		if (!sell)
			return false;
		end = c->end < buy->end ? c->end : buy->end;
		f->cost += (wide)ref_trade_price(buy, sell) * (end - t);
		if (f->order == 0)
			f->order = sell->place;
		t = end;
	}
	return true;
}

/* Every host with a piece in this block is up and has its whole window on sale, and the block has all its hosts. */
static bool block_whole(const struct reference *r, const struct rorder *buy, const struct rorder *sell)
{
	int32_t hosts = 0;

	for (size_t i = 0; i < r->hosts.n; i++) {
		const struct rhost *h = r->hosts.at[i];
		int64_t covered = 0;

		for (size_t j = 0; j < h->cells; j++) {
			if (h->cell[j].order != sell->id)
				continue;
			if (h->down || !buy_believes(r, buy, h) || !takeable(r, buy, &h->cell[j]))
				return false;
			covered += h->cell[j].end - h->cell[j].start;
		}
		if (covered == sell->end - sell->start)
			hosts++;
		else if (covered)
			return false;
	}
	return hosts == sell->nodes;
}

static bool block_before(const struct rorder *buy, const struct rorder *a, const struct rorder *b)
{
	int64_t x = ref_trade_price(buy, a), y = ref_trade_price(buy, b);

	return x != y ? x < y : a->place < b->place;
}

static const struct rorder *block_find(const struct reference *r, const struct rorder *buy, int64_t limit)
{
	const struct rorder *best = NULL;

	for (size_t i = 0; i < r->orders.n; i++) {
		const struct rorder *s = r->orders.at[i];

		if (s->side != SIDE_SELL || (s->flags & ORDER_PARTIAL) || s->sku != buy->sku || s->price > limit)
			continue;
		if (s->start != buy->start || s->end != buy->end || s->nodes != buy->nodes ||
			!ref_strangers(r, s->account, buy->account))
			continue;
		if (block_whole(r, buy, s) && (!best || block_before(buy, s, best)))
			best = s;
	}
	return best;
}

static void plan_whole(struct reference *r, const struct rorder *buy, int64_t limit, struct plan *out)
{
	struct ref_fit *fit = ref_more(NULL, r->hosts.n + 1, sizeof *fit);
	const struct rorder *block = buy->flags & ORDER_EXTEND ? NULL : block_find(r, buy, limit);
	size_t n = 0, need = (size_t)buy->nodes;
	wide cost = 0;

	for (size_t i = 0; i < r->hosts.n; i++) {
		struct rhost *h = r->hosts.at[i];
		bool near = h->sku == buy->sku && ref_owns(h, buy->start - 1, buy->pool);

		out->near += near;
		if ((near || !(buy->flags & ORDER_EXTEND)) && host_fits(r, buy, limit, h, &fit[n]))
			n++;
	}
	qsort(fit, n, sizeof *fit, ref_fit_order);
	for (size_t i = 0; i < need && i < n; i++)
		cost += fit[i].cost;
	if (block && (n < need || (wide)ref_trade_price(buy, block) * buy->nodes * (buy->end - buy->start) < cost)) {
		for (size_t i = 0; i < r->hosts.n; i++) {
			struct rhost *h = r->hosts.at[i];

			for (size_t j = 0; j < h->cells; j++)
				if (h->cell[j].order == block->id)
					plan_add(out, buy, block,
						(struct slice){ h, h->cell[j].start, h->cell[j].end });
		}
	} else if (n >= need) {
		for (size_t i = 0; i < need; i++)
			for (int64_t t = buy->start; t < buy->end; ) {
				const struct cell *c = ref_cell_at(fit[i].host, t);
				int64_t end = c->end < buy->end ? c->end : buy->end;

				plan_add(out, buy, usable(r, buy, limit, fit[i].host, c),
					(struct slice){ fit[i].host, t, end });
				t = end;
			}
	}
	free(fit);
}

/* ---- In part ---------------------------------------------------------------------------- */

struct ask {
	struct rhost *host;
	const struct rorder *sell;
	struct cell cell;
};

static int ask_order(const void *a, const void *b)
{
	const struct ask *x = a, *y = b;

	if (x->sell->price != y->sell->price)
		return x->sell->price < y->sell->price ? -1 : 1;
	if (x->sell->place != y->sell->place)
		return x->sell->place < y->sell->place ? -1 : 1;
	if (x->host->id != y->host->id)
		return x->host->id < y->host->id ? -1 : 1;
	return x->cell.start < y->cell.start ? -1 : 1;
}

static void plan_ask(const struct rorder *buy, const struct ask *ask, struct rests *need, struct plan *out)
{
	int64_t t = ask->cell.start;

	for (size_t i = 0; i < need->n; i++) {
		int64_t start = need->at[i].start > t ? need->at[i].start : t, end;

		if (need->at[i].end <= t)
			continue;
		while (i + 1 < need->n && need->at[i + 1].start == need->at[i].end)
			i++; /* a run: what is needed there is above 0 all the same */
		end = need->at[i].end < ask->cell.end ? need->at[i].end : ask->cell.end;
		if (start >= end)
			break;
		plan_add(out, buy, ask->sell, (struct slice){ ask->host, start, end });
	}
}

static void plan_part(struct reference *r, const struct rorder *buy, int64_t limit, struct plan *out)
{
	struct rests need = { 0 };
	struct ask *ask = NULL;
	size_t asks = 0, before;

	for (size_t i = 0; i < r->hosts.n; i++) {
		struct rhost *h = r->hosts.at[i];

		for (size_t j = 0; j < h->cells; j++) {
			const struct rorder *sell = usable(r, buy, limit, h, &h->cell[j]);

			if (!sell || h->cell[j].end <= buy->start || h->cell[j].start >= buy->end)
				continue;
			ask = ref_more(ask, asks + 1, sizeof *ask);
			ask[asks++] = (struct ask){ h, sell, h->cell[j] };
		}
	}
	if (asks)
		qsort(ask, asks, sizeof *ask, ask_order);
	need.at = ref_more(NULL, buy->rest.n + 1, sizeof *need.at);
	for (size_t i = 0; i < buy->rest.n; i++)
		need.at[need.n++] = buy->rest.at[i];
	for (size_t i = 0; i < asks; i++) {
		before = out->n;
		plan_ask(buy, &ask[i], &need, out);
		for (size_t j = before; j < out->n; j++)
			ref_rest_take(&need, out->at[j].start, out->at[j].end);
	}
	free(need.at);
	free(ask);
}

void ref_plan_buy(struct reference *r, const struct rorder *buy, int64_t limit, struct plan *out)
{
	*out = (struct plan){ 0 };
	if (buy->flags & ORDER_PARTIAL)
		plan_part(r, buy, limit, out);
	else
		plan_whole(r, buy, limit, out);
}
