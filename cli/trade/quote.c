/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/quote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/trade/window.h"
#include "market/when.h"

enum { BODY_MAX = 65536 };

static const int64_t price_max = 1000000000000; /* micro-dollars per node-minute: the limit of the market */

int64_t quote_any_price(int64_t nodes, int64_t minutes)
{
	int64_t most = price_max, n;

	if (__builtin_mul_overflow(nodes, minutes, &n) || n <= 0)
		return most;
	return INT64_MAX / n < most ? INT64_MAX / n : most;
}

static int64_t quote_each_minute(const struct quote *q, int64_t cost)
{
	int64_t minutes = (q->end - q->start) / 60 * q->nodes;

	return q->known && minutes > 0 ? (cost + minutes / 2) / minutes : -1;
}

int64_t quote_average(const struct quote *q)
{
	return quote_each_minute(q, q->cost + q->granted);
}

int64_t quote_own(const struct quote *q)
{
	return quote_each_minute(q, q->cost);
}

static void quote_text(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
}

/* A policy that lets the buyer pay less says so even where nobody pays the rest. */
static void quote_take_policy(struct quote *q, const struct model_quote *from)
{
	q->granted = from->granted;
	if (!from->rate || money_parse(from->rate, &q->share, NULL) || q->share > QUOTE_WHOLE)
		q->share = QUOTE_WHOLE;
	quote_text(q->rule, sizeof q->rule, from->rule);
	quote_text(q->why, sizeof q->why, from->why);
	quote_text(q->grant, sizeof q->grant, from->grant);
}

const char *quote_policy(const struct quote *q, bool standing, char room[QUOTE_POLICY])
{
	char paid[MONEY_TEXT], all[MONEY_TEXT];

	*room = '\0';
	if (q->granted)
		snprintf(room, QUOTE_POLICY, "grant '%s' pays %s of %s (policy '%s')", q->grant,
			money_text(q->granted, paid), money_text(q->granted + q->cost, all), q->rule);
	else if (q->share < QUOTE_WHOLE)
		snprintf(room, QUOTE_POLICY, "you pay all: %s (policy '%s')",
			standing ? "no grant pays for an order that may wait" : "no grant of yours has money left",
			q->rule);
	return room;
}

/* ---- A nanopod market ------------------------------------------------------------------- */

/* People also want to know how much is missing. */
static void say_funds(struct quote *q)
{
	char cost[MONEY_TEXT], there[MONEY_TEXT];
	size_t len = strlen(q->message);
	int64_t available;

	if (q->reason == REASON_FUNDS && q->cost > 0 && q->available_after != MODEL_NONE
	    && money_add(q->available_after, q->cost, &available) == 0)
		snprintf(q->message + len, sizeof q->message - len, ": it costs %s, and you have %s",
			money_text(q->cost, cost), money_text(available, there));
}

bool quote_only_money(int reason)
{
	return reason == REASON_FUNDS || reason == REASON_OVER_MAX_TOTAL || reason == REASON_OVER_CAP;
}

int quote_take(struct market_link *m, struct quote *q)
{
	struct model_quote from;
	int rc = wire_quote(m->doc, WIRE_WHOLE, &from, &m->fail);

	if (rc)
		return rc;
	*q = (struct quote){ .fills = from.fills,
		.firm = true,
		.cost = from.cost,
		.price = from.price,
		.nodes = from.nodes,
		.start = from.start,
		.end = from.end,
		.available_after = from.available_after,
		.reason = from.reason };
	quote_take_policy(q, &from);
	q->known = from.fills || quote_only_money(from.reason);
	snprintf(q->message, sizeof q->message, "%s",
		from.message         ? from.message
			: from.fills ? ""
				     : reason_row(from.reason)->text);
	for (size_t i = 0; i < from.alternative_count && i < QUOTE_ALTERNATIVES; i++) {
		const struct model_alternative *a = &from.alternatives[i];

		snprintf(q->alternatives[i].kind, sizeof q->alternatives[i].kind, "%s", a->kind ? a->kind : "");
		q->alternatives[i].price = a->price;
		q->alternatives[i].nodes = a->nodes;
		q->alternatives[i].start = a->start;
		q->alternatives[i].end = a->end;
		q->alternative_count++;
	}
	say_funds(q);
	return 0;
}

static int ask_ours(struct market_link *m, const struct model_order_new *order, struct quote *q)
{
	struct buf body;
	int rc;

	buf_init(&body, BODY_MAX);
	if (wire_put_order(&body, order))
		command_nomem();
	rc = market_send(m, "POST", "/np/v1/quote", &body, NULL);
	buf_release(&body);
	return rc ? rc : quote_take(m, q);
}

