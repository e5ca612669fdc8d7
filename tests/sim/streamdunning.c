/* SPDX-License-Identifier: Apache-2.0 */
/* Random dunning: of who owes and of who does not, in time and too early; floors that change alone. See stream.h. */
#include "stream.h"

static const struct raccount *dunning_whom(struct stream *s)
{
	const struct list *people = &s->r->accounts;
	const struct raccount *a = people->at[rng_below(&s->debts, (int64_t)people->n)];

	for (int i = 0; i < 6 && !a->reopened && !(a->owes && a->state == ACCOUNT_OPEN); i++)
		a = people->at[rng_below(&s->debts, (int64_t)people->n)];
	return a;
}

void stream_dunning(struct stream *s, struct event *ev)
{
	const struct raccount *a;

	if (ev->kind == EVENT_RULES || s->step <= 26 || !s->r->accounts.n)
		return;
	if (ev->kind == EVENT_ACCOUNT_STATE && rng_percent(&s->debts, 30))
		ev->u.account_state.state = ACCOUNT_AS_IT_IS;
	if (!rng_percent(&s->debts, 5))
		return;
	a = dunning_whom(s);
	*ev = (struct event){ .kind = EVENT_DUNNING, .at = ev->at, .account = a->id };
	if (a->reopened && rng_percent(&s->debts, 80))
		return;
	ev->u.dunning.step = a->dunned + 1;
	ev->u.dunning.minutes = rng_below(&s->debts, 20);
	ev->u.dunning.after = rng_below(&s->debts, 10);
}

bool stream_dunning_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind != EVENT_DUNNING)
		return false;
	switch (rng_below(&s->debts, 3)) {
	case 0:
		ev->u.dunning.step = (int32_t)rng_below(&s->debts, 6) - 1;
		break;
	case 1:
		ev->u.dunning.minutes = rng_percent(&s->debts, 50) ? -1 : MINUTE_MAX;
		break;
	default:
		ev->u.dunning.after = rng_percent(&s->debts, 50) ? -1 : MINUTE_MAX;
		break;
	}
	return true;
}
