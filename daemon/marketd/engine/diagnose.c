/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why an order does not fill, and which orders would. Each alternative is tried like a real order before
 * it is offered, so it is true until something else happens.
 */
#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/rules/buy.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/engine.h"
#include "marketd/engine/rules/order.h"
#include "marketd/engine/rules/sell.h"
#include "marketd/engine/rules/live_order.h"

enum { AHEAD = 14 * 24 * 60, TRIES = 4096 };

struct asker {
	const struct engine *e;
	struct plan plan;
	int rc;                    /* of the last try */
};

struct numbers {
	int64_t *list;
	size_t count, cap;
};

/* Would it fill whole? `money`: with what the account has; else as if that were enough. */
static bool diagnose_fills(struct asker *a, const struct order *o, bool money)
{
	struct live_order t;
	int64_t most;

	if (__builtin_mul_overflow(o->price * o->nodes, o->end - o->start, &most) || o->end > MINUTE_MAX ||
		o->start >= o->end)
		return false;
	live_order_init(a->e, &t, o);
	a->rc = buy_plan(a->e, &t, &a->plan, NULL);
	if (a->rc && (money || (a->rc != REASON_FUNDS && a->rc != REASON_OVER_MAX_TOTAL && a->rc != REASON_OVER_CAP)))
		return false;
	return a->plan.count && !a->plan.rest_count;
}

static void diagnose_add(struct numbers *n, int64_t value)
{
	must_room(n->list, n->count, n->cap);
	n->list[n->count++] = value;
}

static int number_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void diagnose_sort(struct numbers *n)
{
	size_t kept = 0;

	if (n->count)
		qsort(n->list, n->count, sizeof *n->list, number_cmp);
	for (size_t i = 0; i < n->count; i++)
		if (!kept || n->list[kept - 1] != n->list[i])
			n->list[kept++] = n->list[i];
	n->count = kept;
}

/* From piece *k on the next one that a host has on sale and that starts before `stop`; NULL at the end. */
static const struct piece *diagnose_next_offer(const struct live_host *h, size_t *k, int64_t stop)
{
	while (*k < h->pub.piece_count && h->pub.pieces[*k].start < stop) {
		const struct piece *p = &h->pub.pieces[(*k)++];

		if (p->order)
			return p;
	}
	return NULL;
}

/* The prices above the limit of what the SKU has on sale in the window, ascending. */
static void diagnose_prices(const struct live_sku *s, const struct order *o, struct numbers *out)
{
	for (size_t i = 0; i < s->slot_count; i++) {
		const struct live_host *h = s->slots[i];
		size_t k = h ? calendar_find(h, o->start) : 0;
		const struct piece *p;

		while (h && (p = diagnose_next_offer(h, &k, o->end)))
			if (p->price > o->price)
				diagnose_add(out, p->price);
	}
	diagnose_sort(out);
}

/* When more may come on sale within the limit, ascending: a piece starts, or a notice is long enough. */
static void diagnose_starts(const struct asker *a, const struct live_sku *s, const struct order *o, struct numbers *out)
{
	diagnose_add(out, world_notice(a->e));
	for (size_t i = 0; i < s->slot_count; i++) {
		const struct live_host *h = s->slots[i];
		size_t k = h ? calendar_find(h, o->start) : 0;
		const struct piece *p;

		while (h && (p = diagnose_next_offer(h, &k, MINUTE_MAX)))
			if (p->price <= o->price)
				diagnose_add(out, p->start);
	}
	diagnose_sort(out);
}

/* The lowest price at which the order fills. */
static void diagnose_ask_price(struct asker *a, const struct order *o, struct diagnosis *out)
{
	struct numbers n = { 0 };
	struct order x = *o;
	size_t low = 0, high;

	diagnose_prices(world_sku(a->e, o->sku), o, &n);
	high = n.count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		x.price = n.list[mid];
		if (diagnose_fills(a, &x, false))
			high = mid;
		else
			low = mid + 1;
	}
	if (low < n.count) {
		x.price = out->price = n.list[low];
		out->has_price = diagnose_fills(a, &x, true);
	}
	free(n.list);
}

