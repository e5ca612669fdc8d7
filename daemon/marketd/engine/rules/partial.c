/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a PARTIAL buy: takes pieces from the cheapest on, wherever the buy still needs nodes. */
#include <string.h>

#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/match.h"
#include "marketd/engine/live/offer_index.h"

/* A piece that the buy may use. */
struct offer {
	int64_t price, start, end, from; /* from: the piece's own start */
	uint64_t place, order, host;
	struct live_host *live;
};

static bool partial_cheaper(const struct offer *a, const struct offer *b)
{
	if (a->price != b->price)
		return a->price < b->price;
	if (a->place != b->place)
		return a->place < b->place;
	return a->host != b->host ? a->host < b->host : a->from < b->from;
}

static void partial_push(struct plan *p, const struct offer *o)
{
	size_t i = p->offer_count;

	must_room(p->offers, p->offer_count, p->offer_cap);
	p->offer_count++;
	while (i > 0 && partial_cheaper(o, &p->offers[(i - 1) / 2])) {
		p->offers[i] = p->offers[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	p->offers[i] = *o;
}

static struct offer partial_pop(struct plan *p)
{
	struct offer top = p->offers[0], last = p->offers[--p->offer_count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= p->offer_count)
			break;
		if (child + 1 < p->offer_count && partial_cheaper(&p->offers[child + 1], &p->offers[child]))
			child++;
		if (!partial_cheaper(&p->offers[child], &last))
			break;
		p->offers[i] = p->offers[child];
		i = child;
	}
	if (p->offer_count)
		p->offers[i] = last;
	return top;
}

static void push_pieces(const struct engine *e, const struct want *w, struct plan *p, struct live_host *h)
{
	if (!want_trusts(e, w, h))
		return;
	for (size_t i = calendar_find(h, w->start); i < h->pub.piece_count && h->pub.pieces[i].start < w->end; i++) {
		const struct piece *x = &h->pub.pieces[i];

		if (!x->order || x->block || x->price > w->limit || !want_may(e, w, x))
			continue;
		partial_push(p,
			&(struct offer){ .price = x->price,
				.place = x->place,
				.order = x->order,
				.host = h->pub.id,
				.from = x->start,
				.live = h,
				.start = x->start > w->start ? x->start : w->start,
				.end = x->end < w->end ? x->end : w->end });
	}
}

/* Lowers the need by one in [start, end), all of which is needed. Keeps the order; joins like neighbours. */
static void partial_lessen(struct plan *p, int64_t start, int64_t end)
{
	size_t i = 0;

	while (i < p->rest_count && p->rest[i].start < end) {
		struct span s = p->rest[i];

		if (s.end <= start) {
			i++;
			continue;
		}
		while (p->rest_cap < p->rest_count + 2)
			must_room(p->rest, p->rest_cap, p->rest_cap);
		if (s.start < start) { /* the head stays as it is */
			memmove(&p->rest[i + 1], &p->rest[i], (p->rest_count++ - i) * sizeof s);
			p->rest[i++].end = start;
			p->rest[i].start = start;
			s.start = start;
		}
		if (s.end > end) { /* and so does the tail */
			memmove(&p->rest[i + 1], &p->rest[i], (p->rest_count++ - i) * sizeof s);
			p->rest[i].end = end;
			p->rest[i + 1].start = end;
		}
		if (--p->rest[i].nodes == 0)
			memmove(&p->rest[i], &p->rest[i + 1], (--p->rest_count - i) * sizeof s);
		else
			i++;
	}
}

static void partial_join(struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->rest_count; i++) {
		struct span *last = n ? &p->rest[n - 1] : NULL;

		if (last && last->end == p->rest[i].start && last->nodes == p->rest[i].nodes)
			last->end = p->rest[i].end;
		else
			p->rest[n++] = p->rest[i];
	}
	p->rest_count = n;
}

/* Takes the minutes of a piece that are needed, each run of them as one lease. */
static void partial_take(const struct want *w, struct plan *p, const struct offer *o)
{
	int64_t at = o->start;

	while (at < o->end) {
		size_t i = 0;
		int64_t start, end;

		while (i < p->rest_count && p->rest[i].end <= at)
			i++;
		if (i == p->rest_count || p->rest[i].start >= o->end)
			return;
		start = p->rest[i].start > at ? p->rest[i].start : at;
		for (end = p->rest[i].end; i + 1 < p->rest_count && p->rest[i + 1].start == end; i++)
			end = p->rest[i + 1].end;
		end = end < o->end ? end : o->end;
		plan_add(p, o->live, start, end, want_price(w, o->place, o->price), o->order);
		partial_lessen(p, start, end);
		at = end;
	}
}

/* Is there a usable piece that is only too dear? */
static bool partial_dearer(const struct engine *e, const struct want *w, struct plan *p)
{
	size_t at = 0;

	for (; offer_index_next(w->sku, p, &at); at++) {
		const struct live_host *h = w->sku->slots[at];
		size_t k = 0;

		if (!want_trusts(e, w, h))
			continue;
		for (size_t i = calendar_find(h, w->start); i < h->pub.piece_count && h->pub.pieces[i].start < w->end;
			i++) {
			const struct piece *x = &h->pub.pieces[i];

			while (k < p->rest_count && p->rest[k].end <= x->start)
				k++;
			if (k == p->rest_count)
				break;
			if (p->rest[k].start < x->end && x->order && !x->block && x->price > w->limit &&
				want_may(e, w, x))
				return true;
		}
	}
	return false;
}

enum { FEW = 48 };

void match_partial(const struct engine *e, const struct want *w, struct plan *p)
{
	bool none = w->resting && (!w->sku->cheap_count || w->sku->cheap[0].ask > w->limit);
	size_t bits = none ? 0 : offer_index_some(w->sku, p, w->start, w->end), at = 0, i = 0;

	p->count = p->offer_count = 0;
	p->cost = p->minutes = p->dearest = 0;
	while (p->rest_cap < w->rest_count)
		must_room(p->rest, p->rest_cap, p->rest_cap);
	if (w->rest_count)
		memcpy(p->rest, w->rest, w->rest_count * sizeof *p->rest);
	p->rest_count = w->rest_count;
	if (bits <= FEW) { /* also if none */
		for (; bits && offer_index_next(w->sku, p, &at); at++)
			push_pieces(e, w, p, w->sku->slots[at]);
		i = w->sku->cheap_count;
	}
	while (p->rest_count) {
		const struct cheap *next = i < w->sku->cheap_count ? &w->sku->cheap[i] : NULL;
		struct offer least = { 0 };

		if (next && next->ask > w->limit)
			next = NULL;
		if (next)
			least = (struct offer){ .price = next->ask,
				.place = next->oldest,
				.host = next->host,
				.from = -1 };
		if (p->offer_count && (!next || partial_cheaper(&p->offers[0], &least))) {
			struct offer o = partial_pop(p);

			partial_take(w, p, &o);
		} else if (next) {
			i++;
			if (offer_index_bit(p, next->slot))
				push_pieces(e, w, p, next->live);
		} else {
			break;
		}
	}
	partial_join(p);
	p->more = p->rest_count && bits && !w->resting && partial_dearer(e, w, p);
}

void match_find(const struct engine *e, const struct want *w, struct plan *plan)
{
	if (w->flags & ORDER_PARTIAL)
		match_partial(e, w, plan);
	else
		match_whole(e, w, plan);
}
