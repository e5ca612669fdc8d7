/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of the reference market: who pays for which month, and what the months pay. See reference.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static const int64_t most = 500000000000000000;

/* The month that a minute is in: how many minutes of it have passed, and how many it has. */
static void month_of(int64_t minute, int64_t *passed, int64_t *all)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int64_t day = minute / 1440;
	int year = 1970, m = 0, n;

	for (;;) {
		n = m == 1 && ((year % 4 == 0 && year % 100) || year % 400 == 0) ? 29 : days[m];
		if (day < n)
			break;
		day -= n;
		m = (m + 1) % 12;
		year += m == 0;
	}
	*all = 1440 * n;
	*passed = 1440 * day + minute % 1440;
}

/* Of a whole month's money, what is for the rest of this one. */
static int64_t rest_of(const struct reference *r, int64_t money)
{
	int64_t passed, all;

	month_of(r->minute, &passed, &all);
	return (int64_t)((wide)money * (all - passed) / all);
}

static int64_t over_at(const struct reference *r)
{
	int64_t passed, all;

	month_of(r->minute, &passed, &all);
	return r->minute - passed + all;
}

static bool can_count(int64_t money)
{
	return money >= 0 && money <= most;
}

int ref_tariff(struct reference *r, const struct event *ev)
{
	struct rtariff *t = ref_list_find(&r->tariffs, ev->subject);

	if (!ref_list_find(&r->accounts, ev->account) || (ev->subject && (!t || t->account != ev->account)) ||
		(ev->u.plan.sku && !ref_list_find(&r->skus, ev->u.plan.sku)))
		return REASON_NOT_FOUND;
	if ((ev->name ? !ref_name_ok(ev->name) : !t) || !can_count(ev->u.plan.fee) || !can_count(ev->u.plan.included) ||
		!can_count(ev->u.plan.rates) || ev->u.plan.state < 0 || ev->u.plan.state > 1 ||
		(t && t->sku != ev->u.plan.sku))
		return REASON_INVALID;
	for (size_t i = 0; !t && i < r->tariffs.n; i++)
		if (strcmp(((struct rtariff *)r->tariffs.at[i])->name, ev->name) == 0)
			return REASON_NAME_TAKEN;
	if (!t) {
		t = ref_more(NULL, 1, sizeof *t);
		*t = (struct rtariff){ .id = r->next_id++, .account = ev->account, .name = ref_text(ev->name) };
		t->sku = ev->u.plan.sku;
		ref_list_add(&r->tariffs, t);
	}
	t->fee = ev->u.plan.fee;
	t->included = ev->u.plan.included;
	t->rates = ev->u.plan.rates;
	t->state = ev->u.plan.state;
	return 0;
}

static struct rsubscription *has(const struct reference *r, uint64_t account)
{
	for (size_t i = 0; i < r->subscriptions.n; i++) {
		struct rsubscription *s = r->subscriptions.at[i];

		if (s->account == account)
			return s;
	}
	return NULL;
}

static bool suspended(const struct reference *r, uint64_t account)
{
	return ((const struct raccount *)ref_list_find(&r->accounts, account))->state == ACCOUNT_SUSPENDED;
}

static bool affords(const struct reference *r, uint64_t account, int64_t fee)
{
	const struct raccount *a = ref_list_find(&r->accounts, account);

	return fee == 0 || fee <= (wide)ref_available(r, account) - a->floor;
}

static void pay(struct reference *r, uint64_t from, uint64_t to, int64_t fee)
{
	ref_post(r, from, BOOK_AVAILABLE, 0, -fee);
	ref_post(r, to, BOOK_AVAILABLE, 0, fee);
	ref_transfer_done(r);
}

static void terms(struct rsubscription *s, const struct rtariff *t)
{
	s->plan = s->next = t->id;
	s->fee = s->next_fee = t->fee;
	s->included = t->included;
	s->rates = t->rates;
}

static void new_month(struct reference *r, struct rsubscription *s, const struct rtariff *t)
{
	struct rgrant *g = ref_more(NULL, 1, sizeof *g);

	terms(s, t);
	*g = (struct rgrant){ .id = r->next_id++, .account = s->account, .sponsor = t->account, .plan = t->id };
	g->name = ref_text(t->name);
	g->units = rest_of(r, t->included);
	g->max = g->units + rest_of(r, t->rates);
	g->until = over_at(r);
	ref_list_add(&r->grants, g);
	s->grant = g->id;
	pay(r, s->account, t->account, rest_of(r, t->fee));
}

/* Dearer, and nothing of it less; of the seller and for the type that it has, in a month that is paid. */
static bool better(const struct reference *r, const struct rsubscription *s, const struct rtariff *t)
{
	const struct rtariff *now = ref_list_find(&r->tariffs, s->plan);

	return s->plan != t->id && t->fee > s->fee && t->included >= s->included && t->rates >= s->rates &&
		now->account == t->account && now->sku == t->sku &&
		((const struct rgrant *)ref_list_find(&r->grants, s->grant))->until > r->minute;
}

static void more_of(struct reference *r, struct rsubscription *s, const struct rtariff *t)
{
	struct rgrant *g = ref_list_find(&r->grants, s->grant);
	int64_t units = rest_of(r, t->included - s->included);

	free(g->name);
	g->name = ref_text(t->name);
	g->plan = t->id;
	g->units += units;
	g->max += units + rest_of(r, t->rates - s->rates);
	pay(r, s->account, t->account, rest_of(r, t->fee - s->fee));
	terms(s, t);
}

