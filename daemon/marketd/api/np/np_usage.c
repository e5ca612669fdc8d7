/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /np/v1/usage: each settlement of a lease, hour of a volume and fee of a plan as an event for whoever bills or
 * meters, in the order of the ledger. The ledger is the outbox: what was paid is in it in the transaction that moved
 * the money, once, and an event's id is that posting's place with a piece of its statement's chain, so that it never
 * changes and no other history has it.
 */
#include "marketd/api/np/movements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "market/when.h"
#include "marketd/api/np/np.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

enum { USAGE_POSTINGS = 2000, USAGE_ID = 64, USAGE_CHAIN = 8, USAGE_FIELDS = 21 };

struct usage_rows {
	struct posting_row *list;
	size_t count, limit;
};

/* A page that is made: of one account, or of EVERYBODY. */
struct usage_page {
	struct api *api;
	uint64_t account;
	uint64_t seq, n; /* how far it went */
	char cursor[USAGE_ID]; /* that posting's id; "": the ledger has none yet */
	size_t limit, count;
	json_t *data;
	bool more;
	struct lease_found last;
};

/* What one transfer settled of a lease. */
struct usage {
	const struct lease *lease;
	const struct posting_row *buyer, *sponsor; /* their first postings of it; sponsor NULL: there is none */
	int64_t paid, back, granted;               /* back: to the buyer. granted: less what the sponsor got back */
	int64_t minutes;
	bool settled, returned, granted_back; /* it ends some of a lease; time went back; money to the sponsor */
};

/* ---- Reading ---------------------------------------------------------------------------- */

static int usage_take(void *arg, const struct posting_row *row)
{
	struct usage_rows *p = arg;

	if (p->count < p->limit)
		p->list[p->count++] = *row;
	return 0;
}

static int usage_read(struct api *api, uint64_t account, uint64_t seq, uint64_t n, struct usage_rows *p, struct fail *f)
{
	struct store *s = market_store(api->market);

	p->count = 0;
	return s->calls->postings(s, account, seq, n, p->limit, usage_take, p, f);
}

/* ---- What a transfer says ------------------------------------------------------------------ */

/* What one account pays to another for no lease: an hour of a volume, the fee of a plan. */
static bool usage_plain(const struct posting_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].posting.asset || !rows[i].posting.subject ||
			(rows[i].posting.book != BOOK_AVAILABLE && rows[i].posting.book != BOOK_FEES))
			return false;
	return rows->posting.account && rows->posting.amount < 0;
}

/* False: none of its postings pays, gives back or uses up time of a lease. */
static bool usage_leased(const struct posting_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct posting *x = &rows[i].posting;

		if (x->subject && x->amount < 0 && (x->book == BOOK_ESCROW || (x->book == BOOK_CAPACITY && x->asset)))
			return true;
	}
	return false;
}

static void usage_see(struct usage *u, const struct posting_row *row)
{
	const struct posting *x = &row->posting;
	const struct lease *l = u->lease;
	bool money = !x->asset && x->account;

	if (x->account == l->buyer && !u->buyer)
		u->buyer = row;
	if (money && x->book == BOOK_ESCROW && x->account != l->buyer)
		u->sponsor = row;
	if (x->book == BOOK_USED)
		u->minutes += x->amount;
	if (x->book == BOOK_CAPACITY && x->amount < 0)
		u->returned = true;
	if (money && x->book == BOOK_ESCROW)
		*(x->account == l->buyer ? &u->paid : &u->granted) -= x->amount;
	else if (money && x->book == BOOK_AVAILABLE && x->account == l->buyer)
		u->back += x->amount;
	else if (money && u->sponsor && x->account == u->sponsor->posting.account && x->account != l->seller) {
		u->granted -= x->amount;
		u->granted_back = true;
	}
}

