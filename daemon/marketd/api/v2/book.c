/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/orderbook: the public book. It shows prices and nodes, never orders or accounts. */
#include "marketd/api/v2/book.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/render.h"

enum { DEPTH_DEFAULT = 20, DEPTH_MAX = 100 };

bool book_window(const struct request *q, struct reply *r, const char *start, const char *end, struct book_window *w)
{
	const char *names[] = { start, end };
	int64_t *minutes[] = { &w->start, &w->end };

	for (int i = 0; i < 2; i++) {
		int64_t seconds;

		if (!api_query(q, names[i])) {
			api_refuse(q, r, REASON_INVALID, names[i], "'%s' is required: Unix seconds on a whole minute",
				names[i]);
			return false;
		}
		if (!api_query_int(q, r, names[i], 0, (int64_t)MINUTE_MAX * 60, 0, &seconds))
			return false;
		if (seconds % 60) {
			api_refuse(q, r, REASON_INVALID, names[i], "'%s' must be on a whole minute (a multiple of 60)",
				names[i]);
			return false;
		}
		*minutes[i] = seconds / 60;
	}
	if (w->start < w->end)
		return true;
	api_refuse(q, r, REASON_INVALID, end, "'%s' must be after '%s'", end, start);
	return false;
}

/* SF Compute clamps this limit instead of refusing. */
bool book_limit(const struct request *q, struct reply *r, const char *name, int64_t most, int64_t fallback, size_t *out)
{
	int64_t n;

	if (!api_query_int(q, r, name, 0, INT64_MAX, fallback, &n))
		return false;
	*out = (size_t)(n < 1 ? 1 : n > most ? most : n);
	return true;
}

/* ---- Levels ------------------------------------------------------------------------------ */

struct row { uint64_t sku; struct level level; };
struct rows { struct row *list; size_t count, cap; };

static void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->list[i].level.spans.list);
	free(rows->list);
}

/* Takes over the levels of one SKU. */
static int rows_take(struct rows *rows, uint64_t sku, struct level *levels, size_t count)
{
	if (rows->count + count > rows->cap) {
		size_t cap = (rows->count + count) * 2;
		struct row *list = reallocarray(rows->list, cap, sizeof *list);

		if (!list) {
			levels_free(levels, count);
			return -1;
		}
		rows->list = list;
		rows->cap = cap;
	}
	for (size_t i = 0; i < count; i++)
		rows->list[rows->count++] = (struct row){ sku, levels[i] };
	free(levels); /* their spans are ours now */
	return 0;
}

static int book_cheapest(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->level.price != y->level.price)
		return x->level.price < y->level.price ? -1 : 1;
	return x->sku < y->sku ? -1 : x->sku > y->sku;
}

static int book_dearest(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->level.price != y->level.price)
		return x->level.price > y->level.price ? -1 : 1;
	return x->sku < y->sku ? -1 : x->sku > y->sku;
}

static json_t *render_level(const struct row *row)
{
	return json_pack("{s:o, s:o, s:o}", "instance_sku", render_id(IDENT_SKU, row->sku), "dollars_per_node_hour",
		render_price(row->level.price), "allocation_schedule_delta",
		render_spans(row->level.spans.list, row->level.spans.count));
}

/* The best levels of one side, across all SKUs that fit. NULL: out of memory. */
static json_t *book_side(const struct engine *e, const json_t *requirements, uint64_t only, enum side side,
	const struct book_window *w, size_t most)
{
	struct rows rows = { 0 };
	json_t *list = json_array();
	int failed = 0;

	for (const struct sku *s = engine_sku_after(e, 0); s && !failed; s = engine_sku_after(e, s->id)) {
		struct level *levels = NULL;
		size_t count = 0;

		if ((only && s->id != only) || !requirements_match(requirements, s))
			continue;
		failed = engine_depth(e, s->id, side, false, w->start, w->end, most, &levels, &count);
		if (!failed)
			failed = rows_take(&rows, s->id, levels, count);
	}
	if (rows.count)
		qsort(rows.list, rows.count, sizeof *rows.list, side == SIDE_BUY ? book_dearest : book_cheapest);
	for (size_t i = 0; !failed && i < rows.count && i < most; i++)
		failed = json_array_append_new(list, render_level(&rows.list[i]));
	rows_free(&rows);
	if (failed) {
		json_decref(list);
		return NULL;
	}
	return list;
}

