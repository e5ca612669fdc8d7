/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of /v0: list, get and cancel. */
#include "marketd/api/old/v0.h"

#include <stdlib.h>
#include <string.h>

#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/np/np.h"

enum { PAGE_ROWS = 500, SCAN_MAX = 50000 };

static bool is_open(const struct order *o)
{
	return o->status == ORDER_PENDING || o->status == ORDER_RESTING || o->status == ORDER_PARTIALLY_FILLED;
}

static const char *v0_list_status_word(const struct order *o)
{
	return is_open(o)                     ? "open"
		: o->status == ORDER_FILLED   ? "filled"
		: o->status == ORDER_REJECTED ? "rejected"
					      : "cancelled";
}

/* The total in cents: the one given, if it was stored, else what the limit comes to. */
static int64_t total_cents(const struct order *o)
{
	int64_t total;

	if (o->side == SIDE_BUY && o->max_total > 0)
		return cents_down(o->max_total);
	if (money_cost(o->price, o->nodes, o->end - o->start, &total))
		return INT64_MAX;
	return o->side == SIDE_SELL ? cents_down(total) : cents_up(total);
}

/* Rounds what was paid up, and what was earned down. */
static int64_t filled_cents(const struct order *o)
{
	return o->side == SIDE_SELL ? cents_down(o->filled_cost) : cents_up(o->filled_cost);
}

static json_t *order_json(const struct engine *e, const struct order *o)
{
	const struct sku *s = engine_sku(e, o->sku);
	char type[TYPE_BYTES];
	bool filled = o->status == ORDER_FILLED, cancelled = o->status == ORDER_CANCELLED;
	json_t *made = json_pack(
		"{s:s, s:o, s:s, s:s, s:s, s:i, s:o, s:o, s:I, s:{s:b, s:b, s:b, s:b}, s:b, s:b, s:b, s:o, s:I}",
		"object", "order", "id", render_id(IDENT_ORDER, o->id), "side", o->side == SIDE_SELL ? "sell" : "buy",
		"status", v0_list_status_word(o), "instance_type", v0_asked_type(e, o->pool, s, type), "quantity",
		(int)o->nodes, "start_at", v0_iso(o->start * 60), "end_at", v0_iso(o->end * 60), "price",
		(json_int_t)total_cents(o), "flags", "ioc", !(o->flags & ORDER_STANDING), "post_only", 0, "market", 0,
		"prorate", 1, "executed", (int)filled, "cancelled", (int)cancelled, "rejected",
		(int)(o->status == ORDER_REJECTED), "created_at", v0_iso(o->created_at), "duration",
		(json_int_t)(o->end - o->start) * 60);

	json_object_set_new(made, "cluster", json_string(v0_type(s)));
	if (filled)
		json_object_set_new(made, "executed_at", v0_iso(o->closed_at));
	if (o->filled_minutes)
		json_object_set_new(made, "execution_price", json_integer(filled_cents(o)));
	if (cancelled) {
		json_object_set_new(made, "cancelled_at", v0_iso(o->closed_at));
		if (o->reason)
			json_object_set_new(made, "rejected_reason", render_reason(o->reason));
	}
	return made;
}

/* ---- Filters -------------------------------------------------------------------------------------- */

struct filter {
	const struct request *q;
	const struct engine *e;
	const char *type;
	bool only_open, exclude_filled, only_filled, exclude_cancelled, only_cancelled;
	uint64_t pool;             /* of contract_id; 0: any */
	int64_t skip, left;
	bool more;
	uint64_t last;
	size_t rows;
	json_t *data;
};

/* Whether min_NAME <= value <= max_NAME, as far as the query has them. */
static bool v0_list_within(const struct request *q, const char *min, const char *max, int64_t value, bool times)
{
	const char *low = api_query(q, min), *high = api_query(q, max);
	int64_t n = 0;

	if (low) {
		if (!times)
			n = strtoll(low, NULL, 10);
		else if (!v0_time(low, 0, &n))
			return false;
		if (value < n)
			return false;
	}
	if (high) {
		if (!times)
			n = strtoll(high, NULL, 10);
		else if (!v0_time(high, 0, &n))
			return false;
		if (value > n)
			return false;
	}
	return true;
}

