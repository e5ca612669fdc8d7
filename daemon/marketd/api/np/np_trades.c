/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What SF Compute has no call for: extend (the same machines for longer), release, and a quote of what an
 * order would do, with alternatives that would fill.
 */
#include "marketd/api/np/np.h"
#include "marketd/api/may/decide.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "market/when.h"
#include "marketd/api/render.h"

const char *np_hint(const struct diagnosis *w, char *room, size_t size)
{
	char text[WHEN_TEXT];

	room[0] = '\0';
	if (w->has_end)
		snprintf(room, size, "; until %s would fit", when_iso(w->end * 60, text));
	else if (w->has_nodes)
		snprintf(room, size, "; %d node%s would fit", (int)w->nodes, w->nodes == 1 ? "" : "s");
	else if (w->has_start)
		snprintf(room, size, "; from %s would fit", when_iso(w->start * 60, text));
	else if (w->has_price)
		snprintf(room, size, "; %s dollars per node-hour would fit", price_wire(w->price, text));
	return room;
}

/* ---- Quotes ----------------------------------------------------------------------------------- */

static void np_trades_add(json_t *list, const char *kind, json_t *fields, const char *message)
{
	json_object_set_new(fields, "kind", json_string(kind));
	json_object_set_new(fields, "message", json_string(message));
	json_array_append_new(list, fields);
}

/* Would it fill if hosts without proof did, too? */
static bool np_trades_unverified(const struct engine *e, const struct event *ev)
{
	const struct sku *s = engine_sku(e, ev->u.order.sku);
	struct event any = *ev;
	struct quote quote;

	if (ev->u.order.side != SIDE_BUY || !s || !s->proof || (ev->u.order.flags & ORDER_UNVERIFIED))
		return false;
	any.u.order.flags |= ORDER_UNVERIFIED;
	return engine_quote(e, &any, &quote, NULL) == 0 && quote.nodes == ev->u.order.nodes;
}

static json_t *np_trades_alternatives(const struct engine *e, const struct event *ev, const struct diagnosis *w)
{
	int64_t minutes = ev->u.order.end - ev->u.order.start;
	char text[160], when[WHEN_TEXT], until[WHEN_TEXT];
	json_t *list = json_array();

	if (w->has_price) {
		snprintf(text, sizeof text, "with a limit of %s dollars per node-hour it fills now",
			price_wire(w->price, when));
		np_trades_add(list, "price",
			json_pack("{s:o}", "limit_price_dollars_per_node_hour", render_price(w->price)), text);
	}
	if (w->has_nodes) {
		snprintf(text, sizeof text, "%d node%s now fill%s", (int)w->nodes, w->nodes == 1 ? "" : "s",
			w->nodes == 1 ? "s" : "");
		np_trades_add(list, "nodes", json_pack("{s:i}", "node_count", (int)w->nodes), text);
	}
	if (w->has_start) {
		snprintf(text, sizeof text, "from %s until %s it fills", when_iso(w->start * 60, when),
			when_iso((w->start + minutes) * 60, until));
		np_trades_add(list, "start", json_pack("{s:I, s:I}", "start_at", (json_int_t)w->start * 60,
			"end_at", (json_int_t)(w->start + minutes) * 60), text);
	}
	if (w->has_end) {
		snprintf(text, sizeof text, "until %s it fills", when_iso(w->end * 60, until));
		np_trades_add(list, "end", json_pack("{s:I}", "end_at", (json_int_t)w->end * 60), text);
	}
	if (w->reason && np_trades_unverified(e, ev))
		np_trades_add(list, "unverified", json_object(), "hosts without a valid proof fill it now");
	return list;
}

/* The reasons that a quote reports as an answer; for all others it is refused like the order. */
static bool np_trades_quotable(int rc)
{
	return rc == 0 || rc == REASON_NO_CAPACITY || rc == REASON_PRICE_TOO_LOW || rc == REASON_HOSTS_SOLD ||
		rc == REASON_NO_BUYER || rc == REASON_FUNDS || rc == REASON_OVER_MAX_TOTAL || rc == REASON_OVER_CAP;
}

