/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened to an account: its ledger with the chain that proves it, its events as a stream that a
 * client can resume, and its leases.
 */
#include "marketd/api/np/movements.h"
#include "marketd/api/np/np.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/store/chain.h"
#include "marketd/api/render.h"

/* A number as decimal digits in a string, safe from a reader's floats. */
static json_t *np_lists_digits(uint64_t n)
{
	return json_sprintf("%" PRIu64, n);
}

/* ---- Ledger ----------------------------------------------------------------------------------- */

struct postings {
	struct api *api;
	json_t *data;
	uint64_t seq, n;
	size_t count, limit;
	bool more;
};

static int posting_row(void *arg, const struct posting_row *row)
{
	struct postings *p = arg;
	const struct posting *t = &row->posting;
	char chain[2 * CHAIN_BYTES + 1], why[MOVEMENT_WHY];
	json_t *o;

	if (p->count == p->limit) {
		p->more = true;
		return 0;
	}
	for (int i = 0; i < CHAIN_BYTES; i++)
		snprintf(chain + 2 * i, 3, "%02x", row->chain[i]);
	o = json_pack("{s:o, s:I, s:I, s:o, s:o, s:s, s:o, s:I, s:I, s:o, s:s}", "seq", np_lists_digits(row->seq), "n",
		(json_int_t)row->n, "at", (json_int_t)row->at, "transfer", np_lists_digits(t->transfer), "owner",
		np_lists_digits(t->owner), "book", book_name(t->book), "asset", np_lists_digits(t->asset), "amount",
		(json_int_t)t->amount, "balance", (json_int_t)t->balance, "subject", np_lists_digits(t->subject),
		"chain", chain);
	if (!t->subject && *movement_why(p->api, row->seq, why))
		json_object_set_new(o, "reason", render_text(why));
	json_array_append_new(p->data, o);
	p->seq = row->seq;
	p->n = row->n;
	p->count++;
	return 0;
}

bool np_place(const char *text, uint64_t *seq, uint64_t *n)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*seq = strtoull(text, &end, 10);
	if (errno || *end != '-' || end[1] < '0' || end[1] > '9')
		return false;
	*n = strtoull(end + 1, &end, 10);
	return !errno && !*end && *seq <= INT64_MAX && *n <= INT64_MAX;
}