static bool v0_list_asked(const struct request *q, const char *min, const char *max)
{
	return api_query(q, min) || api_query(q, max);
}

static bool fits_state(const struct filter *f, const struct order *o)
{
	const struct request *q = f->q;
	bool filled = o->status == ORDER_FILLED, cancelled = o->status == ORDER_CANCELLED;

	if ((f->only_open && !is_open(o)) || (f->exclude_filled && filled) || (f->only_filled && !filled) ||
	    (f->exclude_cancelled && cancelled) || (f->only_cancelled && !cancelled))
		return false;
	if (v0_list_asked(q, "min_filled_at", "max_filled_at") &&
	    (!filled || !v0_list_within(q, "min_filled_at", "max_filled_at", o->closed_at, true)))
		return false;
	if (v0_list_asked(q, "min_fill_price", "max_fill_price") &&
	    (!filled || !v0_list_within(q, "min_fill_price", "max_fill_price", filled_cents(o), false)))
		return false;
	return !v0_list_asked(q, "min_cancelled_at", "max_cancelled_at") ||
		(cancelled && v0_list_within(q, "min_cancelled_at", "max_cancelled_at", o->closed_at, true));
}

static bool v0_list_fits(const struct filter *f, const struct order *o)
{
	const struct sku *s = engine_sku(f->e, o->sku);
	const struct request *q = f->q;

	return fits_state(f, o) && (!f->pool || o->pool == f->pool) && (!f->type || (s && v0_type_is(s, f->type))) &&
		v0_list_within(q, "min_price", "max_price", total_cents(o), false) &&
		v0_list_within(q, "min_start_date", "max_start_date", o->start * 60, true) &&
		v0_list_within(q, "min_duration", "max_duration", (o->end - o->start) * 60, false) &&
		v0_list_within(q, "min_quantity", "max_quantity", o->nodes, false) &&
		v0_list_within(q, "min_placed_at", "max_placed_at", o->created_at, true);
}

static int filter_row(void *arg, const struct order *o)
{
	struct filter *f = arg;

	f->rows++;
	f->last = o->id;
	if (f->more || !v0_list_fits(f, o))
		return 0;
	if (f->skip > 0)
		f->skip--;
	else if (f->left == 0)
		f->more = true;
	else if (json_array_append_new(f->data, order_json(f->e, o)) == 0)
		f->left--;
	return 0;
}

/* Checks the times of the query first, so that a wrong one is refused instead of ignored. */
static bool times_ok(const struct request *q, struct reply *r)
{
	static const char *const names[] = { "min_start_date", "max_start_date", "min_filled_at", "max_filled_at",
		"min_cancelled_at", "max_cancelled_at", "min_placed_at", "max_placed_at" };
	int64_t n;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (api_query(q, names[i]) && !v0_time(api_query(q, names[i]), 0, &n)) {
			api_refuse(q, r, REASON_INVALID, names[i], "'%s' must be a time, such as 2026-11-20T21:00:00Z",
				names[i]);
			return false;
		}
	return true;
}

static bool v0_list_read_filter(struct api *api, const struct request *q, struct reply *r, uint64_t account,
	struct filter *f)
{
	const char *contract = api_query(q, "contract_id");
	struct v0_contract c;
	struct fail why = { 0 };
	bool ignored;

	if (!api_query_int(q, r, "limit", 1, 100, 100, &f->left) ||
		!api_query_int(q, r, "offset", 0, INT32_MAX, 0, &f->skip) ||
		!api_query_bool(q, r, "only_open", false, &f->only_open) ||
		!api_query_bool(q, r, "exclude_filled", false, &f->exclude_filled) ||
		!api_query_bool(q, r, "only_filled", false, &f->only_filled) ||
		!api_query_bool(q, r, "include_cancelled", true, &ignored) ||
		!api_query_bool(q, r, "exclude_cancelled", !ignored, &f->exclude_cancelled) ||
		!api_query_bool(q, r, "only_cancelled", false, &f->only_cancelled) || !times_ok(q, r))
		return false;
	f->type = api_query(q, "instance_type");
	if (contract) {
		int rc = v0_contract_find(api, account, contract, &c, &why);

		if (rc != 1) {
			api_refuse(q, r, rc ? REASON_UNAVAILABLE : REASON_NOT_FOUND, "contract_id", "no contract '%s'",
				contract);
			return false;
		}
		f->pool = c.pool;
	}
	return true;
}