static void set_amount(json_t *o, const char *name, bool known, int64_t micros)
{
	char key[64];

	if (known) {
		render_money(o, name, micros);
		return;
	}
	snprintf(key, sizeof key, "%s_dollars", name);
	json_object_set_new(o, key, json_null());
	snprintf(key, sizeof key, "%s_micros", name);
	json_object_set_new(o, key, json_null());
}

static int answer_quote(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = engine_account(e, ev->account);
	struct quote quote = { 0 };
	struct fail why = { 0 };
	struct diagnosis w = { 0 };
	char cap[MONEY_TEXT];
	struct verdict v;
	bool known, explain, buy = ev->u.order.side == SIDE_BUY;
	json_t *o;
	int rc;

	if (!api_query_bool(q, r, "explain", false, &explain))
		return r->status;
	rc = decide(api, q, ev, &v, &why);
	rc = rc ? rc : engine_quote(e, ev, &quote, &why);
	if (rc == REASON_PRICE_TOO_LOW && v.capped)
		fail_set(&why, rc, "policy '%s' allows up to %s dollars per node-hour, and what is on sale costs more",
			v.decision.rule, price_wire(v.decision.price, cap));
	known = rc == 0 || rc == REASON_FUNDS || rc == REASON_OVER_MAX_TOTAL || rc == REASON_OVER_CAP;
	if (!np_trades_quotable(rc)) {
		decide_release(&v);
		return api_failed(q, r, rc, NULL, &why);
	}
	if (ev->u.order.start <= engine_minute(e))
		ev->u.order.start = engine_minute(e) + 1;
	if (rc)
		engine_diagnose(e, ev, &w);
	o = json_pack("{s:s, s:s, s:b, s:b, s:i, s:I, s:o, s:o, s:o, s:o, s:o}", "object", "quote", "side",
		buy ? "buy" : "sell", "fills", rc == 0, "rests",
		rc && !known && (ev->u.order.flags & ORDER_STANDING) ? 1 : 0, "node_count",
		(int)(known ? quote.nodes : ev->u.order.nodes), "start_at", (json_int_t)ev->u.order.start * 60,
		"end_at", render_minute(ev->u.order.end), "price_dollars_per_node_hour",
		known ? render_price(quote.price) : json_null(), "reason", render_reason(rc), "message",
		rc ? json_string(why.text[0] ? why.text : reason_row(rc)->text) : json_null(), "alternatives",
		np_trades_alternatives(e, ev, &w));
	quote.cost -= quote.granted;
	set_amount(o, "cost", known, quote.cost);
	set_amount(o, "granted", known, quote.granted);
	set_amount(o, "available_after", known && a, a ? a->available + (buy ? -quote.cost : 0) : 0);
	json_object_set_new(o, "policy", np_verdict(&v, explain));
	decide_release(&v);
	return api_json(q, r, 200, o);
}

static int post_quote(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev;
	uint64_t account;

	if (!api_whose(q, r, &account) || !body_order(api, q, r, account, &ev))
		return r->status;
	if (!ev.u.order.pool && ev.u.order.side == SIDE_SELL)
		return api_refuse(q, r, REASON_INVALID, "pool", "'pool' is required for a sell: the pool to sell from");
	return answer_quote(api, q, r, &ev);
}

/* ---- Extend -------------------------------------------------------------------------------------- */

struct last {
	uint64_t sku;
	int64_t end;
	int32_t nodes;   /* that end there */
	int skus;        /* SKUs that the pool holds, now or later */
};

/* Nodes of these spans that end at that time, while others may go on. */
static int32_t np_trades_ending(const struct spans *spans, int64_t at)
{
	for (size_t i = 0; i < spans->count; i++) {
		const struct span *s = &spans->list[i], *next = i + 1 < spans->count ? s + 1 : NULL;

		if (s->end == at)
			return next && next->start == at ? s->nodes - next->nodes : s->nodes;
	}
	return 0;
}

