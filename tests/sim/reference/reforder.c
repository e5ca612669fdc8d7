/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of the reference market: placed, filled, left resting, closed. See reference.h. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

enum { PRICE_TOP = 1000000000000 };

int64_t ref_rest_minutes(const struct rorder *o)
{
	int64_t n = 0;

	for (size_t i = 0; i < o->rest.n; i++)
		n += o->rest.at[i].nodes * (o->rest.at[i].end - o->rest.at[i].start);
	return n;
}

static void rest_add(struct rests *rest, int64_t start, int64_t end, int32_t nodes)
{
	struct span *last = rest->n ? &rest->at[rest->n - 1] : NULL;

	if (start >= end || nodes <= 0)
		return;
	if (last && last->end == start && last->nodes == nodes) {
		last->end = end;
		return;
	}
	rest->at = ref_more(rest->at, rest->n + 1, sizeof *rest->at);
	rest->at[rest->n++] = (struct span){ start, end, nodes };
}

/* One node less is wanted in [start, end). */
void ref_rest_take(struct rests *rest, int64_t start, int64_t end)
{
	struct rests left = { 0 };

	for (size_t i = 0; i < rest->n; i++) {
		const struct span *s = &rest->at[i];
		int64_t a = s->start > start ? s->start : start, b = s->end < end ? s->end : end;

		if (a >= b) {
			rest_add(&left, s->start, s->end, s->nodes);
			continue;
		}
		rest_add(&left, s->start, a, s->nodes);
		rest_add(&left, a, b, s->nodes - 1);
		rest_add(&left, b, s->end, s->nodes);
	}
	free(rest->at);
	*rest = left;
}

void ref_rest_forget(struct rests *rest, int64_t before)
{
	struct rests left = { 0 };

	for (size_t i = 0; i < rest->n; i++)
		rest_add(&left, rest->at[i].start > before ? rest->at[i].start : before, rest->at[i].end,
			rest->at[i].nodes);
	free(rest->at);
	*rest = left;
}

/* What an order holds becomes this: the difference goes to or comes from what is available. */
void ref_order_hold(struct reference *r, struct rorder *o, int64_t hold)
{
	ref_post(r, o->account, BOOK_HELD, 0, hold - o->hold);
	ref_post(r, o->account, BOOK_AVAILABLE, 0, o->hold - hold);
	ref_transfer_done(r);
	ref_spend(r, o->token, o->month, hold - o->hold);
	o->hold = hold;
}

static void order_note(struct reference *r, const struct rorder *o, int status, int reason)
{
	r->closed = ref_more(r->closed, r->closeds + 1, sizeof *r->closed);
	r->closed[r->closeds++] = (struct rclosed){ o->id, status, reason, o->minutes, o->cost };
}

void ref_order_close(struct reference *r, struct rorder *o, int status, int reason)
{
	ref_order_hold(r, o, 0);
	ref_order_take_off(r, o->id);
	order_note(r, o, status, reason);
	free(o->rest.at);
	ref_list_drop(&r->orders, o);
}

/* ---- One slice changes hands ------------------------------------------------------------ */

/* What a sell sold is counted again each time that it comes back: it ends at the most that there is. */
static int64_t count_on(int64_t sum, int64_t more)
{
	wide all = (wide)sum + more;

	return all > INT64_MAX ? INT64_MAX : (int64_t)all;
}

static int64_t trade_gift(const struct rorder *buy, int64_t price)
{
	return buy->gift ? (int64_t)((wide)price * buy->part / 1000000) : 0;
}

static void trade_money(struct reference *r, struct rorder *buy, int64_t price, int64_t minutes, bool resting)
{
	int64_t held = buy->price * minutes, gift = trade_gift(buy, price) * minutes, cost = price * minutes - gift;
	struct rgrant *g = ref_list_find(&r->grants, buy->gift);

	if (g) {
		ref_post(r, g->sponsor, BOOK_AVAILABLE, 0, -gift);
		ref_post(r, g->sponsor, BOOK_ESCROW, 0, gift);
		g->spent += gift;
	}
	buy->cost += cost;
	ref_spend(r, buy->token, buy->month, resting ? cost - held : cost);
	ref_post(r, buy->account, BOOK_ESCROW, 0, cost);
	if (!resting) {
		ref_post(r, buy->account, BOOK_AVAILABLE, 0, -cost);
		return;
	}
	ref_post(r, buy->account, BOOK_HELD, 0, -held);
	ref_post(r, buy->account, BOOK_AVAILABLE, 0, held - cost);
	buy->hold -= held;
}