/* ---- An open book ---------------------------------------------------------------------- */

/* How many nodes a level has through the whole window. */
static int64_t nodes_through(const struct model_schedule *s, int64_t start, int64_t end)
{
	int64_t least = INT64_MAX, at = start;

	for (size_t i = 0; i < s->count && at < end; i++) {
		if (s->list[i].end <= at)
			continue;
		if (s->list[i].start > at)
			return 0;
		least = s->list[i].nodes < least ? s->list[i].nodes : least;
		at = s->list[i].end;
	}
	return at < end ? 0 : least;
}

int quote_book(struct market_link *m, const struct sku *sku, int64_t start, int64_t end, struct quote_book *book)
{
	struct model_depth d;
	int rc = market_get(m, "/v2/orderbook/depth?start_at=%" PRId64 "&end_at=%" PRId64 "&depth=100", start, end);

	*book = (struct quote_book){ .count = 0 };
	rc = rc ? rc : wire_depth(m->doc, WIRE_WHOLE, &d, &m->fail);
	for (size_t i = 0; !rc && i < d.ask_count; i++) {
		int64_t nodes = strcmp(d.asks[i].sku ? d.asks[i].sku : "", sku->id) == 0
			? nodes_through(&d.asks[i].schedule, start, end)
			: 0;

		if (nodes <= 0)
			continue;
		if (book->count && book->levels[book->count - 1].price == d.asks[i].price)
			book->levels[book->count - 1].nodes += nodes;
		else if (book->count < QUOTE_LEVELS)
			book->levels[book->count++] = (struct quote_level){ d.asks[i].price, nodes };
		else
			book->more = true;
	}
	return rc;
}

static void offer_instead(struct quote *q, const char *kind, int64_t price, int64_t nodes)
{
	size_t i = q->alternative_count++;

	snprintf(q->alternatives[i].kind, sizeof q->alternatives[i].kind, "%s", kind);
	q->alternatives[i].price = price;
	q->alternatives[i].nodes = nodes;
}

static void fill_from(const struct quote_book *book, const struct model_order_new *order, struct quote *q)
{
	int64_t minutes = (order->end - order->start) / 60, want = order->nodes, within = 0, piece;

	for (size_t i = 0; i < book->count && want > 0; i++) {
		int64_t n = book->levels[i].nodes < want ? book->levels[i].nodes : want;

		if (money_cost(book->levels[i].price, n, minutes, &piece) || money_add(q->cost, piece, &q->cost))
			return;
		q->price = book->levels[i].price;
		within += q->price <= order->price ? n : 0;
		want -= n;
	}
	q->known = want == 0;
	q->fills = within == order->nodes;
	if (q->fills)
		return;
	q->reason = q->known ? REASON_PRICE_TOO_LOW : REASON_NO_CAPACITY;
	if (q->known) {
		snprintf(q->message, sizeof q->message, "%s", reason_row(REASON_PRICE_TOO_LOW)->text);
		offer_instead(q, "price", q->price, order->nodes);
	} else {
		snprintf(q->message, sizeof q->message,
			"its order book has %" PRId64 " of %" PRId64 " nodes for that whole window",
			order->nodes - want, order->nodes);
	}
	if (within > 0)
		offer_instead(q, "nodes", order->price, within);
}

/* For a market whose book we may not read: its own estimate, which is a price alone. */
static int ask_preview(struct market_link *m, const struct model_order_new *order, const struct sku *sku,
	struct quote *q)
{
	struct model_sku wanted = { .id = sku->id,
		.alias = sku->alias,
		.accelerator = sku->accelerator,
		.form_factor = sku->form_factor,
		.region = sku->region,
		.zone = sku->zone,
		.rdma = sku->rdma };
	struct model_preview p;
	struct buf body;
	int rc;

	buf_init(&body, BODY_MAX);
	if (wire_put_preview(&body, order, &wanted))
		command_nomem();
	rc = market_send(m, "POST", "/v2/order_preview", &body, NULL);
	buf_release(&body);
	rc = rc ? rc : wire_preview(m->doc, WIRE_WHOLE, &p, &m->fail);
	if (rc == REASON_INVALID || rc == REASON_NOT_FOUND || rc == REASON_WRONG_STATE ||
		rc == REASON_NOT_IMPLEMENTED) {
		/* No estimate either. The order will show, and its limit caps the cost. */
		q->fills = true;
		snprintf(q->message, sizeof q->message, "this market does not show what is on sale");
		return 0;
	}
	if (rc)
		return rc;
	if (p.quoted && strcmp(p.sku ? p.sku : "", sku->id) == 0
	    && money_cost(p.limit, order->nodes, (order->end - order->start) / 60, &q->cost) == 0) {
		q->known = true;
		q->price = p.limit;
		q->fills = p.limit <= order->price;
		q->reason = q->fills ? REASON_NONE : REASON_PRICE_TOO_LOW;
	} else {
		q->reason = REASON_NO_CAPACITY;
	}
	if (!q->fills)
		snprintf(q->message, sizeof q->message, "%s", reason_row(q->reason)->text);
	return 0;
}

