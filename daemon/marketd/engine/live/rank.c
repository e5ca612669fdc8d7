/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/rank.h"

#include <stdlib.h>
#include <string.h>

#include "marketd/engine/ensure.h"

void rank_release(struct rank *r)
{
	free(r->rows);
	*r = (struct rank){ 0 };
}

void rank_add(struct rank *r, uint64_t id, void *thing)
{
	ensure(r->count == 0 || r->rows[r->count - 1].id < id, "an id is not above those before it");
	must_room(r->rows, r->count, r->cap);
	r->rows[r->count++] = (struct rank_row){ .id = id, .thing = thing };
}

/*
 * Finds the first row whose id is not below. Ids are spread fairly evenly, so it guesses by
 * proportion, then takes steps that double, then halves the rest.
 */
static size_t rank_lower(const struct rank *r, uint64_t id)
{
	size_t low = 0, high = r->count, step = 1, guess;

	if (high > 64 && id > r->rows[0].id && id < r->rows[high - 1].id) {
		guess = (size_t)((id - r->rows[0].id) / ((r->rows[high - 1].id - r->rows[0].id) / high + 1));
		guess = guess < high ? guess : high - 1;
		if (r->rows[guess].id < id) {
			for (low = guess + 1; guess + step < high && r->rows[guess + step].id < id; step *= 2)
				low = guess + step + 1;
			high = guess + step < high ? guess + step : high;
		} else {
			for (high = guess; guess >= step && r->rows[guess - step].id >= id; step *= 2)
				high = guess - step;
			low = guess >= step ? guess - step + 1 : 0;
		}
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->rows[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void rank_put(struct rank *r, uint64_t id, void *thing)
{
	size_t i = rank_lower(r, id);

	must_room(r->rows, r->count, r->cap);
	memmove(&r->rows[i + 1], &r->rows[i], (r->count - i) * sizeof *r->rows);
	r->rows[i] = (struct rank_row){ .id = id, .thing = thing };
	r->count++;
}

static void close_gaps(struct rank *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->rows[i].thing)
			r->rows[n++] = r->rows[i];
	r->count = n;
	r->dead = 0;
}

void rank_remove(struct rank *r, uint64_t id)
{
	size_t i = rank_lower(r, id);

	ensure(i < r->count && r->rows[i].id == id && r->rows[i].thing, "what leaves a list is not in it");
	r->rows[i].thing = NULL;
	r->dead++;
	while (r->count && !r->rows[r->count - 1].thing) {
		r->count--;
		r->dead--;
	}
	if (r->dead > 16 && r->dead * 2 > r->count)
		close_gaps(r);
}

void *rank_after(const struct rank *r, uint64_t id)
{
	if (id == UINT64_MAX)
		return NULL;
	for (size_t i = rank_lower(r, id + 1); i < r->count; i++)
		if (r->rows[i].thing)
			return r->rows[i].thing;
	return NULL;
}

void *rank_before(const struct rank *r, uint64_t id)
{
	for (size_t i = rank_lower(r, id); i-- > 0;)
		if (r->rows[i].thing)
			return r->rows[i].thing;
	return NULL;
}
