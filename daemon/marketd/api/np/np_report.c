/* SPDX-License-Identifier: Apache-2.0 */
/* GET /np/v1/report: an account's money and node time by day, as pages whose sums are the ledger's. */
#include "marketd/api/np/movements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

enum { REPORT_POSTINGS = 1000 };

static const char *const money_books[MONEY_BOOKS] = { "available", "held", "escrow" };

/* ---- Cursors: ACCOUNT-SEQ-N-BOOKS ------------------------------------------------------- */

static bool report_read_cursor(const char *text, struct movement_page *p)
{
	uint64_t parts[4];

	for (int i = 0; i < 4; i++) {
		char *end;

		if (*text < '0' || *text > '9')
			return false;
		errno = 0;
		parts[i] = strtoull(text, &end, 10);
		if (errno || parts[i] > INT64_MAX || *end != (i < 3 ? '-' : '\0'))
			return false;
		text = end + 1;
	}
	if (p->all) /* of everybody's, which only the operator may ask for */
		p->account = parts[0];
	p->seq = parts[1];
	p->n = parts[2];
	p->met = (unsigned)(parts[3] & 7);
	return true;
}

static json_t *report_cursor(const struct movement_page *p)
{
	return json_sprintf("%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%u", p->all ? p->account : 0, p->seq, p->n, p->met);
}

/* ---- Rendering -------------------------------------------------------------------------- */

static json_t *report_id(enum ident kind, uint64_t id)
{
	return id ? render_id(kind, id) : json_null();
}

static void report_put_thing(json_t *o, const struct engine *e, const struct movement *m, bool operator)
{
	const struct sku *s = engine_sku(e, m->sku);
	const struct pool *p = engine_pool(e, m->pool);
	const struct host *h = engine_host(e, m->host);
	const struct volume *v = engine_volume(e, m->volume);
	bool shown = h && (operator|| h->account == m->account); /* whoever resells time knows no name of its host */

	json_object_set_new(o, "instance_sku", report_id(IDENT_SKU, m->sku));
	json_object_set_new(o, "type", s && s->alias ? render_text(s->alias) : json_null());
	json_object_set_new(o, "gpus", json_integer(s ? s->gpus : 0));
	json_object_set_new(o, "pool", report_id(IDENT_POOL, m->pool));
	json_object_set_new(o, "reservation", p ? render_text(p->name) : json_null());
	json_object_set_new(o, "host", shown ? render_id(IDENT_HOST, m->host) : json_null());
	json_object_set_new(o, "host_name", shown ? render_text(h->name) : json_null());
	json_object_set_new(o, "volume", report_id(IDENT_VOLUME, m->volume));
	json_object_set_new(o, "volume_name", v ? render_text(v->name) : json_null());
}

static json_t *report_row(struct api *api, const struct movement *m, bool operator)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = engine_account(e, m->account);
	struct movement x = *m;
	char why[MOVEMENT_WHY] = "";
	json_t *o = json_pack("{s:I, s:s, s:o, s:o, s:I, s:I}", "at", (json_int_t)m->at, "kind", movement_name(m->kind),
		"account", report_id(IDENT_ACCOUNT, m->account), "account_name", a ? render_text(a->name) : json_null(),
		"seconds", (json_int_t)(m->minutes * 60), "transfers", (json_int_t)m->count);

	if (m->seq)
		movement_why(api, m->seq, why);
	json_object_set_new(o, "reason", *why ? render_text(why) : json_null());
	x.pool = m->kind == MOVEMENT_CREDIT ? movement_refunds(api, m->seq) : m->pool;
	report_put_thing(o, e, &x, operator);
	render_money(o, "amount", m->amount);
	render_money(o, "gross", m->gross);
	render_money(o, "fee", m->fee);
	return o;
}

/* {"available":{"before":…,"after":…},…}: null where another page says it. */
static json_t *report_balances(const struct movement_page *p)
{
	json_t *all = json_object();

	for (int i = 0; i < MONEY_BOOKS; i++)
		json_object_set_new(all, money_books[i],
			json_pack("{s:o, s:o}", "before_micros",
				p->opened & 1u << i ? json_integer(p->before[i]) : json_null(), "after_micros",
				p->closed & 1u << i ? json_integer(p->after[i]) : json_null()));
	return all;
}

