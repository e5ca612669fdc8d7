/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/np/price_week.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

/* A piece takes some milliseconds, in which nobody else is answered. */
enum { PRICE_WEEK_PIECE = 5000 };

void price_week_release(struct price_week *w)
{
	free(w->types);
	*w = (struct price_week){ 0 };
}

/* The first whose id is not lower. */
static size_t price_week_place(const struct price_week *w, uint64_t sku)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->types[middle].sku < sku)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct week_type *price_week_of(const struct price_week *w, uint64_t sku)
{
	size_t at = price_week_place(w, sku);

	return at < w->count && w->types[at].sku == sku ? &w->types[at] : NULL;
}

/* NULL: out of memory. */
static struct week_type *price_week_make(struct price_week *w, uint64_t sku)
{
	size_t at = price_week_place(w, sku);

	if (at < w->count && w->types[at].sku == sku)
		return &w->types[at];
	if (w->count == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 16;
		struct week_type *types = reallocarray(w->types, cap, sizeof *types);

		if (!types)
			return NULL;
		w->types = types;
		w->cap = cap;
	}
	memmove(&w->types[at + 1], &w->types[at], (w->count - at) * sizeof *w->types);
	w->types[at] = (struct week_type){ .sku = sku };
	w->count++;
	return &w->types[at];
}

/* Forgets the steps that are a week old. */
static void price_week_move(struct price_week *w, int64_t step)
{
	int64_t from = w->step && step - w->step < WEEK_STEPS ? w->step : step - WEEK_STEPS;

	for (int64_t n = from + 1; n <= step; n++)
		for (size_t i = 0; i < w->count; i++)
			w->types[i].cost[n % WEEK_STEPS] = w->types[i].minutes[n % WEEK_STEPS] = 0;
	w->step = step;
}

struct price_week_walk {
	struct price_week *week;
	size_t read;
	bool full; /* out of memory */
};

static int price_week_take(void *arg, const struct lease *l, bool over)
{
	struct price_week_walk *walk = arg;
	struct price_week *w = walk->week;
	int64_t step = l->filled_at / WEEK_STEP, minutes = l->end - l->start, cost, sum;
	struct week_type *t;

	(void)over;
	walk->read++;
	if (minutes <= 0 || step > w->step || step <= w->step - WEEK_STEPS) {
		w->last = l->id;
		return 0;
	}
	t = price_week_make(w, l->sku);
	walk->full = !t;
	if (!t)
		return 1;
	/* Who trades with himself could make a sum without room: it stays as it is. */
	if (!__builtin_mul_overflow(l->price, minutes, &cost) &&
		!__builtin_add_overflow(t->cost[step % WEEK_STEPS], cost, &sum)) {
		t->cost[step % WEEK_STEPS] = sum;
		t->minutes[step % WEEK_STEPS] += minutes;
	}
	w->last = l->id;
	t->last_price = l->price;
	t->last_at = l->filled_at;
	return 0;
}

int price_week_read(struct price_week *w, struct store *s, int64_t now, struct fail *f)
{
	struct price_week_walk walk = { .week = w };
	struct store_page page = { .limit = PRICE_WEEK_PIECE };
	int64_t since;
	int rc;

	if (now / WEEK_STEP > w->step)
		price_week_move(w, now / WEEK_STEP);
	since = (w->step - WEEK_STEPS + 1) * WEEK_STEP;
	page.after = w->last;
	rc = s->calls->leases(s, 0, 0, since > 0 ? since : 0, &page, price_week_take, &walk, f);
	if (rc < 0)
		return rc;
	if (walk.full)
		return fail_set(f, REASON_UNAVAILABLE, "the market is out of memory");
	w->counted = walk.read < PRICE_WEEK_PIECE;
	return 0;
}
