/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine says beforehand is tried out: its quotes, and what it says would fill. See world.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

static bool __attribute__((format(printf, 2, 3))) oracle_wrong(struct world *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->wrong, sizeof w->wrong, fmt, ap);
	va_end(ap);
	return false;
}

void oracle_ask(struct world *w, const struct event *ev, struct promise *p)
{
	struct fail why = { .code = 0 };
	struct release_quote back = { .refund = -1 };

	*p = (struct promise){ .asked = false };
	if (ev->at < engine_at(w->eng))
		return;
	if (ev->kind == EVENT_ORDER && ev->u.order.pool) {
		p->asked = true;
		p->rc = engine_quote(w->eng, ev, &p->quote, &why);
		p->quote.cost -= p->quote.granted; /* rows say what the buyer itself paid */
	}
	if (ev->kind == EVENT_RELEASE) {
		p->asked = true;
		p->rc = engine_release_quote(w->eng, ev, &back, &why);
		p->quote.cost = back.refund;
		free(back.hosts);
	}
}

/* The last row of the order that this event made; NULL where it made none. */
static const struct order *order_made(const struct effects *did)
{
	uint64_t made = effects_made(did);
	const struct order *o = NULL;

	for (size_t i = 0; i < did->count; i++)
		if (did->list[i].kind == EFFECT_ORDER && did->list[i].u.order.id == made)
			o = &did->list[i].u.order;
	return o;
}

/* Money that came back to an account in this event, less what it paid. */
static int64_t came_back(const struct effects *did, uint64_t account, enum book book)
{
	int64_t sum = 0;

	for (size_t i = 0; i < did->count; i++) {
		const struct posting *p = &did->list[i].u.posting;

		if (did->list[i].kind == EFFECT_POSTING && p->owner == account && p->book == book && p->asset == 0)
			sum += p->amount;
	}
	return sum;
}

static bool release_held(struct world *w, const struct event *ev, const struct promise *p)
{
	int64_t back = came_back(&w->did, ev->account, BOOK_AVAILABLE);
	/* Nothing else moved this account's money: none of its resting orders filled, and no share is its own. */
	bool alone = true;

	for (size_t i = 0; i < w->did.count; i++) {
		const struct effect *e = &w->did.list[i];

		if (e->kind == EFFECT_LEASE && (e->u.lease.is_new || e->u.lease.lease.seller == ev->account))
			alone = false;
	}
	if (alone && back != p->quote.cost)
		return oracle_wrong(w, "release: %" PRId64 " was said, %" PRId64 " came back", p->quote.cost, back);
	return true;
}

bool oracle_held(struct world *w, const struct event *ev, const struct promise *p)
{
	bool done = engine_count(w->eng) > 0 && w->did.count > 0 && effects_made(&w->did) != 0;
	const struct order *o;

	if (ev->kind == EVENT_RELEASE)
		return p->rc || release_held(w, ev, p);
	o = done ? order_made(&w->did) : NULL;
	if (!o || ev->u.order.side != SIDE_BUY || p->rc || (ev->u.order.flags & ORDER_STANDING))
		return true;
	if (o->status == ORDER_FILLED && (o->filled_cost != p->quote.cost || p->quote.nodes != ev->u.order.nodes))
		return oracle_wrong(w, "quote: %" PRId64 " for %d nodes was said, %" PRId64 " was paid", p->quote.cost,
			p->quote.nodes, o->filled_cost);
	if (o->status == ORDER_FILLED && p->quote.price > ev->u.order.price)
		return oracle_wrong(w, "quote: price %" PRId64 " was said for a limit of %" PRId64, p->quote.price,
			ev->u.order.price);
	return true;
}

/* ---- What would fill -------------------------------------------------------------------- */

static bool fills(struct world *w, const struct buf *state, const struct event *ev, const char *what)
{
	struct effects did;
	struct engine *e;
	struct fail why = { .code = 0 };
	const struct order *o;
	bool good;

	effects_init(&did);
	if (engine_load(&e, state->data, state->len, &why) != 0)
		abort();
	good = engine_apply(e, ev, &did, &why) == 0;
	o = good ? order_made(&did) : NULL;
	if (good && (!o || o->status != ORDER_FILLED))
		good = oracle_wrong(w, "engine_diagnose: with another %s it does not fill (reason %d)", what,
			o ? o->reason : 0);
	else if (!good)
		oracle_wrong(w, "engine_diagnose: with another %s it is refused (%s)", what, why.text);
	engine_free(e);
	effects_release(&did);
	return good;
}

/* For a buy of the whole: each alternative that engine_diagnose() offers, taken, fills. */
bool oracle_why(struct world *w, const struct event *ev)
{
	struct diagnosis why = { .reason = 0 };
	struct event other;
	struct buf state;
	bool good = true;

	if (ev->kind != EVENT_ORDER || ev->u.order.side != SIDE_BUY || ev->u.order.pool == 0 ||
		ev->at < engine_at(w->eng) || (ev->u.order.flags & ORDER_PARTIAL) || ev->u.order.procurement)
		return true;
	engine_diagnose(w->eng, ev, &why);
	if (!why.has_price && !why.has_nodes && !why.has_start && !why.has_end)
		return true;
	buf_init(&state, WORLD_TEXT);
	if (engine_save(w->eng, &state) != 0)
		abort();
	other = *ev;
	other.u.order.price = why.price;
	good = good && (!why.has_price || fills(w, &state, &other, "price"));
	other = *ev;
	other.u.order.nodes = why.nodes;
	good = good && (!why.has_nodes || fills(w, &state, &other, "number of nodes"));
	other = *ev;
	other.u.order.start = why.start;
	other.u.order.end = why.start + (ev->u.order.end - ev->u.order.start);
	good = good && (!why.has_start || fills(w, &state, &other, "start"));
	other = *ev;
	other.u.order.end = why.end;
	good = good && (!why.has_end || fills(w, &state, &other, "end"));
	buf_release(&state);
	return good;
}
