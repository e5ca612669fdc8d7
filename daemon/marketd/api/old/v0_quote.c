/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v0/quote: the price at which an order within a range of starts and lengths would fill now. A client
 * can post the answer unchanged, and it fills.
 */
#include "marketd/api/old/v0.h"

#include <string.h>

#include "market/reason.h"
#include "marketd/api/np/np.h"

enum { HOUR = 60, SPAN_MIN = 3600, SPAN_MAX = 94608000, CLI_SLACK = 10 };

struct range {
	int64_t min_start, max_start;     /* minutes */
	int64_t min_length, max_length;   /* minutes */
};

static bool v0_quote_read_date(const struct request *q, struct reply *r, const char *name, int64_t now,
	int64_t fallback, int64_t *minute)
{
	const char *text = api_query(q, name);
	int64_t seconds = fallback * 60;

	if (text && !v0_time(text, now * 60, &seconds)) {
		api_refuse(q, r, REASON_INVALID, name, "'%s' must be NOW or a time, such as 2026-11-20T21:00:00Z",
			name);
		return false;
	}
	return np_minute(q, r, name, seconds, minute);
}

/*
 * "duration" allows up to 59 minutes more. The clients of that time asked for at least nine tenths of what
 * they wanted, so the minimum gets that much slack.
 */
static bool read_range(const struct request *q, struct reply *r, int64_t now, struct range *g)
{
	const int64_t least = SPAN_MIN - SPAN_MIN / CLI_SLACK;
	int64_t duration, min, max;

	if (!v0_quote_read_date(q, r, "min_start_date", now, now, &g->min_start) ||
	    !v0_quote_read_date(q, r, "max_start_date", now, g->min_start, &g->max_start) ||
	    !api_query_int(q, r, "duration", least, SPAN_MAX, 0, &duration) ||
	    !api_query_int(q, r, "min_duration", least, SPAN_MAX, duration, &min) ||
	    !api_query_int(q, r, "max_duration", least, SPAN_MAX, duration ? duration + 59 * 60 : min, &max))
		return false;
	if (!min || min > max) {
		api_refuse(q, r, REASON_INVALID, "min_duration",
			"give 'duration', or 'min_duration' and 'max_duration', in seconds");
		return false;
	}
	if (g->max_start < g->min_start) {
		api_refuse(q, r, REASON_INVALID, "max_start_date", "the last start is before the first");
		return false;
	}
	g->min_length = (min + 59) / 60;
	g->max_length = max / 60;
	return true;
}

/* The first whole hour that is long enough; if the range has none, its minimum. */
static int64_t end_of(const struct range *g, int64_t start)
{
	int64_t end = (start + g->min_length + HOUR - 1) / HOUR * HOUR;

	return end <= start + g->max_length ? end : start + g->min_length;
}

static int v0_quote_answer(const struct request *q, struct reply *r, const char *side, json_t *quote,
	const char *reason)
{
	json_t *o = json_pack("{s:s, s:s, s:o}", "object", "quote", "side", side, "quote", quote);

	if (reason)
		json_object_set_new(o, "no_quote_reason", json_string(reason));
	return api_json(q, r, 200, o);
}

static const char *reason_of(int rc, bool sell)
{
	if (rc == REASON_PRICE_TOO_LOW)
		return "bid_price_too_low";
	return sell && rc == REASON_NO_BUYER ? "ask_price_too_high" : "no_availability";
}