/* False: it buys time, or moves it, and settles nothing. */
static bool usage_settled(const struct posting_row *rows, size_t count, const struct lease *l, struct usage *out)
{
	struct usage u = { .lease = l };
	bool bought = false;

	for (size_t i = 0; i < count; i++) {
		bought |= rows[i].posting.book == BOOK_ESCROW && rows[i].posting.amount > 0;
		usage_see(&u, &rows[i]);
	}
	u.settled = u.minutes || u.paid || u.granted || u.granted_back;
	*out = u;
	return u.settled && u.buyer && !bought;
}

static const char *usage_kind(const struct usage *u)
{
	if (u->paid - u->back + u->granted)
		return u->returned && !u->minutes ? "forfeit" : "usage";
	return u->back || u->granted_back ? "refund" : "usage";
}

/* ---- Rendering -------------------------------------------------------------------------------- */

/* Also the cursor of who has read so far. */
static const char *usage_id(const struct posting_row *row, char room[USAGE_ID])
{
	int at = snprintf(room, USAGE_ID, "%" PRIu64 "-%" PRIu64 "-", row->seq, row->n);

	for (int i = 0; i < USAGE_CHAIN; i++)
		at += snprintf(room + at, USAGE_ID - (size_t)at, "%02x", row->chain[i]);
	return room;
}

/* What a lease was of, as its owner knows it. */
static void usage_put_lease(json_t *o, const struct engine *e, const struct lease *l)
{
	const struct sku *s = engine_sku(e, l->sku);
	const struct pool *p = engine_pool(e, l->pool);

	json_object_set_new(o, "lease", render_id(IDENT_CONTRACT, l->id));
	json_object_set_new(o, "instance_sku", render_id(IDENT_SKU, l->sku));
	json_object_set_new(o, "type", s && s->alias ? render_text(s->alias) : json_null());
	json_object_set_new(o, "pool", render_id(IDENT_POOL, l->pool));
	json_object_set_new(o, "reservation", p ? render_text(p->name) : json_null());
	json_object_set_new(o, "tier", json_string(l->interruptible ? "spot" : "reserved"));
	json_object_set_new(o, "volume", json_null());
	json_object_set_new(o, "grant", json_null());
}

/* What both kinds of events begin with. */
static json_t *usage_data(struct usage_page *p, const struct posting_row *row, const char *kind, int64_t minutes,
	int64_t gpus)
{
	const struct account *a = engine_account(market_engine(p->api->market), row->posting.account);

	return json_pack("{s:I, s:o, s:o, s:s, s:I, s:I}", "at", (json_int_t)row->at, "account",
		render_id(IDENT_ACCOUNT, row->posting.account), "account_name", a ? render_text(a->name) : json_null(),
		"kind", kind, "node_minutes", (json_int_t)minutes, "gpu_seconds", (json_int_t)(minutes * 60 * gpus));
}

/* Takes data. 0 or a reason: an event that lacks something must not go out, nor be passed over. */
static int usage_append(struct usage_page *p, const struct posting_row *row, const char *type, json_t *data,
	struct fail *f)
{
	bool whole = json_object_size(data) == USAGE_FIELDS;
	char id[USAGE_ID], when[WHEN_TEXT];

	if (json_array_append_new(p->data,
		    json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o}", "specversion", "1.0", "id", usage_id(row, id),
			    "source", "/np/v1/usage", "type", type, "subject",
			    render_id(IDENT_ACCOUNT, row->posting.account), "time", when_iso(row->at, when), "data",
			    data)) ||
		!whole)
		return fail_set(f, REASON_UNAVAILABLE, "the market is out of memory");
	p->count++;
	return 0;
}

static int usage_add(struct usage_page *p, const struct usage *u, const struct posting_row *row, bool sponsored,
	struct fail *f)
{
	const struct engine *e = market_engine(p->api->market);
	const struct sku *s = engine_sku(e, u->lease->sku);
	int64_t gpus = s ? s->gpus : 0;
	json_t *data = usage_data(p, row, sponsored ? "sponsored" : usage_kind(u), sponsored ? 0 : u->minutes, gpus);

