/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/money/cap.h"

#include "base/buf.h"
#include "base/str.h"
#include "market/money.h"
#include "market/reason.h"

enum { DAY = 1440 };

/* ---- Months --------------------------------------------------------------------------------- */

/* Days before the first of March of a year that begins in March, counted from that of year 0. */
static int64_t cap_days(int64_t year)
{
	return 365 * year + year / 4 - year / 100 + year / 400;
}

int64_t cap_month_start(int64_t month)
{
	int64_t year = 1970 + (month - 1) / 12, m = (month - 1) % 12; /* January is 0 */
	int64_t since_march = m < 2 ? m + 10 : m - 2;

	return DAY * (cap_days(m < 2 ? year - 1 : year) + (153 * since_march + 2) / 5 - cap_days(1969) - 306);
}

int64_t cap_month(int64_t minute)
{
	int64_t month = minute / (365 * DAY / 12 + DAY / 2); /* not too late; an early one is few months away */

	month = month > 0 ? month : 1;
	while (cap_month_start(month + 1) <= minute)
		month++;
	return month;
}

/* ---- Counting ------------------------------------------------------------------------------- */

/* Those for whom a token's buys count, each at most once. */
struct cap_whom {
	struct spending *list[2];
	size_t count;
};

static struct cap_whom cap_whom(const struct engine *e, uint64_t token)
{
	struct token *t = world_token(e, token);
	struct person *x = t ? world_person(e, t->person) : NULL;
	struct cap_whom w = { 0 };

	if (t)
		w.list[w.count++] = &t->spending;
	if (x)
		w.list[w.count++] = &x->spending;
	return w;
}

bool cap_is_of(const struct engine *e, uint64_t token, const struct spending *s)
{
	struct cap_whom w = cap_whom(e, token);

	return (w.count > 0 && w.list[0] == s) || (w.count > 1 && w.list[1] == s);
}

int64_t cap_counts(const struct engine *e, uint64_t token)
{
	return e->rules >= 3 && world_token(e, token) ? cap_month(e->minute) : 0;
}

int64_t cap_spent(const struct engine *e, const struct spending *s)
{
	return s->spent && s->month == cap_month(e->minute) ? s->spent : 0;
}

static int64_t cap_left_of(const struct engine *e, const struct spending *s)
{
	int64_t spent = cap_spent(e, s), most = s->capped ? s->cap : MONEY_MAX;

	return spent < most ? most - spent : 0;
}

int64_t cap_left(const struct engine *e, uint64_t token, int64_t month)
{
	struct cap_whom w = month ? cap_whom(e, token) : (struct cap_whom){ 0 };
	int64_t left = INT64_MAX;

	for (size_t i = 0; i < w.count; i++) {
		int64_t of = cap_left_of(e, w.list[i]);

		left = of < left ? of : left;
	}
	return left;
}

void cap_spend(struct engine *e, uint64_t token, int64_t month, int64_t amount)
{
	struct cap_whom w = { 0 };

	if (!amount || !month || month != cap_month(e->minute))
		return;
	w = cap_whom(e, token);
	for (size_t i = 0; i < w.count; i++) {
		struct spending *s = w.list[i];

		s->spent = sure_add(cap_spent(e, s), amount);
		s->month = month;
		ensure(s->spent >= 0, "more comes back than was spent");
	}
}

/* ---- Refusing ------------------------------------------------------------------------------- */

/* "Person 'ann' may spend $20 a month …": what is spent, when the month ends, who may change it, and how. */
static int cap_refuse(const struct engine *e, const struct token *t, const struct person *x, int64_t need,
	struct fail *why)
{
	static const char *const months[] = { "January", "February", "March", "April", "May", "June", "July", "August",
		"September", "October", "November", "December" };
	const struct spending *s = x ? &x->spending : &t->spending;
	const char *name = x ? x->name : t->name;
	char cap[MONEY_TEXT], spent[MONEY_TEXT], cost[MONEY_TEXT];
	int64_t month = cap_month(e->minute), enough = sure_add(cap_spent(e, s), need);
	struct buf who;
	int rc;

	if (!s->capped)
		return fail_set(why, REASON_OVER_CAP, "that is more than can be spent in a month");
	buf_init(&who, 4096);
	if (str_quote_sh(&who, *name ? name : "ID"))
		buf_clear(&who);
	rc = fail_set(why, REASON_OVER_CAP,
		"%s '%.64s' may spend %s a month, has spent %s of it, and this costs up to %s; the month begins anew "
		"on 1 %s (UTC); an owner of the account may raise the cap: nanopod %s cap %.100s %lld/month",
		x ? "person" : "token", name, money_text(s->cap, cap), money_text(cap_spent(e, s), spent),
		money_text(need, cost), months[month % 12], x ? "people" : "token", buf_text(&who),
		(long long)((enough + 999999) / 1000000));
	buf_release(&who);
	return rc;
}

int cap_check(const struct engine *e, const struct order *o, int64_t need, struct fail *why)
{
	const struct token *t = world_token(e, o->token);
	const struct person *x = t ? world_person(e, t->person) : NULL;

	if (!o->month || need <= cap_left(e, o->token, o->month))
		return 0;
	return cap_refuse(e, t, need > cap_left_of(e, &t->spending) ? NULL : x, need, why);
}

void cap_inherit(struct token *t, const struct person *x)
{
	const struct spending *s = &x->spending;

	if (!s->capped)
		return;
	t->spending = (struct spending){ .capped = true,
		.cap = t->spending.capped && t->spending.cap < s->cap ? t->spending.cap : s->cap,
		.month = s->month,
		.spent = s->spent };
}