static int get_report(struct api *api, const struct request *q, struct reply *r)
{
	const char *after = api_query(q, "after");
	struct movement_page p = { .account = q->account, .all = !q->account };
	bool operator= np_allowed(q) & SCOPE_ADMIN;
	struct fail why = { 0 };
	json_t *data, *list;
	int64_t limit;
	int rc;

	if (!api_query_int(q, r, "from", 0, SECONDS_MAX, 0, &p.from) ||
		!api_query_int(q, r, "to", 0, SECONDS_MAX, SECONDS_MAX, &p.to) ||
		!api_query_int(q, r, "limit", 20, REPORT_POSTINGS, REPORT_POSTINGS, &limit) ||
		!api_query_bool(q, r, "balances", false, &p.balances))
		return r->status;
	if (p.to < p.from)
		return api_refuse(q, r, REASON_INVALID, "to", "'to' is before 'from'");
	if (p.balances && p.all)
		return api_refuse(q, r, REASON_INVALID, "account", "balances are of one account: add ?account=NAME");
	if (after && !report_read_cursor(after, &p))
		return api_refuse(q, r, REASON_INVALID, "after", "'after' is the cursor of the page before");
	p.limit = (size_t)limit;
	rc = movements_read(api, &p, &why);
	if (rc) {
		movement_page_release(&p);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	data = json_array();
	for (size_t i = 0; i < p.count; i++)
		json_array_append_new(data, report_row(api, &p.list[i], operator));
	list = render_list(data, p.more ? report_cursor(&p) : NULL, p.more);
	if (list)
		json_object_set_new(list, "balances", p.balances ? report_balances(&p) : json_null());
	movement_page_release(&p);
	return api_json(q, r, 200, list);
}

const struct route api_np_report_routes[] = {
	{ METHOD_GET, "/np/v1/report", get_report, SCOPE_READ, 0,
		"Sum an account's money and node time by day; the operator: everybody's",
		"from:integer,to:integer,balances:boolean,limit:integer,after:string", NULL, "np.Report", 200 },
	{ 0 },
};

/* ---- Shapes ----------------------------------------------------------------------------- */

#define REPORT_TEXT(name, about) \
	{ \
		name, SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, about \
	}
#define REPORT_MONEY(name, about) \
	{ name "_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, NULL }, \
	{ \
		name "_micros", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, about \
	}

static const struct schema_field np_report_row[] = {
	TIME("at", FIELD_REQUIRED),
	{ "kind", SCHEMA_ENUM, FIELD_REQUIRED,
		"credit|debit|usage|forfeit|refund|earning|fee|granted|sponsored|storage|included|plan|plan_sold|"
		"payout",
		0, 0, "at is when a credit or debit was, else the first second of a day in UTC" },
	REPORT_TEXT("account", "null: the market itself"),
	REPORT_TEXT("account_name", NULL),
	{ "seconds", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "of nodes" },
	{ "transfers", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "of the ledger that are in it" },
	REPORT_TEXT("reason", "why the operator did it"),
	REPORT_TEXT("instance_sku", NULL),
	REPORT_TEXT("type", NULL),
	{ "gpus", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "of a node" },
	REPORT_TEXT("pool", "the buyer's; of a credit: the one that it is a refund for"),
	REPORT_TEXT("reservation", NULL),
	REPORT_TEXT("host", "the seller's own"),
	REPORT_TEXT("host_name", NULL),
	REPORT_TEXT("volume", "of what was paid for one"),
	REPORT_TEXT("volume_name", "null: it is gone"),
	REPORT_MONEY("amount", "what it changed of all the account's money: available, held and escrow together"),
	REPORT_MONEY("gross", "an earning before its fee, a refund, else the amount without its sign"),
	REPORT_MONEY("fee", NULL),
	{ 0 },
};

static const struct schema_field np_report_book[] = {
	{ "before_micros", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"at the beginning; null: another page says it" },
	{ "after_micros", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"at the end; the last page that says it counts" },
	{ 0 },
};

static const struct schema_field np_report_books[] = {
	{ "available", SCHEMA_REF, FIELD_REQUIRED, "np.ReportBook", 0, 0, NULL },
	{ "held", SCHEMA_REF, FIELD_REQUIRED, "np.ReportBook", 0, 0, NULL },
	{ "escrow", SCHEMA_REF, FIELD_REQUIRED, "np.ReportBook", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field np_report_list[] = {
	OBJECT_IS("list"),
	{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.ReportRow", 0, 0,
		"rows that differ in numbers alone are added up, also over pages" },
	{ "balances", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.ReportBooks", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_report[] = {
	{ "np.ReportRow", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_report_row, NULL },
	{ "np.ReportBook", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_report_book, NULL },
	{ "np.ReportBooks", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_report_books, NULL },
	{ "np.Report", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_report_list, NULL },
	{ 0 },
};
