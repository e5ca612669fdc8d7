/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/live_order.h"

#include <stdlib.h>
#include <string.h>

#include "marketd/engine/live/calendar.h"

void live_order_init(const struct engine *e, struct live_order *t, const struct order *o)
{
	*t = (struct live_order){ .pub = *o };
	t->pub.rest = NULL;
	t->pub.rest_count = 0;
	t->sku = world_sku(e, o->sku);
	t->pool = world_pool(e, o->pool);
	t->beneficiary = world_account(e, o->account)->pub.beneficiary;
}

/* Where a resting buy is or would go: highest price first, then the oldest. */
static size_t resting_place(const struct live_sku *s, const struct live_order *t)
{
	size_t low = 0, high = s->resting_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct order *o = &s->resting[mid]->pub;

		if (o->price > t->pub.price || (o->price == t->pub.price && o->id < t->pub.id))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void list_ticket(struct live_sku *s, struct live_order *o)
{
	size_t i;

	if (order_block(&o->pub)) {
		must_room(s->blocks, s->block_count, s->block_cap);
		for (i = s->block_count++; i > 0 && s->blocks[i - 1]->pub.place > o->pub.place; i--)
			s->blocks[i] = s->blocks[i - 1];
		s->blocks[i] = o;
	} else if (o->pub.side == SIDE_BUY) {
		i = resting_place(s, o);
		must_room(s->resting, s->resting_count, s->resting_cap);
		memmove(&s->resting[i + 1], &s->resting[i], (s->resting_count - i) * sizeof(struct live_order *));
		s->resting[i] = o;
		s->resting_count++;
	}
}

static void unlist_ticket(struct live_sku *s, struct live_order *o)
{
	size_t i = 0;

	if (order_block(&o->pub)) {
		while (i < s->block_count && s->blocks[i] != o)
			i++;
		ensure(i < s->block_count, "a block is not in its list");
		s->block_count--;
		memmove(&s->blocks[i], &s->blocks[i + 1], (s->block_count - i) * sizeof(struct live_order *));
	} else if (o->pub.side == SIDE_BUY) {
		i = resting_place(s, o);
		ensure(i < s->resting_count && s->resting[i] == o, "a resting buy is not where its price belongs");
		s->resting_count--;
		memmove(&s->resting[i], &s->resting[i + 1], (s->resting_count - i) * sizeof(struct live_order *));
	}
}

struct live_order *live_order_open(struct engine *e, const struct live_order *from, uint64_t *hosts, size_t host_count)
{
	struct live_order *o = must_zalloc(sizeof *o);

	live_order_init(e, o, &from->pub);
	live_order_set_rest(o, from->pub.rest, from->pub.rest_count);
	o->hosts = hosts;
	o->host_count = host_count;
	o->open = true;
	list_ticket(o->sku, o);
	world_add(e, ORDERS, o->pub.id, o->pub.account, o);
	rank_add(&o->pool->orders, o->pub.id, o);
	if (o->pub.side == SIDE_BUY)
		live_order_schedule(e, o);
	return o;
}

void live_order_shut(struct engine *e, struct live_order *o)
{
	if (o->touched)
		for (size_t i = 0; i < e->touched_count; i++)
			if (e->touched[i] == o)
				e->touched[i] = NULL;
	due_drop(&e->orders_due, &o->due);
	unlist_ticket(o->sku, o);
	rank_remove(&o->pool->orders, o->pub.id);
	world_forget(e, ORDERS, o->pub.id, o->pub.account, o);
}

void live_order_set_rest(struct live_order *o, const struct span *rest, size_t count)
{
	if (count > o->span_cap) {
		o->spans = must_realloc(o->spans, count, sizeof *o->spans);
		o->span_cap = count;
	}
	if (count)
		memmove(o->spans, rest, count * sizeof *rest);
	o->pub.rest = o->spans;
	o->pub.rest_count = count;
}

int64_t live_order_rest_minutes(const struct live_order *o)
{
	int64_t n = 0;

	for (size_t i = 0; i < o->pub.rest_count; i++)
		n += (o->pub.rest[i].end - o->pub.rest[i].start) * o->pub.rest[i].nodes;
	return n;
}

/* A buy loses its first minute in `start`; a block cannot be sold from then on; a sell ends with its last minute. */
void live_order_schedule(struct engine *e, struct live_order *o)
{
	int64_t when = o->pub.start;

	if (o->pub.side == SIDE_SELL && (!order_block(&o->pub) || o->last < when))
		when = o->last;
	due_set(&e->orders_due, &o->due, o->pub.id, when);
}

static void fresh_add(struct fresh *f, int64_t start, int64_t end, int64_t price)
{
	if (f->start >= f->end) {
		f->start = start;
		f->end = end;
		f->price = price;
		return;
	}
	f->start = start < f->start ? start : f->start;
	f->end = end > f->end ? end : f->end;
	f->price = price < f->price ? price : f->price;
}

void live_order_on_sale(struct engine *e, struct live_order *o, const struct live_host *h, int64_t start, int64_t end)
{
	fresh_add(&o->sku->fresh, start, end, o->pub.price);
	if (end <= o->last)
		return;
	o->last = end;
	o->last_host = h->pub.id;
	live_order_schedule(e, o);
}

bool live_order_still(struct engine *e, struct live_order *o)
{
	int64_t best = 0;
	uint64_t on = 0;
	struct live_host *h = world_host(e, o->last_host);

	if (h && o->last > e->minute && calendar_last(h, o->pub.id, o->last) == o->last)
		return true;
	for (size_t i = 0; i < o->host_count && best < o->last; i++) {
		int64_t end = calendar_last(world_host(e, o->hosts[i]), o->pub.id, o->last);

		if (end > best) {
			best = end;
			on = o->hosts[i];
		}
	}
	if (best <= e->minute)
		return false;
	o->last = best;
	o->last_host = on;
	live_order_schedule(e, o);
	return true;
}

void live_order_off_sale(struct engine *e, struct live_order *o)
{
	for (size_t i = 0; i < o->host_count; i++) {
		struct live_host *h = world_host(e, o->hosts[i]);

		calendar_off_sale(h, e->minute, h->pub.end, o->pub.id);
	}
}

void live_order_reprice(struct engine *e, struct live_order *o, int64_t price)
{
	unlist_ticket(o->sku, o);
	o->pub.price = price;
	o->pub.place = world_id(e);
	list_ticket(o->sku, o);
	for (size_t i = 0; i < o->host_count; i++)
		calendar_reprice(world_host(e, o->hosts[i]), &o->pub);
	fresh_add(&o->sku->fresh, o->pub.start, o->pub.end, price);
}

void live_order_touch(struct engine *e, struct live_order *o)
{
	if (o->touched)
		return;
	o->touched = true;
	must_room(e->touched, e->touched_count, e->touched_cap);
	e->touched[e->touched_count++] = o;
}
