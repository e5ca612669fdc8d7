/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/due.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "marketd/engine/ensure.h"

void due_release(struct due_heap *h)
{
	free(h->list);
	*h = (struct due_heap){ 0 };
}

static bool due_sooner(const struct due_row *a, const struct due_row *b)
{
	return a->minute != b->minute ? a->minute < b->minute : a->id < b->id;
}

static void due_place(struct due_heap *h, size_t i, struct due_row row)
{
	assert(i < h->count);
	h->list[i] = row;
	row.due->place = i + 1;
}

static void due_rise(struct due_heap *h, size_t i, struct due_row row)
{
	while (i > 0 && due_sooner(&row, &h->list[(i - 1) / 4])) {
		due_place(h, i, h->list[(i - 1) / 4]);
		i = (i - 1) / 4;
	}
	due_place(h, i, row);
}

/* Four children each: half as deep as with two. */
static void due_sink(struct due_heap *h, size_t i, struct due_row row)
{
	for (;;) {
		size_t first = 4 * i + 1, best = first;

		if (first >= h->count)
			break;
		for (size_t k = first + 1; k < first + 4 && k < h->count; k++)
			if (due_sooner(&h->list[k], &h->list[best]))
				best = k;
		if (!due_sooner(&h->list[best], &row))
			break;
		due_place(h, i, h->list[best]);
		i = best;
	}
	due_place(h, i, row);
}

/* Moves the row from i up or down to where it belongs. */
static void due_settle(struct due_heap *h, size_t i, struct due_row row)
{
	if (i > 0 && due_sooner(&row, &h->list[(i - 1) / 4]))
		due_rise(h, i, row);
	else
		due_sink(h, i, row);
}

void due_set(struct due_heap *h, struct due *d, uint64_t id, int64_t minute)
{
	struct due_row row = { .minute = minute, .id = id, .due = d };

	if (d->place) {
		assert(d->place <= h->count && h->list[d->place - 1].due == d && d->id == id);
		if (d->minute == minute)
			return;
		d->minute = minute;
		due_settle(h, d->place - 1, row);
		return;
	}
	d->minute = minute;
	d->id = id;
	must_room(h->list, h->count, h->cap);
	h->count++;
	due_rise(h, h->count - 1, row);
}

void due_drop(struct due_heap *h, struct due *d)
{
	size_t i = d->place;

	if (!i)
		return;
	assert(i <= h->count && h->list[i - 1].due == d);
	d->place = 0;
	h->count--;
	if (i - 1 < h->count)
		due_settle(h, i - 1, h->list[h->count]);
}
