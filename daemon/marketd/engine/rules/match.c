/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/match.h"

#include <string.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/live/offer_index.h"

/* A host that has the whole window. */
struct fit {
	struct live_host *live;
	int64_t cost, dearest;
	uint64_t first, host;
	bool far;
};

void want_of(struct want *w, const struct live_order *o, uint64_t id)
{
	*w = (struct want){ .sku = o->sku,
		.pool = o->pool,
		.beneficiary = o->beneficiary,
		.id = id,
		.flags = o->pub.flags,
		.nodes = o->pub.nodes,
		.start = o->pub.start,
		.end = o->pub.end,
		.limit = o->pub.price,
		.rest = o->pub.rest,
		.rest_count = o->pub.rest_count,
		.stays = o->pub.flags & ORDER_EXTEND,
		.resting = o->open };
}

bool want_may(const struct engine *e, const struct want *w, const struct piece *p)
{
	int64_t from = p->start > w->start ? p->start : w->start;

	if (p->interruptible && ((w->flags & ORDER_INTERRUPTIBLE) || from < world_notice(e)))
		return false;
	if (w->procures && p->pool == w->pool->pub.id)
		return false;
	return world_order(e, p->order)->beneficiary != w->beneficiary;
}

bool want_trusts(const struct engine *e, const struct want *w, const struct live_host *h)
{
	if (h->pub.down || h->pub.retired)
		return false;
	if (!w->sku->pub.proof || (w->flags & ORDER_UNVERIFIED) || live_host_proven(e, h))
		return true;
	return w->stays && h->pub.proof != PROOF_FAILED;
}

void plan_add(struct plan *plan, struct live_host *h, int64_t start, int64_t end, int64_t price, uint64_t order)
{
	must_room(plan->list, plan->count, plan->cap);
	plan->list[plan->count++] =
		(struct slice){ .host = h, .start = start, .end = end, .price = price, .order = order };
	plan->cost = sure_add(plan->cost, sure_mul(price, end - start));
	plan->minutes += end - start;
	plan->dearest = price > plan->dearest ? price : plan->dearest;
}

/* Does the host have the whole window on sale for it? The cost counts only where no piece is dearer than the limit. */
static bool fit_host(const struct engine *e, const struct want *w, struct live_host *h, struct fit *f)
{
	int64_t at = w->start;
	size_t i;

	*f = (struct fit){ .live = h, .host = h->pub.id, .far = true };
	if (!want_trusts(e, w, h))
		return false;
	for (i = calendar_find(h, at); at < w->end; i++) {
		const struct piece *p = i < h->pub.piece_count ? &h->pub.pieces[i] : NULL;
		int64_t to;

		if (!p || p->start > at || !p->order || p->block || !want_may(e, w, p))
			return false;
		to = p->end < w->end ? p->end : w->end;
		if (at == w->start)
			f->first = p->place;
		f->dearest = p->price > f->dearest ? p->price : f->dearest;
		if (f->dearest <= w->limit)
			f->cost += want_price(w, p->place, p->price) * (to - at);
		at = to;
	}
	return true;
}

static int fit_cmp(const struct fit *a, const struct fit *b)
{
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->far != b->far)
		return a->far ? 1 : -1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->host < b->host ? -1 : a->host > b->host;
}