/*
 * When the pool's nodes of one SKU (0: the only one) end. at: some of them end then (0: the last ones); where none
 * does, it is about the last ones. 0 or -ENOMEM.
 */
static int np_trades_find_last(const struct engine *e, uint64_t pool, uint64_t sku, int64_t at, struct last *out)
{
	const struct sku *s;

	*out = (struct last){ 0 };
	for (s = sku ? engine_sku(e, sku) : engine_sku_after(e, 0); s; s = sku ? NULL : engine_sku_after(e, s->id)) {
		struct spans spans = { 0 };
		int rc = engine_schedule(e, pool, s->id, engine_minute(e), &spans);

		if (rc == 0 && spans.count) {
			out->sku = s->id;
			out->nodes = at ? np_trades_ending(&spans, at) : 0;
			out->end = out->nodes > 0 ? at : spans.list[spans.count - 1].end;
			out->nodes = out->nodes > 0 ? out->nodes : spans.list[spans.count - 1].nodes;
			out->skus++;
		}
		free(spans.list);
		if (rc)
			return rc;
	}
	return 0;
}

/* The pool of the path and the SKU of the body (0: none given). NULL: refused. */
static const struct pool *pool_of(struct api *api, const struct request *q, struct reply *r, uint64_t *sku)
{
	const struct engine *e = market_engine(api->market);
	const char *text = body_text(q->body, "instance_sku");
	const struct sku *s = text ? find_sku(e, text) : NULL;
	const struct pool *p;
	uint64_t account;

	if (!api_whose(q, r, &account))
		return NULL;
	p = find_pool(e, account, q->parts[0]);
	if (!p) {
		api_refuse(q, r, REASON_NOT_FOUND, "pool", "no pool '%s' in this account", q->parts[0]);
		return NULL;
	}
	if (text && !s) {
		api_refuse(q, r, REASON_NOT_FOUND, "instance_sku", "no instance SKU '%s'", text);
		return NULL;
	}
	*sku = s ? s->id : 0;
	return p;
}

/* The new end, from a duration or a time. false: refused. */
static bool np_trades_read_end(const struct request *q, struct reply *r, const struct last *last, int64_t *end)
{
	int64_t seconds = body_int(q->body, "duration_seconds", 0);
	bool has_end = json_is_integer(json_object_get(q->body, "end_at"));

	if ((seconds != 0) == has_end) {
		api_refuse(q, r, REASON_INVALID, "duration_seconds", "give 'duration_seconds' or 'end_at'");
		return false;
	}
	if (!has_end && (seconds % 60 || seconds / 60 >= MINUTE_MAX - last->end)) {
		api_refuse(q, r, REASON_INVALID, "duration_seconds", "'duration_seconds' must be a multiple of 60");
		return false;
	}
	*end = last->end + seconds / 60;
	if (!body_minute(q, r, q->body, "end_at", end))
		return false;
	if (*end <= last->end) {
		api_refuse(q, r, REASON_INVALID, "end_at", "the pool already holds its nodes until %" PRId64 "",
			last->end * 60);
		return false;
	}
	return true;
}

/* Who extends by an end that is no longer true would buy other minutes than they meant, or buy them twice. */
static bool np_trades_check_start(const struct request *q, struct reply *r, const struct last *last)
{
	int64_t start = last->end;

	if (!body_minute(q, r, q->body, "start_at", &start))
		return false;
	if (start == last->end)
		return true;
	api_refuse(q, r, REASON_WRONG_STATE, "start_at", "the pool holds its nodes until %" PRId64, last->end * 60);
	return false;
}

static int np_trades_take_order(void *arg, const struct order *o)
{
	*(uint64_t *)arg = o->id;
	return 1;
}