/* Without an account the operator reads the market's own books. */
static int get_ledger(struct api *api, const struct request *q, struct reply *r)
{
	struct store *store = market_store(api->market);
	const char *after = api_query(q, "after");
	struct postings p = { .api = api };
	struct fail why = { 0 };
	json_t *cursor = NULL;
	int64_t limit;
	int rc;

	if (!api_query_int(q, r, "limit", 1, 1000, 200, &limit))
		return r->status;
	if (after && !np_place(after, &p.seq, &p.n))
		return api_refuse(q, r, REASON_INVALID, "after", "'after' is the cursor of the page before");
	p.limit = (size_t)limit;
	p.data = json_array();
	rc = store->calls->postings(store, q->account, p.seq, p.n, p.limit + 1, posting_row, &p, &why);
	if (rc) {
		json_decref(p.data);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	if (p.count)
		cursor = json_sprintf("%" PRIu64 "-%" PRIu64, p.seq, p.n);
	return api_json(q, r, 200, render_list(p.data, cursor, p.more));
}

/* ---- Events -------------------------------------------------------------------------------------- */

enum { SEQ_SHIFT = 20, EVENT_BYTES = 256 * 1024, WAIT_MAX = 60 };

struct events {
	struct api *api;
	struct buf *out;
	uint64_t last;
	size_t count, limit, bytes;
	bool sse;
};

/* What kind of thing subject and other are, by notice. */
static const struct subject {
	const char *name;
	enum ident kind;
} subjects[NOTICE_KINDS] = {
	[NOTICE_ORDER_PLACED] = { "order", IDENT_ORDER },
	[NOTICE_ORDER_FILLED] = { "order", IDENT_ORDER },
	[NOTICE_ORDER_CLOSED] = { "order", IDENT_ORDER },
	[NOTICE_SOLD] = { "order", IDENT_ORDER },
	[NOTICE_RELEASED] = { "contract", IDENT_CONTRACT },
	[NOTICE_INTERRUPTED] = { "contract", IDENT_CONTRACT },
	[NOTICE_LEASE_ENDED] = { "contract", IDENT_CONTRACT },
	[NOTICE_SETTLED] = { "contract", IDENT_CONTRACT },
	[NOTICE_REFUNDED] = { "contract", IDENT_CONTRACT },
	[NOTICE_CREDITED] = { "account", IDENT_ACCOUNT },
	[NOTICE_ACCOUNT_STATE] = { "account", IDENT_ACCOUNT },
	[NOTICE_INSTANCE_CREATED] = { "instance", IDENT_INSTANCE },
	[NOTICE_INSTANCE_STATUS] = { "instance", IDENT_INSTANCE },
	[NOTICE_HOST_STATE] = { "host", IDENT_HOST },
	[NOTICE_PROCUREMENT_STATUS] = { "procurement", IDENT_PROCUREMENT },
	[NOTICE_AGENT] = { "agent", IDENT_AGENT },
	[NOTICE_HOST_DRAIN] = { "host", IDENT_HOST },
	[NOTICE_SHORTENED] = { "contract", IDENT_CONTRACT },
	[NOTICE_HOST_VERIFIED] = { "host", IDENT_HOST },
	[NOTICE_ORDER_PRICED] = { "order", IDENT_ORDER },
	[NOTICE_HOST_FLOOR] = { "host", IDENT_HOST },
	[NOTICE_ANNOUNCED] = { "announcement", IDENT_ANNOUNCEMENT },
	[NOTICE_ANNOUNCEMENT_ENDED] = { "announcement", IDENT_ANNOUNCEMENT },
	[NOTICE_GRANTED] = { "grant", IDENT_GRANT },
	[NOTICE_GRANT_ENDED] = { "grant", IDENT_GRANT },
	[NOTICE_VOLUME] = { "volume", IDENT_VOLUME },
	[NOTICE_VOLUME_PAID] = { "volume", IDENT_VOLUME },
	[NOTICE_PLAN_PAID] = { "plan", IDENT_PLAN },
	[NOTICE_PLAN_NEXT] = { "plan", IDENT_PLAN },
	[NOTICE_PLAN_CANCELLED] = { "plan", IDENT_PLAN },
	[NOTICE_PLAN_ENDED] = { "plan", IDENT_PLAN },
	[NOTICE_PLAN_LAPSED] = { "plan", IDENT_PLAN },
	[NOTICE_DUNNING] = { "account", IDENT_ACCOUNT },
	[NOTICE_PAYOUT] = { "payout", IDENT_PAYOUT },
};

#define WITHDRAWN \
	"the market withdrew this offer: the machine no longer holds what it has on sale; 'nanopod host status' " \
	"shows " \
	"what it holds, 'nanopod host offer' sells it again"

static const char *const order_words[] = { "pending", "filled", "partially_filled", "rejected", "cancelled",
	"standing" };
static const char *const instance_words[] = { "awaiting_allocation", "running", "terminated", "failed" };

static const char *const dunning_words[] = { "open", "reminded", "warned", "suspended" };
static const char *const payout_words[] = { "asked", "sent", "failed", "cancelled" };
static const char *const volume_words[] = { "made", "larger", "unpaid", "paid", "deleting", "deleted", "lost" };

static const char *word_of(const char *const *words, size_t count, int32_t code)
{
	return code >= 0 && (size_t)code < count ? words[code] : "unknown";
}

static void set_code(json_t *o, const struct notice *t)
{
	switch (t->kind) {
	case NOTICE_ORDER_PLACED:
		json_object_set_new(o, "side", json_string(t->code == SIDE_SELL ? "sell" : "buy"));
		break;
	case NOTICE_ORDER_CLOSED:
		json_object_set_new(o, "status",
			json_string(t->code < 0 ? "cancelled" : word_of(order_words, 6, t->code)));
		json_object_set_new(o, "reason", render_reason(t->code < 0 ? t->code : 0));
		if (t->code == REASON_NO_ROOM)
			json_object_set_new(o, "message", json_string(WITHDRAWN));
		break;
	case NOTICE_INSTANCE_CREATED:
	case NOTICE_INSTANCE_STATUS:
		json_object_set_new(o, "status", json_string(word_of(instance_words, 4, t->code)));
		break;
	case NOTICE_ACCOUNT_STATE:
		json_object_set_new(o, "state", json_string(t->code == ACCOUNT_SUSPENDED ? "suspended" : "open"));
		break;
	case NOTICE_DUNNING:
		json_object_set_new(o, "state", json_string(word_of(dunning_words, 4, t->code)));
		break;
	case NOTICE_HOST_STATE:
		json_object_set_new(o, "state", json_string(t->code ? "down" : "up"));
		break;
	case NOTICE_ANNOUNCED:
	case NOTICE_ANNOUNCEMENT_ENDED:
		json_object_set_new(o, "state", json_string(np_severity((enum severity)t->code)));
		break;
	case NOTICE_HOST_DRAIN:
		json_object_set_new(o, "state", json_string(t->minute ? "draining" : "selling"));
		break;
	case NOTICE_HOST_VERIFIED:
		json_object_set_new(o, "state",
			json_string(t->code == PROOF_PASSED         ? "verified"
					: t->code == PROOF_OUTGROWN ? "expired"
								    : "failed"));
		break;
	case NOTICE_AGENT:
		json_object_set_new(o, "state",
			json_string(t->code == AGENT_LEFT       ? "left"
					: t->code == AGENT_CAME ? "came"
								: "joined"));
		break;
	case NOTICE_VOLUME:
		json_object_set_new(o, "state", json_string(word_of(volume_words, 7, t->code)));
		break;
	case NOTICE_PAYOUT:
		json_object_set_new(o, "state", json_string(word_of(payout_words, 4, t->code)));
		break;
	case NOTICE_PROCUREMENT_STATUS:
	case NOTICE_PLAN_LAPSED:
		json_object_set_new(o, "reason", render_reason(t->code));
		break;
	default:
		break;
	}
}

/* A buyer whose host goes down hears about the lease, not about another account's host. */
static void set_subject(json_t *o, const struct notice *t)
{
	bool leased = t->kind == NOTICE_HOST_STATE && t->other;

	if (leased || ((t->kind == NOTICE_ORDER_FILLED || t->kind == NOTICE_SOLD) && t->other))
		json_object_set_new(o, "contract", render_id(IDENT_CONTRACT, t->other));
	if ((t->kind == NOTICE_ORDER_PLACED || t->kind == NOTICE_ORDER_CLOSED || t->kind == NOTICE_ORDER_PRICED ||
		    t->kind == NOTICE_PROCUREMENT_STATUS) &&
		t->other)
		json_object_set_new(o, "pool", render_id(IDENT_POOL, t->other));
	if (!leased && subjects[t->kind].name)
		json_object_set_new(o, subjects[t->kind].name, render_id(subjects[t->kind].kind, t->subject));
}

static json_t *notice_json(struct api *api, const struct notice_row *row)
{
	const struct notice *t = &row->notice;
	char why[MOVEMENT_WHY];
	const struct announcement *said = t->kind == NOTICE_ANNOUNCED
		? engine_announcement(market_engine(api->market), t->subject)
		: NULL;
	const struct volume *volume = subjects[t->kind].kind == IDENT_VOLUME
		? engine_volume(market_engine(api->market), t->subject)
		: NULL;
	json_t *o = json_pack("{s:I, s:I, s:s}", "seq", (json_int_t)(row->seq << SEQ_SHIFT | row->n), "at",
		(json_int_t)row->at, "type", notice_name(t->kind));

	set_subject(o, t);
	if (t->kind == NOTICE_ORDER_PRICED || t->kind == NOTICE_HOST_FLOOR)
		json_object_set_new(o, "price_dollars_per_node_hour", render_price(t->amount));
	else if (t->amount || t->kind == NOTICE_CREDITED || t->kind == NOTICE_ORDER_FILLED ||
		t->kind == NOTICE_RELEASED)
		render_money(o, "amount", t->amount);
	if (t->minute)
		json_object_set_new(o, "effective_at", render_minute(t->minute));
	set_code(o, t);
	if ((t->kind == NOTICE_CREDITED || t->kind == NOTICE_ACCOUNT_STATE) && *movement_why(api, row->seq, why))
		json_object_set_new(o, "message", render_text(why));
	if (t->kind == NOTICE_GRANTED || t->kind == NOTICE_GRANT_ENDED)
		json_object_set_new(o, "grant_name",
			render_text(engine_grant(market_engine(api->market), t->subject)->name));
	if (subjects[t->kind].kind == IDENT_PLAN && subjects[t->kind].name)
		json_object_set_new(o, "plan_name",
			render_text(engine_tariff(market_engine(api->market), t->subject)->name));
	if (volume)
		json_object_set_new(o, "volume_name", render_text(volume->name));
	if (said) /* until it is over; who reads later finds none */
		json_object_set_new(o, "message", render_text(said->text));
	return o;
}

static int notice_row(void *arg, const struct notice_row *row)
{
	struct events *ev = arg;
	uint64_t seq = row->seq << SEQ_SHIFT | row->n;
	json_t *o;
	char *line;
	int failed;

	if (ev->count == ev->limit || ev->out->len > ev->bytes)
		return 0;
	o = notice_json(ev->api, row);
	line = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (!line)
		return -ENOMEM;
	if (ev->sse)
		failed = buf_addf(ev->out, "id: %" PRIu64 "\nevent: %s\ndata: %s\n\n", seq,
			notice_name(row->notice.kind), line);
	else
		failed = buf_addf(ev->out, "%s\n", line);
	free(line);
	if (failed)
		return failed;
	ev->last = seq;
	ev->count++;
	return 0;
}

/* Where to continue: after what this stream sent, else the client's header, else the query. false: refused. */
bool np_events_since(const struct request *q, struct reply *r, uint64_t *since)
{
	const char *text = q->last_event_id ? q->last_event_id : api_query(q, "since_seq");
	char *end;

	*since = q->resume;
	if (q->resume || !text || !*text)
		return true;
	errno = 0;
	*since = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !errno && !*end && *since <= INT64_MAX)
		return true;
	api_refuse(q, r, REASON_INVALID, q->last_event_id ? "Last-Event-ID" : "since_seq",
		"'%s' is not the seq of an event", text);
	return false;
}

