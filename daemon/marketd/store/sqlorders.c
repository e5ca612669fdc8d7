/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of orders. A list walks one index from where the page begins and applies the rest of the filter
 * row by row, so that a page costs what it holds. Ids grow with time, so bisection turns a bound in time
 * into a bound of ids.
 */
#include "marketd/store/sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

#define ORDER_COLUMNS \
	"id, account, token, pool, sku, host, procurement, side, flags, nodes, start_minute, end_minute, " \
	"price, max_total, created_at, closed_at, status, reason, hold, filled_minutes, filled_cost, rest"

/* ---- Orders ------------------------------------------------------------------------------ */

static uint64_t sqlorders_little_endian(const uint8_t *p, int count)
{
	uint64_t v = 0;

	for (int i = 0; i < count; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static int sqlorders_read_rest(struct sqlite_store *s, sqlite3_stmt *st, int column, struct order *o)
{
	const uint8_t *p = sqlite3_column_blob(st, column);
	size_t count = (size_t)sqlite3_column_bytes(st, column) / 20;

	if (count > s->span_cap) {
		struct span *more = realloc(s->spans, count * sizeof *more);

		if (!more)
			return -ENOMEM;
		s->spans = more;
		s->span_cap = count;
	}
	for (size_t i = 0; i < count; i++, p += 20)
		s->spans[i] = (struct span){ (int64_t)sqlorders_little_endian(p, 8),
			(int64_t)sqlorders_little_endian(p + 8, 8),
			(int32_t)(uint32_t)sqlorders_little_endian(p + 16, 4) };
	o->rest = s->spans;
	o->rest_count = count;
	return 0;
}

static int sqlorders_read_order(struct sqlite_store *s, sqlite3_stmt *st, struct order *o, struct fail *f)
{
	*o = (struct order){
		.id = sqlite_id(st, 0),
		.account = sqlite_id(st, 1),
		.token = sqlite_id(st, 2),
		.pool = sqlite_id(st, 3),
		.sku = sqlite_id(st, 4),
		.host = sqlite_id(st, 5),
		.procurement = sqlite_id(st, 6),
		.side = (enum side)sqlite_int(st, 7),
		.flags = sqlite_int(st, 8),
		.nodes = sqlite_int(st, 9),
		.start = sqlite3_column_int64(st, 10),
		.end = sqlite3_column_int64(st, 11),
		.price = sqlite3_column_int64(st, 12),
		.max_total = sqlite3_column_int64(st, 13),
		.created_at = sqlite3_column_int64(st, 14),
		.closed_at = sqlite3_column_int64(st, 15),
		.status = (enum order_status)sqlite_int(st, 16),
		.reason = sqlite_int(st, 17),
		.hold = sqlite3_column_int64(st, 18),
		.filled_minutes = sqlite3_column_int64(st, 19),
		.filled_cost = sqlite3_column_int64(st, 20),
	};
	if (sqlorders_read_rest(s, st, 21, o))
		return fail_set(f, REASON_UNAVAILABLE, "out of memory for an order of '%s'", s->path);
	return 0;
}

static bool sqlorders_fits(const struct order_filter *w, const struct order *o)
{
	return (!w->account || o->account == w->account) && (!w->pool || o->pool == w->pool) &&
		(!w->procurement || o->procurement == w->procurement) && !(w->no_procurements && o->procurement) &&
		(w->side < 0 || (int)o->side == w->side) && (!w->statuses || (w->statuses & 1u << o->status)) &&
		(!w->created_after || o->created_at >= w->created_after) &&
		(!w->created_before || o->created_at <= w->created_before);
}

/* Two columns, a and b, of the row that a statement finds by an id. 1: found, 0: none. */
static int sqlorders_pair(struct sqlite_store *s, unsigned number, const char *sql, uint64_t id, int a, int b,
	int64_t pair[2], struct fail *f)
{
	sqlite3_stmt *st;
	int got = sqlite_statement(s, number, sql, &st, f), rc;

	if (got)
		return got;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		pair[0] = sqlite3_column_int64(st, a);
		pair[1] = sqlite3_column_int64(st, b);
		got = 1;
	}
	return sqlite_ended(s, number, st, rc, got, f);
}

int sqlite_id_since(struct sqlite_store *s, int64_t at, uint64_t *out, struct fail *f)
{
	uint64_t low = 1, high = s->order_max + 1;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int64_t made[2]; /* the first order with an id >= middle; when it was made */
		int rc = sqlorders_pair(s, READ_ORDER_NEXT,
			"SELECT id, created_at FROM orders WHERE id >= ? ORDER BY id LIMIT 1", middle, 0, 1, made, f);

		if (rc < 0)
			return rc;
		if (rc == 0 || made[1] >= at)
			high = middle;
		else
			low = (uint64_t)made[0] + 1;
	}
	*out = low;
	return 0;
}

