/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/offer_index.h"

#include <stdlib.h>
#include <string.h>

#include "marketd/engine/live/calendar.h"

static uint64_t *offer_index_row(const struct live_sku *s, int64_t hour, bool full)
{
	return s->rows + ((size_t)(hour % HORIZON) * 2 + full) * s->words;
}

/* Sets a host's bits for [start, end), which it has on sale without a gap. */
static void mark_run(struct live_sku *s, const struct live_host *u, int64_t start, int64_t end)
{
	uint64_t bit = UINT64_C(1) << (u->slot % 64);
	size_t word = u->slot / 64;

	for (int64_t h = start / HOUR; h * HOUR < end; h++) {
		offer_index_row(s, h, false)[word] |= bit;
		if (h * HOUR >= start && (h + 1) * HOUR <= end)
			offer_index_row(s, h, true)[word] |= bit;
	}
}

/* Sets the host's bits for the hours [first, stop) again from its pieces. */
static void offer_index_mark(struct live_sku *s, const struct live_host *u, int64_t first, int64_t stop)
{
	uint64_t keep = ~(UINT64_C(1) << (u->slot % 64));
	int64_t from = first * HOUR, to = stop * HOUR, start = 0, end = 0;
	size_t word = u->slot / 64;

	for (int64_t h = first; h < stop; h++) {
		offer_index_row(s, h, false)[word] &= keep;
		offer_index_row(s, h, true)[word] &= keep;
	}
	if (u->pub.down)
		return;
	for (size_t i = calendar_find(u, from); i < u->pub.piece_count && u->pub.pieces[i].start < to; i++) {
		const struct piece *p = &u->pub.pieces[i];

		if (!p->order || p->block)
			continue;
		if (end > start && p->start != end) {
			mark_run(s, u, start, end);
			end = start;
		}
		if (end == start)
			start = p->start > from ? p->start : from;
		end = p->end < to ? p->end : to;
	}
	if (end > start)
		mark_run(s, u, start, end);
}

static void mark_all(struct live_sku *s, int64_t first, int64_t stop)
{
	for (int64_t h = first; h < stop; h++)
		memset(offer_index_row(s, h, false), 0, 2 * s->words * sizeof *s->rows);
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i] && s->slots[i]->offered)
			offer_index_mark(s, s->slots[i], first, stop);
}

/* Room for twice as many hosts. */
static void offer_index_widen(struct live_sku *s)
{
	size_t words = s->words ? s->words * 2 : 1;
	uint64_t *rows = must_zalloc((size_t)HORIZON * 2 * words * sizeof *rows);

	for (size_t i = 0; s->words && i < (size_t)HORIZON * 2; i++)
		memcpy(&rows[i * words], &s->rows[i * s->words], s->words * sizeof *rows);
	free(s->rows);
	s->rows = rows;
	s->words = words;
}

void offer_index_add(struct live_sku *s, struct live_host *h)
{
	size_t i = s->slot_free;

	while (i < s->slot_count && s->slots[i])
		i++;
	if (i == s->slot_count) {
		must_room(s->slots, s->slot_count, s->slot_cap);
		s->slot_count++;
	}
	s->slots[i] = h;
	s->slot_free = i + 1;
	h->slot = i;
	while (s->key_cap <= i)
		must_room(s->keys, s->key_cap, s->key_cap);
	if (i >= s->words * 64)
		offer_index_widen(s);
}

