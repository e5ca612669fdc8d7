/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/money/dunning.h"

#include "market/reason.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/resting.h"

static void dunning_tell(struct engine *e, const struct live_account *a)
{
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_DUNNING,
			.account = a->pub.id,
			.subject = a->pub.id,
			.amount = account_owed(&a->pub),
			.minute = a->pub.debt.since,
			.code = (int32_t)a->pub.debt.step });
}

static void dunning_look_at(struct engine *e, struct live_account *a)
{
	struct debt *d = &a->pub.debt;
	bool lifted = d->step == DUNNING_SUSPENDED;

	if (e->rules < 5 || d->owes == (account_owed(&a->pub) > 0))
		return;
	*d = (struct debt){
		.owes = !d->owes,
		.since = d->owes ? 0 : e->minute,
		.reopened = d->reopened || lifted,
	};
	if (!lifted)
		return;
	a->pub.state = ACCOUNT_OPEN;
	dunning_tell(e, a);
}

void dunning_look(struct engine *e)
{
	size_t at = e->mover_seen ? e->mover_seen - 1
				  : 0; /* the last may have moved again, and is no second time there */

	for (; at < e->mover_count; at++)
		dunning_look_at(e, e->movers[at]);
	e->mover_seen = e->mover_count;
}

void dunning_begin(struct engine *e)
{
	struct live_account *a;

	for (size_t at = 0; (a = rank_next(&e->all[ACCOUNTS], &at));)
		dunning_look_at(e, a);
}

void dunning_by_hand(struct engine *e, struct live_account *a, enum account_state state)
{
	if (a->pub.debt.owes)
		a->pub.debt = (struct debt){ .owes = true, .since = e->minute, .reopened = a->pub.debt.reopened };
	a->pub.state = state;
}

/* An event opened the account, which says nothing of that: this one does. */
static int dunning_reopened(const struct event *ev, struct debt *d, struct fail *why)
{
	if (!d->reopened)
		return fail_set(why, REASON_WRONG_STATE, "the rule opened no account that is not recorded");
	if (ev->u.dunning.minutes || ev->u.dunning.after)
		return fail_set(why, REASON_INVALID, "an account that is open again owes for no minutes");
	d->reopened = false;
	return 0;
}

static int dunning_check(const struct engine *e, const struct event *ev, const struct account *a, struct fail *why)
{
	const struct debt *d = &a->debt;

	if (a->state != ACCOUNT_OPEN || !d->owes)
		return fail_set(why, REASON_WRONG_STATE, "account '%s' owes nothing, or is suspended", a->name);
	if (ev->u.dunning.step != (int32_t)d->step + 1 || e->minute - d->since < ev->u.dunning.minutes ||
		(d->step && e->minute - d->stepped < ev->u.dunning.after))
		return fail_set(why, REASON_WRONG_STATE, "the rule has not come so far with account '%s'", a->name);
	if (ev->u.dunning.minutes < 0 || ev->u.dunning.after < 0)
		return fail_set(why, REASON_INVALID, "an account owes for 0 minutes or more");
	return 0;
}

int dunning_apply(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_account *a = world_account(e, ev->account);
	int rc = check_account(e, ev, why);

	if (!rc && !ev->u.dunning.step)
		return dunning_reopened(ev, &a->pub.debt, why);
	rc = rc ? rc : dunning_check(e, ev, &a->pub, why);
	if (rc)
		return rc;
	if (ev->u.dunning.step == DUNNING_SUSPENDED)
		resting_stop_buying(e, a);
	a->pub.debt.step = (enum dunning)ev->u.dunning.step;
	a->pub.debt.stepped = e->minute;
	if (a->pub.debt.step == DUNNING_SUSPENDED)
		a->pub.state = ACCOUNT_SUSPENDED;
	dunning_tell(e, a);
	return 0;
}