/* Whose pool has the host in the minute before, by time that asks for proof as well, came when that began. */
static int64_t trade_came(const struct reference *r, const struct rhost *h, const struct rlease *l)
{
	const struct cell *c = ref_cell_at(h, l->start - 1);
	const struct rlease *had = c && c->pool == l->pool ? ref_list_find(&r->leases, c->lease) : NULL;

	return l->asked && had && had->asked ? had->came : l->start;
}

static void trade(struct reference *r, struct rorder *buy, const struct slice *s, bool resting)
{
	struct rhost *h = s->host;
	struct rorder *sell = ref_list_find(&r->orders, ref_cell_at(h, s->start)->order);
	struct rlease *under = ref_list_find(&r->leases, ref_cell_at(h, s->start)->lease), *l;
	int64_t minutes = s->end - s->start, price = ref_trade_price(buy, sell);

	if (under && under->interruptible) {
		ref_lease_interrupt(r, under, s->start);
		under = ref_list_find(&r->leases, ref_cell_at(h, s->start)->lease);
	}
	if (under) {
		under = ref_lease_split(r, under, s->start);
		ref_lease_split(r, under, s->end);
		under->sold_on = true;
	}
	l = ref_more(NULL, 1, sizeof *l);
	*l = (struct rlease){ .id = r->next_id++,
		.order = buy->id,
		.sell_order = sell->id,
		.host = h->id,
		.sku = h->sku,
		.parent = under ? under->id : 0,
		.buyer = buy->account,
		.seller = sell->account,
		.pool = buy->pool,
		.start = s->start,
		.end = s->end,
		.paid_end = s->end,
		.price = price,
		.token = buy->month ? buy->token : 0,
		.month = buy->month,
		.gift = trade_gift(buy, price) ? buy->gift : 0,
		.given = trade_gift(buy, price),
		.settled = s->start,
		.interruptible = buy->flags & ORDER_INTERRUPTIBLE,
		.asked = ((struct rsku *)ref_list_find(&r->skus, h->sku))->asks && !(buy->flags & ORDER_UNVERIFIED) };
	l->came = trade_came(r, h, l);
	ref_list_add(&r->leases, l);
	ref_cells_cut(h, s->start);
	ref_cells_cut(h, s->end);
	for (size_t i = 0; i < h->cells; i++)
		if (h->cell[i].start >= s->start && h->cell[i].end <= s->end) {
			h->cell[i].pool = buy->pool;
			h->cell[i].lease = l->id;
			h->cell[i].order = l->interruptible ? sell->id : 0;
		}
	ref_cells_join(h);
	trade_money(r, buy, price, minutes, resting);
	ref_post_capacity(r, sell->pool, h->sku, -minutes);
	ref_post_capacity(r, buy->pool, h->sku, minutes);
	ref_transfer_done(r);
	buy->minutes += minutes;
	ref_rest_take(&buy->rest, s->start, s->end);
	sell->minutes = count_on(sell->minutes, minutes);
	sell->cost = count_on(sell->cost, price * minutes);
	sell->status = ORDER_PARTIALLY_FILLED;
	if (!ref_order_on_sale(r, sell))
		ref_order_close(r, sell, ORDER_FILLED, 0);
}

static void trade_all(struct reference *r, struct rorder *buy, const struct plan *p, bool resting)
{
	for (size_t i = 0; i < p->n; i++)
		trade(r, buy, &p->at[i], resting);
}

/* ---- Buys ------------------------------------------------------------------------------- */

/* Why a buy with this plan does not fill whole. */
static int why_unfilled(struct reference *r, const struct rorder *buy, const struct plan *plan)
{
	struct plan high;
	int reason;

	ref_plan_buy(r, buy, PRICE_TOP, &high);
	reason = high.minutes > plan->minutes ? REASON_PRICE_TOO_LOW : REASON_NO_CAPACITY;
	ref_plan_release(&high);
	return reason;
}

/* What its grant pays for all that the plan takes. */
static wide plan_gift(struct reference *r, const struct rorder *buy, const struct plan *plan)
{
	wide sum = 0;

	for (size_t i = 0; i < plan->n; i++) {
		const struct slice *s = &plan->at[i];
		const struct rorder *sell = ref_list_find(&r->orders, ref_cell_at(s->host, s->start)->order);

		sum += (wide)trade_gift(buy, ref_trade_price(buy, sell)) * (s->end - s->start);
	}
	return sum;
}

