/* SPDX-License-Identifier: Apache-2.0 */
/* Random news of a payment service: of few payments, twice, late, of accounts that nobody knows yet. See stream.h. */
#include <string.h>

#include "stream.h"

static const char *const pays[] = { "pi_1", "pi_2", "pi_3", "pi_4", "pi_5", "pi_6", "pi_7", "pi_8", "pi_9", "pi_10",
	"pi_11", "pi_12" };
static const char *const pay_parts[] = { "cs_1", "ch_1", "dp_1", "dp_2", "re_1", "re_2", "re_3", "re_4", "re_5", "re_6",
	"re_7", "re_8" };

static void do_pay(struct stream *s, struct event *ev)
{
	const struct list *people = &s->r->accounts;
	const struct raccount *a = people->at[rng_below(&s->pays, (int64_t)people->n)];
	const struct rpayment *old = s->r->payments.n && rng_percent(&s->pays, 60)
		? s->r->payments.at[rng_below(&s->pays, (int64_t)s->r->payments.n)]
		: NULL;

	*ev = (struct event){ .kind = EVENT_PAYMENT,
		.at = ev->at,
		.account = rng_percent(&s->pays, 40)       ? 0
			: old && rng_percent(&s->pays, 80) ? old->account
							   : a->id,
		.name = pays[rng_below(&s->pays, s->paying ? 3 : 12)] };
	for (size_t i = 0; old && i < sizeof pays / sizeof *pays; i++) /* streams outlive what the reference has */
		if (strcmp(pays[i], old->name) == 0)
			ev->name = pays[i];
	if (rng_percent(&s->pays, 10)) {
		ev->account = a->id;
		return;
	}
	ev->text = pay_parts[rng_below(&s->pays, s->paying ? 12 : 5)];
	ev->u.payment.step = 1 + rng_below(&s->pays, 4);
	ev->u.payment.micros = s->paying && rng_percent(&s->pays, 40) ? PAYMENT_MAX
								      : s->profile->price * rng_below(&s->pays, 1500);
	if (ev->text[0] != 'c')
		ev->u.payment.micros = -ev->u.payment.micros;
}

void stream_pays(struct stream *s, struct event *ev)
{
	if (ev->kind == EVENT_RULES || s->step <= 26 || !s->r->accounts.n)
		return;
	if (rng_percent(&s->pays, s->paying ? 30 : 2))
		do_pay(s, ev);
}

static char pay_long[NAME_BYTES + 2];

bool stream_pays_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind != EVENT_PAYMENT)
		return false;
	memset(pay_long, 'p', sizeof pay_long - 1);
	switch (rng_below(&s->pays, 6)) {
	case 0:
		ev->u.payment.step = rng_percent(&s->pays, 50) ? 0 : PAYMENT_MAX + 1;
		break;
	case 1:
		ev->account = s->r->next_id;
		break;
	case 2:
		ev->name = rng_percent(&s->pays, 50) ? pay_long : "";
		break;
	case 3:
		ev->text = rng_percent(&s->pays, 50) ? pay_long : "";
		break;
	case 4:
		ev->u.payment.micros = rng_percent(&s->pays, 50) ? PAYMENT_MAX + 1 : -PAYMENT_MAX - 1;
		break;
	default:
		ev->text = NULL;
		break;
	}
	return true;
}