	usage_put_lease(data, e, u->lease);
	render_money(data, "amount", sponsored ? u->granted : u->paid - u->back);
	render_money(data, "granted", sponsored ? 0 : u->granted);
	render_money(data, "refunded", sponsored ? 0 : u->back);
	json_object_set_new(data, "sponsor",
		u->sponsor ? render_id(IDENT_ACCOUNT, u->sponsor->posting.account) : json_null());
	return usage_append(p, row, gpus ? "gpu_active_time" : "node_time", data, f);
}

/* What goes from the account to others: of its own volume only the market's fee does. */
static int usage_pay(struct usage_page *p, const struct posting_row *rows, size_t count, struct fail *f)
{
	static const char *const none[] = { "lease", "instance_sku", "type", "pool", "reservation", "sponsor" };
	uint64_t account = rows->posting.account, subject = rows->posting.subject;
	bool plan = engine_grant(market_engine(p->api->market), subject) != NULL;
	int64_t amount = 0;
	json_t *data;

	for (size_t i = 0; i < count; i++)
		amount -= rows[i].posting.account == account ? rows[i].posting.amount : 0;
	if (amount <= 0 || (p->account != EVERYBODY && p->account != account))
		return 0;
	data = usage_data(p, rows, plan ? "fee" : "usage", 0, 0);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		json_object_set_new(data, none[i], json_null());
	json_object_set_new(data, "tier", json_string(plan ? "plan" : "storage"));
	json_object_set_new(data, "volume", plan ? json_null() : render_id(IDENT_VOLUME, subject));
	json_object_set_new(data, "grant", plan ? render_id(IDENT_GRANT, subject) : json_null());
	render_money(data, "amount", amount);
	render_money(data, "granted", 0);
	render_money(data, "refunded", 0);
	return usage_append(p, rows, plan ? "plan_fee" : "storage_fee", data, f);
}

/* Adds what a whole transfer settled, for those who are asked about. 0 or a reason. */
static int usage_transfer(struct usage_page *p, const struct posting_row *rows, size_t count, struct fail *f)
{
	struct usage u;
	int rc;

	if (!usage_leased(rows, count))
		return usage_plain(rows, count) ? usage_pay(p, rows, count, f) : 0;
	rc = movement_lease(p->api, rows->posting.subject, &p->last, f);
	if (rc || !p->last.found || !usage_settled(rows, count, &p->last.lease, &u))
		return rc;
	if (p->account == EVERYBODY || p->account == u.lease->buyer)
		rc = usage_add(p, &u, u.buyer, false, f);
	if (!rc && u.sponsor && u.granted && (p->account == EVERYBODY || p->account == u.sponsor->posting.account))
		rc = usage_add(p, &u, u.sponsor, true, f);
	return rc;
}

/* One account's statement has only its own postings: the others of the transfer have numbers near them. */
static int usage_whole(struct usage_page *p, const struct posting_row *own, size_t count, struct fail *f)
{
	struct posting_row near[2 * ENTRIES_MAX];
	struct usage_rows r = { .list = near, .limit = 2 * ENTRIES_MAX };
	size_t at = 0;
	int rc;

	if (!usage_leased(own, count) && !usage_plain(own, count))
		return 0;
	rc = own->n >= ENTRIES_MAX ? usage_read(p->api, EVERYBODY, own->seq, own->n - ENTRIES_MAX, &r, f)
				   : usage_read(p->api, EVERYBODY, own->seq - 1, INT64_MAX, &r, f);
	while (!rc && at < r.count && (near[at].seq != own->seq || near[at].posting.transfer != own->posting.transfer))
		at++;
	return rc || at == r.count ? rc : usage_transfer(p, near + at, movement_transfer(near, at, r.count), f);
}

