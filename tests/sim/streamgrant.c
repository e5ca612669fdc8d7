/* SPDX-License-Identifier: Apache-2.0 */
/* Random grants, buys that they pay for, and what is known of accounts. See stream.h. */
#include <string.h>

#include "stream.h"

enum { GRANTS_MOST = 90 }; /* in a world, as it remembers those that ended */

static const struct rgrant *grant_some(struct stream *s, uint64_t account)
{
	const struct list *all = &s->r->grants;

	for (int i = 0; i < 8 && all->n; i++) {
		const struct rgrant *g = all->at[rng_below(&s->gifts, (int64_t)all->n)];

		if (!account || (g->account == account && !g->ended))
			return g;
	}
	return NULL;
}

static void do_grant(struct stream *s, struct event *ev)
{
	const struct list *people = &s->r->accounts;
	const struct raccount *a = people->at[rng_below(&s->gifts, (int64_t)people->n)];
	const struct raccount *b = people->at[rng_below(&s->gifts, (int64_t)people->n)];
	const struct rgrant *old = grant_some(s, a->id);
	static const char *const names[] = { "study", "open source", "school" };

	if (old && rng_percent(&s->gifts, 15)) {
		if (rng_percent(&s->gifts, 20))
			old = grant_some(s, 0);
		*ev = (struct event){ .kind = EVENT_GRANT_END,
			.at = rng_percent(&s->gifts, 6) ? s->at - 1 : ev->at,
			.account = old->account,
			.subject = old->id };
		return;
	}
	if (a == b || s->r->grants.n >= GRANTS_MOST)
		return;
	*ev = (struct event){ .kind = EVENT_GRANT,
		.at = ev->at,
		.account = a->id,
		.name = names[rng_below(&s->gifts, 3)],
		.u.grant = { .sponsor = b->id, .max = s->profile->price * (1 + rng_below(&s->gifts, 4000)) } };
	if (rng_percent(&s->gifts, 40))
		ev->u.grant.until = s->r->minute + 1 + rng_below(&s->gifts, 90);
}

static void do_facts(struct stream *s, struct event *ev)
{
	const struct list *people = &s->r->accounts;
	const struct raccount *a = people->at[rng_below(&s->gifts, (int64_t)people->n)];

	*ev = (struct event){ .kind = EVENT_ACCOUNT_FACTS,
		.at = ev->at,
		.account = a->id,
		.text = rng_percent(&s->gifts, 30) ? NULL : "{\"reputation_score\":\"51\"}" };
}

/* All of the price, nearly all, a part that does not divide it, next to nothing. */
static int32_t grant_part(struct stream *s)
{
	static const int32_t parts[] = { 1000000, 999999, 500000, 333333, 1 };

	return parts[rng_below(&s->gifts, sizeof parts / sizeof *parts)];
}

void stream_grants(struct stream *s, struct event *ev)
{
	const struct rgrant *g;

	if (ev->kind == EVENT_RULES || s->step <= 26 || !s->r->accounts.n)
		return;
	if (ev->kind == EVENT_ORDER && ev->u.order.side == SIDE_BUY) {
		g = grant_some(s, ev->account);
		if (!g || !rng_percent(&s->gifts, 50))
			return;
		ev->u.order.grant = g->id;
		ev->u.order.granted = grant_part(s);
		ev->u.order.flags &= ~ORDER_STANDING;
	} else if (rng_percent(&s->gifts, s->r->grants.n < 6 ? 8 : 2)) {
		do_grant(s, ev);
	} else if (rng_percent(&s->gifts, 1)) {
		do_facts(s, ev);
	}
}

static char facts_long[FACTS_BYTES + 2];

static void spoil_grant(struct stream *s, struct event *ev)
{
	switch (rng_below(&s->gifts, 6)) {
	case 0:
		ev->u.grant.sponsor = ev->account;
		break;
	case 1:
		ev->u.grant.sponsor = s->r->next_id;
		break;
	case 2:
		ev->u.grant.max = 0;
		break;
	case 3:
		ev->u.grant.until = rng_percent(&s->gifts, 50) ? s->r->minute : MINUTE_MAX + 1;
		break;
	case 4:
		ev->name = "";
		break;
	default:
		ev->account = s->r->next_id;
		break;
	}
}

static void spoil_granted(struct stream *s, struct event *ev)
{
	const struct rgrant *g = grant_some(s, 0);

	switch (rng_below(&s->gifts, 5)) {
	case 0:
		ev->u.order.granted = rng_percent(&s->gifts, 50) ? -1 : 1000001;
		break;
	case 1:
		ev->u.order.granted = 0;
		break;
	case 2:
		ev->u.order.flags |= ORDER_STANDING;
		break;
	case 3:
		ev->u.order.flags |= ORDER_GRANTED;
		break;
	default:
		ev->u.order.grant = g ? g->id : s->r->next_id;
		break;
	}
}

bool stream_grants_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind == EVENT_GRANT) {
		spoil_grant(s, ev);
	} else if (ev->kind == EVENT_ORDER && ev->u.order.grant && rng_percent(&s->gifts, 60)) {
		spoil_granted(s, ev);
	} else if (ev->kind == EVENT_GRANT_END) {
		const struct rgrant *g = grant_some(s, 0);

		ev->subject = 1 + (uint64_t)rng_below(&s->gifts, (int64_t)s->r->next_id);
		if (g && rng_percent(&s->gifts, 70)) {
			ev->account = g->account;
			ev->subject = g->id;
		}
	} else if (ev->kind == EVENT_ACCOUNT_FACTS) {
		memset(facts_long, 'f', sizeof facts_long - 1);
		ev->text = facts_long;
	} else {
		return false;
	}
	return true;
}
