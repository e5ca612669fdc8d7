/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/calendar.h"

#include <assert.h>
#include <string.h>

#include "marketd/engine/live/offer_index.h"

const struct piece *calendar_at(const struct live_host *h, int64_t minute)
{
	size_t i = calendar_find(h, minute);

	return i < h->pub.piece_count && h->pub.pieces[i].start <= minute ? &h->pub.pieces[i] : NULL;
}

static bool calendar_alike(const struct piece *a, const struct piece *b)
{
	return a->end == b->start && a->pool == b->pool && a->lease == b->lease && a->order == b->order &&
		a->taken == b->taken;
}

/* Replaces the pieces in [first, stop) by `count` others. */
static void calendar_splice(struct live_host *h, size_t first, size_t stop, const struct piece *list, size_t count)
{
	size_t old = h->pub.piece_count, now = old - (stop - first) + count;
	struct piece *at;
	int32_t *ends;

	assert(first <= stop && stop <= old);
	if (h->room_off + now > h->room_cap) {
		if (h->room_off) {
			memmove(h->room, h->room + h->room_off, old * sizeof *h->room);
			memmove(h->ends, h->ends + h->room_off, old * sizeof *h->ends);
		}
		h->room_off = 0;
		if (now > h->room_cap / 2) {
			h->room_cap = now * 2 + 4;
			h->room = must_realloc(h->room, h->room_cap, sizeof *h->room);
			h->ends = must_realloc(h->ends, h->room_cap, sizeof *h->ends);
		}
	}
	at = h->room + h->room_off;
	ends = h->ends + h->room_off;
	memmove(at + first + count, at + stop, (old - stop) * sizeof *at);
	memmove(ends + first + count, ends + stop, (old - stop) * sizeof *ends);
	memcpy(at + first, list, count * sizeof *at);
	for (size_t i = 0; i < count; i++)
		ends[first + i] = (int32_t)list[i].end;
	h->pub.pieces = at;
	h->pub.piece_count = now;
	assert(h->room_off + now <= h->room_cap);
}

/* Appends a piece to a short list, or joins it to the one before where both are alike. */
static size_t calendar_append(struct piece *list, size_t count, const struct piece *p)
{
	if (p->start >= p->end)
		return count;
	if (count && calendar_alike(&list[count - 1], p))
		list[count - 1].end = p->end;
	else
		list[count++] = *p;
	return count;
}

void calendar_put(struct live_host *h, int64_t start, int64_t end, const struct piece *how)
{
	size_t first = calendar_find(h, start), last = first, count = 0;
	struct piece list[5], left, right, mid = *how;
	bool changed = false, moved = false;

	ensure(start < end && first < h->pub.piece_count && h->pub.pieces[first].start <= start,
		"a host does not have these minutes");
	for (;; last++) {
		ensure(last < h->pub.piece_count, "a host does not have these minutes");
		changed = changed || h->pub.pieces[last].order != how->order;
		moved = moved || h->pub.pieces[last].pool != how->pool;
		if (h->pub.pieces[last].end >= end)
			break;
	}
	left = h->pub.pieces[first];
	right = h->pub.pieces[last];
	left.end = start;
	right.start = end;
	mid.start = start;
	mid.end = end;
	if (first > 0)
		count = calendar_append(list, count, &h->pub.pieces[--first]);
	count = calendar_append(list, count, &left);
	count = calendar_append(list, count, &mid);
	count = calendar_append(list, count, &right);
	if (++last < h->pub.piece_count)
		count = calendar_append(list, count, &h->pub.pieces[last++]);
	calendar_splice(h, first, last, list, count);
	if (moved)
		live_host_changed(h);
	if (changed)
		offer_index_update(h, start, end);
}

void calendar_off_sale(struct live_host *h, int64_t start, int64_t end, uint64_t order)
{
	int64_t at = start;

	for (size_t i = calendar_find(h, at); at < end && i < h->pub.piece_count && h->pub.pieces[i].start < end;
		i = calendar_find(h, at)) {
		struct piece p = h->pub.pieces[i];
		int64_t from = p.start > at ? p.start : at, to = p.end < end ? p.end : end;

		at = to;
		if (p.order != order)
			continue;
		p.order = 0;
		p.price = 0;
		p.place = 0;
		p.block = false;
		calendar_put(h, from, to, &p);
	}
}

void calendar_reprice(struct live_host *h, const struct order *o)
{
	int64_t start = INT64_MAX, end = 0;

	for (size_t i = 0; i < h->pub.piece_count; i++) {
		struct piece *p = &h->room[h->room_off + i];

		if (p->order != o->id)
			continue;
		p->price = o->price;
		p->place = o->place;
		start = p->start < start ? p->start : start;
		end = p->end;
	}
	if (start < end)
		offer_index_update(h, start, end);
}

void calendar_relabel(struct live_host *h, int64_t start, int64_t end, uint64_t from, uint64_t to)
{
	int64_t at = start;

	for (size_t i = calendar_find(h, at); at < end && i < h->pub.piece_count && h->pub.pieces[i].start < end;
		i = calendar_find(h, at)) {
		struct piece p = h->pub.pieces[i];
		int64_t a = p.start > at ? p.start : at, b = p.end < end ? p.end : end;

		at = b;
		if (p.lease != from)
			continue;
		p.lease = to;
		calendar_put(h, a, b, &p);
	}
}

bool calendar_owned(const struct live_host *h, uint64_t pool, int64_t minute)
{
	const struct piece *p = calendar_at(h, minute);

	return p && p->pool == pool;
}

int64_t calendar_last(const struct live_host *h, uint64_t order, int64_t before)
{
	size_t i = calendar_find(h, before - 1);

	for (i = i < h->pub.piece_count ? i + 1 : i; i-- > 0;)
		if (h->pub.pieces[i].order == order)
			return h->pub.pieces[i].end;
	return 0;
}

void calendar_trim(struct live_host *h, int64_t minute)
{
	size_t n = calendar_find(h, minute);
	bool shown = false;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		shown = shown || h->pub.pieces[i].order;
	h->room_off += n;
	h->pub.pieces += n;
	h->pub.piece_count -= n;
	if (shown)
		offer_index_update(h, minute, minute);
}

void calendar_clear(struct live_host *h)
{
	h->pub.piece_count = 0;
	live_host_changed(h);
	offer_index_update(h, 0, MINUTE_MAX);
}

void calendar_start(struct live_host *h, const struct piece *list, size_t count)
{
	calendar_splice(h, 0, h->pub.piece_count, list, count);
	live_host_changed(h);
	offer_index_update(h, 0, MINUTE_MAX);
}