/* Keeps the best `most` in order. */
static void match_keep(struct plan *p, const struct fit *f, size_t most)
{
	size_t low = 0, high = p->fit_count;

	if (p->fit_count == most && fit_cmp(f, &p->fits[most - 1]) > 0)
		return;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (fit_cmp(&p->fits[mid], f) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (p->fit_count < most) {
		must_room(p->fits, p->fit_count, p->fit_cap);
		p->fit_count++;
	}
	memmove(&p->fits[low + 1], &p->fits[low], (p->fit_count - 1 - low) * sizeof *p->fits);
	p->fits[low] = *f;
}

/* Does the host have that within the limit? *any counts the hosts that have it at any price. */
static void match_look_at(const struct engine *e, const struct want *w, struct plan *p, struct live_host *h, bool far,
	size_t *any)
{
	struct fit f;

	if ((w->resting && h->ask > w->limit) || !fit_host(e, w, h, &f))
		return;
	(*any)++;
	f.far = far;
	if (f.dearest <= w->limit)
		match_keep(p, &f, (size_t)w->nodes);
}

/* Looks at the hosts that the pool owns in the minute before, which come first among equals; clears their bits. */
static void look_near(const struct engine *e, const struct want *w, struct plan *p, size_t *any)
{
	const struct live_pool *d = w->pool;

	for (size_t i = 0; d && i < d->holding_count; i++) {
		struct live_host *h = d->holdings[i].live;

		if (d->holdings[i].until < w->start || h->sku != w->sku || !offer_index_bit(p, h->slot) ||
			!calendar_owned(h, d->pub.id, w->start - 1))
			continue;
		p->bits[h->slot / 64] &= ~(UINT64_C(1) << (h->slot % 64));
		match_look_at(e, w, p, h, false, any);
	}
}

/* Nothing on this host can be better than the worst host taken. */
static bool no_better(const struct want *w, const struct plan *p, const struct cheap *u)
{
	struct fit least = { .first = u->oldest, .host = u->host, .far = true };

	if (p->fit_count < (size_t)w->nodes)
		return false;
	if (__builtin_mul_overflow(u->ask, w->end - w->start, &least.cost))
		return true;
	return fit_cmp(&p->fits[p->fit_count - 1], &least) < 0;
}

static bool match_cheaper(const struct cheap *a, const struct cheap *b)
{
	if (a->ask != b->ask)
		return a->ask < b->ask;
	return a->oldest != b->oldest ? a->oldest < b->oldest : a->host < b->host;
}

static void match_sink(struct cheap *list, size_t count, size_t i)
{
	struct cheap row = list[i];

	for (size_t child; (child = 2 * i + 1) < count; i = child) {
		if (child + 1 < count && match_cheaper(&list[child + 1], &list[child]))
			child++;
		if (!match_cheaper(&list[child], &row))
			break;
		list[i] = list[child];
	}
	list[i] = row;
}

/* The hosts of p->bits that have something within the limit, as a heap. */
static void queue_up(const struct want *w, struct plan *p)
{
	p->queue_count = 0;
	for (size_t at = 0; offer_index_next(w->sku, p, &at); at++) {
		if (w->sku->keys[at].ask > w->limit)
			continue;
		must_room(p->queue, p->queue_count, p->queue_cap);
		p->queue[p->queue_count++] = w->sku->keys[at];
	}
	for (size_t i = p->queue_count / 2; i-- > 0;)
		match_sink(p->queue, p->queue_count, i);
}

/* The next cheapest; NULL where there is none within the limit. `at` walks the offer index where many hosts may do. */
static const struct cheap *next_cheapest(const struct want *w, struct plan *p, bool many, size_t *at,
	struct cheap *room)
{
	if (many) {
		for (; *at < w->sku->cheap_count && w->sku->cheap[*at].ask <= w->limit; ++*at)
			if (offer_index_bit(p, w->sku->cheap[*at].slot))
				return &w->sku->cheap[(*at)++];
		return NULL;
	}
	if (!p->queue_count)
		return NULL;
	*room = p->queue[0];
	p->queue[0] = p->queue[--p->queue_count];
	if (p->queue_count)
		match_sink(p->queue, p->queue_count, 0);
	return room;
}

/* Fills p->fits with the best; returns how many hosts have the window at any price (exact below N, else N or more). */
static size_t match_look(const struct engine *e, const struct want *w, struct plan *p)
{
	const struct cheap *next;
	struct cheap room;
	size_t any = 0, at = 0, bits;
	bool many;

	p->fit_count = 0;
	if (!w->sku->cheap_count || (w->resting && w->sku->cheap[0].ask > w->limit))
		return 0;
	bits = offer_index_all(w->sku, p, w->start, w->end);
	if (bits < (size_t)w->nodes && !w->procures)
		return 0;
	many = bits > w->sku->cheap_count / 4;
	look_near(e, w, p, &any);
	if (!many)
		queue_up(w, p);
	while ((next = next_cheapest(w, p, many, &at, &room))) {
		if (no_better(w, p, next))
			return any;
		match_look_at(e, w, p, next->live, true, &any);
		p->bits[next->slot / 64] &= ~(UINT64_C(1) << (next->slot % 64));
	}
	/* The rest is all too dear: only whether there are enough of them matters. */
	for (at = 0; !w->resting && !w->procures && any < (size_t)w->nodes && offer_index_next(w->sku, p, &at); at++)
		match_look_at(e, w, p, w->sku->slots[at], true, &any);
	return any;
}

/* Can this buy take the whole block? */
static bool block_fits(const struct engine *e, const struct want *w, const struct live_order *b)
{
	if (b->pub.start != w->start || b->pub.end != w->end || b->pub.nodes != w->nodes ||
		b->beneficiary == w->beneficiary)
		return false;
	for (size_t i = 0; i < b->host_count; i++) {
		const struct live_host *h = world_host(e, b->hosts[i]);
		int64_t at = w->start;

		if (!want_trusts(e, w, h))
			return false;
		for (size_t k = calendar_find(h, at); at < w->end; k++) {
			const struct piece *p = k < h->pub.piece_count ? &h->pub.pieces[k] : NULL;

			if (!p || p->start > at || p->order != b->pub.id || !want_may(e, w, p))
				return false;
			at = p->end;
		}
	}
	return true;
}

/* The best block within the limit; *any: there is one at some price. */
static const struct live_order *best_block(const struct engine *e, const struct want *w, bool *any)
{
	const struct live_order *best = NULL;

	for (size_t i = 0; i < w->sku->block_count; i++) {
		const struct live_order *b = w->sku->blocks[i];

		if (!block_fits(e, w, b))
			continue;
		*any = true;
		if (b->pub.price > w->limit)
			continue;
		if (!best ||
			want_price(w, b->pub.place, b->pub.price) < want_price(w, best->pub.place, best->pub.price))
			best = b;
	}
	return best;
}

void plan_host(struct plan *plan, const struct want *w, struct live_host *h)
{
	for (size_t i = calendar_find(h, w->start); i < h->pub.piece_count && h->pub.pieces[i].start < w->end; i++) {
		const struct piece *p = &h->pub.pieces[i];

		plan_add(plan, h, p->start > w->start ? p->start : w->start, p->end < w->end ? p->end : w->end,
			want_price(w, p->place, p->price), p->order);
	}
}

void plan_clear(struct plan *plan)
{
	plan->count = plan->rest_count = 0;
	plan->cost = plan->minutes = plan->dearest = 0;
	plan->more = false;
}

static void plan_fits(struct plan *plan, const struct want *w)
{
	for (size_t i = 0; i < plan->fit_count; i++)
		plan_host(plan, w, plan->fits[i].live);
}

static void plan_rest(struct plan *plan, const struct want *w)
{
	if (plan->count)
		return;
	if (!plan->rest_cap)
		must_room(plan->rest, plan->rest_count, plan->rest_cap);
	plan->rest[0] = (struct span){ .start = w->start, .end = w->end, .nodes = w->nodes };
	plan->rest_count = 1;
}

void match_whole(const struct engine *e, const struct want *w, struct plan *plan)
{
	bool any = false, enough;
	const struct live_order *block = w->sku->block_count ? best_block(e, w, &any) : NULL;
	size_t fits = match_look(e, w, plan);
	int64_t cost = 0;

	plan_clear(plan);
	enough = plan->fit_count == (size_t)w->nodes;
	for (size_t i = 0; enough && i < plan->fit_count; i++)
		cost += plan->fits[i].cost;
	if (block &&
		(!enough || want_price(w, block->pub.place, block->pub.price) * (w->end - w->start) * w->nodes < cost))
		for (size_t i = 0; i < block->host_count; i++)
			plan_host(plan, w, world_host(e, block->hosts[i]));
	else if (enough)
		plan_fits(plan, w);
	plan_rest(plan, w);
	plan->more = !plan->count && (any || fits >= (size_t)w->nodes);
}

/* ---- For procurements ----------------------------------------------------------------------- */

/* May the buy use this piece from its start, or that of the piece, on? */
static bool match_usable(const struct engine *e, const struct want *w, const struct piece *p)
{
	return p->order && !p->block && p->price <= w->limit && want_may(e, w, p);
}

int64_t match_reach(const struct engine *e, const struct want *w, const struct live_host *h)
{
	int64_t at = w->start;

	for (size_t i = calendar_find(h, at); want_trusts(e, w, h) && i < h->pub.piece_count && at < w->end; i++) {
		const struct piece *p = &h->pub.pieces[i];

		if (p->start > at || !match_usable(e, w, p))
			break;
		at = p->end;
	}
	return at < w->end ? at : w->end;
}

int64_t match_cost(const struct want *w, const struct live_host *h)
{
	int64_t cost = 0;

	for (size_t i = calendar_find(h, w->start); i < h->pub.piece_count && h->pub.pieces[i].start < w->end; i++) {
		const struct piece *p = &h->pub.pieces[i];
		int64_t start = p->start > w->start ? p->start : w->start, end = p->end < w->end ? p->end : w->end;

		cost += want_price(w, p->place, p->price) * (end - start);
	}
	return cost;
}

size_t match_some(const struct engine *e, const struct want *w, struct plan *plan)
{
	match_look(e, w, plan);
	plan_clear(plan);
	plan_fits(plan, w);
	return plan->fit_count;
}

size_t match_longest(const struct engine *e, struct want *w, struct plan *plan)
{
	int64_t end = w->end;
	struct fit best = { 0 };

	plan_clear(plan);
	w->end = w->start;
	offer_index_some(w->sku, plan, w->start, w->start + 1);
	for (size_t at = 0; offer_index_next(w->sku, plan, &at); at++) {
		struct live_host *h = w->sku->slots[at];
		struct want longer = *w;
		struct fit f;

		longer.end = end;
		longer.end = match_reach(e, &longer, h);
		if (longer.end == w->start || longer.end < w->end || !fit_host(e, &longer, h, &f))
			continue;
		f.far = !w->pool || !calendar_owned(h, w->pool->pub.id, w->start - 1);
		if (longer.end > w->end || fit_cmp(&f, &best) < 0)
			best = f;
		w->end = longer.end;
	}
	if (!best.live)
		return 0;
	plan_host(plan, w, best.live);
	return 1;
}

bool match_any(const struct engine *e, const struct want *w)
{
	struct want dear = *w;

	dear.limit = INT64_MAX;
	dear.end = w->start + 1;
	for (size_t i = 0; i < w->sku->cheap_count; i++)
		if (match_reach(e, &dear, w->sku->cheap[i].live) > w->start)
			return true;
	return false;
}

int64_t match_next(const struct engine *e, const struct want *w, struct plan *plan)
{
	int64_t next = w->end;
	struct want later = *w;

	offer_index_some(w->sku, plan, w->start, w->end);
	for (size_t at = 0; offer_index_next(w->sku, plan, &at); at++) {
		const struct live_host *h = w->sku->slots[at];

		for (size_t i = calendar_find(h, w->start); want_trusts(e, w, h) && i < h->pub.piece_count; i++) {
			const struct piece *p = &h->pub.pieces[i];

			later.start = p->start > w->start ? p->start : w->start + 1;
			if (p->interruptible && later.start < world_notice(e))
				later.start = world_notice(e);
			if (p->start >= next)
				break;
			if (later.start < next && later.start < p->end && match_usable(e, &later, p))
				next = later.start;
		}
	}
	return next;
}

void plan_drop(struct plan *plan, size_t hosts)
{
	size_t n = 0, seen = 0;

	while (n < plan->count && (n == 0 || plan->list[n].host == plan->list[n - 1].host || seen + 1 < hosts)) {
		seen += n && plan->list[n].host != plan->list[n - 1].host;
		n++;
	}
	n = hosts ? n : 0;
	while (plan->count > n) {
		const struct slice *s = &plan->list[--plan->count];

		plan->cost -= s->price * (s->end - s->start);
		plan->minutes -= s->end - s->start;
	}
}

int match_extend(const struct engine *e, const struct want *w, struct plan *plan)
{
	size_t had = 0, any = 0;

	plan_clear(plan);
	plan->fit_count = 0;
	for (size_t i = 0; w->pool && i < w->pool->holding_count; i++) {
		struct live_host *h = w->pool->holdings[i].live;

		if (w->pool->holdings[i].until < w->start || h->sku != w->sku ||
			!calendar_owned(h, w->pool->pub.id, w->start - 1))
			continue;
		had++;
		match_look_at(e, w, plan, h, false, &any);
	}
	if (had < (size_t)w->nodes)
		return REASON_NOT_OWNED;
	if (plan->fit_count < (size_t)w->nodes)
		return any >= (size_t)w->nodes ? REASON_PRICE_TOO_LOW : REASON_HOSTS_SOLD;
	plan_fits(plan, w);
	return 0;
}