static bool read_sort(const struct request *q, struct reply *r, struct order_filter *filter, struct store_page *page)
{
	const char *by = api_query(q, "sort_by"), *way = api_query(q, "sort_direction"), *side = api_query(q, "side");

	if (by && strcmp(by, "start_time") != 0 && strcmp(by, "created_at") != 0) {
		api_refuse(q, r, REASON_INVALID, "sort_by", "'sort_by' must be start_time or created_at");
		return false;
	}
	if (way && strcmp(way, "ASC") != 0 && strcmp(way, "DESC") != 0) {
		api_refuse(q, r, REASON_INVALID, "sort_direction", "'sort_direction' must be ASC or DESC");
		return false;
	}
	if (side && strcmp(side, "buy") != 0 && strcmp(side, "sell") != 0) {
		api_refuse(q, r, REASON_INVALID, "side", "'side' must be buy or sell");
		return false;
	}
	filter->side = !side ? -1 : strcmp(side, "sell") == 0 ? SIDE_SELL : SIDE_BUY;
	filter->by_start = by && strcmp(by, "start_time") == 0;
	page->descending = !way || strcmp(way, "DESC") == 0;
	return true;
}

int v0_list_orders(struct api *api, const struct request *q, struct reply *r)
{
	struct store *store = market_store(api->market);
	struct filter f = { .q = q, .e = market_engine(api->market) };
	struct order_filter filter = { .side = -1 };
	struct store_page page = { .limit = PAGE_ROWS };
	struct fail why = { 0 };
	size_t before;
	int rc;

	if (!api_whose(q, r, &filter.account) || !v0_list_read_filter(api, q, r, filter.account, &f) ||
		!read_sort(q, r, &filter, &page))
		return r->status;
	f.data = json_array();
	do {
		before = f.rows;
		*(page.descending ? &page.before : &page.after) = f.last;
		rc = store->calls->orders(store, &filter, &page, filter_row, &f, &why);
	} while (rc == 0 && !f.more && f.rows - before == PAGE_ROWS && f.rows < SCAN_MAX);
	if (rc) {
		json_decref(f.data);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	return api_json(q, r, 200,
		json_pack("{s:s, s:o, s:b}", "object", "list", "data", f.data, "has_more", (int)f.more));
}

/* ---- One -------------------------------------------------------------------------------------------- */

struct one { const struct engine *e; json_t *made; };

static int one_row(void *arg, const struct order *o)
{
	struct one *one = arg;

	one->made = order_json(one->e, o);
	return 0;
}

int v0_get_order(struct api *api, const struct request *q, struct reply *r)
{
	struct one one = { .e = market_engine(api->market) };
	struct fail why = { 0 };
	uint64_t account, id;
	int rc = 0;

	if (!api_whose(q, r, &account))
		return r->status;
	if (ident_parse(IDENT_ORDER, q->parts[0], &id))
		rc = find_order(api, account, id, one_row, &one, &why);
	if (rc < 0)
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	if (rc == 0 || !one.made)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no order '%s'", q->parts[0]);
	return api_json(q, r, 200, one.made);
}

int v0_cancel_order(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .kind = EVENT_CANCEL };
	const struct order *o = NULL;
	struct fail why = { 0 };
	int rc;

	if (!api_whose(q, r, &ev.account))
		return r->status;
	if (ident_parse(IDENT_ORDER, q->parts[0], &ev.subject))
		o = engine_order(market_engine(api->market), ev.subject);
	if (!o || o->account != ev.account) {
		if (v0_get_order(api, q, r) != 200)
			return r->status;
		return api_refuse(q, r, REASON_WRONG_STATE, "id", "the order '%s' is no longer open", q->parts[0]);
	}
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, "id", &why) : api_json(q, r, 200, json_pack("{s:s}", "object", "pending"));
}