/* Who counts what all orders of the pool cost is refused where there is one that they have not seen. */
static bool np_trades_check_orders(struct api *api, const struct request *q, struct reply *r, const struct pool *p)
{
	struct order_filter filter = { .account = p->account,
		.pool = p->id,
		.side = SIDE_BUY,
		.no_procurements = true };
	const struct store_page newest = { .descending = true, .limit = 1 };
	const char *seen = body_text(q->body, "last_order");
	struct store *s = market_store(api->market);
	uint64_t id = 0, last = 0;
	struct fail why = { 0 };
	int rc;

	if (!seen)
		return true;
	if (!ident_parse(IDENT_ORDER, seen, &id)) {
		api_refuse(q, r, REASON_INVALID, "last_order", "'last_order' is the id of an order");
		return false;
	}
	rc = s->calls->orders(s, &filter, &newest, np_trades_take_order, &last, &why);
	if (rc < 0)
		api_failed(q, r, rc, NULL, &why);
	else if (last != id)
		api_refuse(q, r, REASON_WRONG_STATE, "last_order", "the pool has a newer order");
	return rc >= 0 && last == id;
}

static bool read_extend(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	struct last last;
	uint64_t sku;
	int64_t start = 0;
	const struct pool *p = pool_of(api, q, r, &sku);

	if (!p || !body_minute(q, r, q->body, "start_at", &start))
		return false;
	if (np_trades_find_last(e, p->id, sku, start, &last)) {
		api_refuse(q, r, REASON_INTERNAL, NULL, "out of memory");
		return false;
	}
	if (!last.skus || last.end >= MINUTE_MAX) {
		api_refuse(q, r, REASON_NOT_OWNED, "pool",
			last.skus ? "the pool's time has no end" : "the pool holds nothing to extend; buy into it");
		return false;
	}
	if (last.skus > 1) {
		api_refuse(q, r, REASON_INVALID, "instance_sku", "the pool holds several SKUs; give 'instance_sku'");
		return false;
	}
	*ev = (struct event){ .kind = EVENT_ORDER, .account = p->account, .u.order = { .pool = p->id, .sku = last.sku,
		.side = SIDE_BUY, .flags = ORDER_EXTEND, .start = last.end,
		.nodes = (int32_t)body_int(q->body, "node_count", last.nodes) } };
	return np_trades_check_start(q, r, &last) && np_trades_check_orders(api, q, r, p) &&
		np_trades_read_end(q, r, &last, &ev->u.order.end) &&
		body_price(q, r, q->body, "limit_price_dollars_per_node_hour", &ev->u.order.price) &&
		body_money(q, r, q->body, "max_total_dollars", &ev->u.order.max_total);
}

static int post_extend(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct fail why = { 0 };
	struct diagnosis w = { 0 };
	struct quote quote;
	struct event ev;
	char hint[160];
	int rc;

	if (!read_extend(api, q, r, &ev))
		return r->status;
	if (body_bool(q->body, "dry_run", false))
		return answer_quote(api, q, r, &ev);
	if (!np_may(q, r, SCOPE_TRADE))
		return r->status;
	rc = decide_apply(api, q, &ev, &why);
	rc = rc ? rc : engine_quote(e, &ev, &quote, &why);
	if (rc == 0 || !np_trades_quotable(rc))
		return place_order(api, q, r, &ev);
	engine_diagnose(e, &ev, &w);
	return api_refuse(q, r, rc, NULL, "%s%s", why.text[0] ? why.text : reason_row(rc)->text,
		np_hint(&w, hint, sizeof hint));
}

/* ---- Release -------------------------------------------------------------------------------------- */

static int np_trades_by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static json_t *rule_text(const struct policy *p)
{
	int bps = (int)p->release_bps;

	if (bps == 10000)
		return json_string("full refund for time that has not begun; the current minute is not refunded");
	if (bps == 0)
		return json_string("no refund for unused reserved time; full refund for unused interruptible time");
	return json_sprintf("%d.%02d %% refund for time that has not begun, full refund if it is interruptible; "
			    "the current minute is not refunded",
		bps / 100, bps % 100);
}