static int usage_fill(struct usage_page *p, struct usage_rows *r, struct fail *f)
{
	int rc = usage_read(p->api, p->account, p->seq, p->n, r, f);
	bool full = r->count == r->limit;
	size_t len;

	p->more = full;
	for (size_t at = 0; !rc && at < r->count; at += len) {
		const struct posting_row *rows = r->list + at;

		len = movement_transfer(r->list, at, r->count);
		if (full && at && at + len == r->count)
			break;                 /* the rest of this transfer is on the next page */
		if (p->count + 2 > p->limit) { /* the buyer's event and the sponsor's stay together */
			p->more = true;
			break;
		}
		rc = p->account == EVERYBODY ? usage_transfer(p, rows, len, f) : usage_whole(p, rows, len, f);
		p->seq = rows[len - 1].seq;
		p->n = rows[len - 1].n;
		usage_id(&rows[len - 1], p->cursor);
	}
	return rc;
}

/* ---- The route --------------------------------------------------------------------------------- */

/*
 * Goes on behind the posting that `after` names by its id. One that the ledger lacks, or has with another chain, is of
 * another history: who has this cursor has not read what is before that place here. 0 or a reason.
 */
static int usage_after(struct usage_page *p, const char *after, struct fail *f)
{
	struct posting_row row;
	struct usage_rows r = { .list = &row, .limit = 1 };
	char place[USAGE_ID];
	size_t len = strcspn(after, "-");
	int rc;

	len += after[len] ? 1 + strcspn(after + len + 1, "-") : 0;
	snprintf(place, sizeof place, "%.*s", (int)len, after);
	if (len >= sizeof place || !after[len] || !np_place(place, &p->seq, &p->n))
		return fail_set(f, REASON_INVALID, "'after' is the cursor of the page before");
	rc = !p->seq   ? 0
		: p->n ? usage_read(p->api, EVERYBODY, p->seq, p->n - 1, &r, f)
		       : usage_read(p->api, EVERYBODY, p->seq - 1, INT64_MAX, &r, f);
	if (rc)
		return rc;
	if (!r.count || strcmp(usage_id(&row, p->cursor), after) != 0)
		return fail_set(f, REASON_INVALID,
			"the ledger lacks this cursor's place: it is another market's, or was restored from a backup; "
			"read again without 'after' (nanopod admin meter: with a new --state FILE); events keep their "
			"ids");
	return 0;
}

static bool usage_begin(const struct request *q, struct reply *r, struct usage_page *p)
{
	const char *after = api_query(q, "after");
	struct fail why = { 0 };
	int64_t from;
	int rc;

	if (!api_query_int(q, r, "from", 0, SECONDS_MAX, 0, &from))
		return false;
	p->n = INT64_MAX;
	rc = after && *after ? usage_after(p, after, &why) : movements_before(p->api, p->account, from, &p->seq, &why);
	if (rc)
		api_failed(q, r, rc == REASON_INVALID ? rc : REASON_UNAVAILABLE, rc == REASON_INVALID ? "after" : NULL,
			&why);
	return !rc;
}

