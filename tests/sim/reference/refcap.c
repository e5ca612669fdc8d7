/* SPDX-License-Identifier: Apache-2.0 */
/* What tokens and people of the reference market may spend in a month, from a list of what was. See reference.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "ref.h"

static const int64_t money_top = 4000000000000000000;

static bool leap(int year)
{
	return (year % 4 == 0 && year % 100) || year % 400 == 0;
}

/* January 1970 is 1. */
static int64_t month_now(const struct reference *r)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int64_t day = r->minute / 1440, month = 1;
	int year = 1970, m = 0;

	for (int n; day >= (n = days[m] + (m == 1 && leap(year))); month++) {
		day -= n;
		m = (m + 1) % 12;
		year += m == 0;
	}
	return month;
}

int64_t ref_month(const struct reference *r, uint64_t token)
{
	return r->rules > 2 && ref_list_find(&r->tokens, token) ? month_now(r) : 0;
}

void ref_spend(struct reference *r, uint64_t token, int64_t month, int64_t amount)
{
	if (!month || month != month_now(r) || !amount)
		return;
	for (size_t i = 0; i < r->spents; i++)
		if (r->spent[i].token == token && r->spent[i].month == month) {
			r->spent[i].amount += amount;
			return;
		}
	r->spent = ref_more(r->spent, r->spents + 1, sizeof *r->spent);
	r->spent[r->spents++] = (struct rspent){ token, month, amount };
}

static uint64_t person_of(const struct reference *r, uint64_t token)
{
	const struct rtoken *t = ref_list_find(&r->tokens, token);

	return t && ref_list_find(&r->people, t->person) ? t->person : 0;
}

/* By a token, or by all tokens of a person. */
static wide spent(const struct reference *r, uint64_t whom)
{
	wide sum = 0;

	for (size_t i = 0; i < r->spents; i++)
		if (r->spent[i].month == month_now(r) &&
			(r->spent[i].token == whom || person_of(r, r->spent[i].token) == whom))
			sum += r->spent[i].amount;
	return sum;
}

static struct rcap *cap_for(const struct reference *r, uint64_t whom)
{
	for (size_t i = 0; i < r->caps; i++)
		if (r->cap[i].whom == whom)
			return &r->cap[i];
	return NULL;
}

static wide room(const struct reference *r, uint64_t whom)
{
	const struct rcap *c = cap_for(r, whom);
	wide left = (c ? c->most : money_top) - spent(r, whom);

	return left < 0 ? 0 : left;
}

bool ref_may_spend(const struct reference *r, uint64_t token, int64_t month, wide amount)
{
	uint64_t person = person_of(r, token);

	return !month || (amount <= room(r, token) && (!person || amount <= room(r, person)));
}

static void end_buys(struct reference *r, uint64_t account, uint64_t whom)
{
	for (size_t i = 0; i < r->orders.n;) {
		struct rorder *o = r->orders.at[i];

		if (o->account == account && o->side == SIDE_BUY && o->month &&
			(o->token == whom || person_of(r, o->token) == whom))
			ref_order_close(r, o, ORDER_CANCELLED, REASON_OVER_CAP);
		else
			i++;
	}
}

static void cap_put(struct reference *r, uint64_t whom, int64_t most)
{
	r->cap = ref_more(r->cap, r->caps + 1, sizeof *r->cap);
	r->cap[r->caps++] = (struct rcap){ whom, most };
}

void ref_caps_leave(struct reference *r, uint64_t person)
{
	const struct rcap *c = cap_for(r, person);
	int64_t most = c ? c->most : 0;
	wide all = spent(r, person);

	for (size_t i = 0; c && i < r->tokens.n; i++) {
		const struct rtoken *t = r->tokens.at[i];
		struct rcap *own = cap_for(r, t->id);

		if (t->person != person)
			continue;
		if (own)
			own->most = own->most < most ? own->most : most;
		else
			cap_put(r, t->id, most);
		ref_spend(r, t->id, month_now(r), (int64_t)(all - spent(r, t->id)));
	}
}

int ref_cap(struct reference *r, const struct event *ev)
{
	const struct rtoken *t = ref_list_find(&r->tokens, ev->subject);
	const struct rperson *x = ref_list_find(&r->people, ev->subject);
	int64_t most = ev->u.cap.micros;
	struct rcap *c = cap_for(r, ev->subject);

	if (!ref_list_find(&r->accounts, ev->account) || (!t && !x) || (t ? t->account : x->account) != ev->account)
		return REASON_NOT_FOUND;
	if (t && t->revoked)
		return REASON_WRONG_STATE;
	if (most < -1 || most > money_top)
		return REASON_INVALID;
	if (c)
		*c = r->cap[--r->caps];
	if (most < 0)
		return 0;
	cap_put(r, ev->subject, most);
	if (most == 0 || spent(r, ev->subject) > most)
		end_buys(r, ev->account, ev->subject);
	return 0;
}

static void dump_of(const struct reference *r, const struct list *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		uint64_t id = *(const uint64_t *)l->at[i];

		if (cap_for(r, id))
			buf_addf(out, "cap %" PRIu64 " %" PRId64 "\n", id, cap_for(r, id)->most);
		if (spent(r, id))
			buf_addf(out, "spent %" PRIu64 " %" PRId64 "\n", id, (int64_t)spent(r, id));
	}
}

void ref_caps_dump(const struct reference *r, struct buf *out)
{
	dump_of(r, &r->tokens, out);
	dump_of(r, &r->people, out);
	for (size_t i = 0; i < r->orders.n; i++) {
		const struct rorder *o = r->orders.at[i];

		if (o->month)
			buf_addf(out, "counts %" PRIu64 " %" PRIu64 " %" PRId64 "\n", o->id, o->token, o->month);
	}
	for (size_t i = 0; i < r->leases.n; i++) {
		const struct rlease *l = r->leases.at[i];

		if (l->month)
			buf_addf(out, "counts %" PRIu64 " %" PRIu64 " %" PRId64 "\n", l->id, l->token, l->month);
	}
	for (size_t i = 0; i < r->procurements.n; i++) {
		const struct rprocurement *p = r->procurements.at[i];

		if (p->token)
			buf_addf(out, "started %" PRIu64 " %" PRIu64 "\n", p->id, p->token);
	}
}
