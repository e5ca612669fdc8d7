/* SPDX-License-Identifier: Apache-2.0 */
#include "tariffs.h"

#include <stdlib.h>
#include <time.h>

#include "market/reason.h"

static struct tariff_row *tariffs_row(struct tariffs *t, uint64_t id)
{
	if (id >= t->count) {
		size_t count = 2 * id + 64;

		t->by_id = reallocarray(t->by_id, count, sizeof *t->by_id);
		if (!t->by_id)
			abort();
		for (size_t i = t->count; i < count; i++)
			t->by_id[i] = (struct tariff_row){ 0 };
		t->count = count;
	}
	return &t->by_id[id];
}

static int64_t tariffs_month(int64_t minute)
{
	time_t at = (time_t)(60 * minute);
	struct tm utc;

	gmtime_r(&at, &utc);
	return 12 * utc.tm_year + utc.tm_mon + 1;
}

static int64_t tariffs_more(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What the ledger says of the money that a month cost. */
static const char *tariffs_fee(struct tariffs *t, const struct notice *n, const struct effects *did)
{
	int64_t from = 0, to = 0;

	for (size_t i = 0; i < did->count; i++) {
		const struct posting *p = &did->list[i].u.posting;

		if (did->list[i].kind != EFFECT_POSTING || p->subject != n->other || p->book != BOOK_AVAILABLE)
			continue;
		if (p->owner == tariffs_row(t, n->subject)->sponsor)
			to += p->amount;
		if (p->owner != n->account)
			continue;
		from -= p->amount;
		if (p->balance < tariffs_row(t, n->account)->floor)
			return "the fee of a plan took an account below its floor";
	}
	return from == n->amount && to == n->amount ? NULL : "the ledger and the news disagree on the fee of a plan";
}

/* The turn of a month does what was shown before it; only what the balance covers can change with the last minutes. */
static const char *tariffs_turned(struct tariffs *t, const struct notice *n)
{
	struct tariff_row *a = tariffs_row(t, n->account);
	bool ends = a->ends && a->ends != REASON_FUNDS;

	if (!t->turns || !a->waits)
		return NULL;
	a->waits = false;
	if (!a->full)
		return "a month of a plan includes more than any plan that it was";
	t->shown += a->shown > 0;
	if (n->amount != (n->kind == NOTICE_PLAN_ENDED ? 0 : a->shown))
		return "the next month of a plan has another fee than was shown";
	if (n->kind == NOTICE_PLAN_PAID)
		return ends ? "a month of a plan was paid that was shown not to be" : NULL;
	return n->code == a->ends || (!ends && n->code == REASON_FUNDS)
		? NULL
		: "a plan lapsed for another reason than was shown";
}

void tariffs_shown(struct tariffs *t, const struct engine *e, const struct event *ev)
{
	const struct grant *g;

	t->turns = ev->kind == EVENT_TICK && tariffs_month(ev->u.tick.minute) != tariffs_month(t->minute);
	for (size_t id = 0; t->turns && id < t->count; id++) {
		struct tariff_row *a = &t->by_id[id];

		a->waits = a->has;
		if (!a->has)
			continue;
		a->shown = engine_plan_next_fee(e, id, &a->ends);
		g = engine_grant(e, engine_subscription_of(e, id)->grant);
		a->full = g->max <= t->by_id[g->id].most;
	}
}

static const char *tariffs_paid(struct tariffs *t, const struct notice *n, const struct effects *did)
{
	const struct tariff_row plan = *tariffs_row(t, n->subject);
	const char *wrong = tariffs_fee(t, n, did);
	int64_t month = tariffs_month(n->minute - 1);
	struct tariff_row *a = tariffs_row(t, n->account), *g;

	a->paid = (a->month == month ? a->paid : 0) + n->amount;
	a->dearest = tariffs_more(a->month == month ? a->dearest : 0, a->agreed);
	a->month = month;
	a->has = true;
	if (t->turns && 60 * n->minute <= t->at)
		return "somebody paid for a month of a plan in which the market was down";
	if (n->amount > a->agreed)
		return "a month of a plan costs more than was agreed";
	if (a->paid > a->dearest)
		return "somebody paid the fee of a plan twice in a month";
	g = tariffs_row(t, n->other);
	if (g->of && g->of != month)
		return "a month of a plan is paid as another";
	g->account = n->account;
	g->of = month;
	g->sponsor = plan.sponsor;
	g->most = tariffs_more(g->most, plan.included + plan.rates); /* a dearer plan has more in all, not both */
	t->paid++;
	return wrong;
}

static const char *tariffs_notice(struct tariffs *t, const struct notice *n, const struct effects *did)
{
	const char *wrong = NULL;

	if (n->kind == NOTICE_PLAN_PAID || n->kind == NOTICE_PLAN_LAPSED || n->kind == NOTICE_PLAN_ENDED)
		wrong = tariffs_turned(t, n);
	if (wrong)
		return wrong;
	if (n->kind == NOTICE_PLAN_PAID)
		return tariffs_paid(t, n, did);
	if (n->kind == NOTICE_PLAN_LAPSED || n->kind == NOTICE_PLAN_ENDED)
		tariffs_row(t, n->account)->has = false;
	t->lapsed += n->kind == NOTICE_PLAN_LAPSED;
	return NULL;
}

static const char *tariffs_lease(struct tariffs *t, const struct lease *l, bool is_new, const struct effects *did)
{
	int64_t sum = 0;

	tariffs_row(t, l->id)->grant = l->grant;
	tariffs_row(t, l->id)->seller = l->seller;
	if (!is_new || !l->grant || !tariffs_row(t, l->grant)->of)
		return NULL;
	t->used++;
	if (tariffs_row(t, l->grant)->account != l->buyer || !tariffs_row(t, l->buyer)->has)
		return "a plan paid for somebody who does not have it";
	if (tariffs_row(t, l->grant)->of != tariffs_month(t->minute))
		return "what a month of a plan includes was used in another";
	for (size_t i = 0; i < did->count; i++) {
		const struct posting *p = &did->list[i].u.posting;

		if (did->list[i].kind == EFFECT_POSTING && p->subject == l->id && !p->asset && p->book == BOOK_ESCROW)
			sum += p->amount;
	}
	return sum == l->price * (l->end - l->start) ? NULL : "buyer and plan did not pay what a node costs";
}

static const char *tariffs_posting(struct tariffs *t, const struct posting *p)
{
	const struct tariff_row *l = tariffs_row(t, p->subject);
	struct tariff_row *g = tariffs_row(t, l->grant);

	if (!l->grant || !g->of || p->asset || p->book != BOOK_AVAILABLE || p->owner != g->sponsor ||
		p->owner == l->seller)
		return NULL;
	g->net -= p->amount;
	return g->net < 0 || g->net > g->most ? "a month of a plan pays more than the plan says, or gets more back"
					      : NULL;
}

const char *tariffs_look(struct tariffs *t, const struct event *ev, const struct effects *did)
{
	uint64_t made = effects_made(did);
	const char *wrong = NULL;

	t->at = ev->at;
	if (ev->kind == EVENT_TICK)
		t->minute = ev->u.tick.minute;
	if (ev->kind == EVENT_ACCOUNT)
		tariffs_row(t, made)->floor = ev->u.account.floor;
	if (ev->kind == EVENT_ACCOUNT_STATE)
		tariffs_row(t, ev->account)->floor = ev->u.account_state.floor;
	if (ev->kind == EVENT_SUBSCRIPTION && ev->subject)
		tariffs_row(t, ev->account)->agreed = tariffs_row(t, ev->subject)->fee;
	if (ev->kind == EVENT_PLAN) {
		struct tariff_row *plan = tariffs_row(t, ev->subject ? ev->subject : made);

		plan->sponsor = ev->account;
		plan->fee = ev->u.plan.fee;
		plan->included = tariffs_more(plan->included,
			ev->u.plan.included); /* the most ever: older months keep theirs */
		plan->rates = tariffs_more(plan->rates, ev->u.plan.rates);
	}
	for (size_t i = 0; !wrong && i < did->count; i++)
		if (did->list[i].kind == EFFECT_LEASE)
			wrong = tariffs_lease(t, &did->list[i].u.lease.lease, did->list[i].u.lease.is_new, did);
	for (size_t i = 0; !wrong && i < did->count; i++) {
		if (did->list[i].kind == EFFECT_POSTING)
			wrong = tariffs_posting(t, &did->list[i].u.posting);
		else if (did->list[i].kind == EFFECT_NOTICE)
			wrong = tariffs_notice(t, &did->list[i].u.notice, did);
	}
	return wrong;
}

void tariffs_release(struct tariffs *t)
{
	free(t->by_id);
	*t = (struct tariffs){ 0 };
}