static int get_usage(struct api *api, const struct request *q, struct reply *r)
{
	struct usage_page p = { .api = api, .account = q->account ? q->account : EVERYBODY };
	struct usage_rows rows = { .limit = USAGE_POSTINGS };
	struct fail why = { 0 };
	int64_t limit;
	int rc;

	if (!api_query_int(q, r, "limit", 2, 1000, 100, &limit) || !usage_begin(q, r, &p))
		return r->status;
	p.limit = (size_t)limit;
	rows.list = calloc(rows.limit, sizeof *rows.list);
	if (!rows.list)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory");
	p.data = json_array();
	rc = p.data ? usage_fill(&p, &rows, &why) : fail_set(&why, REASON_UNAVAILABLE, "the market is out of memory");
	free(rows.list);
	if (rc) {
		json_decref(p.data);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	return api_json(q, r, 200,
		json_pack("{s:s, s:s, s:b, s:o}", "object", "list", "cursor", p.cursor, "has_more", (int)p.more, "data",
			p.data));
}

const struct route api_np_usage_routes[] = {
	{ METHOD_GET, "/np/v1/usage", get_usage, SCOPE_READ, 0,
		"List what was used and paid, event by event, in the order of the ledger; the operator: everybody's",
		"from:integer,after:string,limit:integer", NULL, "np.Usage", 200 },
	{ 0 },
};

/* ---- Shapes --------------------------------------------------------------------------------------- */

#define USAGE_TEXT(name, null, about) \
	{ \
		name, SCHEMA_STRING, FIELD_REQUIRED | (null), NULL, 0, 0, about \
	}
#define USAGE_NUMBER(name, about) \
	{ \
		name, SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, about \
	}
#define USAGE_MONEY(name, about) \
	{ name "_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, NULL }, USAGE_NUMBER(name "_micros", about)

static const struct schema_field np_usage_data[] = {
	TIME("at", FIELD_REQUIRED),
	USAGE_TEXT("account", 0, "who paid"),
	USAGE_TEXT("account_name", FIELD_NULL, NULL),
	{ "kind", SCHEMA_ENUM, FIELD_REQUIRED, "usage|forfeit|refund|sponsored|fee", 0, 0,
		"forfeit: paid for time that was given back; refund: nothing was paid in the end; sponsored: what a "
		"grant of this account paid for another's use, of which an event of its own has the time; "
		"fee: of a plan" },
	USAGE_NUMBER("node_minutes", NULL),
	USAGE_NUMBER("gpu_seconds", NULL),
	USAGE_TEXT("lease", FIELD_NULL, "null, with what follows: of a volume or a plan"),
	USAGE_TEXT("instance_sku", FIELD_NULL, NULL),
	USAGE_TEXT("type", FIELD_NULL, "the SKU's alias"),
	USAGE_TEXT("pool", FIELD_NULL, NULL),
	USAGE_TEXT("reservation", FIELD_NULL, "the pool's name"),
	{ "tier", SCHEMA_ENUM, FIELD_REQUIRED, "reserved|spot|storage|plan", 0, 0, "spot: it could be interrupted" },
	USAGE_TEXT("volume", FIELD_NULL, "of which an hour was paid"),
	USAGE_TEXT("grant", FIELD_NULL, "the month of a plan that was paid"),
	USAGE_MONEY("amount", "what the account paid for good"),
	USAGE_MONEY("granted", "what a sponsor paid besides"),
	USAGE_MONEY("refunded", "what the account had paid ahead and got back: part of no amount"),
	USAGE_TEXT("sponsor", FIELD_NULL, NULL),
	{ 0 },
};
_Static_assert(sizeof np_usage_data / sizeof *np_usage_data == USAGE_FIELDS + 1, "usage_add() counts what it puts");

static const struct schema_field np_usage_event[] = {
	USAGE_TEXT("specversion", 0, "of CloudEvents"),
	USAGE_TEXT("id", 0, "stays for ever"),
	USAGE_TEXT("source", 0, NULL),
	{ "type", SCHEMA_ENUM, FIELD_REQUIRED, "gpu_active_time|node_time|storage_fee|plan_fee", 0, 0,
		"node_time: of nodes without GPUs" },
	USAGE_TEXT("subject", 0, "the account"),
	USAGE_TEXT("time", 0, "when it was settled, RFC 3339"),
	{ "data", SCHEMA_REF, FIELD_REQUIRED, "np.UsageData", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field np_usage_list[] = {
	OBJECT_IS("list"),
	USAGE_TEXT("cursor", 0, "how far this page goes, also where it has no event; empty: nothing was paid yet"),
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.UsageEvent", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_usage[] = {
	{ "np.UsageData", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_usage_data, NULL },
	{ "np.UsageEvent", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_usage_event, NULL },
	{ "np.Usage", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_usage_list, NULL },
	{ 0 },
};
