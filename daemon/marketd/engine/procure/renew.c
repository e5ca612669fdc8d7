/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/procure/renew.h"

#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/buy.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/match.h"
#include "marketd/engine/procure/round.h"
#include "marketd/engine/rules/sell.h"

/* Minutes in which the pool lacks (has too many) nodes: always as many. */
struct run {
	int64_t start, end;
	int32_t nodes;
};

/* A host that the pool has until the run, and for how long it can go on with it. */
struct near {
	struct live_host *live;
	const struct instance *node; /* NULL: none is on it */
	int64_t end;
	bool taken;
};

/* As many as one order may be for. */
static int32_t renew_most(int64_t price, int64_t minutes, int32_t nodes)
{
	int64_t most = price ? INT64_MAX / (price * minutes) : NODES_MAX;

	most = most < NODES_MAX ? most : NODES_MAX;
	return nodes < most ? nodes : (int32_t)most;
}

static struct want renew_want(const struct live_order *o, bool stays)
{
	struct want w;

	want_of(&w, o, UINT64_MAX);
	w.procures = true;
	w.stays = stays;
	return w;
}

/* What the pool keeps, surveyed once until it changes, and how far a walk through it has come. */
struct levels {
	struct steps steps;
	size_t at;
};

static void levels_drop(struct levels *v)
{
	free(v->steps.list);
	*v = (struct levels){ 0 };
}

/*
 * The first run from `from` on, which only grows, in which too few (buy), or too many are kept. `cut`: where a host
 * ends, so does it.
 */
static bool run_find(const struct round *r, struct levels *v, enum side side, int64_t from, bool cut, struct run *out)
{
	const struct steps *s = &v->steps;
	bool found = false;

	if (!s->count)
		v->steps = round_survey(r);
	while (v->at < s->count && round_level_end(r, s, v->at) <= from)
		v->at++;
	for (size_t i = v->at; i < s->count && s->list[i].at < r->end; i++) {
		int32_t keeps = s->list[i].own - s->list[i].sale;
		int32_t nodes = side == SIDE_BUY ? r->target - keeps : keeps - r->target;
		int64_t start = s->list[i].at > from ? s->list[i].at : from, end = round_level_end(r, s, i);

		if (found && (start != out->end || nodes != out->nodes || (cut && s->list[i].ends)))
			break;
		if (end <= from || nodes <= 0)
			continue;
		if (!found)
			*out = (struct run){ .start = start, .nodes = nodes };
		out->end = end;
		found = true;
	}
	return found && (side == SIDE_SELL || out->start < r->window_end);
}

/* ---- The hosts that the pool has ------------------------------------------------------------ */

static int near_cmp(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	if (!x->node != !y->node)
		return x->node ? -1 : 1;
	if (x->node && x->node->priority != y->node->priority)
		return x->node->priority > y->node->priority ? -1 : 1;
	if (x->node)
		return x->node->id < y->node->id ? -1 : x->node->id > y->node->id;
	return x->live->pub.id < y->live->pub.id ? -1 : x->live->pub.id > y->live->pub.id;
}

/* The pool's instances that have no host in this minute. */
static int32_t renew_homeless(const struct round *r, int64_t minute)
{
	const struct instance *x;
	int32_t n = 0;

	for (size_t at = 0; (x = rank_next(&world_pool(r->e, r->p->pool)->instances, &at));) {
		const struct live_host *h = world_host(r->e, x->host);

		if (x->sku == r->p->sku)
			n += !h || !calendar_owned(h, x->pool, minute);
	}
	return n;
}

/* Hosts that the pool has in the minute before the run, not in its first, and can have; in order of preference. */
static size_t near_list(const struct round *r, const struct run *run, struct near **out)
{
	const struct live_pool *d = world_pool(r->e, r->p->pool);
	struct live_order t = round_order(r, SIDE_BUY, run->start, run->end, 1);
	struct want w = renew_want(&t, true);
	struct near *list = NULL;
	size_t count = 0, cap = 0, most = (size_t)renew_homeless(r, run->start);

	most = most < (size_t)run->nodes ? most : (size_t)run->nodes;
	for (size_t i = 0; i < d->holding_count && most; i++) {
		struct live_host *h = d->holdings[i].live;
		const struct instance *x = world_instance(r->e, h->instance);
		int64_t end;

		if (h->pub.sku != r->p->sku || d->holdings[i].until < run->start ||
			!calendar_owned(h, d->pub.id, run->start - 1))
			continue;
		end = match_reach(r->e, &w, h);
		if (end == run->start)
			continue;
		must_room(list, count, cap);
		list[count++] = (struct near){ .live = h, .node = x && x->pool == d->pub.id ? x : NULL, .end = end };
	}
	if (count > 1)
		qsort(list, count, sizeof *list, near_cmp);
	*out = list;
	return count < most ? count : most;
}