static int buy_refused(struct reference *r, const struct rorder *buy, const struct plan *plan, int why, int64_t hold)
{
	const struct raccount *a = ref_list_find(&r->accounts, buy->account), *payer;
	const struct rgrant *g = ref_list_find(&r->grants, buy->gift);
	wide gift = plan_gift(r, buy, plan), cost = plan->cost - gift;

	if (buy->flags & ORDER_EXTEND) {
		if (plan->near < buy->nodes)
			return REASON_NOT_OWNED;
		if (plan->minutes == 0)
			return why == REASON_PRICE_TOO_LOW ? why : REASON_HOSTS_SOLD;
	}
	if (buy->max_total > 0 && cost + hold > buy->max_total)
		return REASON_OVER_MAX_TOTAL;
	if (cost + hold > (wide)ref_available(r, a->id) - a->floor)
		return REASON_FUNDS;
	payer = g ? ref_list_find(&r->accounts, g->sponsor) : NULL;
	if (gift && (g->spent + gift > g->max || gift > (wide)ref_available(r, payer->id) - payer->floor))
		return REASON_FUNDS;
	return ref_may_spend(r, buy->token, buy->month, cost + hold) ? 0 : REASON_OVER_CAP;
}

/* Places a buy that takes all of this plan and is filled by it. */
void ref_order_take(struct reference *r, const struct rorder *draft, const struct plan *plan)
{
	struct rorder o = *draft;

	o.id = r->next_id++;
	o.rest = (struct rests){ 0 };
	trade_all(r, &o, plan, false);
	order_note(r, &o, ORDER_FILLED, 0);
	free(o.rest.at);
}

/*
 * Places a buy that is well formed. *unfilled: why it was not filled whole, or 0. With only_if_fills
 * (for procurements) nothing is placed where nothing would fill, and the reason is the answer.
 */
int ref_order_buy(struct reference *r, const struct rorder *draft, bool only_if_fills, int *unfilled)
{
	struct rorder *o = ref_more(NULL, 1, sizeof *o);
	int64_t wanted = (int64_t)draft->nodes * (draft->end - draft->start), hold = 0;
	struct plan plan;
	int why = 0, rc;

	*o = *draft;
	o->id = r->next_id;
	o->rest = (struct rests){ 0 };
	rest_add(&o->rest, o->start, o->end, o->nodes);
	ref_plan_buy(r, o, o->price, &plan);
	if (plan.minutes < wanted)
		why = why_unfilled(r, o, &plan);
	if (o->flags & ORDER_STANDING)
		hold = o->price * (wanted - plan.minutes);
	o->part = ref_tariff_part(r, o, plan.cost);
	rc = only_if_fills && plan.minutes == 0 ? why : buy_refused(r, o, &plan, why, hold);
	if (rc) {
		free(o->rest.at);
		free(o);
		ref_plan_release(&plan);
		return rc;
	}
	r->next_id++;
	trade_all(r, o, &plan, false);
	ref_plan_release(&plan);
	*unfilled = why;
	if (why && (o->flags & ORDER_STANDING)) {
		ref_order_hold(r, o, hold);
		o->status = o->minutes ? ORDER_PARTIALLY_FILLED : ORDER_RESTING;
		ref_list_add(&r->orders, o);
		return 0;
	}
	order_note(r, o, why ? ORDER_CANCELLED : ORDER_FILLED, why);
	free(o->rest.at);
	free(o);
	return 0;
}

