/* SPDX-License-Identifier: Apache-2.0 */
#include "debts.h"

#include <stdlib.h>

static struct debt_row *debts_row(struct debts *d, uint64_t id)
{
	if (id >= d->count) {
		size_t count = 2 * id + 64;

		d->by_id = reallocarray(d->by_id, count, sizeof *d->by_id);
		if (!d->by_id)
			abort();
		for (size_t i = d->count; i < count; i++)
			d->by_id[i] = (struct debt_row){ 0 };
		d->count = count;
	}
	return &d->by_id[id];
}

static void debts_posting(struct debts *d, const struct posting *p)
{
	struct debt_row *a = debts_row(d, p->owner);

	if (p->asset || !p->owner)
		return;
	if (p->book == BOOK_HELD)
		a->held = p->balance;
	if (p->book != BOOK_AVAILABLE)
		return;
	d->met += a->available >= a->floor && p->balance < a->floor && a->held;
	a->available = p->balance;
}

static const char *debts_order(struct debts *d, const struct order *o)
{
	bool more = o->filled_minutes > debts_row(d, o->id)->bought;
	const struct debt_row *a;

	debts_row(d, o->id)->bought = o->filled_minutes;
	a = debts_row(d, o->account);
	return o->side == SIDE_BUY && more && a->available < a->floor ? "an account below its floor bought" : NULL;
}

const char *debts_look(struct debts *d, const struct event *ev, const struct effects *did)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < did->count && !wrong; i++) {
		const struct effect *x = &did->list[i];

		if (x->kind == EFFECT_MADE && ev->kind == EVENT_ACCOUNT)
			debts_row(d, x->u.made)->floor = ev->u.account.floor;
		else if (x->kind == EFFECT_POSTING)
			debts_posting(d, &x->u.posting);
		else if (x->kind == EFFECT_ORDER)
			wrong = debts_order(d, &x->u.order);
	}
	if (ev->kind == EVENT_ACCOUNT_STATE)
		debts_row(d, ev->account)->floor = ev->u.account_state.floor;
	return wrong;
}

void debts_release(struct debts *d)
{
	free(d->by_id);
	*d = (struct debts){ 0 };
}
