/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/calendar.h"

#include <string.h>

#include "marketd/engine/live/shelf.h"

const struct piece *calendar_at(const struct unit *u, int64_t minute)
{
	size_t i = calendar_find(u, minute);

	return i < u->pub.piece_count && u->pub.pieces[i].start <= minute ? &u->pub.pieces[i] : NULL;
}

static bool alike(const struct piece *a, const struct piece *b)
{
	return a->end == b->start && a->pool == b->pool && a->lease == b->lease && a->order == b->order;
}

/* Puts `count` pieces in the place of those in [first, stop). */
static void splice(struct unit *u, size_t first, size_t stop, const struct piece *list, size_t count)
{
	size_t old = u->pub.piece_count, now = old - (stop - first) + count;
	struct piece *at;
	int32_t *ends;

	if (u->room_off + now > u->room_cap) {
		if (u->room_off) {
			memmove(u->room, u->room + u->room_off, old * sizeof *u->room);
			memmove(u->ends, u->ends + u->room_off, old * sizeof *u->ends);
		}
		u->room_off = 0;
		if (now > u->room_cap / 2) {
			u->room_cap = now * 2 + 4;
			u->room = must_realloc(u->room, u->room_cap, sizeof *u->room);
			u->ends = must_realloc(u->ends, u->room_cap, sizeof *u->ends);
		}
	}
	at = u->room + u->room_off;
	ends = u->ends + u->room_off;
	memmove(at + first + count, at + stop, (old - stop) * sizeof *at);
	memmove(ends + first + count, ends + stop, (old - stop) * sizeof *ends);
	memcpy(at + first, list, count * sizeof *at);
	for (size_t i = 0; i < count; i++)
		ends[first + i] = (int32_t)list[i].end;
	u->pub.pieces = at;
	u->pub.piece_count = now;
}

/* Appends a piece to a short list, joined with the one before where it is like that. */
static size_t append(struct piece *list, size_t count, const struct piece *p)
{
	if (p->start >= p->end)
		return count;
	if (count && alike(&list[count - 1], p))
		list[count - 1].end = p->end;
	else
		list[count++] = *p;
	return count;
}

void calendar_put(struct unit *u, int64_t start, int64_t end, const struct piece *how)
{
	size_t first = calendar_find(u, start), last = first, count = 0;
	struct piece list[5], left, right, mid = *how;
	bool changed = false, moved = false;

	ensure(start < end && first < u->pub.piece_count && u->pub.pieces[first].start <= start,
		"minutes that a host does not have");
	for (;; last++) {
		ensure(last < u->pub.piece_count, "minutes that a host does not have");
		changed = changed || u->pub.pieces[last].order != how->order;
		moved = moved || u->pub.pieces[last].pool != how->pool;
		if (u->pub.pieces[last].end >= end)
			break;
	}
	left = u->pub.pieces[first];
	right = u->pub.pieces[last];
	left.end = start;
	right.start = end;
	mid.start = start;
	mid.end = end;
	if (first > 0)
		count = append(list, count, &u->pub.pieces[--first]);
	count = append(list, count, &left);
	count = append(list, count, &mid);
	count = append(list, count, &right);
	if (++last < u->pub.piece_count)
		count = append(list, count, &u->pub.pieces[last++]);
	splice(u, first, last, list, count);
	if (moved)
		unit_changed(u);
	if (changed)
		shelf_update(u, start, end);
}

void calendar_off_sale(struct unit *u, int64_t start, int64_t end, uint64_t order)
{
	int64_t at = start;

	for (size_t i = calendar_find(u, at); at < end && i < u->pub.piece_count && u->pub.pieces[i].start < end;
		i = calendar_find(u, at)) {
		struct piece p = u->pub.pieces[i];
		int64_t from = p.start > at ? p.start : at, to = p.end < end ? p.end : end;

		at = to;
		if (p.order != order)
			continue;
		p.order = 0;
		p.price = 0;
		p.block = false;
		calendar_put(u, from, to, &p);
	}
}

void calendar_relabel(struct unit *u, int64_t start, int64_t end, uint64_t from, uint64_t to)
{
	int64_t at = start;

	for (size_t i = calendar_find(u, at); at < end && i < u->pub.piece_count && u->pub.pieces[i].start < end;
		i = calendar_find(u, at)) {
		struct piece p = u->pub.pieces[i];
		int64_t a = p.start > at ? p.start : at, b = p.end < end ? p.end : end;

		at = b;
		if (p.lease != from)
			continue;
		p.lease = to;
		calendar_put(u, a, b, &p);
	}
}

bool calendar_owned(const struct unit *u, uint64_t pool, int64_t minute)
{
	const struct piece *p = calendar_at(u, minute);

	return p && p->pool == pool;
}

int64_t calendar_last(const struct unit *u, uint64_t order, int64_t before)
{
	size_t i = calendar_find(u, before - 1);

	for (i = i < u->pub.piece_count ? i + 1 : i; i-- > 0;)
		if (u->pub.pieces[i].order == order)
			return u->pub.pieces[i].end;
	return 0;
}

void calendar_trim(struct unit *u, int64_t minute)
{
	size_t n = calendar_find(u, minute);
	bool shown = false;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		shown = shown || u->pub.pieces[i].order;
	u->room_off += n;
	u->pub.pieces += n;
	u->pub.piece_count -= n;
	if (shown)
		shelf_update(u, minute, minute);
}

void calendar_clear(struct unit *u)
{
	u->pub.piece_count = 0;
	unit_changed(u);
	shelf_update(u, 0, MINUTE_MAX);
}

void calendar_start(struct unit *u, const struct piece *list, size_t count)
{
	splice(u, 0, u->pub.piece_count, list, count);
	unit_changed(u);
	shelf_update(u, 0, MINUTE_MAX);
}