/* The first of a side, or null. */
static json_t *book_best(const struct engine *e, const json_t *requirements, uint64_t only, enum side which,
	const struct book_window *w)
{
	json_t *list = book_side(e, requirements, only, which, w, 1);
	json_t *first = list ? json_array_get(list, 0) : NULL;
	json_t *made = first ? json_incref(first) : list ? json_null() : NULL;

	json_decref(list);
	return made;
}

json_t *book_head(struct api *api, json_t *requirements, const struct book_window *w)
{
	return json_pack("{s:o, s:I, s:I, s:I}", "requirements", requirements, "start_at", (json_int_t)w->start * 60,
		"end_at", (json_int_t)w->end * 60, "requested_at", (json_int_t)market_now(api->market));
}

static int book_quote(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct book_window w;
	json_t *requirements, *made;

	if (!book_window(q, r, "start_at", "end_at", &w) || !(requirements = requirements_of_query(q, r)))
		return r->status;
	made = book_head(api, requirements, &w);
	if (made && (json_object_set_new(made, "best_bid", book_best(e, requirements, 0, SIDE_BUY, &w)) ||
	    json_object_set_new(made, "best_ask", book_best(e, requirements, 0, SIDE_SELL, &w)))) {
		json_decref(made);
		made = NULL;
	}
	return api_json(q, r, 200, made);
}

static int book_depth(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct book_window w;
	json_t *requirements, *made;
	size_t most;

	if (!book_window(q, r, "start_at", "end_at", &w) ||
		!book_limit(q, r, "depth", DEPTH_MAX, DEPTH_DEFAULT, &most) ||
		!(requirements = requirements_of_query(q, r)))
		return r->status;
	made = book_head(api, requirements, &w);
	if (made && (json_object_set_new(made, "bids", book_side(e, requirements, 0, SIDE_BUY, &w, most)) ||
	    json_object_set_new(made, "asks", book_side(e, requirements, 0, SIDE_SELL, &w, most)))) {
		json_decref(made);
		made = NULL;
	}
	return api_json(q, r, 200, made);
}

/* ---- Windows ----------------------------------------------------------------------------- */

struct slot { int64_t start, end; uint64_t sku; int64_t bids, asks; };
struct slots { struct slot *list; size_t count, cap; };

static int in_order(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->sku < y->sku ? -1 : x->sku > y->sku;
}

static int slots_add(struct slots *s, const struct order *o)
{
	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		struct slot *list = reallocarray(s->list, cap, sizeof *list);

		if (!list)
			return -1;
		s->list = list;
		s->cap = cap;
	}
	s->list[s->count++] = (struct slot){ o->start, o->end, o->sku, o->side == SIDE_BUY, o->side == SIDE_SELL };
	return 0;
}

/* Sorts the windows, and joins those of the same window and SKU. */
static void slots_join(struct slots *s)
{
	size_t n = 0;

	if (s->count)
		qsort(s->list, s->count, sizeof *s->list, in_order);
	for (size_t i = 0; i < s->count; i++) {
		if (n && in_order(&s->list[n - 1], &s->list[i]) == 0) {
			s->list[n - 1].bids += s->list[i].bids;
			s->list[n - 1].asks += s->list[i].asks;
		} else {
			s->list[n++] = s->list[i];
		}
	}
	s->count = n;
}

static int slots_fill(const struct engine *e, const json_t *requirements, const struct book_window *w, struct slots *s)
{
	uint64_t known = 0, strange = 0; /* SKUs of the last orders that did and did not fit */

	for (const struct order *o = engine_order_after(e, 0, 0); o; o = engine_order_after(e, 0, o->id)) {
		if (o->start < w->start || o->end > w->end || o->sku == strange)
			continue;
		if (o->sku != known && !requirements_match(requirements, engine_sku(e, o->sku))) {
			strange = o->sku;
			continue;
		}
		known = o->sku;
		if (slots_add(s, o))
			return -1;
	}
	slots_join(s);
	return 0;
}