static int resting_order(const void *a, const void *b)
{
	const struct rorder *x = *(struct rorder *const *)a, *y = *(struct rorder *const *)b;

	if (x->price != y->price)
		return x->price > y->price ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

/* One pass over the resting buys of a SKU. None of them goes away but by its own turn. */
void ref_try_resting(struct reference *r, uint64_t sku)
{
	struct rorder **buy = ref_more(NULL, r->orders.n + 1, sizeof *buy);
	size_t n = 0;

	ref_mark_add(&r->tried, sku);
	for (size_t i = 0; i < r->orders.n; i++) {
		struct rorder *o = r->orders.at[i];

		if (o->side == SIDE_BUY && o->sku == sku)
			buy[n++] = o;
	}
	qsort(buy, n, sizeof *buy, resting_order);
	for (size_t i = 0; i < n; i++) {
		struct plan plan;

		ref_plan_buy(r, buy[i], buy[i]->price, &plan);
		trade_all(r, buy[i], &plan, true);
		ref_plan_release(&plan);
		if (buy[i]->rest.n == 0)
			ref_order_close(r, buy[i], ORDER_FILLED, 0);
		else if (buy[i]->minutes)
			buy[i]->status = ORDER_PARTIALLY_FILLED;
	}
	free(buy);
}

void ref_try_wanted(struct reference *r)
{
	for (;;) {
		uint64_t sku = 0;
		size_t at = 0;

		for (size_t i = 0; i < r->wanted.n; i++)
			if (!ref_mark_has(&r->tried, r->wanted.at[i]) && (sku == 0 || r->wanted.at[i] < sku)) {
				sku = r->wanted.at[i];
				at = i;
			}
		if (sku == 0)
			break;
		r->wanted.at[at] = r->wanted.at[--r->wanted.n];
		ref_try_resting(r, sku);
	}
	r->wanted.n = 0;
}

/* ---- Sells ------------------------------------------------------------------------------ */

struct give { struct rhost *host; int weight; };

static int give_order(const void *a, const void *b)
{
	const struct give *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight - y->weight;
	return x->host->id > y->host->id ? -1 : 1;
}

/* Hosts of a SKU (0: any) that `may` lets pass, in the order in which a pool gives them away. */
size_t ref_hosts_to_give(struct reference *r, uint64_t pool, uint64_t sku, struct rhost **out,
	bool (*may)(struct reference *r, struct rhost *h, const void *arg), const void *arg)
{
	struct give *give = ref_more(NULL, r->hosts.n + 1, sizeof *give);
	size_t n = 0;

	for (size_t i = 0; i < r->hosts.n; i++) {
		struct rhost *h = r->hosts.at[i];
		int weight = 0;

		if ((sku && h->sku != sku) || !may(r, h, arg))
			continue;
		for (size_t j = 0; j < r->instances.n; j++) {
			const struct rinstance *in = r->instances.at[j];

			if (in->pool == pool && in->host == h->id && ref_instance_lives(in))
				weight = 1 + in->priority;
		}
		give[n++] = (struct give){ h, weight };
	}
	qsort(give, n, sizeof *give, give_order);
	for (size_t i = 0; i < n; i++)
		out[i] = give[i].host;
	free(give);
	return n;
}

static bool sellable(struct reference *r, struct rhost *h, const void *arg)
{
	const struct rorder *o = arg;

	if (o->host && o->host != h->id)
		return false;
	if (h->drain && h->pool == o->pool && o->end > h->drain)
		return false;
	if (h->pool == o->pool && o->price < h->floor)
		return false;
	for (int64_t t = o->start; t < o->end; ) {
		const struct cell *c = ref_cell_at(h, t);
		const struct rlease *l = c ? ref_list_find(&r->leases, c->lease) : NULL;

		if (!c || c->pool != o->pool || c->order || c->lost || (l && (l->interruptible || l->gift)))
			return false;
		t = c->end;
	}
	return true;
}

/* Places a sell that is well formed. */
int ref_order_sell(struct reference *r, const struct rorder *draft)
{
	struct rhost **host = ref_more(NULL, r->hosts.n + 1, sizeof *host);
	size_t n = ref_hosts_to_give(r, draft->pool, draft->sku, host, sellable, draft);

	if (n < (size_t)draft->nodes) {
		struct rorder dear = *draft;

		dear.price = PRICE_TOP;
		n = ref_hosts_to_give(r, draft->pool, draft->sku, host, sellable, &dear);
		free(host);
		return n < (size_t)draft->nodes ? REASON_NOT_OWNED : REASON_BELOW_FLOOR;
	}
	ref_order_offer(r, draft, host);
	free(host);
	return 0;
}

/* Places a sell of these hosts, as many as it has nodes. */
void ref_order_offer(struct reference *r, const struct rorder *draft, struct rhost **host)
{
	struct rorder *o = ref_more(NULL, 1, sizeof *o);
	uint64_t id;

	*o = *draft;
	o->rest = (struct rests){ 0 };
	id = o->id = o->place = r->next_id++;
	o->status = ORDER_RESTING;
	ref_list_add(&r->orders, o);
	for (size_t i = 0; i < (size_t)o->nodes; i++) {
		ref_cells_cut(host[i], o->start);
		ref_cells_cut(host[i], o->end);
		for (size_t j = 0; j < host[i]->cells; j++)
			if (host[i]->cell[j].start >= o->start && host[i]->cell[j].end <= o->end)
				host[i]->cell[j].order = id;
		ref_cells_join(host[i]);
	}
	ref_try_resting(r, draft->sku);
	o = ref_list_find(&r->orders, id);
	if (o && !(o->flags & ORDER_STANDING))
		ref_order_close(r, o, ORDER_CANCELLED, REASON_NO_BUYER);
}
