/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the stores' suite about lists of orders: every filter and page against a model that is an array. */
#ifndef TESTS_STORELISTS_H
#define TESTS_STORELISTS_H

#include "storesuite.h"

enum { ORDERS = 400, PAGE = 7 };

struct model { struct order list[ORDERS]; struct span rests[ORDERS][2]; size_t count; };

static void put_order(struct make *m, struct model *all, struct store *s)
{
	struct order *o = &all->list[all->count];
	size_t n = all->count++;

	*o = (struct order){ .id = m->id++,
		.account = 2 + n % 3,
		.token = 5,
		.pool = 500 + n % 7,
		.sku = 301 + n % 2,
		.host = n % 5,
		.procurement = n % 4 == 3 ? 800 + n % 2 : 0,
		.side = n % 3 == 0 ? SIDE_SELL : SIDE_BUY,
		.flags = (int32_t)(n % 16),
		.nodes = 1 + (int32_t)n,
		.start = 30000000 + (int64_t)make_any(m, 40),
		.end = 30001000,
		.price = 5 + (int64_t)n,
		.max_total = (int64_t)n * 3,
		.created_at = m->at,
		.closed_at = n % 2 ? m->at + 5 : 0,
		.status = (enum order_status)(n % 6),
		.reason = -3000 - (int32_t)(n % 9),
		.hold = (int64_t)n * 11,
		.filled_minutes = (int64_t)n * 13,
		.filled_cost = (int64_t)n * 17 };
	o->rest_count = n % 3;
	o->rest = all->rests[n];
	for (size_t i = 0; i < o->rest_count; i++)
		all->rests[n][i] = (struct span){ 30000000 + (int64_t)i, i ? MINUTE_MAX : 30000500, -(int32_t)(n + i) };
	m->seq++;
	m->ev = (struct event){ .kind = EVENT_CANCEL, .at = m->at, .account = o->account, .subject = o->id };
	m->did.count = 0;
	make_effect(m, EFFECT_ORDER)->u.order = *o;
	if (CALL(s, append, m->seq, &m->ev, &m->did, &f))
		diag("%s", f.text);
	m->at += (int64_t)make_any(m, 4);
}

static void change_order(struct make *m, struct order *o, struct store *s)
{
	o->status = ORDER_CANCELLED;
	o->closed_at = m->at;
	o->reason = -3007;
	o->hold = 0;
	o->start += (int64_t)make_any(m, 2) * 3;
	o->rest_count = 0;
	m->seq++;
	m->ev = (struct event){ .kind = EVENT_CANCEL, .at = m->at, .account = o->account, .subject = o->id };
	m->did.count = 0;
	make_effect(m, EFFECT_ORDER)->u.order = *o;
	if (CALL(s, append, m->seq, &m->ev, &m->did, &f))
		diag("%s", f.text);
}

static bool same_order(const struct order *a, const struct order *b)
{
	bool good = a->id == b->id && a->account == b->account && a->token == b->token && a->pool == b->pool &&
		a->sku == b->sku && a->host == b->host && a->procurement == b->procurement && a->side == b->side &&
		a->flags == b->flags && a->nodes == b->nodes && a->start == b->start && a->end == b->end &&
		a->price == b->price && a->max_total == b->max_total && a->created_at == b->created_at &&
		a->closed_at == b->closed_at && a->status == b->status && a->reason == b->reason &&
		a->hold == b->hold && a->filled_minutes == b->filled_minutes && a->filled_cost == b->filled_cost &&
		a->rest_count == b->rest_count;

	for (size_t i = 0; good && i < a->rest_count; i++)
		good = a->rest[i].start == b->rest[i].start && a->rest[i].end == b->rest[i].end &&
			a->rest[i].nodes == b->rest[i].nodes;
	return good;
}

static bool wanted(const struct order_filter *w, const struct order *o)
{
	bool named = !w->ids;

	for (size_t i = 0; i < w->id_count; i++)
		named = named || w->ids[i] == o->id;
	if (!named || (w->account && o->account != w->account) || (w->pool && o->pool != w->pool))
		return false;
	if ((w->procurement && o->procurement != w->procurement) || (w->no_procurements && o->procurement))
		return false;
	if ((w->side >= 0 && (int)o->side != w->side) || (w->statuses && !(w->statuses >> o->status & 1)))
		return false;
	return (!w->created_after || o->created_at >= w->created_after) &&
		(!w->created_before || o->created_at <= w->created_before);
}

static bool sort_by_start;

