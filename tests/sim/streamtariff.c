/* SPDX-License-Identifier: Apache-2.0 */
/* Random plans, who has them, and buys that they pay for, around the turn of a month. See stream.h. */
#include "stream.h"

enum { TARIFFS_MOST = 12, MONTH = 31 * 1440, DAYS_28 = 28 * 1440 };

static int64_t tariff_money(struct stream *s)
{
	return rng_percent(&s->tariffs, 15) ? 0 : s->profile->price * (1 + rng_below(&s->tariffs, 3000));
}

static const struct rtariff *tariff_some(struct stream *s)
{
	const struct list *all = &s->r->tariffs;

	return all->n ? all->at[rng_below(&s->tariffs, (int64_t)all->n)] : NULL;
}

static bool do_tariff(struct stream *s, struct event *ev)
{
	static const char *const names[] = { "basic", "pro", "team", "flat", "lab", "h1", "h2", "x", "y", "z" };
	const struct list *skus = &s->r->skus;
	const struct raccount *a = s->r->accounts.at[rng_below(&s->tariffs, (int64_t)s->r->accounts.n)];
	const struct rtariff *old = rng_percent(&s->tariffs, 40) ? tariff_some(s) : NULL;

	if (!old && s->r->tariffs.n >= TARIFFS_MOST)
		return false;
	if (s->r->tariffs.n && rng_percent(&s->tariffs, 70)) /* few sell many: so some are raised */
		a = ref_list_find(&s->r->accounts, ((const struct rtariff *)s->r->tariffs.at[0])->account);
	*ev = (struct event){ .kind = EVENT_PLAN,
		.at = ev->at,
		.account = old ? old->account : a->id,
		.subject = old ? old->id : 0,
		.name = names[rng_below(&s->tariffs, 10)] };
	ev->u.plan.sku = old ? old->sku
		: skus->n && rng_percent(&s->tariffs, 40)
		? *(const uint64_t *)skus->at[rng_below(&s->tariffs, (int64_t)skus->n)]
		: 0;
	ev->u.plan.fee = tariff_money(s);
	ev->u.plan.included = tariff_money(s);
	ev->u.plan.rates = tariff_money(s);
	ev->u.plan.state = rng_percent(&s->tariffs, 15);
	return true;
}

static bool do_subscription(struct stream *s, struct event *ev)
{
	const struct raccount *a = s->r->accounts.at[rng_below(&s->tariffs, (int64_t)s->r->accounts.n)];
	const struct rtariff *t = tariff_some(s);
	const struct rtoken *by = s->r->tokens.n && rng_percent(&s->tariffs, 60)
		? s->r->tokens.at[rng_below(&s->tariffs, (int64_t)s->r->tokens.n)]
		: NULL;

	if (!t)
		return false;
	*ev = (struct event){ .kind = EVENT_SUBSCRIPTION,
		.at = ev->at,
		.account = a->id,
		.token = by && by->account == a->id ? by->id : 0,
		.subject = rng_percent(&s->tariffs, 15) ? 0 : t->id };
	return true;
}

/* The month of which the account has a plan; of another, now and then. */
static const struct rgrant *tariff_month(struct stream *s, uint64_t account)
{
	const struct list *all = &s->r->grants;

	for (size_t i = all->n; i-- > 0;) {
		const struct rgrant *g = all->at[i];

		if (g->plan && g->account == account && (!g->ended || rng_percent(&s->tariffs, 5)))
			return g;
	}
	return NULL;
}

static void tariff_buys(struct stream *s, struct event *ev)
{
	static const int32_t parts[] = { 0, 0, 100000, 500000, 1, 1000000 };
	const struct rgrant *g = tariff_month(s, ev->account);

	if (!g || !rng_percent(&s->tariffs, ev->u.order.grant ? 20 : 70))
		return;
	ev->u.order.grant = g->id;
	ev->u.order.granted = parts[rng_below(&s->tariffs, sizeof parts / sizeof *parts)];
	ev->u.order.flags &= ~ORDER_STANDING;
}

void stream_tariffs(struct stream *s, struct event *ev)
{
	struct event other = { .at = ev->at };
	int64_t left = MONTH - s->r->minute;

	if (ev->kind == EVENT_RULES || s->step <= 26 || !s->r->accounts.n)
		return;
	if (ev->kind == EVENT_ORDER && ev->u.order.side == SIDE_BUY) {
		tariff_buys(s, ev);
	} else if (ev->kind == EVENT_TICK && s->turning && s->r->subscriptions.n && s->r->minute > DAYS_28 &&
		rng_percent(&s->tariffs, 3)) { /* months later, as a market that was down */
		ev->u.tick.minute = s->r->minute + 1 + rng_below(&s->tariffs, left > 0 ? left + 3 : 2 * MONTH);
		ev->at = ev->at > 60 * ev->u.tick.minute ? ev->at : 60 * ev->u.tick.minute;
	} else if ((rng_percent(&s->tariffs, s->r->tariffs.n < 3 ? 6 : 1) && do_tariff(s, &other)) ||
		(rng_percent(&s->tariffs, 6) && do_subscription(s, &other))) {
		*ev = other;
	}
}

static void spoil_tariff(struct stream *s, struct event *ev)
{
	const struct rtariff *t = tariff_some(s);

	switch (rng_below(&s->tariffs, 7)) {
	case 0:
		ev->u.plan.fee = rng_percent(&s->tariffs, 50) ? -1 : PAYMENT_MAX + 1;
		break;
	case 1:
		ev->u.plan.included = rng_percent(&s->tariffs, 50) ? -1 : PAYMENT_MAX + 1;
		break;
	case 2:
		ev->u.plan.rates = rng_percent(&s->tariffs, 50) ? -1 : PAYMENT_MAX + 1;
		break;
	case 3:
		ev->u.plan.state = rng_percent(&s->tariffs, 50) ? -1 : 2;
		break;
	case 4:
		ev->u.plan.sku = rng_percent(&s->tariffs, 50) ? s->r->next_id : 0;
		break;
	case 5:
		ev->name = rng_percent(&s->tariffs, 50) || !t ? "" : t->name;
		break;
	default:
		ev->subject = 1 + (uint64_t)rng_below(&s->tariffs, (int64_t)s->r->next_id);
		break;
	}
}

bool stream_tariffs_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind == EVENT_PLAN)
		spoil_tariff(s, ev);
	else if (ev->kind != EVENT_SUBSCRIPTION)
		return false;
	else if (rng_percent(&s->tariffs, 50))
		ev->account = s->r->next_id;
	else
		ev->subject = s->r->next_id;
	return true;
}
