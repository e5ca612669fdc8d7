/* SPDX-License-Identifier: Apache-2.0 */
/* Debts of the reference market: all accounts are looked at after each event and minute. See reference.h. */
#include <inttypes.h>

#include "ref.h"

/* Whether it has spent more than it had: nothing that its orders hold is spent. */
static bool overspent(const struct reference *r, const struct raccount *a)
{
	int64_t has = ref_available(r, a->id);

	for (size_t i = 0; i < r->orders.n; i++) {
		const struct rorder *o = r->orders.at[i];

		has += o->account == a->id ? o->hold : 0;
	}
	return has < 0;
}

void ref_debts_after(struct reference *r)
{
	for (size_t i = 0; r->rules >= 5 && i < r->accounts.n; i++) {
		struct raccount *a = r->accounts.at[i];
		bool owes = overspent(r, a);

		if (owes && !a->owes)
			a->owes = r->minute + 1;
		if (owes)
			continue;
		if (a->dunned == 3) {
			a->state = ACCOUNT_OPEN;
			a->reopened = true;
		}
		a->owes = a->dunned = 0;
		a->dunned_at = 0;
	}
}

/* The operator's word counts, and the days begin anew. */
void ref_by_hand(const struct reference *r, struct raccount *a, int state)
{
	if (state == 2)
		return;
	a->state = state;
	if (!a->owes)
		return;
	a->owes = r->minute + 1;
	a->dunned = 0;
	a->dunned_at = 0;
}

int ref_dunning(struct reference *r, const struct event *ev)
{
	struct raccount *a = ref_list_find(&r->accounts, ev->account);

	if (!a)
		return REASON_NOT_FOUND;
	if (!ev->u.dunning.step) {
		if (!a->reopened)
			return REASON_WRONG_STATE;
		if (ev->u.dunning.minutes || ev->u.dunning.after)
			return REASON_INVALID;
		a->reopened = false;
		return 0;
	}
	if (!a->owes || a->state == ACCOUNT_SUSPENDED || ev->u.dunning.step != a->dunned + 1)
		return REASON_WRONG_STATE;
	if (r->minute < a->owes - 1 + ev->u.dunning.minutes)
		return REASON_WRONG_STATE;
	if (a->dunned && r->minute < a->dunned_at + ev->u.dunning.after)
		return REASON_WRONG_STATE;
	if (ev->u.dunning.minutes < 0 || ev->u.dunning.after < 0)
		return REASON_INVALID;
	if (ev->u.dunning.step == 3)
		ref_buys_no_more(r, a->id);
	a->dunned++;
	a->dunned_at = r->minute;
	if (a->dunned == 3)
		a->state = ACCOUNT_SUSPENDED;
	return 0;
}

void ref_debts_dump(const struct reference *r, struct buf *out)
{
	for (size_t i = 0; i < r->accounts.n; i++) {
		const struct raccount *a = r->accounts.at[i];

		if (a->owes)
			buf_addf(out, "debt %" PRIu64 " %" PRId64 " %d %" PRId64 "\n", a->id, a->owes - 1, a->dunned,
				a->dunned_at);
		if (a->reopened)
			buf_addf(out, "opened %" PRIu64 "\n", a->id);
	}
}