/* The range of a list: ids (or start and id) in (after, before). */
struct range { uint64_t after, before; int64_t start_after, start_before; };

static int sqlorders_narrow(struct sqlite_store *s, const struct order_filter *w, struct range *r, struct fail *f)
{
	uint64_t id;
	int rc;

	if (w->created_after > 0) {
		rc = sqlite_id_since(s, w->created_after, &id, f);
		if (rc)
			return rc;
		if (id - 1 > r->after)
			r->after = id - 1;
	}
	if (w->created_before > 0 && w->created_before < INT64_MAX) {
		rc = sqlite_id_since(s, w->created_before + 1, &id, f);
		if (rc)
			return rc;
		if (id < r->before)
			r->before = id;
	}
	return 0;
}

/* Start and side of an order. 1: found, 0: none. */
static int sqlorders_order_of(struct sqlite_store *s, uint64_t id, int64_t *start, enum side *side, struct fail *f)
{
	int64_t pair[2];
	int rc = sqlorders_pair(s, READ_ORDER, "SELECT " ORDER_COLUMNS " FROM orders WHERE id = ?", id, 10, 7, pair, f);

	if (rc == 1) {
		*start = pair[0];
		*side = (enum side)pair[1];
	}
	return rc;
}

static int order_start(struct sqlite_store *s, uint64_t id, int64_t *start, struct fail *f)
{
	enum side side;
	int rc = sqlorders_order_of(s, id, start, &side, f);

	if (rc == 0)
		return fail_set(f, REASON_NOT_FOUND, "no order %llu to continue from", (unsigned long long)id);
	return rc < 0 ? rc : 0;
}

int sqlite_order_side(struct sqlite_store *s, uint64_t id, enum side *side, struct fail *f)
{
	int64_t start;
	int rc = sqlorders_order_of(s, id, &start, side, f);

	return rc < 0 ? rc : 0;
}

/* Where a list by start continues: after the order that the page names. */
static int range_by_start(struct sqlite_store *s, const struct store_page *page, struct range *r, struct fail *f)
{
	int rc = 0;

	*r = (struct range){ page->after, page->before ? page->before : INT64_MAX, INT64_MIN, INT64_MAX };
	if (page->after)
		rc = order_start(s, page->after, &r->start_after, f);
	if (!rc && page->before)
		rc = order_start(s, page->before, &r->start_before, f);
	return rc;
}

static int prepare_orders(struct sqlite_store *s, const struct order_filter *w, const struct store_page *page,
	const struct range *r, unsigned *number, sqlite3_stmt **st, struct fail *f)
{
	/* The ways through the table: each is the beginning of an index. */
	static const struct { const char *where, *more; } by[] = {
		{ "? = 0 AND ", "" }, { "account = ? AND ", "" }, { "pool = ? AND ", "" },
		{ "procurement = ? AND ", " AND procurement > 0" },
	};
	int way = w->procurement ? 3 : w->pool ? 2 : w->account ? 1 : 0;
	const char *down = page->descending ? " DESC" : "";
	char sql[1024];
	int rc;

	if (w->by_start && w->account) {
		snprintf(sql, sizeof sql,
			"SELECT " ORDER_COLUMNS " FROM orders WHERE account = ? AND (start_minute, id) > (?, ?) "
			"AND (start_minute, id) < (?, ?) ORDER BY start_minute%s, id%s",
			down, down);
		*number = READ_ORDERS + 8 + page->descending;
	} else {
		snprintf(sql, sizeof sql,
			"SELECT " ORDER_COLUMNS " FROM orders WHERE %sid > ? AND id < ?%s ORDER BY id%s", by[way].where,
			by[way].more, down);
		*number = READ_ORDERS + 2 * (unsigned)way + page->descending;
	}
	rc = sqlite_statement(s, *number, sql, st, f);
	if (rc)
		return rc;
	if (w->by_start && w->account)
		sqlite_numbers(*st,
			(const int64_t[]){ (int64_t)w->account, r->start_after, (int64_t)r->after, r->start_before,
				(int64_t)r->before },
			5);
	else
		sqlite_numbers(*st,
			(const int64_t[]){ (int64_t)(way == 3         ? w->procurement
							   : way == 2 ? w->pool
								      : w->account),
				(int64_t)r->after, (int64_t)r->before },
			3);
	return 0;
}