static bool v0_quote_read_order(struct api *api, const struct request *q, struct reply *r, struct event *ev)
{
	const char *side = api_query(q, "side"), *contract = NULL;
	struct v0_contract c;
	struct fail why = { 0 };
	int64_t nodes;
	int rc;

	if (!side || (strcmp(side, "buy") != 0 && strcmp(side, "sell") != 0)) {
		api_refuse(q, r, REASON_INVALID, "side", "'side' must be buy or sell");
		return false;
	}
	if (!api_query_int(q, r, "quantity", 1, NODES_MAX, 1, &nodes))
		return false;
	ev->u.order.side = strcmp(side, "sell") == 0 ? SIDE_SELL : SIDE_BUY;
	ev->u.order.nodes = (int32_t)nodes;
	contract = api_query(q, ev->u.order.side == SIDE_SELL ? "contract_id" : "colocate_with");
	if (!contract && ev->u.order.side == SIDE_SELL) {
		api_refuse(q, r, REASON_INVALID, "contract_id",
			"'contract_id' is required for a sell: the contract to sell from");
		return false;
	}
	if (!contract)
		return true;
	rc = v0_contract_find(api, ev->account, contract, &c, &why);
	if (rc == 1) {
		ev->u.order.pool = c.pool;
		ev->u.order.sku = c.sku;
		return true;
	}
	api_refuse(q, r, rc ? REASON_UNAVAILABLE : REASON_NOT_FOUND, "contract_id", "no contract '%s'", contract);
	return false;
}

/* Tries the first start; if the order does not fill there, the next start within the range. */
static int try_quote(const struct engine *e, const struct range *g, struct event *ev, struct quote *out)
{
	struct diagnosis w = { 0 };
	int rc;

	ev->u.order.start = g->min_start;
	ev->u.order.end = end_of(g, g->min_start);
	rc = engine_quote(e, ev, out, NULL);
	if (rc != REASON_NO_CAPACITY || g->max_start <= g->min_start)
		return rc;
	engine_diagnose(e, ev, &w);
	if (!w.has_start || w.start > g->max_start)
		return rc;
	ev->u.order.end += w.start - ev->u.order.start;
	ev->u.order.start = w.start;
	return engine_quote(e, ev, out, NULL);
}

int v0_get_quote(struct api *api, const struct request *q, struct reply *r)
{
	const int64_t any_price = INT64_C(
		1000000000); /* $60,000 per node-hour: above all prices, and no total overflows */
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_ORDER };
	struct quote quote = { 0 };
	struct range g;
	bool sell;
	int rc;

	if (!api_whose(q, r, &ev.account) || !v0_quote_read_order(api, q, r, &ev) ||
		!read_range(q, r, engine_minute(e) + 1, &g))
		return r->status;
	sell = ev.u.order.side == SIDE_SELL;
	ev.u.order.price = sell ? 0 : any_price;
	ev.u.order.start = g.min_start;
	ev.u.order.end = end_of(&g, g.min_start);
	if (!ev.u.order.sku)
		ev.u.order.sku = v0_pick(e, &ev, WAIT_FOR_START, api_query(q, "instance_type"),
			api_query(q, "cluster"));
	if (!ev.u.order.sku)
		return v0_quote_answer(q, r, sell ? "sell" : "buy", json_null(), "no_matching_clusters");
	rc = try_quote(e, &g, &ev, &quote);
	if (rc == REASON_PAST || rc == REASON_INVALID || rc == REASON_NOT_OWNED)
		return api_refuse(q, r, rc, NULL, "%s", reason_row(rc)->text);
	if (rc && rc != REASON_FUNDS && rc != REASON_OVER_CAP)
		return v0_quote_answer(q, r, sell ? "sell" : "buy", json_null(), reason_of(rc, sell));
	/* The client posts back one price for all of it, so this uses the highest: no part is above the limit. */
	return v0_quote_answer(q, r, sell ? "sell" : "buy",
		json_pack("{s:I, s:i, s:o, s:o, s:s, s:s}", "price",
			(json_int_t)(sell ? cents_down(quote.price * quote.nodes * (ev.u.order.end - ev.u.order.start))
					  : cents_up(quote.price * quote.nodes * (ev.u.order.end - ev.u.order.start))),
			"quantity", (int)quote.nodes, "start_at", v0_iso(ev.u.order.start * 60), "end_at",
			v0_iso(ev.u.order.end * 60), "instance_type", v0_type(engine_sku(e, ev.u.order.sku)), "zone",
			v0_type(engine_sku(e, ev.u.order.sku))),
		NULL);
}
