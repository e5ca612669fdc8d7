/* SPDX-License-Identifier: Apache-2.0 */
/* Payouts of the reference market: all that was ever earned is kept, by hour, and added up anew. See reference.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static void earn(struct reference *r, uint64_t account, int64_t money)
{
	if (r->rules < 4 || money <= 0)
		return;
	r->earning = ref_more(r->earning, r->earnings + 1, sizeof *r->earning);
	r->earning[r->earnings++] = (struct rearning){ .account = account, .hour = r->minute / 60, .money = money };
}

void ref_earn_volume(struct reference *r, uint64_t account, uint64_t owner, int64_t cost)
{
	if (ref_strangers(r, account, owner))
		earn(r, owner, cost - (int64_t)(((wide)cost * r->policy.fee_bps + 9999) / 10000));
}

/* kept: of the lease's price for so many minutes, before the fee; the part that a grant paid counts by whose it is. */
void ref_earn(struct reference *r, const struct rlease *l, int64_t minutes, int32_t bps, int64_t kept)
{
	const struct rgrant *g = ref_list_find(&r->grants, l->gift);
	int64_t fee = (int64_t)(((wide)kept * r->policy.fee_bps + 9999) / 10000), gave = l->given * minutes;

	if (g && !ref_strangers(r, g->sponsor, l->seller))
		kept -= gave - (int64_t)((wide)gave * bps / 10000);
	if (!l->parent)
		earn(r, l->seller, kept - fee);
}

static int64_t paid_to(const struct reference *r, uint64_t account)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->payouts.n; i++) {
		const struct rpayout *p = r->payouts.at[i];

		sum += p->account == account ? p->money - p->back : 0;
	}
	return sum;
}

static int64_t earned_by(const struct reference *r, uint64_t account, int64_t hold)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->earnings; i++)
		if (r->earning[i].account == account && (!hold || r->minute / 60 - r->earning[i].hour > hold))
			sum += r->earning[i].money;
	return sum;
}

static int64_t wasted_by(const struct reference *r, uint64_t account)
{
	return ((const struct raccount *)ref_list_find(&r->accounts, account))->wasted;
}

/* Who has less than was earned and not paid out has spent it for good. */
void ref_payouts_after(struct reference *r)
{
	for (size_t i = 0; i < r->accounts.n; i++) {
		struct raccount *a = r->accounts.at[i];
		int64_t left = earned_by(r, a->id, 0) - a->wasted - paid_to(r, a->id);
		int64_t has = ref_available(r, a->id) + ref_book_balance(r, a->id, BOOK_HELD, 0) +
			ref_book_balance(r, a->id, BOOK_ESCROW, 0);

		if (has < 0)
			has = 0;
		if (left > has)
			a->wasted += left - has;
	}
}

int64_t ref_payout_room(const struct reference *r, uint64_t account, int64_t hold)
{
	int64_t left = earned_by(r, account, hold) - wasted_by(r, account) - paid_to(r, account);

	if (left > ref_available(r, account))
		left = ref_available(r, account);
	return left < 0 ? 0 : left;
}

static void pay(struct reference *r, const struct rpayout *p, int from, int to, int64_t money)
{
	ref_post(r, from == BOOK_PAID ? 0 : p->account, from, 0, -money);
	ref_post(r, to == BOOK_PAID ? 0 : p->account, to, 0, money);
	ref_transfer_done(r);
}

static bool bad_texts(const struct event *ev)
{
	return (ev->name && !ref_name_ok(ev->name)) || (ev->text && strlen(ev->text) > 255);
}

static int ask_payout(struct reference *r, const struct event *ev)
{
	const struct raccount *a = ref_list_find(&r->accounts, ev->account);
	int64_t money = ev->u.payout.micros;
	int32_t hold = ev->u.payout.hold;
	struct rpayout *p;

	if (a->state == ACCOUNT_SUSPENDED)
		return REASON_SUSPENDED;
	if (ev->u.payout.state || money <= 0 || hold < 0 || hold > 720 || bad_texts(ev))
		return REASON_INVALID;
	if (ref_payout_room(r, ev->account, hold) < money)
		return REASON_FUNDS;
	p = ref_more(NULL, 1, sizeof *p);
	*p = (struct rpayout){ .id = r->next_id++, .account = ev->account, .money = money, .name = ref_text(NULL) };
	ref_list_add(&r->payouts, p);
	pay(r, p, BOOK_AVAILABLE, BOOK_HELD, money);
	return 0;
}

static int send_payout(struct reference *r, const struct event *ev, struct rpayout *p)
{
	const wide most = 4000000000000000000;

	if (p->back) { /* it was cancelled */
		if ((wide)ref_available(r, p->account) - p->money < -most ||
			(wide)ref_book_balance(r, 0, BOOK_PAID, 0) + p->money > most)
			return REASON_OVERFLOW;
		p->back = 0;
		pay(r, p, BOOK_AVAILABLE, BOOK_PAID, p->money);
		ref_stop_buying(r, p->account);
	} else {
		pay(r, p, BOOK_HELD, BOOK_PAID, p->money);
	}
	p->state = 1;
	free(p->name);
	p->name = ref_text(ev->name);
	return 0;
}

int ref_payout(struct reference *r, const struct event *ev)
{
	struct rpayout *p = ref_list_find(&r->payouts, ev->subject);
	int64_t money = ev->u.payout.micros;

	if (!ref_list_find(&r->accounts, ev->account))
		return REASON_NOT_FOUND;
	if (!ev->subject)
		return ask_payout(r, ev);
	if (!p || p->account != ev->account)
		return REASON_NOT_FOUND;
	if (ev->u.payout.state == 1 && p->state != 0 && p->state != 3)
		return REASON_WRONG_STATE;
	if (ev->u.payout.state == 3 && p->state != 0)
		return REASON_WRONG_STATE;
	if (ev->u.payout.state != 1 && ev->u.payout.state != 3 && (p->state > 1 || (p->back && money <= p->back)))
		return REASON_WRONG_STATE;
	if (bad_texts(ev) || ev->u.payout.hold || ev->u.payout.state < 1 || ev->u.payout.state > 3)
		return REASON_INVALID;
	if (ev->u.payout.state == 1) {
		if (money)
			return REASON_INVALID;
		return send_payout(r, ev, p);
	}
	if (ev->u.payout.state == 3) {
		if (money)
			return REASON_INVALID;
		p->state = 3;
		p->back = p->money;
		pay(r, p, BOOK_HELD, BOOK_AVAILABLE, p->money);
		return 0;
	}
	if (money <= 0 || money > p->money || (!p->state && money < p->money))
		return REASON_INVALID;
	pay(r, p, p->state ? BOOK_PAID : BOOK_HELD, BOOK_AVAILABLE, money - p->back);
	p->back = money;
	if (money == p->money)
		p->state = 2;
	return 0;
}

void ref_payouts_dump(const struct reference *r, struct buf *out)
{
	for (size_t i = 0; i < r->accounts.n; i++) {
		const struct raccount *a = r->accounts.at[i];

		if (earned_by(r, a->id, 0) > a->wasted || paid_to(r, a->id))
			buf_addf(out, "income %" PRIu64 " %" PRId64 " %" PRId64 "\n", a->id,
				earned_by(r, a->id, 0) - a->wasted, paid_to(r, a->id));
	}
	for (size_t i = 0; i < r->payouts.n; i++) {
		const struct rpayout *p = r->payouts.at[i];

		buf_addf(out, "payout %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRId64 " %s\n", p->id, p->account,
			p->state, p->money, p->back, p->name);
	}
}
