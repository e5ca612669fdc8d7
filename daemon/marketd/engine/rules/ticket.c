/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/ticket.h"

#include <stdlib.h>
#include <string.h>

#include "marketd/engine/live/calendar.h"

void ticket_init(const struct engine *e, struct ticket *t, const struct order *o)
{
	*t = (struct ticket){ .pub = *o };
	t->pub.rest = NULL;
	t->pub.rest_count = 0;
	t->ware = world_ware(e, o->sku);
	t->depot = world_depot(e, o->pool);
	t->beneficiary = world_party(e, o->account)->pub.beneficiary;
}

/* Where a resting buy is, or would be: dearest first, of one price the oldest. */
static size_t resting_place(const struct ware *w, const struct ticket *t)
{
	size_t low = 0, high = w->resting_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct order *o = &w->resting[mid]->pub;

		if (o->price > t->pub.price || (o->price == t->pub.price && o->id < t->pub.id))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void list_ticket(struct ware *w, struct ticket *t)
{
	size_t i;

	if (order_block(&t->pub)) {
		must_room(w->blocks, w->block_count, w->block_cap);
		w->blocks[w->block_count++] = t;
	} else if (t->pub.side == SIDE_BUY) {
		i = resting_place(w, t);
		must_room(w->resting, w->resting_count, w->resting_cap);
		memmove(&w->resting[i + 1], &w->resting[i], (w->resting_count - i) * sizeof(struct ticket *));
		w->resting[i] = t;
		w->resting_count++;
	}
}

static void unlist_ticket(struct ware *w, struct ticket *t)
{
	size_t i = 0;

	if (order_block(&t->pub)) {
		while (i < w->block_count && w->blocks[i] != t)
			i++;
		ensure(i < w->block_count, "a block is not in its list");
		w->block_count--;
		memmove(&w->blocks[i], &w->blocks[i + 1], (w->block_count - i) * sizeof(struct ticket *));
	} else if (t->pub.side == SIDE_BUY) {
		i = resting_place(w, t);
		ensure(i < w->resting_count && w->resting[i] == t, "a resting buy is not where its price puts it");
		w->resting_count--;
		memmove(&w->resting[i], &w->resting[i + 1], (w->resting_count - i) * sizeof(struct ticket *));
	}
}

struct ticket *ticket_open(struct engine *e, const struct ticket *from, uint64_t *hosts, size_t host_count)
{
	struct ticket *t = must_zalloc(sizeof *t);

	ticket_init(e, t, &from->pub);
	ticket_set_rest(t, from->pub.rest, from->pub.rest_count);
	t->hosts = hosts;
	t->host_count = host_count;
	t->open = true;
	list_ticket(t->ware, t);
	world_add(e, ORDERS, t->pub.id, t->pub.account, t);
	rank_add(&t->depot->orders, t->pub.id, t);
	if (t->pub.side == SIDE_BUY)
		ticket_schedule(e, t);
	return t;
}

void ticket_shut(struct engine *e, struct ticket *t)
{
	if (t->touched)
		for (size_t i = 0; i < e->touched_count; i++)
			if (e->touched[i] == t)
				e->touched[i] = NULL;
	due_drop(&e->orders_due, &t->due);
	unlist_ticket(t->ware, t);
	rank_remove(&t->depot->orders, t->pub.id);
	world_forget(e, ORDERS, t->pub.id, t->pub.account, t);
}

void ticket_set_rest(struct ticket *t, const struct span *rest, size_t count)
{
	if (count > t->span_cap) {
		t->spans = must_realloc(t->spans, count, sizeof *t->spans);
		t->span_cap = count;
	}
	if (count)
		memmove(t->spans, rest, count * sizeof *rest);
	t->pub.rest = t->spans;
	t->pub.rest_count = count;
}

int64_t ticket_rest_minutes(const struct ticket *t)
{
	int64_t n = 0;

	for (size_t i = 0; i < t->pub.rest_count; i++)
		n += (t->pub.rest[i].end - t->pub.rest[i].start) * t->pub.rest[i].nodes;
	return n;
}

/* A buy loses its first minute in `start`; a block cannot be sold from then on; a sell ends with its last minute. */
void ticket_schedule(struct engine *e, struct ticket *t)
{
	int64_t when = t->pub.start;

	if (t->pub.side == SIDE_SELL && (!order_block(&t->pub) || t->last < when))
		when = t->last;
	due_set(&e->orders_due, &t->due, t->pub.id, when);
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

void ticket_on_sale(struct engine *e, struct ticket *t, const struct unit *u, int64_t start, int64_t end)
{
	fresh_add(&t->ware->fresh, start, end, t->pub.price);
	if (end <= t->last)
		return;
	t->last = end;
	t->last_host = u->pub.id;
	ticket_schedule(e, t);
}

bool ticket_still(struct engine *e, struct ticket *t)
{
	int64_t best = 0;
	uint64_t on = 0;
	struct unit *u = world_unit(e, t->last_host);

	if (u && t->last > e->minute && calendar_last(u, t->pub.id, t->last) == t->last)
		return true;
	for (size_t i = 0; i < t->host_count && best < t->last; i++) {
		int64_t end = calendar_last(world_unit(e, t->hosts[i]), t->pub.id, t->last);

		if (end > best) {
			best = end;
			on = t->hosts[i];
		}
	}
	if (best <= e->minute)
		return false;
	t->last = best;
	t->last_host = on;
	ticket_schedule(e, t);
	return true;
}

void ticket_off_sale(struct engine *e, struct ticket *t)
{
	for (size_t i = 0; i < t->host_count; i++) {
		struct unit *u = world_unit(e, t->hosts[i]);

		calendar_off_sale(u, e->minute, u->pub.end, t->pub.id);
	}
}

void ticket_touch(struct engine *e, struct ticket *t)
{
	if (t->touched)
		return;
	t->touched = true;
	must_room(e->touched, e->touched_count, e->touched_cap);
	e->touched[e->touched_count++] = t;
}
