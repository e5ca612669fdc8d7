/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/np/public_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const int64_t public_minutes[PUBLIC_WINDOWS] = { 60, 1440, 7 * 1440 };

void public_book_release(struct public_book *b)
{
	free(b->types);
	*b = (struct public_book){ 0 };
}

static int public_book_begin(const struct engine *e, struct public_book *b)
{
	size_t count = 0;

	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id))
		count++;
	b->types = calloc(count ? count : 1, sizeof *b->types);
	if (!b->types)
		return -ENOMEM;
	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id))
		b->types[b->count++].sku = s;
	return 0;
}

static struct public_type *public_book_type(struct public_book *b, uint64_t sku)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (b->types[middle].sku->id == sku)
			return &b->types[middle];
		if (b->types[middle].sku->id < sku)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Has the host all of [from, to) for sale by itself, to who buys time that nobody takes back? */
static bool public_book_fits(const struct host *h, int64_t from, int64_t to, struct public_ask *ask)
{
	int64_t at = from;

	*ask = (struct public_ask){ .nodes = 1 };
	for (size_t i = 0; i < h->piece_count && at < to; i++) {
		const struct piece *p = &h->pieces[i];
		int64_t end = p->end < to ? p->end : to, cost;

		if (p->end <= at)
			continue;
		if (p->start > at || !p->order || p->block || p->interruptible)
			return false;
		if (__builtin_mul_overflow(p->price, end - at, &cost) ||
			__builtin_add_overflow(ask->cost, cost, &ask->cost))
			return false;
		ask->dearest = p->price > ask->dearest ? p->price : ask->dearest;
		at = end;
	}
	return at == to;
}

/* Keeps the cheapest. What falls out was dearer than all that stay, so no node of a price that stays is missed. */
static void public_book_add(struct public_window *w, const struct public_ask *ask)
{
	int at = 0;

	w->nodes++;
	while (at < w->ask_count && w->asks[at].cost < ask->cost)
		at++;
	if (at < w->ask_count && w->asks[at].cost == ask->cost) {
		w->asks[at].nodes++;
		if (ask->dearest < w->asks[at].dearest)
			w->asks[at].dearest = ask->dearest;
		return;
	}
	if (at == PUBLIC_ASKS)
		return;
	w->ask_count += w->ask_count < PUBLIC_ASKS;
	memmove(&w->asks[at + 1], &w->asks[at], (size_t)(w->ask_count - 1 - at) * sizeof *w->asks);
	w->asks[at] = *ask;
}

static void public_book_host(const struct engine *e, const struct host *h, struct public_book *b)
{
	struct public_type *t = public_book_type(b, h->sku);
	int64_t minute = engine_minute(e), from = minute + 1;
	const struct piece *next = engine_piece_at(h, from);

	if (!t)
		return;
	t->hosts++;
	if (!next || !next->order || next->interruptible)
		return;
	if (t->sku->proof && (h->proof != PROOF_PASSED || h->proof_until <= minute))
		return; /* it is for those alone who ask for unverified ones, too */
	if (next->block) {
		t->together++;
		return;
	}
	t->on_sale++;
	for (int i = 0; i < PUBLIC_WINDOWS; i++) {
		struct public_ask ask;

		if (public_book_fits(h, from, from + public_minutes[i], &ask))
			public_book_add(&t->windows[i], &ask);
	}
}

int public_book_count(const struct engine *e, struct public_book *out)
{
	struct public_book b = { 0 };

	if (public_book_begin(e, &b))
		return -ENOMEM;
	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id))
		if (!h->retired && !h->down)
			public_book_host(e, h, &b);
	*out = b;
	return 0;
}