/* An enabled procurement of what would be given back: it would buy it again in the next minute. NULL: none. */
static const struct procurement *buys_again(const struct engine *e, const struct event *release)
{
	const struct procurement *p = NULL;

	while ((p = engine_procurement_after(e, release->account, p ? p->id : 0)))
		if (p->pool == release->subject && p->enabled && p->target != 0 &&
			(!release->u.release.sku || p->sku == release->u.release.sku))
			break;
	return p;
}

static int refuse_renewing(const struct request *q, struct reply *r, const struct procurement *p)
{
	char room[IDENT_TEXT];

	return api_refuse(q, r, REASON_HAS_DEPENDENTS, "pool",
		"procurement '%s' would buy them again; disable it first: "
		"nanopod procurement disable %s",
		p->name, ident_text(IDENT_PROCUREMENT, p->id, room));
}

struct waiting {
	uint64_t *ids;
	size_t count;
};

/* The nodes of the pool that wait for their time. */
static int release_waiting(const struct engine *e, const struct event *release, struct waiting *w, struct fail *why)
{
	struct np_lives lives = { 0 };
	const struct instance *i = NULL;

	w->ids = calloc(engine_kept(e, release->account).instances + 1, sizeof *w->ids);
	if (!w->ids)
		return fail_set(why, REASON_INTERNAL, "out of memory");
	while ((i = engine_instance_of_pool(e, release->subject, i ? i->id : 0)))
		if (i->status == INSTANCE_AWAITING && !i->host && np_node_lives_too(e, i, &lives))
			w->ids[w->count++] = i->id;
	return 0;
}

/* Those whose time was given back before it began have nothing left to wait for: they end, and their names are free. */
static int release_stop(struct api *api, const struct request *q, const struct event *release, const struct waiting *w,
	struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	struct np_lives lives = { 0 }; /* those that end here wait for nothing that others could get */
	int rc = 0;

	for (size_t n = 0; !rc && n < w->count; n++) {
		const struct instance *i = engine_instance(e, w->ids[n]);

		if (i && i->status == INSTANCE_AWAITING && !np_node_lives_too(e, i, &lives))
			rc = api_apply_to(api, q, EVENT_INSTANCE_STOP, release->account, i->id, why);
	}
	return rc;
}

static int release_do(struct api *api, const struct request *q, struct event *ev, struct fail *why)
{
	struct waiting w = { 0 };
	int rc = release_waiting(market_engine(api->market), ev, &w, why);

	rc = rc ? rc : api_apply(api, q, ev, NULL, why);
	rc = rc ? rc : release_stop(api, q, ev, &w, why);
	free(w.ids);
	return rc;
}

/* The node is one that stops, or that ends without having started. */
static bool release_ends(const struct engine *e, const struct instance *i, const struct event *release,
	const uint64_t *sorted, struct np_lives *now, struct np_lives *then)
{
	if (i->status != INSTANCE_AWAITING && i->status != INSTANCE_RUNNING)
		return false;
	if (!i->host)
		return np_node_lives_too(e, i, now) && !np_node_lives_too(e, i, then);
	return bsearch(&i->host, sorted, then->without->count, sizeof *sorted, np_trades_by_id) &&
		engine_owned_until(e, i->host, i->pool, engine_minute(e)) > release->u.release.from;
}