static int not_allowed(const struct reference *r, const struct event *ev, const struct rsubscription *s,
	const struct rtariff *t, int64_t fee)
{
	if (suspended(r, ev->account))
		return REASON_SUSPENDED;
	if (!t)
		return REASON_NOT_FOUND;
	if ((s && s->next == t->id && s->next_fee == t->fee) || (t->state && !(s && s->plan == t->id)) ||
		suspended(r, t->account))
		return REASON_WRONG_STATE;
	if (t->account == ev->account)
		return REASON_INVALID;
	if (!affords(r, ev->account, fee))
		return REASON_FUNDS;
	return t->fee == 0 || ref_may_spend(r, ev->token, ref_month(r, ev->token), t->fee) ? 0 : REASON_OVER_CAP;
}

int ref_subscription(struct reference *r, const struct event *ev)
{
	struct rsubscription *s = has(r, ev->account);
	const struct rtariff *t = ref_list_find(&r->tariffs, ev->subject);
	int64_t fee = 0;
	int rc;

	if (!ref_list_find(&r->accounts, ev->account) || (!ev->subject && !s))
		return REASON_NOT_FOUND;
	if (!ev->subject) {
		if (s->next == 0)
			return REASON_WRONG_STATE;
		s->next = 0;
		return 0;
	}
	if (t && !s)
		fee = rest_of(r, t->fee);
	else if (t && better(r, s, t))
		fee = rest_of(r, t->fee - s->fee);
	rc = not_allowed(r, ev, s, t, fee);
	if (rc)
		return rc;
	ref_spend(r, ev->token, ref_month(r, ev->token), fee);
	if (s && better(r, s, t)) {
		more_of(r, s, t);
	} else if (s) {
		s->next = t->id;
		s->next_fee = t->fee;
	} else {
		s = ref_more(NULL, 1, sizeof *s);
		*s = (struct rsubscription){ .id = r->next_id++, .account = ev->account };
		ref_list_add(&r->subscriptions, s);
		new_month(r, s, t);
	}
	return 0;
}

/* What the month after this one costs and gives; why it is not to be, or 0. */
static int next_month(const struct reference *r, const struct rsubscription *s, struct rtariff *next)
{
	const struct rtariff *t = ref_list_find(&r->tariffs, s->next);

	*next = (struct rtariff){ 0 };
	if (!t)
		return 0;
	*next = *t;
	if (s->next == s->plan && s->next_fee == s->fee &&
		(t->fee > s->fee || t->included < s->included || t->rates < s->rates)) {
		next->fee = s->fee;
		next->included = s->included;
		next->rates = s->rates;
	}
	return suspended(r, s->account) || suspended(r, t->account) ? REASON_SUSPENDED
		: next->fee > s->next_fee                           ? REASON_PRICE_TOO_LOW
		: affords(r, s->account, next->fee)                 ? 0
								    : REASON_FUNDS;
}

void ref_month_turns(struct reference *r, int64_t now)
{
	int64_t passed, all;

	if (!r->subscriptions.n)
		return;
	month_of(r->minute, &passed, &all);
	if (passed || now >= 60 * (r->minute + all))
		return;
	for (size_t i = 0; i < r->subscriptions.n;) {
		struct rsubscription *s = r->subscriptions.at[i];
		struct rgrant *g = ref_list_find(&r->grants, s->grant);
		struct rtariff t;
		int why = next_month(r, s, &t);

		g->ended = true;
		if (s->next && !why) {
			new_month(r, s, &t);
			i++;
		} else {
			ref_list_drop(&r->subscriptions, s);
		}
	}
}

/* What is included pays all of a price while it lasts; then the rest of the grant pays the part that was asked for. */
int32_t ref_tariff_part(const struct reference *r, const struct rorder *buy, wide cost)
{
	const struct rgrant *g = ref_list_find(&r->grants, buy->gift);
	wide units, rates;

	if (!g || !g->plan)
		return buy->part;
	if (cost == 0)
		return 0;
	units = g->spent < g->units ? g->units - g->spent : 0;
	if (units > cost)
		units = cost;
	rates = (cost - units) * buy->part / 1000000;
	if (units + rates > g->max - g->spent)
		rates = g->max - g->spent - units;
	return (int32_t)((units + rates) * 1000000 / cost);
}

void ref_tariffs_dump(const struct reference *r, struct buf *out)
{
	struct rtariff next;
	int why;

	for (size_t i = 0; i < r->tariffs.n; i++) {
		const struct rtariff *t = r->tariffs.at[i];

		buf_addf(out, "plan %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %d %s\n",
			t->id, t->account, t->sku, t->fee, t->included, t->rates, t->state, t->name);
	}
	for (size_t i = 0; i < r->subscriptions.n; i++) {
		const struct rsubscription *s = r->subscriptions.at[i];

		buf_addf(out, "subscription %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, s->id,
			s->account, s->plan, s->next, s->grant);
		buf_addf(out, " %" PRId64 " %" PRId64 " %" PRId64, s->fee, s->included, s->rates);
		why = next_month(r, s, &next);
		buf_addf(out, " %" PRId64 " %d\n", next.fee, why);
	}
	for (size_t i = 0; i < r->grants.n; i++) {
		const struct rgrant *g = r->grants.at[i];

		if (g->plan)
			buf_addf(out, "month %" PRIu64 " %" PRIu64 " %" PRId64 "\n", g->id, g->plan, g->units);
	}
}

void ref_tariffs_free(struct reference *r)
{
	for (size_t i = 0; i < r->tariffs.n; i++)
		free(((struct rtariff *)r->tariffs.at[i])->name);
}