/* As many of them, in order, as the funds cover. *all: that is all of them. */
static size_t near_affordable(const struct round *r, const struct run *run, const struct near *list, size_t count,
	bool *all)
{
	int32_t reason;
	int64_t funds = round_funds(r, &reason);
	struct live_order t = round_order(r, SIDE_BUY, run->start, run->end, 1);
	size_t n = 0;

	for (; n < count; n++) {
		struct want w = renew_want(&t, false);

		w.end = list[n].end;
		funds -= match_cost(&w, list[n].live);
		if (funds < 0)
			break;
	}
	*all = n == count;
	return n;
}

static void renew_buy(struct round *r, struct live_order *o)
{
	o->pub.hold = 0;
	r->e->plan.rest_count = 0;
	buy_do(r->e, o, &r->e->plan);
}

/* One order for those that go on until the same minute. */
static void near_buy(struct round *r, const struct run *run, struct near *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct live_order t = round_order(r, SIDE_BUY, run->start, list[i].end, 1);
		struct want w = renew_want(&t, false);
		int32_t most = renew_most(t.pub.price, list[i].end - run->start, NODES_MAX), n = 0;

		if (list[i].taken)
			continue;
		plan_clear(&r->e->plan);
		for (size_t k = i; k < count && n < most; k++) {
			if (list[k].taken || list[k].end != list[i].end)
				continue;
			plan_host(&r->e->plan, &w, list[k].live);
			list[k].taken = true;
			n++;
		}
		t.pub.nodes = n;
		renew_buy(r, &t);
	}
}

/* Whether it bought any. */
static bool near_run(struct round *r, const struct run *run)
{
	struct near *list;
	size_t count = near_list(r, run, &list), some;
	bool all;

	some = near_affordable(r, run, list, count, &all);
	if (!all && run->end > r->window_end) {
		for (size_t i = 0; i < count; i++)
			list[i].end = list[i].end < r->window_end ? list[i].end : r->window_end;
		some = near_affordable(r, run, list, count, &all);
	}
	near_buy(r, run, list, some);
	free(list);
	return some > 0;
}

bool renew_hosts(struct engine *e, struct procurement *p)
{
	struct round r = round_of(e, p);
	bool open = world_account(e, p->account)->pub.state == ACCOUNT_OPEN;
	struct levels v = { 0 };
	struct run run;
	bool still;

	if (r.start >= r.end)
		return true;
	still = !round_cancel_excess(&r) && !p->reason && !run_find(&r, &v, SIDE_SELL, r.start, false, &run);
	v.at = 0;
	for (int64_t at = r.start; run_find(&r, &v, SIDE_BUY, at, true, &run); at = run.end) {
		still = false;
		if (open && near_run(&r, &run))
			levels_drop(&v);
	}
	levels_drop(&v);
	return still;
}

/* ---- Other hosts ------------------------------------------------------------------------ */

enum placed { PLACED, PLACED_NOTHING, PLACED_TOO_DEAR };

/* The best hosts for all of the run, else the one that goes on longest; up to `end`. */
static enum placed rest_try(struct round *r, const struct run *run, int64_t end, int32_t *dear)
{
	int64_t funds = round_funds(r, dear);
	int32_t nodes = renew_most(r->p->max_buy, end - run->start, run->nodes);
	struct live_order t = round_order(r, SIDE_BUY, run->start, end, nodes);
	struct want w = renew_want(&t, false);
	struct plan *plan = &r->e->plan;
	size_t found = match_some(r->e, &w, plan), n = found;

	if (!found) {
		n = found = match_longest(r->e, &w, plan);
		t.pub.nodes = 1;
		t.pub.end = w.end;
	}
	if (!found)
		return PLACED_NOTHING;
	if (plan->cost > funds && end > r->window_end)
		return rest_try(r, run, r->window_end, dear);
	while (n && plan->cost > funds)
		plan_drop(plan, --n);
	if (!n)
		return PLACED_TOO_DEAR;
	t.pub.nodes = (int32_t)n;
	renew_buy(r, &t);
	return PLACED;
}

