/* SPDX-License-Identifier: Apache-2.0 */
/* Adds pieces and orders up to steps over time: schedules, what is for sale, the public book. */
#include <errno.h>
#include <stdlib.h>

#include "marketd/engine/live/calendar.h"
#include "marketd/engine/engine.h"
#include "marketd/engine/live/world.h"

/* From `at` on there are `nodes` more (or fewer) at this price. */
struct change {
	int64_t price, at;
	int64_t nodes;
};

struct changes {
	struct change *list;
	size_t count, cap;
};

static void depth_add(struct changes *c, int64_t price, int64_t start, int64_t end, int32_t nodes)
{
	if (start >= end)
		return;
	must_room(c->list, c->count, c->cap);
	c->list[c->count++] = (struct change){ .price = price, .at = start, .nodes = nodes };
	must_room(c->list, c->count, c->cap);
	c->list[c->count++] = (struct change){ .price = price, .at = end, .nodes = -nodes };
}

static int change_cmp(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->price != y->price)
		return x->price < y->price ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int depth_append(struct spans *out, int64_t start, int64_t end, int64_t nodes)
{
	struct span *last = out->count ? &out->list[out->count - 1] : NULL;

	if (last && last->end == start && last->nodes == nodes) {
		last->end = end;
		return 0;
	}
	if (out->count == out->cap) {
		size_t cap = out->cap ? out->cap * 2 : 8;
		struct span *list = realloc(out->list, cap * sizeof *list);

		if (!list)
			return -ENOMEM;
		out->list = list;
		out->cap = cap;
	}
	out->list[out->count++] = (struct span){ .start = start, .end = end, .nodes = (int32_t)nodes };
	return 0;
}

/* Turns the sorted changes of one price into steps without gaps. */
static int sum_up(const struct change *list, size_t count, struct spans *out)
{
	int64_t nodes = 0;
	int rc = 0;

	for (size_t i = 0; i + 1 < count && rc == 0; i++) {
		nodes += list[i].nodes;
		if (list[i + 1].at > list[i].at)
			rc = depth_append(out, list[i].at, list[i + 1].at, nodes);
	}
	return rc;
}

static int depth_finish(struct changes *c, struct spans *out)
{
	int rc;

	if (c->count)
		qsort(c->list, c->count, sizeof *c->list, change_cmp);
	rc = sum_up(c->list, c->count, out);
	free(c->list);
	return rc;
}

int engine_schedule(const struct engine *e, uint64_t pool, uint64_t sku, int64_t from, struct spans *out)
{
	const struct live_pool *d = world_pool(e, pool);
	struct changes c = { 0 };

	for (size_t i = 0; d && i < d->holding_count; i++) {
		const struct live_host *h = d->holdings[i].live;

		if (sku && h->pub.sku != sku)
			continue;
		for (size_t k = calendar_find(h, from); k < h->pub.piece_count; k++) {
			const struct piece *p = &h->pub.pieces[k];

			if (p->pool == pool)
				depth_add(&c, 0, p->start > from ? p->start : from, p->end, 1);
		}
	}
	return depth_finish(&c, out);
}

/* What a SKU has on sale in [start, end); `prices`: each price by itself, else all as one. */
static void depth_offered(const struct engine *e, const struct live_sku *s, bool unverified, int64_t start, int64_t end,
	bool prices, struct changes *c)
{
	for (size_t i = 0; i < s->slot_count; i++) {
		const struct live_host *h = s->slots[i];

		if (!h || h->pub.down || (s->pub.proof && !unverified && !live_host_proven(e, h)))
			continue;
		for (size_t k = calendar_find(h, start); k < h->pub.piece_count && h->pub.pieces[k].start < end; k++) {
			const struct piece *p = &h->pub.pieces[k];

			if (p->order)
				depth_add(c, prices ? p->price : 0, p->start > start ? p->start : start,
					p->end < end ? p->end : end, 1);
		}
	}
}

int engine_availability(const struct engine *e, uint64_t sku, bool unverified, int64_t from, int64_t to,
	struct spans *out)
{
	const struct live_sku *s = world_sku(e, sku);
	struct changes c = { 0 };

	if (s)
		depth_offered(e, s, unverified, from > e->minute ? from : e->minute + 1, to, false, &c);
	return depth_finish(&c, out);
}

static void depth_asked(const struct live_sku *s, int64_t start, int64_t end, struct changes *c)
{
	for (size_t i = 0; i < s->resting_count; i++) {
		const struct order *o = &s->resting[i]->pub;

		for (size_t k = 0; k < o->rest_count; k++)
			depth_add(c, -o->price, o->rest[k].start > start ? o->rest[k].start : start,
				o->rest[k].end < end ? o->rest[k].end : end, o->rest[k].nodes);
	}
}

/* The changes of each price become a level; best first: buys have their price negated. */
static int depth_levels(const struct changes *c, enum side side, size_t max, struct level *list, size_t *count)
{
	int rc = 0;

	for (size_t i = 0, stop; i < c->count && *count < max && rc == 0; i = stop) {
		for (stop = i; stop < c->count && c->list[stop].price == c->list[i].price; stop++)
			;
		list[*count].price = side == SIDE_BUY ? -c->list[i].price : c->list[i].price;
		rc = sum_up(c->list + i, stop - i, &list[*count].spans);
		++*count;
	}
	return rc;
}

int engine_depth(const struct engine *e, uint64_t sku, enum side side, bool unverified, int64_t start, int64_t end,
	size_t max, struct level **out, size_t *count)
{
	const struct live_sku *s = world_sku(e, sku);
	struct changes c = { 0 };
	struct level *list;
	size_t n = 0;
	int rc;

	start = start > e->minute ? start : e->minute + 1;
	if (s && side == SIDE_SELL)
		depth_offered(e, s, unverified, start, end, true, &c);
	else if (s)
		depth_asked(s, start, end, &c);
	if (c.count)
		qsort(c.list, c.count, sizeof *c.list, change_cmp);
	max = max < c.count ? max : c.count;
	list = calloc(max ? max : 1, sizeof *list);
	if (!list) {
		free(c.list);
		return -ENOMEM;
	}
	rc = depth_levels(&c, side, max, list, &n);
	free(c.list);
	if (rc) {
		levels_free(list, n);
		return rc;
	}
	*out = list;
	*count = n;
	return 0;
}

void levels_free(struct level *l, size_t count)
{
	for (size_t i = 0; l && i < count; i++)
		free(l[i].spans.list);
	free(l);
}
