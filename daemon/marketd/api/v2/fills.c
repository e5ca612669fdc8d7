/* SPDX-License-Identifier: Apache-2.0 */
/* /v2/orderbook/fills: what was traded, newest first. It names no accounts, orders or hosts. */
#include <stdlib.h>

#include "market/reason.h"
#include "marketd/api/v2/book.h"
#include "marketd/api/render.h"

enum {
	DAY = 86400,
	SINCE_DEFAULT = 7 * DAY,
	SINCE_MAX = 30 * DAY,
	SCAN_MAX = 20000, /* rows that one request looks at: then the page ends and has_more is true */
};

struct fills {
	const struct engine *e;
	const json_t *requirements;
	struct book_window window;
	size_t limit, scanned;
	json_t *data;
	uint64_t last;          /* the last row handled */
	uint64_t fits, strange; /* the last SKUs seen that did and did not fit */
	bool more;
};

static json_t *render_fill(const struct lease *l)
{
	return json_pack("{s:o, s:o, s:[o], s:I}", "instance_sku", render_id(IDENT_SKU, l->sku),
		"dollars_per_node_hour", render_price(l->price), "allocation_schedule_delta",
		render_span(l->start, l->end, 1), "filled_at", (json_int_t)l->filled_at);
}

static bool of_hardware(struct fills *f, uint64_t sku)
{
	const struct sku *s;

	if (sku == f->fits || sku == f->strange)
		return sku == f->fits;
	s = engine_sku(f->e, sku);
	*(s && requirements_match(f->requirements, s) ? &f->fits : &f->strange) = sku;
	return sku == f->fits;
}

/* 1 ends the walk. */
static int fills_look(void *arg, const struct lease *l, bool over)
{
	struct fills *f = arg;

	(void)over;
	if (f->scanned == SCAN_MAX) {
		f->more = true;
		return 1;
	}
	f->scanned++;
	if (l->start < l->end && l->start < f->window.end && l->end > f->window.start && of_hardware(f, l->sku)) {
		if (json_array_size(f->data) == f->limit) {
			f->more = true;
			return 1;
		}
		json_array_append_new(f->data, render_fill(l));
	}
	f->last = l->id;
	return 0;
}

static bool fills_read_since(const struct request *q, struct reply *r, int64_t now, int64_t *since)
{
	if (!api_query_int(q, r, "since_at", 0, INT64_MAX, now > SINCE_DEFAULT ? now - SINCE_DEFAULT : 0, since))
		return false;
	if (*since >= now - SINCE_MAX)
		return true;
	api_refuse(q, r, REASON_INVALID, "since_at", "'since_at' can be up to 30 days back");
	return false;
}

static int fills_answer(struct api *api, const struct request *q, struct reply *r, struct fills *f)
{
	json_t *made = book_head(api, json_deep_copy(f->requirements), &f->window);
	char room[CURSOR_TEXT];

	if (!made) {
		json_decref(f->data);
		return api_json(q, r, 200, NULL);
	}
	json_object_set_new(made, "object", json_string("list"));
	json_object_set_new(made, "cursor",
		f->last ? json_string(cursor_text(CURSOR_FILLS, &f->last, room)) : json_null());
	json_object_set_new(made, "has_more", json_boolean(f->more));
	json_object_set_new(made, "data", f->data);
	return api_json(q, r, 200, made);
}

static int list_fills(struct api *api, const struct request *q, struct reply *r)
{
	struct store *store = market_store(api->market);
	struct fills f = { .e = market_engine(api->market) };
	struct store_page page = { .descending = true, .limit = SCAN_MAX + 1 };
	const char *after = api_query(q, "starting_after");
	uint64_t words[CURSOR_WORDS] = { 0 };
	struct fail why = { 0 };
	json_t *requirements;
	int64_t since;
	int failed;

	if (!book_window(q, r, "start_at", "end_at", &f.window) ||
		!book_limit(q, r, "limit", LIMIT_MAX, LIMIT_DEFAULT, &f.limit) ||
		!fills_read_since(q, r, market_now(api->market), &since))
		return r->status;
	if (after && cursor_parse(CURSOR_FILLS, after, words) != 0)
		return api_refuse(q, r, REASON_INVALID, "starting_after", "not a cursor of this list (%s_…)",
			cursor_prefix(CURSOR_FILLS));
	if (!(requirements = requirements_of_query(q, r)))
		return r->status;
	f.requirements = requirements;
	f.data = json_array();
	f.last = page.before = words[0];
	failed = store->calls->leases(store, 0, 0, since, &page, fills_look, &f, &why);
	if (failed < 0) {
		json_decref(f.data);
		failed = api_failed(q, r, failed, NULL, &why);
	} else {
		failed = fills_answer(api, q, r, &f);
	}
	json_decref(requirements);
	return failed;
}

const struct route api_v2_fills[] = {
	{ METHOD_GET, "/v2/orderbook/fills", list_fills, SCOPE_READ, 0, "List market fills",
		BOOK_WINDOW ",since_at:integer,limit:integer,starting_after:string", NULL, "ListOrderbookFillsResponse",
		200 },
	{ 0 },
};