static int in_order(const void *a, const void *b)
{
	const struct order *x = *(const struct order *const *)a, *y = *(const struct order *const *)b;

	if (sort_by_start && x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

struct list_walk { const struct order *want[ORDERS]; size_t count, at, in_page; bool good; uint64_t last; };

static int see_order(void *arg, const struct order *o)
{
	struct list_walk *w = arg;

	w->good = w->good && w->at < w->count && same_order(o, w->want[w->at]);
	w->at++;
	w->in_page++;
	w->last = o->id;
	return 0;
}

/* The whole list, page by page, against what the model says. */
static bool list_is_right(struct store *s, const struct model *all, const struct order_filter *filter, bool descending)
{
	struct list_walk w = { .good = true };
	struct store_page page = { .descending = descending, .limit = PAGE };

	for (size_t i = 0; i < all->count; i++)
		if (wanted(filter, &all->list[i]))
			w.want[w.count++] = &all->list[i];
	sort_by_start = filter->by_start;
	qsort(w.want, w.count, sizeof *w.want, in_order);
	for (size_t i = 0; descending && i < w.count / 2; i++) {
		const struct order *o = w.want[i];

		w.want[i] = w.want[w.count - 1 - i];
		w.want[w.count - 1 - i] = o;
	}
	do {
		w.in_page = 0;
		if (CALL(s, orders, filter, &page, see_order, &w, &f)) {
			diag("%s", f.text);
			return false;
		}
		w.good = w.good && w.in_page <= PAGE;
		*(descending ? &page.before : &page.after) = w.last;
	} while (w.good && w.in_page == PAGE);
	if (!w.good || w.at != w.count)
		diag("wrong at %zu of %zu", w.at, w.count);
	return w.good && w.at == w.count;
}

static void test_lists(struct store *s, const struct model *all, const char *when)
{
	uint64_t ids[] = { all->list[9].id, all->list[3].id, 4, all->list[250].id, all->list[3].id, all->list[11].id,
		all->list[77].id, all->list[78].id, all->list[79].id, all->list[80].id, all->list[81].id };
	int64_t early = all->list[90].created_at, late = all->list[300].created_at;
	const struct { const char *what; struct order_filter filter;
	} lists[] = {
		{ "all", { .side = -1 } },
		{ "one account's", { .side = -1, .account = 3 } },
		{ "a stranger's", { .side = -1, .account = 99 } },
		{ "one pool's", { .side = -1, .account = 3, .pool = 504 } },
		{ "one pool's, whoever's", { .side = -1, .pool = 502 } },
		{ "one procurement's", { .side = -1, .procurement = 801 } },
		{ "none of procurements", { .side = -1, .account = 2, .no_procurements = true } },
		{ "buys", { .side = SIDE_BUY, .account = 2 } },
		{ "sells", { .side = SIDE_SELL, .account = 2 } },
		{ "by status", { .side = -1, .account = 2, .statuses = 1u << ORDER_RESTING | 1u << ORDER_FILLED } },
		{ "made since", { .side = -1, .account = 4, .created_after = early } },
		{ "made until", { .side = -1, .account = 4, .created_before = late } },
		{ "made between", { .side = -1, .created_after = early, .created_before = late } },
		{ "made at one second", { .side = -1, .created_after = early, .created_before = early } },
		{ "made in the future", { .side = -1, .created_after = INT64_MAX - 1 } },
		{ "some by id", { .side = -1, .ids = ids, .id_count = sizeof ids / sizeof *ids } },
		{ "some by id of one account",
			{ .side = -1, .account = 3, .ids = ids, .id_count = sizeof ids / sizeof *ids } },
		{ "none by id", { .side = -1, .ids = ids, .id_count = 0 } },
		{ "by start", { .side = -1, .account = 3, .by_start = true } },
		{ "buys by start since", { .side = SIDE_BUY, .account = 3, .by_start = true, .created_after = early } },
		{ "some by start", { .side = -1, .ids = ids, .id_count = sizeof ids / sizeof *ids, .by_start = true } },
	};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		ok(list_is_right(s, all, &lists[i].filter, false) && list_is_right(s, all, &lists[i].filter, true),
			"orders %s: %s, up and down, in pages of %d", when, lists[i].what, PAGE);
}

static int stop_order(void *arg, const struct order *o)
{
	(void)arg;
	(void)o;
	return 42;
}

static void test_orders(void)
{
	const char *place = new_place();
	struct store *s = writer_at(place);
	struct order_filter every = { .side = -1 };
	struct store_page page = { .limit = 0 };
	static struct model all;
	struct make m;

	make_begin(&m);
	all.count = 0;
	while (all.count < ORDERS)
		put_order(&m, &all, s);
	test_lists(s, &all, "that are staged");
	is_int(CALL(s, commit, &f), 0, "they are committed");
	for (size_t i = 0; i < ORDERS; i += 3)
		change_order(&m, &all.list[i], s);
	is_int(CALL(s, commit, &f), 0, "a third of them changes");
	s->calls->close(s);
	s = open_at(place);
	test_lists(s, &all, "opened again");
	is_int(CALL(s, orders, &every, &page, stop_order, NULL, &f), 42, "who reads can stop it");
	s->calls->close(s);
	make_end(&m);
}

#endif