/* For given ids, or a list by start without an index: collects all that fit and sorts them. These are one account's. */
struct some { struct order *list; struct span **rests; size_t count, cap; };

static int some_add(struct some *m, const struct order *o)
{
	struct order *copy;

	if (m->count == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 64;
		struct order *list = realloc(m->list, cap * sizeof *list);

		if (!list)
			return -ENOMEM;
		m->list = list;
		m->cap = cap;
	}
	copy = &m->list[m->count];
	*copy = *o;
	copy->rest = NULL;
	if (o->rest_count) {
		struct span *rest = calloc(o->rest_count, sizeof *rest);

		if (!rest)
			return -ENOMEM;
		memcpy(rest, o->rest, o->rest_count * sizeof *rest);
		copy->rest = rest;
	}
	m->count++;
	return 0;
}

static void some_release(struct some *m)
{
	for (size_t i = 0; i < m->count; i++)
		free((void *)(uintptr_t)m->list[i].rest);
	free(m->list);
}

static int sqlorders_by_id(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_start(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	int order = (x->start > y->start) - (x->start < y->start);

	return order ? order : sqlorders_by_id(a, b);
}

static int fetch_ids(struct sqlite_store *s, const struct order_filter *w, struct some *m, struct fail *f)
{
	static const char sql[] = "SELECT " ORDER_COLUMNS " FROM orders WHERE id = ?";
	int got = 0;

	for (size_t i = 0; i < w->id_count && !got; i++) {
		struct order o;
		sqlite3_stmt *st;
		int rc;

		got = sqlite_statement(s, READ_ORDER, sql, &st, f);
		if (got)
			return got;
		sqlite3_bind_int64(st, 1, (int64_t)w->ids[i]);
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			got = sqlorders_read_order(s, st, &o, f);
		if (rc == SQLITE_ROW && !got && sqlorders_fits(w, &o) && some_add(m, &o))
			got = fail_set(f, REASON_UNAVAILABLE, "out of memory for a list of orders");
		got = sqlite_ended(s, READ_ORDER, st, rc, got, f);
	}
	return got;
}

static bool sqlorders_within(const struct order_filter *w, const struct range *r, const struct order *o)
{
	if (!w->by_start)
		return o->id > r->after && o->id < r->before;
	return (o->start > r->start_after || (o->start == r->start_after && o->id > r->after)) &&
		(o->start < r->start_before || (o->start == r->start_before && o->id < r->before));
}

static int orders_of_ids(struct sqlite_store *s, const struct order_filter *w, const struct store_page *page,
	const struct range *r, store_order_fn fn, void *arg, struct fail *f)
{
	struct some m = { 0 };
	int got = fetch_ids(s, w, &m, f);
	size_t given = 0;
	uint64_t last = 0;

	if (m.count)
		qsort(m.list, m.count, sizeof *m.list, w->by_start ? by_start : sqlorders_by_id);
	for (size_t i = 0; i < m.count && !got && (!page->limit || given < page->limit); i++) {
		const struct order *o = &m.list[page->descending ? m.count - 1 - i : i];

		if (!sqlorders_within(w, r, o) || o->id == last) /* an id given twice is one order */
			continue;
		last = o->id;
		given++;
		got = fn(arg, o);
	}
	some_release(&m);
	return got;
}

int sqlite_orders(struct store *base, const struct order_filter *w, const struct store_page *page, store_order_fn fn,
	void *arg, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	struct range r = { page->after, page->before ? page->before : INT64_MAX, INT64_MIN, INT64_MAX };
	unsigned number = 0;
	sqlite3_stmt *st;
	size_t given = 0;
	int rc = SQLITE_DONE, got;

	if (w->by_start && !w->account && !w->ids)
		return fail_set(f, REASON_INVALID, "orders are listed by start for one account only");
	got = w->by_start ? range_by_start(s, page, &r, f) : 0;
	if (!got && w->ids)
		return orders_of_ids(s, w, page, &r, fn, arg, f);
	if (!got && !w->by_start)
		got = sqlorders_narrow(s, w, &r, f);
	if (!got)
		got = prepare_orders(s, w, page, &r, &number, &st, f);
	if (got)
		return got;
	while (!got && (!page->limit || given < page->limit) && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct order o;

		got = sqlorders_read_order(s, st, &o, f);
		if (got || !sqlorders_fits(w, &o))
			continue;
		given++;
		got = fn(arg, &o);
	}
	return sqlite_ended(s, number, st, rc, got, f);
}