static void rest_buy(struct round *r)
{
	struct levels v = { 0 };
	int64_t at = r->start;
	struct run run;

	while (run_find(r, &v, SIDE_BUY, at, false, &run)) {
		struct live_order t = round_order(r, SIDE_BUY, run.start, run.end, 1);
		struct want w = renew_want(&t, false);
		int32_t dear;
		enum placed done = rest_try(r, &run, run.end, &dear);

		at = run.start;
		if (done == PLACED) {
			levels_drop(&v);
			continue;
		}
		if (done == PLACED_TOO_DEAR)
			round_keep_reason(r, dear);
		else
			round_keep_reason(r, match_any(r->e, &w) ? REASON_PRICE_TOO_LOW : REASON_NO_CAPACITY);
		at = done == PLACED_TOO_DEAR ? run.end : match_next(r->e, &w, &r->e->plan);
	}
	levels_drop(&v);
}

/* ---- What is too much ------------------------------------------------------------------- */

static bool sellable_piece(const struct piece *p, uint64_t pool)
{
	return p->pool == pool && !p->order && !p->interruptible && !p->granted;
}

/* Until when the pool can sell the host from `at` on. */
static int64_t sellable_end(const struct live_host *h, uint64_t pool, int64_t at, int64_t end)
{
	for (size_t i = calendar_find(h, at); i < h->pub.piece_count && at < end; i++) {
		const struct piece *p = &h->pub.pieces[i];

		if (p->start > at || !sellable_piece(p, pool))
			break;
		at = p->end;
	}
	return at < end ? at : end;
}

/* The first minute after the start of the run in which some host could be sold. */
static int64_t sellable_next(const struct round *r, const struct run *run)
{
	const struct live_pool *d = world_pool(r->e, r->p->pool);
	int64_t next = run->end;

	for (size_t i = 0; i < d->holding_count; i++) {
		const struct live_host *h = d->holdings[i].live;

		if (h->pub.sku != r->p->sku)
			continue;
		for (size_t k = calendar_find(h, run->start); k < h->pub.piece_count; k++) {
			const struct piece *p = &h->pub.pieces[k];

			if (p->start > run->start && p->start < next && sellable_piece(p, d->pub.id))
				next = p->start;
		}
	}
	return next;
}

/* Of the hosts that would be missed least, those that can be sold as long as the first of them. */
static bool sell_some(struct round *r, const struct run *run)
{
	const struct live_pool *d = world_pool(r->e, r->p->pool);
	struct pick hosts = { 0 };
	struct live_order t;
	int64_t end;
	size_t n = 0;
	int32_t most;

	for (size_t i = 0; i < d->holding_count; i++) {
		struct live_host *h = d->holdings[i].live;

		if (h->pub.sku != r->p->sku || sellable_end(h, d->pub.id, run->start, run->end) == run->start)
			continue;
		must_room(hosts.list, hosts.count, hosts.cap);
		hosts.list[hosts.count++] = h;
	}
	if (!hosts.count)
		return false;
	pick_sort(&hosts, r->e, d->pub.id);
	end = sellable_end(hosts.list[0], d->pub.id, run->start, run->end);
	most = renew_most(r->p->min_sell, end - run->start, run->nodes);
	for (size_t i = 0; i < hosts.count && i < (size_t)most; i++)
		if (sellable_end(hosts.list[i], d->pub.id, run->start, run->end) == end)
			hosts.list[n++] = hosts.list[i];
	hosts.count = n;
	t = round_order(r, SIDE_SELL, run->start, end, (int32_t)n);
	sell_do(r->e, &t, &hosts);
	pick_release(&hosts);
	return true;
}

static void rest_sell(struct round *r)
{
	struct levels v = { 0 };
	int64_t at = r->start;
	struct run run;

	while (run_find(r, &v, SIDE_SELL, at, false, &run)) {
		at = run.start;
		if (sell_some(r, &run)) {
			levels_drop(&v);
			continue;
		}
		round_keep_reason(r, REASON_NOT_OWNED);
		at = sellable_next(r, &run);
	}
	levels_drop(&v);
}

void renew_rest(struct engine *e, struct procurement *p)
{
	struct round r = round_of(e, p);

	if (r.start >= r.end)
		return;
	if (world_account(e, p->account)->pub.state == ACCOUNT_OPEN)
		rest_buy(&r);
	rest_sell(&r);
	round_tell(&r);
}