int quote_ask(struct market_link *m, const struct model_order_new *order, const struct sku *sku, struct quote *q)
{
	struct quote_book book;
	int rc = market_ours(m);

	if (rc < 0)
		return rc;
	if (rc)
		return ask_ours(m, order, q);
	*q = (struct quote){ .share = QUOTE_WHOLE,
		.nodes = order->nodes,
		.start = order->start,
		.end = order->end,
		.available_after = MODEL_NONE };
	rc = quote_book(m, sku, order->start, order->end, &book);
	if (rc == REASON_NOT_FOUND || rc == REASON_FORBIDDEN || rc == REASON_NOT_IMPLEMENTED)
		return ask_preview(m, order, sku, q);
	if (!rc)
		fill_from(&book, order, q);
	return rc;
}

/* ---- What to type instead --------------------------------------------------------------- */

/* With many GPUs no short text equals the price: then the next micro-dollar above. */
const char *quote_limit_text(int64_t price, unsigned gpus, char room[MONEY_TEXT])
{
	int64_t unit = gpus ? gpus : 1, micros = price / unit * 60 + (price % unit * 60 + unit - 1) / unit, back;
	size_t len;

	if (price_parse(price_text(price, gpus, room), gpus, &back, NULL) == 0 && back >= price)
		return room;
	money_wire(micros, room);
	for (len = strlen(room); len > 0 && room[len - 1] == '0' && room[len - 3] != '.'; len--)
		room[len - 1] = '\0';
	return room;
}

/* "1d2h30m": as -d takes it. */
static void quote_compact(int64_t seconds, char room[WHEN_TEXT])
{
	char span[WHEN_TEXT], *w = room;

	when_span(seconds, span);
	for (const char *s = span; *s; s++)
		if (*s != ' ')
			*w++ = *s;
	*w = '\0';
}

static void quote_add_one(const struct quote *q, size_t i, const struct command *cmd, const struct options *o,
	char *const *words, unsigned gpus, struct buf *out)
{
	struct retype_change changes[4] = { { 0 } };
	char text[WHEN_TEXT], span[WHEN_TEXT], number[32];
	const char *kind = q->alternatives[i].kind;

	if (strcmp(kind, "price") == 0) {
		changes[0] = (struct retype_change){ "price", quote_limit_text(q->alternatives[i].price, gpus, text) };
	} else if (strcmp(kind, "nodes") == 0) {
		snprintf(number, sizeof number, "%" PRId64, q->alternatives[i].nodes);
		changes[0] = (struct retype_change){ "nodes", number };
	} else if (strcmp(kind, "start") == 0) {
		quote_compact(q->end - q->start, span);
		changes[0] = (struct retype_change){ "start", when_iso(q->alternatives[i].start, text) };
		changes[1] = (struct retype_change){ "end", NULL };
		changes[2] = (struct retype_change){ "duration", span };
	} else if (strcmp(kind, "end") == 0) {
		quote_compact(q->alternatives[i].end - q->start, span);
		changes[0] = (struct retype_change){ "end", NULL };
		changes[1] = (struct retype_change){ "duration", span };
	} else if (strcmp(kind, "unverified") == 0) {
		changes[0] = (struct retype_change){ "unverified", "" };
	} else {
		return;
	}
	/* 'extend' has no option for fewer nodes, nor for other hosts. */
	if (!retype_can(cmd, changes))
		return;
	if (buf_adds(out, out->len ? " or '" : "'"))
		command_nomem();
	retype_words(cmd, o, words, changes, out);
	if (buf_adds(out, "'"))
		command_nomem();
}

void quote_hint(const struct quote *q, const struct command *cmd, const struct options *o, char *const *words,
	unsigned gpus, struct buf *out)
{
	size_t before = out->len;

	for (size_t i = 0; i < q->alternative_count; i++)
		quote_add_one(q, i, cmd, o, words, gpus, out);
	if (out->len > before && buf_adds(out, " would fill"))
		command_nomem();
}