/* Of what is given back: the nodes that end by it, and how many hosts have no node now, which go before all others. */
static int release_nodes(const struct engine *e, const struct event *release, const struct release_quote *q, json_t *o)
{
	struct np_lives now = { 0 }, then = { .without = q, .from = release->u.release.from };
	uint64_t *sorted = calloc(q->count + 1, sizeof *sorted);
	json_t *nodes = json_array();
	const struct instance *i = NULL;
	struct np_starts starts = { 0 };
	size_t idle = q->count;
	int64_t start;

	if (!sorted || !nodes) {
		free(sorted);
		json_decref(nodes);
		return REASON_INTERNAL;
	}
	memcpy(sorted, q->hosts, q->count * sizeof *sorted);
	qsort(sorted, q->count, sizeof *sorted, np_trades_by_id);
	while ((i = engine_instance_of_pool(e, release->subject, i ? i->id : 0))) {
		if (i->host && bsearch(&i->host, sorted, q->count, sizeof *sorted, np_trades_by_id))
			idle--;
		if (!release_ends(e, i, release, sorted, &now, &then))
			continue;
		start = np_node_start(e, i, &starts);
		json_array_append_new(nodes,
			json_pack("{s:o, s:o, s:o}", "id", render_id(IDENT_INSTANCE, i->id), "name",
				render_text(i->name), "start_at", start < 0 ? json_null() : render_minute(start)));
	}
	free(sorted);
	np_starts_release(&starts);
	json_object_set_new(o, "idle_hosts", json_integer((json_int_t)idle));
	return json_object_set_new(o, "nodes", nodes) ? REASON_INTERNAL : 0;
}

static json_t *release_json(const struct engine *e, const struct event *release, const struct release_quote *q,
	bool dry)
{
	json_t *o = json_pack("{s:s, s:I, s:I, s:b, s:o}", "object", "release", "from",
		(json_int_t)release->u.release.from * 60, "node_count", (json_int_t)q->count, "dry_run", (int)dry,
		"rule", rule_text(engine_policy(e)));

	render_money(o, "refund", q->refund);
	render_money(o, "paid", q->paid);
	if (o && release_nodes(e, release, q, o)) {
		json_decref(o);
		o = NULL;
	}
	return o;
}

static int post_release(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_RELEASE, .u.release.from = engine_minute(e) + 1 };
	const struct pool *p = pool_of(api, q, r, &ev.u.release.sku);
	bool dry = body_bool(q->body, "dry_run", false);
	struct release_quote quote = { 0 };
	struct fail why = { 0 };
	json_t *o = NULL;
	int rc;

	if (!p || !body_minute(q, r, q->body, "from", &ev.u.release.from) || (!dry && !np_may(q, r, SCOPE_TRADE)))
		return r->status;
	if (ev.u.release.from <= engine_minute(e))
		ev.u.release.from = engine_minute(e) + 1;
	ev.account = p->account;
	ev.subject = p->id;
	if (buys_again(e, &ev))
		return refuse_renewing(q, r, buys_again(e, &ev));
	ev.u.release.nodes = (int32_t)body_int(q->body, "node_count", 0);
	rc = engine_release_quote(e, &ev, &quote, &why);
	if (!rc && !(o = release_json(e, &ev, &quote, dry)))
		rc = fail_set(&why, REASON_INTERNAL, "out of memory");
	free(quote.hosts);
	if (rc == 0 && !dry)
		rc = release_do(api, q, &ev, &why);
	if (rc) {
		json_decref(o);
		return api_failed(q, r, rc, NULL, &why);
	}
	return api_json(q, r, 200, o);
}

const struct route api_np_trade_routes[] = {
	{ METHOD_POST, "/np/v1/quote", post_quote, SCOPE_READ | SCOPE_TRADE, 0,
		"Quote an order: what it would do now, and what would fill instead", "explain:boolean",
		"np.QuoteRequest", "np.Quote", 200 },
	{ METHOD_POST, "/np/v1/pools/{pool}/extend", post_extend, SCOPE_READ | SCOPE_TRADE, ROUTE_CREATES,
		"Extend a pool: the same machines for longer, all or none", "explain:boolean", "np.ExtendRequest",
		"np.ExtendAnswer", 201 },
	{ METHOD_POST, "/np/v1/pools/{pool}/release", post_release, SCOPE_READ | SCOPE_TRADE, ROUTE_CREATES,
		"Release nodes, by the published rule", NULL, "np.ReleaseRequest", "np.Release", 200 },
	{ 0 },
};
