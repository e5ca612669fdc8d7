/* SPDX-License-Identifier: Apache-2.0 */
#include "caps.h"

#include <stdlib.h>
#include <time.h>

static struct cap_row *caps_row(struct caps *c, uint64_t id)
{
	if (id >= c->count) {
		size_t count = 2 * id + 64;

		c->by_id = reallocarray(c->by_id, count, sizeof *c->by_id);
		if (!c->by_id)
			abort();
		for (size_t i = c->count; i < count; i++)
			c->by_id[i] = (struct cap_row){ 0 };
		c->count = count;
	}
	return &c->by_id[id];
}

/* Those who pay for what a token buys have spent so much more. */
static void caps_add(struct caps *c, uint64_t token, int64_t amount)
{
	uint64_t whom[] = { token, token ? caps_row(c, token)->person : 0 };

	for (int i = 0; i < 2; i++) {
		struct cap_row *x = caps_row(c, whom[i]);

		if (!whom[i])
			continue;
		x->spent += amount;
		x->spends = x->spends || amount > 0;
	}
}

/* What it costs and holds. What comes back counts in the month in which it was spent, and that may be over. */
static void caps_order(struct caps *c, const struct order *o)
{
	struct cap_row *row = caps_row(c, o->id);
	int64_t cost = o->filled_cost + o->hold, more = cost - row->cost;

	if (o->side != SIDE_BUY)
		return;
	if (!row->month) { /* of a market of long ago, nothing counts */
		row->token = o->token;
		row->month = c->rules < 3 ? -1 : c->month;
	}
	caps_row(c, o->id)->cost = cost;
	if (more && row->month == c->month)
		caps_add(c, row->token, more);
}

static void caps_back(struct caps *c, const struct notice *n)
{
	const struct cap_row *order = caps_row(c, caps_row(c, n->subject)->order);

	if (order->month && order->month == c->month)
		caps_add(c, order->token, -n->amount);
}

static void caps_effect(struct caps *c, const struct event *ev, const struct effect *x)
{
	if (x->kind == EFFECT_MADE && ev->kind == EVENT_TOKEN)
		caps_row(c, x->u.made)->person = ev->u.token.person;
	if (x->kind == EFFECT_POSTING && ev->kind == EVENT_SUBSCRIPTION && x->u.posting.owner == ev->account &&
		c->rules >= 3)
		caps_add(c, ev->token, -x->u.posting.amount); /* the fee of a plan */
	if (x->kind == EFFECT_ORDER)
		caps_order(c, &x->u.order);
	if (x->kind == EFFECT_LEASE) {
		caps_row(c, x->u.lease.lease.order);
		caps_row(c, x->u.lease.lease.id)->order = x->u.lease.lease.order;
	}
	if (x->kind == EFFECT_NOTICE &&
		(x->u.notice.kind == NOTICE_REFUNDED || x->u.notice.kind == NOTICE_INTERRUPTED ||
			x->u.notice.kind == NOTICE_RELEASED || x->u.notice.kind == NOTICE_SHORTENED))
		caps_back(c, &x->u.notice);
}

static int64_t caps_month(int64_t minute)
{
	time_t at = (time_t)(60 * minute);
	struct tm utc;

	gmtime_r(&at, &utc);
	return 12 * utc.tm_year + utc.tm_mon + 1;
}

/* A new month, in which nobody has spent anything. Of a tick into it nobody knows what was spent before the turn. */
static void caps_turn(struct caps *c)
{
	int64_t month = caps_month(c->minute);

	for (size_t i = 0; month != c->month && i < c->count; i++) {
		c->by_id[i].spent = 0;
		c->by_id[i].spends = false;
	}
	c->month = month;
}

/* Each token of who is removed may spend what that person still might. */
static void caps_leave(struct caps *c, uint64_t id)
{
	struct cap_row person = *caps_row(c, id);

	for (size_t i = 0; i < c->count; i++) {
		struct cap_row *x = &c->by_id[i];

		if (x->person != id)
			continue;
		x->person = 0;
		if (!person.capped)
			continue;
		x->cap = x->capped && x->cap < person.cap ? x->cap : person.cap;
		x->capped = true;
		x->spent = person.spent;
	}
}

const char *caps_look(struct caps *c, const struct event *ev, const struct effects *did)
{
	const char *wrong = NULL;

	if (ev->kind == EVENT_RULES)
		c->rules = ev->u.rules.edition;
	if (ev->kind == EVENT_TICK)
		c->minute = ev->u.tick.minute;
	if (c->month != caps_month(c->minute))
		c->month = -1;
	for (size_t i = 0; i < did->count; i++)
		caps_effect(c, ev, &did->list[i]);
	caps_turn(c);
	for (size_t i = 0; i < c->count; i++) {
		struct cap_row *x = &c->by_id[i];

		if (x->spends && x->capped && x->spent > x->cap)
			wrong = "somebody spent more in a month than they may";
		c->met += x->spends && x->capped;
		x->spends = false;
	}
	if (ev->kind == EVENT_CAP) {
		caps_row(c, ev->subject)->capped = ev->u.cap.micros >= 0;
		caps_row(c, ev->subject)->cap = ev->u.cap.micros;
	}
	if (ev->kind == EVENT_PERSON_REMOVE)
		caps_leave(c, ev->subject);
	return wrong;
}

void caps_release(struct caps *c)
{
	free(c->by_id);
	*c = (struct caps){ 0 };
}
