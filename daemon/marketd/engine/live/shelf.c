/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "marketd/engine/live/calendar.h"

static uint64_t *row(const struct ware *w, int64_t hour, bool full)
{
	return w->rows + ((size_t)(hour % HORIZON) * 2 + full) * w->words;
}

/* The minutes [start, end) are on sale without a gap: the bits of a host. */
static void mark_run(struct ware *w, const struct unit *u, int64_t start, int64_t end)
{
	uint64_t bit = UINT64_C(1) << (u->slot % 64);
	size_t word = u->slot / 64;

	for (int64_t h = start / HOUR; h * HOUR < end; h++) {
		row(w, h, false)[word] |= bit;
		if (h * HOUR >= start && (h + 1) * HOUR <= end)
			row(w, h, true)[word] |= bit;
	}
}

/* The first piece that ends after a minute. */
/* The host's bits of the hours [first, stop), anew. */
static void mark(struct ware *w, const struct unit *u, int64_t first, int64_t stop)
{
	uint64_t keep = ~(UINT64_C(1) << (u->slot % 64));
	int64_t from = first * HOUR, to = stop * HOUR, start = 0, end = 0;
	size_t word = u->slot / 64;

	for (int64_t h = first; h < stop; h++) {
		row(w, h, false)[word] &= keep;
		row(w, h, true)[word] &= keep;
	}
	if (u->pub.down)
		return;
	for (size_t i = calendar_find(u, from); i < u->pub.piece_count && u->pub.pieces[i].start < to; i++) {
		const struct piece *p = &u->pub.pieces[i];

		if (!p->order || p->block)
			continue;
		if (end > start && p->start != end) {
			mark_run(w, u, start, end);
			end = start;
		}
		if (end == start)
			start = p->start > from ? p->start : from;
		end = p->end < to ? p->end : to;
	}
	if (end > start)
		mark_run(w, u, start, end);
}

static void mark_all(struct ware *w, int64_t first, int64_t stop)
{
	for (int64_t h = first; h < stop; h++)
		memset(row(w, h, false), 0, 2 * w->words * sizeof *w->rows);
	for (size_t i = 0; i < w->slot_count; i++)
		if (w->slots[i] && w->slots[i]->shelved)
			mark(w, w->slots[i], first, stop);
}

void shelf_add(struct ware *w, struct unit *u)
{
	size_t i = 0;

	while (i < w->slot_count && w->slots[i])
		i++;
	if (i == w->slot_count) {
		must_room(w->slots, w->slot_count, w->slot_cap);
		w->slot_count++;
	}
	w->slots[i] = u;
	u->slot = i;
	while (w->key_cap <= i)
		must_room(w->keys, w->key_cap, w->key_cap);
	if (i >= w->words * 64) {
		w->words = w->words ? w->words * 2 : 1;
		w->rows = must_realloc(w->rows, (size_t)HORIZON * 2 * w->words, sizeof *w->rows);
		mark_all(w, w->hour, w->hour + HORIZON);
	}
}

