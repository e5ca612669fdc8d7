/* SPDX-License-Identifier: Apache-2.0 */
/* Random payouts: of what was earned and of more, sent, come back in parts and whole. See stream.h. */
#include <string.h>

#include "stream.h"

static bool do_payout(struct stream *s, struct event *ev)
{
	const struct raccount *a = s->r->accounts.at[rng_below(&s->payouts, (int64_t)s->r->accounts.n)];
	const struct rpayout *p = s->r->payouts.n && rng_percent(&s->payouts, 50)
		? s->r->payouts.at[rng_below(&s->payouts, (int64_t)s->r->payouts.n)]
		: NULL;
	int64_t room;

	if (p) {
		*ev = (struct event){ .kind = EVENT_PAYOUT, .at = ev->at, .account = p->account, .subject = p->id };
		if (rng_percent(&s->payouts, 15)) {
			ev->u.payout.state = PAYOUT_CANCELLED;
			return true;
		}
		if (rng_percent(&s->payouts, 50)) {
			ev->name = rng_percent(&s->payouts, 50) ? "tr_1" : NULL;
			ev->u.payout.state = PAYOUT_SENT;
			return true;
		}
		ev->text = rng_percent(&s->payouts, 50) ? "the bank knows no such account" : NULL;
		ev->u.payout.state = PAYOUT_FAILED;
		ev->u.payout.micros = rng_percent(&s->payouts, 50) ? p->money : 1 + rng_below(&s->payouts, p->money);
		return true;
	}
	*ev = (struct event){ .kind = EVENT_PAYOUT, .at = ev->at, .account = a->id };
	ev->u.payout.hold = rng_percent(&s->payouts, 60) ? 0 : (int32_t)(1 + rng_below(&s->payouts, 4));
	room = ref_payout_room(s->r, a->id, ev->u.payout.hold);
	if (!room && rng_percent(&s->payouts, 80))
		return false;
	ev->u.payout.micros = rng_percent(&s->payouts, 60) && room ? 1 + rng_below(&s->payouts, room) : room + 1;
	return true;
}

void stream_payouts(struct stream *s, struct event *ev)
{
	struct event other = { .at = ev->at };

	if (ev->kind == EVENT_RULES || s->step <= 26 || !s->r->accounts.n)
		return;
	if (rng_percent(&s->payouts, 4) && do_payout(s, &other))
		*ev = other;
}

static char payout_long[NAME_BYTES + 2];

bool stream_payouts_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind != EVENT_PAYOUT)
		return false;
	memset(payout_long, 'p', sizeof payout_long - 1);
	switch (rng_below(&s->payouts, 5)) {
	case 0:
		ev->u.payout.micros = rng_percent(&s->payouts, 50) ? 0 : PAYMENT_MAX;
		break;
	case 1:
		ev->u.payout.hold = rng_percent(&s->payouts, 50) ? -1 : PAYOUT_HOLD_MAX + 1;
		break;
	case 2:
		ev->u.payout.state = rng_percent(&s->payouts, 50) ? PAYOUT_ASKED : PAYOUT_CANCELLED + 1;
		break;
	case 3:
		ev->name = rng_percent(&s->payouts, 50) ? payout_long : "";
		break;
	default:
		ev->text = payout_long;
		break;
	}
	return true;
}