uint64_t np_events_end(struct api *api)
{
	return engine_count(market_engine(api->market)) << SEQ_SHIFT | ((1u << SEQ_SHIFT) - 1);
}

static int np_lists_read_events(struct api *api, uint64_t account, uint64_t since, struct events *ev, struct fail *why)
{
	struct store *store = market_store(api->market);

	return store->calls->notices(store, account, since >> SEQ_SHIFT, since & ((1u << SEQ_SHIFT) - 1), ev->limit,
		notice_row, ev, why);
}

int np_events_append(struct api *api, uint64_t account, size_t bytes, uint64_t *last, struct buf *out, struct fail *why)
{
	struct events ev = { .api = api, .out = out, .sse = true, .limit = 1000, .bytes = bytes, .last = *last };
	int rc = np_lists_read_events(api, account, *last, &ev, why);

	if (!rc)
		*last = ev.last;
	return rc;
}

static int get_events(struct api *api, const struct request *q, struct reply *r)
{
	struct events ev = { .api = api, .out = &r->body, .sse = q->accept && strstr(q->accept, "text/event-stream") };
	struct fail why = { 0 };
	int64_t limit, wait;
	uint64_t since;
	int rc;

	if (!np_events_since(q, r, &since) || !api_query_int(q, r, "limit", 1, 1000, 1000, &limit) ||
		!api_query_int(q, r, "wait", 0, WAIT_MAX, 0, &wait))
		return r->status;
	ev.limit = (size_t)limit;
	ev.bytes = EVENT_BYTES;
	ev.last = since;
	buf_clear(&r->body);
	rc = np_lists_read_events(api, q->account, since, &ev, &why);
	if (rc)
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	r->type = ev.sse ? "text/event-stream" : "application/x-ndjson";
	r->resume = ev.last;
	r->stream = ev.sse;
	if (!ev.sse && !ev.count && wait > 0 && !q->last_ask) {
		r->wait = true;
		r->wait_ms = wait * 1000;
	}
	return r->status = 200;
}