static json_t *render_slot(const struct engine *e, const struct slot *s)
{
	struct book_window w = { s->start, s->end };
	json_t *all = json_object(), *made;

	made = json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "instance_sku", render_id(IDENT_SKU, s->sku),
		"start_at", (json_int_t)s->start * 60, "end_at", (json_int_t)s->end * 60,
		"duration_hours", (json_int_t)(s->end - s->start) / 60, "total_bid_order_count", (json_int_t)s->bids,
		"total_ask_order_count", (json_int_t)s->asks, "best_bid", book_best(e, all, s->sku, SIDE_BUY, &w),
		"best_ask", book_best(e, all, s->sku, SIDE_SELL, &w));
	json_decref(all);
	return made;
}

static json_t *windows_page(const struct engine *e, const struct slots *s, const struct slot *after, size_t limit,
	json_t *made)
{
	json_t *data = json_array();
	const struct slot *last = NULL;
	char room[CURSOR_TEXT];
	bool more = false;

	for (size_t i = 0; i < s->count; i++) {
		if (after && in_order(&s->list[i], after) <= 0)
			continue;
		more = json_array_size(data) == limit;
		if (more)
			break;
		last = &s->list[i];
		json_array_append_new(data, render_slot(e, last));
	}
	json_object_set_new(made, "cursor", last ? json_string(cursor_text(CURSOR_WINDOWS,
		(uint64_t[]){ (uint64_t)last->start, (uint64_t)last->end, last->sku }, room)) : json_null());
	json_object_set_new(made, "has_more", json_boolean(more));
	json_object_set_new(made, "data", data);
	return made;
}

static int book_windows(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	uint64_t words[CURSOR_WORDS] = { 0 };
	struct book_window w;
	struct slots slots = { 0 };
	struct slot from;
	json_t *requirements, *made;
	size_t limit;

	if (!book_window(q, r, "range_start_at", "range_end_at", &w) ||
	    !book_limit(q, r, "limit", LIMIT_MAX, LIMIT_DEFAULT, &limit))
		return r->status;
	if (after && cursor_parse(CURSOR_WINDOWS, after, words) != 0)
		return api_refuse(q, r, REASON_INVALID, "starting_after", "not a cursor of this list (%s_…)",
			cursor_prefix(CURSOR_WINDOWS));
	if (!(requirements = requirements_of_query(q, r)))
		return r->status;
	from = (struct slot){ .start = (int64_t)words[0], .end = (int64_t)words[1], .sku = words[2] };
	made = NULL;
	if (slots_fill(e, requirements, &w, &slots) == 0)
		made = windows_page(e, &slots, after ? &from : NULL, limit,
			json_pack("{s:s, s:O, s:I, s:I}", "object", "list", "requirements", requirements,
				"range_start_at", (json_int_t)w.start * 60, "range_end_at", (json_int_t)w.end * 60));
	free(slots.list);
	json_decref(requirements);
	return api_json(q, r, 200, made);
}

const struct route api_v2_book[] = {
	{ METHOD_GET, "/v2/orderbook/windows", book_windows, SCOPE_READ, 0, "List market windows",
		"requirements:string,range_start_at:integer,range_end_at:integer,limit:integer,starting_after:string",
		NULL, "ListOrderbookWindowsResponse", 200 },
	{ METHOD_GET, "/v2/orderbook/quote", book_quote, SCOPE_READ, 0, "Get market quote", BOOK_WINDOW, NULL,
		"OrderbookQuoteResponse", 200 },
	{ METHOD_GET, "/v2/orderbook/depth", book_depth, SCOPE_READ, 0, "Get market depth",
		BOOK_WINDOW ",depth:integer", NULL, "OrderbookDepthResponse", 200 },
	{ 0 },
};
