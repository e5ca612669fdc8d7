/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/np/price_week.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

/* A piece takes some milliseconds, in which nobody else is answered. */
enum { PRICE_WEEK_PIECE = 5000 };

/* ---- A step -------------------------------------------------------------------------------- */

/* The pair of these accounts; of those that found no room; or NULL: out of memory. */
static struct week_pair *week_pair_of(struct week_step *s, uint64_t low, uint64_t high)
{
	struct week_pair *grown;

	for (size_t i = 0; i < s->count; i++)
		if (s->pairs[i].low == low && s->pairs[i].high == high)
			return &s->pairs[i];
	if (s->count >= WEEK_PAIRS - 1 && (low || high))
		return week_pair_of(s, 0, 0);
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 4;
		grown = reallocarray(s->pairs, s->room, sizeof *grown);
		if (!grown)
			return NULL;
		s->pairs = grown;
	}
	s->pairs[s->count] = (struct week_pair){ .low = low, .high = high };
	return &s->pairs[s->count++];
}

int price_week_add(struct week_step *s, uint64_t buyer, uint64_t seller, int64_t price, int64_t minutes)
{
	struct week_pair *p;
	int64_t cost, sum, all;

	if (buyer == seller || minutes <= 0 || __builtin_mul_overflow(price, minutes, &cost))
		return 0;
	p = week_pair_of(s, buyer < seller ? buyer : seller, buyer < seller ? seller : buyer);
	if (!p)
		return -1;
	/* Two who make a sum without room go on as they were. */
	if (!__builtin_add_overflow(p->cost, cost, &sum) && !__builtin_add_overflow(p->minutes, minutes, &all)) {
		p->cost = sum;
		p->minutes = all;
	}
	return 0;
}

static int week_pair_order(const void *a, const void *b)
{
	const struct week_pair *x = a, *y = b;
	__int128 left = (__int128)x->cost * y->minutes, right = (__int128)y->cost * x->minutes;

	return left < right ? -1 : left > right;
}

/* The sum of all weights where none may be larger than `most`. */
static __int128 week_weight(const struct week_step *s, int64_t most)
{
	__int128 sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->pairs[i].minutes < most ? s->pairs[i].minutes : most;
	return sum;
}

/* The largest weight that is not more than a third of all. */
static int64_t week_weight_most(const struct week_step *s)
{
	int64_t low = 1, high = INT64_MAX;

	while (low < high) {
		int64_t middle = low + (high - low) / 2 + 1;

		if (week_weight(s, middle) >= (__int128)middle * 3)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static bool week_mean(const struct week_step *s, int64_t *cost, int64_t *minutes)
{
	*cost = *minutes = 0;
	for (size_t i = 0; i < s->count; i++)
		if (__builtin_add_overflow(*cost, s->pairs[i].cost, cost) ||
			__builtin_add_overflow(*minutes, s->pairs[i].minutes, minutes)) {
			*cost = s->pairs[0].cost;
			*minutes = s->pairs[0].minutes;
			break;
		}
	return *minutes > 0;
}

bool price_week_index(struct week_step *s, int64_t *cost, int64_t *minutes)
{
	__int128 seen = 0, all;
	int64_t most;
	size_t i = 0;

	if (s->count < 3)
		return week_mean(s, cost, minutes);
	most = week_weight_most(s);
	all = week_weight(s, most);
	qsort(s->pairs, s->count, sizeof *s->pairs, week_pair_order);
	for (; i < s->count; i++) {
		seen += s->pairs[i].minutes < most ? s->pairs[i].minutes : most;
		if (2 * seen >= all)
			break;
	}
	*cost = s->pairs[i].cost;
	*minutes = s->pairs[i].minutes;
	return true;
}

/* ---- All types ------------------------------------------------------------------------------ */

void price_week_release(struct price_week *w)
{
	for (size_t i = 0; i < w->count; i++)
		for (size_t n = 0; n < WEEK_STEPS; n++)
			free(w->types[i].steps[n].pairs);
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

struct week_type *price_week_of(const struct price_week *w, uint64_t sku)
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
			w->types[i].steps[n % WEEK_STEPS].count = 0;
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
	int64_t step = l->filled_at / WEEK_STEP, minutes = l->end - l->start;
	struct week_type *t;

	(void)over;
	walk->read++;
	if (minutes <= 0 || l->buyer == l->seller || step > w->step || step <= w->step - WEEK_STEPS) {
		w->last = l->id;
		return 0;
	}
	t = price_week_make(w, l->sku);
	walk->full = !t || price_week_add(&t->steps[step % WEEK_STEPS], l->buyer, l->seller, l->price, minutes) < 0;
	if (walk->full)
		return 1;
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