/* ---- Leases --------------------------------------------------------------------------------------- */

static json_t *lease_json(const struct engine *e, const struct lease *l)
{
	int64_t cost = 0;
	json_t *o;

	money_cost(l->price, 1, l->paid_end - l->start, &cost);
	o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:I, s:o, s:I, s:o, s:b, s:b, s:I, s:s}", "object", "lease", "id",
		render_id(IDENT_CONTRACT, l->id), "order", render_id(IDENT_ORDER, l->order), "pool",
		render_pool_summary(e, l->pool), "instance_sku", render_sku_summary(e, l->sku), "node_count", 1,
		"start_at", (json_int_t)l->start * 60, "end_at", render_minute(l->end), "settled_at",
		(json_int_t)l->settled * 60, "price_dollars_per_node_hour", render_price(l->price), "interruptible",
		(int)l->interruptible, "sold_on", (int)l->sold_on, "filled_at", (json_int_t)l->filled_at, "state",
		l->start <= engine_minute(e) ? "running" : "coming");
	render_money(o, "cost", cost);
	return o;
}

static int get_leases(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	const struct lease *l;
	uint64_t account, last = 0;
	int64_t limit, n = 0;
	json_t *data;
	bool active;

	if (!api_whose(q, r, &account) || !api_query_int(q, r, "limit", 1, 1000, 1000, &limit) ||
	    !api_query_bool(q, r, "active", false, &active))
		return r->status;
	if (after && !ident_parse(IDENT_CONTRACT, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a lease");
	data = json_array();
	for (l = engine_lease_after(e, account, last); l && n < limit; l = engine_lease_after(e, account, l->id)) {
		if (active && (l->sold_on || l->start > engine_minute(e)))
			continue;
		json_array_append_new(data, lease_json(e, l));
		last = l->id;
		n++;
	}
	return api_json(q, r, 200, render_list(data, n ? render_id(IDENT_CONTRACT, last) : NULL, l != NULL));
}

const struct route api_np_list_routes[] = {
	{ METHOD_GET, "/np/v1/ledger", get_ledger, SCOPE_READ, 0,
		"Get the account's statement, with the chain that proves it", "after:string,limit:integer", NULL,
		"np.Ledger", 200 },
	{ METHOD_GET, "/np/v1/events", get_events, SCOPE_READ, ROUTE_STREAM,
		"Stream what happened, as JSON Lines or server-sent events",
		"since_seq:integer,limit:integer,wait:integer", NULL, "np.Event", 200 },
	{ METHOD_GET, "/np/v1/leases", get_leases, SCOPE_READ, 0,
		"List leases, running and coming; active=true: running",
		"active:boolean,limit:integer,starting_after:string", NULL, "np.LeaseList", 200 },
	{ 0 },
};