/* Where a host with this key is, or would be. */
static size_t cheap_place(const struct live_sku *s, const struct live_host *h)
{
	size_t low = 0, high = s->cheap_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct cheap *x = &s->cheap[mid];
		bool before = x->ask != h->ask ? x->ask < h->ask :
			x->oldest != h->oldest ? x->oldest < h->oldest : x->host < h->pub.id;

		if (before)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void cheap_drop(struct live_sku *s, struct live_host *h)
{
	size_t i;

	if (!h->offered)
		return;
	i = cheap_place(s, h);
	ensure(i < s->cheap_count && s->cheap[i].live == h, "a host is not where its price belongs");
	s->cheap_count--;
	memmove(&s->cheap[i], &s->cheap[i + 1], (s->cheap_count - i) * sizeof *s->cheap);
	h->offered = false;
}

static void cheap_add(struct live_sku *s, struct live_host *h, int64_t ask, uint64_t oldest)
{
	size_t i;

	h->ask = ask;
	h->oldest = oldest;
	h->offered = true;
	i = cheap_place(s, h);
	must_room(s->cheap, s->cheap_count, s->cheap_cap);
	memmove(&s->cheap[i + 1], &s->cheap[i], (s->cheap_count - i) * sizeof *s->cheap);
	s->cheap[i] = (struct cheap){ .ask = ask, .oldest = oldest, .host = h->pub.id, .live = h, .slot = h->slot };
	s->keys[h->slot] = s->cheap[i];
	s->cheap_count++;
}

void offer_index_drop(struct live_sku *s, struct live_host *h)
{
	cheap_drop(s, h);
	s->slots[h->slot] = NULL;
	s->slot_free = h->slot < s->slot_free ? h->slot : s->slot_free;
}

/*
 * Finds the lowest price and the oldest order of what the host has on sale. Both are mostly still
 * there, at the far end, so the search starts there and stops once neither can improve.
 */
static void offer_index_least(const struct live_host *h, int64_t known_ask, uint64_t known_oldest, int64_t *ask,
	uint64_t *oldest)
{
	*ask = INT64_MAX;
	*oldest = UINT64_MAX;
	for (size_t i = h->pub.piece_count; i-- > 0 && (*ask > known_ask || *oldest > known_oldest);) {
		const struct piece *p = &h->pub.pieces[i];

		if (!p->order || p->block)
			continue;
		*ask = p->price < *ask ? p->price : *ask;
		*oldest = p->place < *oldest ? p->place : *oldest;
	}
}

void offer_index_update(struct live_host *h, int64_t start, int64_t end)
{
	struct live_sku *s = h->sku;
	int64_t first = start / HOUR, stop = (end + HOUR - 1) / HOUR, ask, known_ask = INT64_MIN;
	uint64_t oldest, known_oldest = 0;

	if (h->offered) { /* nothing beats both what was known and what changed */
		known_ask = h->ask;
		known_oldest = h->oldest;
		for (size_t i = calendar_find(h, start); i < h->pub.piece_count && h->pub.pieces[i].start < end; i++) {
			const struct piece *p = &h->pub.pieces[i];

			if (!p->order || p->block)
				continue;
			known_ask = p->price < known_ask ? p->price : known_ask;
			known_oldest = p->place < known_oldest ? p->place : known_oldest;
		}
	}
	offer_index_least(h, known_ask, known_oldest, &ask, &oldest);
	if (!h->offered || ask != h->ask || oldest != h->oldest) {
		cheap_drop(s, h);
		if (oldest != UINT64_MAX)
			cheap_add(s, h, ask, oldest);
	}
	first = first < s->hour ? s->hour : first;
	stop = stop > s->hour + HORIZON ? s->hour + HORIZON : stop;
	if (first < stop)
		offer_index_mark(s, h, first, stop);
}

void offer_index_turn(struct live_sku *s, int64_t minute)
{
	int64_t now = (minute + 1) / HOUR, old = s->hour;

	if (now <= old)
		return;
	s->hour = now;
	if (s->rows)
		mark_all(s, now - old >= HORIZON ? now : old + HORIZON, now + HORIZON);
}

static size_t offer_index_count(const struct live_sku *s, const struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < s->words; i++)
		n += (size_t)__builtin_popcountll(p->bits[i]);
	return n;
}

/* Takes all hosts: the rows do not know the hours beyond the horizon. */
static void offer_index_everyone(const struct live_sku *s, struct plan *p)
{
	if (p->bit_cap < s->words) {
		p->bits = must_realloc(p->bits, s->words, sizeof *p->bits);
		p->bit_cap = s->words;
	}
	for (size_t i = 0; i < s->words; i++)
		p->bits[i] = 0;
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i] && s->slots[i]->offered)
			p->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

size_t offer_index_all(const struct live_sku *s, struct plan *p, int64_t start, int64_t end)
{
	int64_t first = start / HOUR, stop = (end + HOUR - 1) / HOUR;
	bool any = false;

	if (!s->words)
		return 0;
	if (first >= s->hour + HORIZON || first < s->hour) {
		offer_index_everyone(s, p);
		any = true;
	} else if (p->bit_cap < s->words) {
		p->bits = must_realloc(p->bits, s->words, sizeof *p->bits);
		p->bit_cap = s->words;
	}
	stop = stop > s->hour + HORIZON ? s->hour + HORIZON : stop;
	for (int64_t h = first < s->hour ? s->hour : first; h < stop; h++) {
		const uint64_t *bits = offer_index_row(s, h, h * HOUR >= start && (h + 1) * HOUR <= end);
		uint64_t left = 0;

		for (size_t i = 0; i < s->words; i++) {
			p->bits[i] = any ? p->bits[i] & bits[i] : bits[i];
			left |= p->bits[i];
		}
		any = true;
		if (!left)
			return 0;
	}
	return offer_index_count(s, p);
}

size_t offer_index_some(const struct live_sku *s, struct plan *p, int64_t start, int64_t end)
{
	int64_t first = start / HOUR, stop = (end + HOUR - 1) / HOUR;

	if (!s->words)
		return 0;
	if (p->bit_cap < s->words) {
		p->bits = must_realloc(p->bits, s->words, sizeof *p->bits);
		p->bit_cap = s->words;
	}
	if (first < s->hour || stop > s->hour + HORIZON) {
		offer_index_everyone(s, p);
		return offer_index_count(s, p);
	}
	for (size_t i = 0; i < s->words; i++)
		p->bits[i] = 0;
	for (int64_t h = first; h < stop; h++) {
		const uint64_t *bits = offer_index_row(s, h, false);

		for (size_t i = 0; i < s->words; i++)
			p->bits[i] |= bits[i];
	}
	return offer_index_count(s, p);
}

bool offer_index_next(const struct live_sku *s, const struct plan *p, size_t *at)
{
	while (*at < s->words * 64) {
		uint64_t rest = p->bits[*at / 64] >> (*at % 64);

		if (rest) {
			*at += (size_t)__builtin_ctzll(rest);
			return true;
		}
		*at = (*at / 64 + 1) * 64;
	}
	return false;
}
