/* SPDX-License-Identifier: Apache-2.0 */
/* Random caps of people and tokens, who buys by which token, and worlds near the end of a month. See stream.h. */
#include "stream.h"

enum { MONTH = 31 * 1440 }; /* January's */

static const struct rtoken *cap_token(struct stream *s, uint64_t account)
{
	for (int i = 0; i < 8 && s->r->tokens.n; i++) {
		const struct rtoken *t = s->r->tokens.at[rng_below(&s->caps, (int64_t)s->r->tokens.n)];

		if (t->account == account && !t->revoked)
			return t;
	}
	return NULL;
}

static bool do_cap(struct stream *s, struct event *ev)
{
	const struct list *l = rng_percent(&s->caps, 50) ? &s->r->people : &s->r->tokens;
	const void *whom = l->n ? l->at[rng_below(&s->caps, (int64_t)l->n)] : NULL;

	if (!whom)
		return false;
	*ev = (struct event){ .kind = EVENT_CAP, .at = ev->at, .subject = *(const uint64_t *)whom };
	ev->account = l == &s->r->people ? ((const struct rperson *)whom)->account
					 : ((const struct rtoken *)whom)->account;
	ev->u.cap.micros = rng_percent(&s->caps, 25) ? -1
		: rng_percent(&s->caps, 10)          ? 0
						     : s->profile->price * rng_below(&s->caps, 2000);
	return true;
}

void stream_caps(struct stream *s, struct event *ev)
{
	const struct rtoken *t;
	struct event other = { .at = ev->at };

	if (ev->kind == EVENT_TICK && !s->r->minute && s->ending) {
		ev->u.tick.minute = MONTH - 1 - rng_below(&s->caps, 120);
		ev->at = 60 * ev->u.tick.minute;
	}
	if (ev->kind == EVENT_RULES && rng_percent(&s->caps, 10))
		ev->u.rules.edition = 2;
	if (ev->kind == EVENT_RULES || s->step <= 26)
		return;
	if (rng_percent(&s->caps, 4) && do_cap(s, &other)) {
		*ev = other;
		return;
	}
	if (ev->kind != EVENT_ORDER && ev->kind != EVENT_PROCUREMENT && ev->kind != EVENT_PROCUREMENT_CHANGE)
		return;
	t = rng_percent(&s->caps, 75) ? cap_token(s, ev->account) : NULL;
	if (t)
		ev->token = t->id;
}

bool stream_caps_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind != EVENT_CAP)
		return false;
	ev->u.cap.micros = rng_percent(&s->caps, 50) ? -2 : 4000000000000000001;
	return true;
}