/* Where a host with this key is, or would be. */
static size_t cheap_place(const struct ware *w, const struct unit *u)
{
	size_t low = 0, high = w->cheap_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct cheap *x = &w->cheap[mid];
		bool before = x->ask != u->ask ? x->ask < u->ask :
			x->oldest != u->oldest ? x->oldest < u->oldest : x->host < u->pub.id;

		if (before)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void cheap_drop(struct ware *w, struct unit *u)
{
	size_t i;

	if (!u->shelved)
		return;
	i = cheap_place(w, u);
	ensure(i < w->cheap_count && w->cheap[i].unit == u, "a host is not where its price puts it");
	w->cheap_count--;
	memmove(&w->cheap[i], &w->cheap[i + 1], (w->cheap_count - i) * sizeof *w->cheap);
	u->shelved = false;
}

static void cheap_add(struct ware *w, struct unit *u, int64_t ask, uint64_t oldest)
{
	size_t i;

	u->ask = ask;
	u->oldest = oldest;
	u->shelved = true;
	i = cheap_place(w, u);
	must_room(w->cheap, w->cheap_count, w->cheap_cap);
	memmove(&w->cheap[i + 1], &w->cheap[i], (w->cheap_count - i) * sizeof *w->cheap);
	w->cheap[i] = (struct cheap){ .ask = ask, .oldest = oldest, .host = u->pub.id, .unit = u, .slot = u->slot };
	w->keys[u->slot] = w->cheap[i];
	w->cheap_count++;
}

void shelf_drop(struct ware *w, struct unit *u)
{
	cheap_drop(w, u);
	w->slots[u->slot] = NULL;
}

/*
 * The least price and the oldest order of what the host has on sale. What it had is mostly still
 * there, in its far end, so the search goes from there and stops once neither can be better.
 */
static void least(const struct unit *u, int64_t known_ask, uint64_t known_oldest, int64_t *ask, uint64_t *oldest)
{
	*ask = INT64_MAX;
	*oldest = UINT64_MAX;
	for (size_t i = u->pub.piece_count; i-- > 0 && (*ask > known_ask || *oldest > known_oldest);) {
		const struct piece *p = &u->pub.pieces[i];

		if (!p->order || p->block)
			continue;
		*ask = p->price < *ask ? p->price : *ask;
		*oldest = p->order < *oldest ? p->order : *oldest;
	}
}

void shelf_update(struct unit *u, int64_t start, int64_t end)
{
	struct ware *w = u->ware;
	int64_t first = start / HOUR, stop = (end + HOUR - 1) / HOUR, ask, known_ask = INT64_MIN;
	uint64_t oldest, known_oldest = 0;

	if (u->shelved) { /* nothing can be less than what was known and what is there now */
		known_ask = u->ask;
		known_oldest = u->oldest;
		for (size_t i = calendar_find(u, start); i < u->pub.piece_count && u->pub.pieces[i].start < end; i++) {
			const struct piece *p = &u->pub.pieces[i];

			if (!p->order || p->block)
				continue;
			known_ask = p->price < known_ask ? p->price : known_ask;
			known_oldest = p->order < known_oldest ? p->order : known_oldest;
		}
	}
	least(u, known_ask, known_oldest, &ask, &oldest);
	if (!u->shelved || ask != u->ask || oldest != u->oldest) {
		cheap_drop(w, u);
		if (oldest != UINT64_MAX)
			cheap_add(w, u, ask, oldest);
	}
	first = first < w->hour ? w->hour : first;
	stop = stop > w->hour + HORIZON ? w->hour + HORIZON : stop;
	if (first < stop)
		mark(w, u, first, stop);
}

void shelf_turn(struct ware *w, int64_t minute)
{
	int64_t now = (minute + 1) / HOUR, old = w->hour;

	if (now <= old)
		return;
	w->hour = now;
	if (w->rows)
		mark_all(w, now - old >= HORIZON ? now : old + HORIZON, now + HORIZON);
}

static size_t count(const struct ware *w, const struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < w->words; i++)
		n += (size_t)__builtin_popcountll(p->bits[i]);
	return n;
}

/* All hosts there are: what is known of hours beyond the horizon. */
static void everyone(const struct ware *w, struct plan *p)
{
	if (p->bit_cap < w->words) {
		p->bits = must_realloc(p->bits, w->words, sizeof *p->bits);
		p->bit_cap = w->words;
	}
	for (size_t i = 0; i < w->words; i++)
		p->bits[i] = 0;
	for (size_t i = 0; i < w->slot_count; i++)
		if (w->slots[i] && w->slots[i]->shelved)
			p->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

size_t shelf_all(const struct ware *w, struct plan *p, int64_t start, int64_t end)
{
	int64_t first = start / HOUR, stop = (end + HOUR - 1) / HOUR;
	bool any = false;

	if (!w->words)
		return 0;
	if (first >= w->hour + HORIZON || first < w->hour) {
		everyone(w, p);
		any = true;
	} else if (p->bit_cap < w->words) {
		p->bits = must_realloc(p->bits, w->words, sizeof *p->bits);
		p->bit_cap = w->words;
	}
	stop = stop > w->hour + HORIZON ? w->hour + HORIZON : stop;
	for (int64_t h = first < w->hour ? w->hour : first; h < stop; h++) {
		const uint64_t *bits = row(w, h, h * HOUR >= start && (h + 1) * HOUR <= end);
		uint64_t left = 0;

		for (size_t i = 0; i < w->words; i++) {
			p->bits[i] = any ? p->bits[i] & bits[i] : bits[i];
			left |= p->bits[i];
		}
		any = true;
		if (!left)
			return 0;
	}
	return count(w, p);
}

size_t shelf_some(const struct ware *w, struct plan *p, int64_t start, int64_t end)
{
	int64_t first = start / HOUR, stop = (end + HOUR - 1) / HOUR;

	if (!w->words)
		return 0;
	if (p->bit_cap < w->words) {
		p->bits = must_realloc(p->bits, w->words, sizeof *p->bits);
		p->bit_cap = w->words;
	}
	if (first < w->hour || stop > w->hour + HORIZON) {
		everyone(w, p);
		return count(w, p);
	}
	for (size_t i = 0; i < w->words; i++)
		p->bits[i] = 0;
	for (int64_t h = first; h < stop; h++) {
		const uint64_t *bits = row(w, h, false);

		for (size_t i = 0; i < w->words; i++)
			p->bits[i] |= bits[i];
	}
	return count(w, p);
}

bool shelf_next(const struct ware *w, const struct plan *p, size_t *at)
{
	while (*at < w->words * 64) {
		uint64_t rest = p->bits[*at / 64] >> (*at % 64);

		if (rest) {
			*at += (size_t)__builtin_ctzll(rest);
			return true;
		}
		*at = (*at / 64 + 1) * 64;
	}
	return false;
}
