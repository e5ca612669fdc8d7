/* SPDX-License-Identifier: Apache-2.0 */
/* What the resting buys would take of a sell if it were placed now. */
#include "marketd/engine/rules/sell.h"

#include <stdlib.h>
#include <string.h>

/* Minutes of a host that nobody takes yet. */
struct gap {
	size_t host;
	int64_t start, end;
};

struct stall {
	struct gap *list;
	size_t count, cap;
	const struct order *sell;
	struct sell_preview *out;
	bool *used;
};

static void sell_preview_take(struct stall *s, size_t i, int64_t start, int64_t end, int64_t price)
{
	struct gap g = s->list[i];

	s->out->cost = sure_add(s->out->cost, sure_mul(price, end - start));
	s->out->minutes += end - start;
	s->out->lowest = price;
	s->out->nodes += !s->used[g.host];
	s->used[g.host] = true;
	s->list[i].end = start;
	if (end < g.end) {
		must_room(s->list, s->count, s->cap);
		s->list[s->count++] = (struct gap){ .host = g.host, .start = end, .end = g.end };
	}
}

/* As many nodes of a span as there are; a span is what a buy still needs. */
static void sell_preview_take_span(struct stall *s, const struct span *need, int64_t price)
{
	int32_t left = need->nodes;

	for (size_t i = 0, count = s->count; i < count && left > 0; i++) {
		int64_t start = s->list[i].start > need->start ? s->list[i].start : need->start;
		int64_t end = s->list[i].end < need->end ? s->list[i].end : need->end;

		if (start >= end)
			continue;
		sell_preview_take(s, i, start, end, price);
		left--;
	}
}

/* N hosts with the whole window, or none. */
static void sell_preview_take_whole(struct stall *s, const struct order *buy)
{
	int32_t fits = 0;

	for (size_t i = 0; i < s->count; i++)
		fits += s->list[i].start <= buy->start && s->list[i].end >= buy->end;
	if (fits < buy->nodes)
		return;
	fits = buy->nodes;
	for (size_t i = 0, count = s->count; i < count && fits > 0; i++)
		if (s->list[i].start <= buy->start && s->list[i].end >= buy->end) {
			sell_preview_take(s, i, buy->start, buy->end, buy->price);
			fits--;
		}
}

static void sell_preview_serve(struct stall *s, const struct live_order *o, bool block)
{
	const struct order *buy = &o->pub;

	if (block && ((buy->flags & ORDER_PARTIAL) || buy->start != s->sell->start || buy->end != s->sell->end ||
		buy->nodes != s->sell->nodes))
		return;
	if (!(buy->flags & ORDER_PARTIAL))
		sell_preview_take_whole(s, buy);
	else
		for (size_t i = 0; i < buy->rest_count; i++)
			sell_preview_take_span(s, &buy->rest[i], buy->price);
}

void sell_preview_find(const struct engine *e, const struct order *o, const struct pick *hosts,
	struct sell_preview *out)
{
	const struct live_sku *w = world_sku(e, o->sku);
	uint64_t beneficiary = world_account(e, o->account)->pub.beneficiary;
	struct stall s = { .sell = o, .out = out };

	*out = (struct sell_preview){ 0 };
	s.used = must_zalloc(hosts->count * sizeof *s.used);
	for (size_t i = 0; i < hosts->count; i++) {
		if (hosts->list[i]->pub.down)
			continue;
		must_room(s.list, s.count, s.cap);
		s.list[s.count++] = (struct gap){ .host = i, .start = o->start, .end = o->end };
	}
	for (size_t i = 0; i < w->resting_count && w->resting[i]->pub.price >= o->price; i++)
		if (w->resting[i]->beneficiary != beneficiary)
			sell_preview_serve(&s, w->resting[i], order_block(o));
	out->whole = out->minutes == (o->end - o->start) * o->nodes;
	free(s.list);
	free(s.used);
}
