/* SPDX-License-Identifier: Apache-2.0 */
#include "dunned.h"

#include <stdlib.h>

#include "market/reason.h"

static struct dunned_row *dunned_row(struct dunned *d, uint64_t id)
{
	if (id >= d->count) {
		size_t count = 2 * id + 64;

		d->by_id = reallocarray(d->by_id, count, sizeof *d->by_id);
		if (!d->by_id)
			abort();
		for (size_t i = d->count; i < count; i++)
			d->by_id[i] = (struct dunned_row){ 0 };
		d->count = count;
	}
	return &d->by_id[id];
}

static const char *dunned_step(struct dunned *d, const struct event *ev, const struct notice *n)
{
	struct dunned_row *a = dunned_row(d, n->account);

	if (!n->code) {
		d->lifted++;
		if (a->step != DUNNING_SUSPENDED || a->has < 0)
			return "an account is opened that was not suspended by the rule, or still owes";
		a->step = 0;
		a->opened = true;
		return NULL;
	}
	if (a->has >= 0 || n->amount != -a->has)
		return "an account is dunned for more than it spent beyond what it had";
	if (ev->kind != EVENT_DUNNING || n->code != a->step + 1)
		return "a reminder is left out, or comes by itself";
	if (n->minute < a->anew)
		return "the operator's word gave an account no days anew";
	if (d->minute - n->minute < ev->u.dunning.minutes || (a->step && d->minute - a->minute < ev->u.dunning.after))
		return "the rule comes before its time";
	a->step = n->code;
	a->minute = d->minute;
	d->suspended += a->step == DUNNING_SUSPENDED;
	return NULL;
}

static const char *dunned_notice(struct dunned *d, const struct event *ev, const struct notice *n)
{
	if (n->kind == NOTICE_DUNNING)
		return dunned_step(d, ev, n);
	if (n->kind == NOTICE_ACCOUNT_STATE && ev->u.account_state.state != ACCOUNT_AS_IT_IS) {
		dunned_row(d, n->account)->step = 0; /* by hand from now on */
		dunned_row(d, n->account)->anew = d->minute;
	}
	if (ev->kind == EVENT_DUNNING &&
		(n->kind == NOTICE_LEASE_ENDED || n->kind == NOTICE_SHORTENED || n->kind == NOTICE_INTERRUPTED ||
			n->kind == NOTICE_INSTANCE_STATUS || n->kind == NOTICE_RELEASED))
		return "something that is paid ends because an account owes";
	return NULL;
}

static const char *dunned_order(struct dunned *d, const struct order *o)
{
	bool more = o->filled_minutes > dunned_row(d, o->id)->bought;

	dunned_row(d, o->id)->bought = o->filled_minutes;
	return o->side == SIDE_BUY && more && dunned_row(d, o->account)->step == DUNNING_SUSPENDED
		? "an account that the rule suspended bought"
		: NULL;
}

/* What an account set aside for its orders it has not spent; what it asked to be paid out is no longer there. */
static void dunned_posting(struct dunned *d, const struct posting *p, uint64_t payout)
{
	struct dunned_row *a = dunned_row(d, p->owner);

	if (p->asset || !p->owner)
		return;
	if (p->book == BOOK_AVAILABLE)
		a->available = p->balance;
	if (p->book == BOOK_AVAILABLE || (p->book == BOOK_HELD && (!payout || p->subject != payout)))
		a->has += p->amount;
}

const char *dunned_look(struct dunned *d, const struct event *ev, const struct effects *did)
{
	uint64_t payout = ev->kind != EVENT_PAYOUT ? 0 : ev->subject ? ev->subject : effects_made(did);
	const char *wrong = NULL;

	if (ev->kind == EVENT_TICK)
		d->minute = ev->u.tick.minute;
	if (ev->kind == EVENT_DUNNING && !ev->u.dunning.step) {
		if (!dunned_row(d, ev->account)->opened || did->count)
			return "the record says that an account was opened which was not, or says it twice";
		dunned_row(d, ev->account)->opened = false;
		d->told++;
	}
	for (size_t i = 0; i < did->count && !wrong; i++) {
		const struct effect *x = &did->list[i];

		if (x->kind == EFFECT_POSTING)
			dunned_posting(d, &x->u.posting, payout);
		else if (x->kind == EFFECT_NOTICE)
			wrong = dunned_notice(d, ev, &x->u.notice);
		else if (x->kind == EFFECT_ORDER)
			wrong = dunned_order(d, &x->u.order);
	}
	for (size_t i = 0; i < did->count && !wrong; i++) { /* whose money moved */
		const struct posting *p = &did->list[i].u.posting;
		struct dunned_row *a = did->list[i].kind == EFFECT_POSTING ? dunned_row(d, p->account) : NULL;

		if (!a || !p->account || a->has < 0)
			continue;
		if (a->step == DUNNING_SUSPENDED)
			wrong = "an account that owes nothing any more is suspended by the rule";
		a->step = 0;
	}
	return wrong;
}

const char *dunned_refused(struct dunned *d, const struct event *ev, int rc)
{
	const struct dunned_row *a;

	if ((ev->kind != EVENT_DUNNING || rc != REASON_WRONG_STATE) &&
		(ev->kind != EVENT_INSTANCE || rc != REASON_SUSPENDED))
		return NULL;
	a = dunned_row(d, ev->account);
	d->held += ev->kind == EVENT_DUNNING && a->available < 0 && a->has >= 0;
	if (ev->kind == EVENT_DUNNING && !ev->u.dunning.step && a->opened)
		return "the record may not say that an account was opened";
	return ev->kind == EVENT_INSTANCE && a->step == DUNNING_SUSPENDED
		? "an account that the rule suspended makes no node of time that it paid for"
		: NULL;
}

void dunned_release(struct dunned *d)
{
	free(d->by_id);
	*d = (struct dunned){ 0 };
}
