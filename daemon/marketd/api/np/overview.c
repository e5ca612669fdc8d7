/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/np/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/money.h"
#include "marketd/store/watch.h"

void overview_release(struct overview *o)
{
	free(o->types);
	o->types = NULL;
	o->type_count = 0;
}

/* ---- Types ------------------------------------------------------------------------------ */

static int overview_begin_types(const struct engine *e, struct overview *o)
{
	size_t count = 0;

	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id))
		count++;
	o->types = calloc(count ? count : 1, sizeof *o->types);
	if (!o->types)
		return -ENOMEM;
	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id))
		o->types[o->type_count++].sku = s; /* in order of id */
	return 0;
}

static struct overview_type *overview_type_of(struct overview *o, uint64_t sku)
{
	size_t low = 0, high = o->type_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->types[middle].sku->id == sku)
			return &o->types[middle];
		if (o->types[middle].sku->id < sku)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The minutes of a piece that are in [from, from + length). */
static int64_t overview_overlap(const struct piece *p, int64_t from, int64_t length)
{
	int64_t start = p->start > from ? p->start : from, end = p->end < from + length ? p->end : from + length;

	return end > start ? end - start : 0;
}

static void overview_add_time(const struct piece *p, bool up, int64_t from, int64_t length, struct overview_time *t)
{
	int64_t minutes = overview_overlap(p, from, length);

	if (p->lease)
		t->sold += minutes;
	else if (p->order && up)
		t->on_sale += minutes;
}

static bool overview_sold_now(const struct host *h, int64_t minute)
{
	const struct piece *p = engine_piece_at(h, minute);

	return p && p->lease;
}

/* ---- Hosts and machines ------------------------------------------------------------------ */

/* Keeps those that have been away longest; an unknown time comes first. */
static void overview_add_away(struct overview *o, const struct overview_away *a)
{
	size_t at = o->away_count;

	o->away_total++;
	while (at > 0 && a->since < o->away[at - 1].since)
		at--;
	if (at == OVERVIEW_AWAY)
		return;
	o->away_count += o->away_count < OVERVIEW_AWAY;
	memmove(&o->away[at + 1], &o->away[at], (o->away_count - 1 - at) * sizeof *o->away);
	o->away[at] = *a;
}

static bool overview_silent(const struct api *api, const struct agent *a)
{
	return a && strcmp(api_agent_state(api, a), "silent") == 0;
}

static void overview_host(const struct api *api, const struct host *h, struct overview *o)
{
	const struct engine *e = market_engine(api->market);
	bool silent = h->agent && overview_silent(api, engine_agent(e, h->agent)), up = !h->down && !silent;
	struct overview_type *t = overview_type_of(o, h->sku);
	int64_t minute = engine_minute(e);

	if (silent) {
		o->hosts.silent++;
	} else if (h->down) {
		o->hosts.down++;
		overview_add_away(o,
			&(struct overview_away){ .host = h,
				.since = h->down_at,
				.hosts = 1,
				.sold = overview_sold_now(h, minute) });
	} else {
		o->hosts.up++;
		o->hosts.draining += h->drain != 0;
	}
	if (!t)
		return;
	t->hosts++;
	t->up += up;
	for (size_t i = 0; i < h->piece_count && h->pieces[i].start < minute + OVERVIEW_WEEK; i++) {
		overview_add_time(&h->pieces[i], !h->down, minute, 1, &t->now);
		overview_add_time(&h->pieces[i], !h->down, minute, OVERVIEW_DAY, &t->day);
		overview_add_time(&h->pieces[i], !h->down, minute, OVERVIEW_WEEK, &t->week);
	}
}

static void overview_add_machine(const struct api *api, const struct agent *a, struct overview *o)
{
	const struct engine *e = market_engine(api->market);
	const struct watched *w = watch_agent(api->watch, a->id);
	struct overview_away away = { .agent = a, .since = w ? w->heard_at : 0 };

	if (a->retired)
		return;
	if (!overview_silent(api, a)) {
		o->machines.joined += !a->generation;
		o->machines.up += a->generation != 0;
		return;
	}
	o->machines.silent++;
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		away.hosts++;
		away.sold += overview_sold_now(h, engine_minute(e));
		if (!(w && w->heard_at) && h->watched && h->down && h->down_at &&
			(!away.since || h->down_at < away.since))
			away.since = h->down_at; /* it was silent before this market started */
	}
	overview_add_away(o, &away);
}

/* ---- Accounts, orders, nodes ------------------------------------------------------------- */

static int64_t overview_sum(int64_t a, int64_t b)
{
	int64_t out;

	return money_add(a, b, &out) ? a : out;
}

static void overview_account(const struct engine *e, const struct account *a, struct overview *o)
{
	int64_t burn = engine_burn(e, a->id);
	const struct host *h = engine_host_after(e, a->id, 0);

	while (h && h->retired)
		h = engine_host_after(e, a->id, h->id);
	o->accounts++;
	o->suspended += a->state == ACCOUNT_SUSPENDED;
	o->buying += burn > 0;
	o->selling += h != NULL;
	o->available = overview_sum(o->available, a->available);
	o->held = overview_sum(o->held, a->held);
	o->escrow = overview_sum(o->escrow, a->escrow);
	o->per_minute = overview_sum(o->per_minute, burn);
}

static void overview_node(const struct engine *e, const struct instance *i, int64_t now, struct overview *o)
{
	int64_t since = watch_awaits(e, i);

	if (i->status == INSTANCE_RUNNING)
		o->nodes.running++;
	else if (i->status == INSTANCE_AWAITING && since)
		o->nodes.starting++;
	else if (i->status == INSTANCE_AWAITING)
		o->nodes.pending++;
	if (since && now - since > o->nodes.longest_start)
		o->nodes.longest_start = now - since;
}

int overview_count(const struct api *api, struct overview *out)
{
	const struct engine *e = market_engine(api->market);
	struct overview o = { 0 };

	if (overview_begin_types(e, &o))
		return -ENOMEM;
	for (const struct account *a = engine_account_after(e, 0); a; a = engine_account_after(e, a->id))
		overview_account(e, a, &o);
	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id))
		if (!h->retired)
			overview_host(api, h, &o);
	for (const struct agent *a = engine_agent_after(e, 0, 0); a; a = engine_agent_after(e, 0, a->id))
		overview_add_machine(api, a, &o);
	for (const struct order *x = engine_order_after(e, 0, 0); x; x = engine_order_after(e, 0, x->id)) {
		o.buys += x->side == SIDE_BUY;
		o.sells += x->side == SIDE_SELL;
	}
	for (const struct instance *i = engine_instance_after(e, 0, 0); i; i = engine_instance_after(e, 0, i->id))
		overview_node(e, i, market_now(api->market), &o);
	*out = o;
	return 0;
}