/* The most nodes with which the order fills; a block is taken whole or not. */
static void diagnose_ask_nodes(struct asker *a, const struct order *o, struct diagnosis *out)
{
	const struct live_sku *s = world_sku(a->e, o->sku);
	int32_t low = 0, high = o->nodes - 1; /* low fills, or is 0 */
	struct order x = *o;

	while (low < high) {
		x.nodes = low + (high - low + 1) / 2;
		if (diagnose_fills(a, &x, true))
			low = x.nodes;
		else
			high = x.nodes - 1;
	}
	for (size_t i = 0; i < s->block_count; i++) {
		const struct order *b = &s->blocks[i]->pub;

		x.nodes = b->nodes;
		if (b->start == o->start && b->end == o->end && b->nodes < o->nodes && b->nodes > low &&
			diagnose_fills(a, &x, true))
			low = b->nodes;
	}
	out->nodes = low;
	out->has_nodes = low > 0;
}

/* The latest end with which the order fills. */
static void diagnose_ask_end(struct asker *a, const struct order *o, struct diagnosis *out)
{
	int64_t low = o->start, high = o->end - 1; /* low fills, or is the start */
	struct order x = *o;

	while (low < high) {
		x.end = low + (high - low + 1) / 2;
		if (diagnose_fills(a, &x, true))
			low = x.end;
		else
			high = x.end - 1;
	}
	out->end = low;
	out->has_end = low > o->start;
}

/* The first later start with which the order fills. */
static void diagnose_ask_start(struct asker *a, const struct order *o, int64_t length, struct diagnosis *out)
{
	struct numbers n = { 0 };
	struct order x = *o;

	diagnose_starts(a, world_sku(a->e, o->sku), o, &n);
	for (size_t i = 0, tries = 0; i < n.count && tries < TRIES && !out->has_start; i++) {
		if (n.list[i] <= o->start || n.list[i] > o->start + AHEAD)
			continue;
		tries++;
		x.start = n.list[i];
		x.end = x.start + length;
		out->start = x.start;
		out->has_start = diagnose_fills(a, &x, true);
	}
	free(n.list);
}

static void diagnose_sell(const struct engine *e, const struct order *o, struct diagnosis *out)
{
	const struct live_sku *s = world_sku(e, o->sku);
	struct sell_preview taken;
	struct order x = *o;
	struct pick hosts;
	struct live_order t;

	live_order_init(e, &t, o);
	out->reason = sell_plan(e, &t, &hosts, NULL);
	if (out->reason)
		return;
	sell_preview_find(e, o, &hosts, &taken);
	out->reason = taken.whole ? 0 : REASON_NO_BUYER;
	for (size_t i = 0; i < s->resting_count && !taken.whole; i++) {
		x.price = s->resting[i]->pub.price;
		if (x.price >= o->price || (i > 0 && s->resting[i - 1]->pub.price == x.price))
			continue;
		sell_preview_find(e, &x, &hosts, &taken);
		out->price = x.price;
		out->has_price = taken.whole;
	}
	pick_release(&hosts);
}

void engine_diagnose(const struct engine *e, const struct event *order, struct diagnosis *out)
{
	struct asker a = { .e = e };
	struct order o;

	*out = (struct diagnosis){ .reason = order_check(e, order, true, &o, NULL) };
	if (out->reason)
		return;
	if (o.side == SIDE_SELL) {
		diagnose_sell(e, &o, out);
		return;
	}
	if (!diagnose_fills(&a, &o, true)) {
		out->reason = a.rc ? a.rc : buy_reason(&a.plan);
		diagnose_ask_price(&a, &o, out);
		diagnose_ask_nodes(&a, &o, out);
		diagnose_ask_end(&a, &o, out);
		if (!(o.flags & ORDER_EXTEND))
			diagnose_ask_start(&a, &o, order->u.order.end - order->u.order.start, out);
	}
	plan_release(&a.plan);
}
