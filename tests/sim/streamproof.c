/* SPDX-License-Identifier: Apache-2.0 */
/* Random events of markets that ask for proofs: SKUs that do, hosts that pass and fail, buyers who take any host. */
#include <string.h>

#include "stream.h"

static char why_long[WHY_BYTES + 2];

static bool do_verified(struct stream *s, struct event *ev)
{
	const struct list *all = &s->r->hosts;
	const struct rhost *h = all->n ? all->at[rng_below(&s->late, (int64_t)all->n)] : NULL;
	bool good = rng_percent(&s->late, 80), passed = good && !rng_percent(&s->late, 20);
	enum host_proof result = passed ? PROOF_PASSED : good ? PROOF_OUTGROWN : PROOF_FAILED;

	if (!h)
		return false;
	*ev = (struct event){ .kind = EVENT_HOST_VERIFIED,
		.at = ev->at,
		.account = h->account,
		.subject = h->id,
		.text = rng_percent(&s->late, 50) ? "{\"object\":\"verification\"}" : NULL,
		.u.host_verified = { .result = result,
			.until = good ? s->r->minute + 1 + rng_below(&s->late, rng_percent(&s->late, 30) ? 10 : 120)
				      : 0,
			.why = passed ? NULL : "it has no GPU" } };
	if (!good && rng_percent(&s->late, 50) && s->r->minute > 0)
		ev->u.host_verified.since = 1 + rng_below(&s->late, s->r->minute + 2);
	return true;
}

void stream_proofs(struct stream *s, struct event *ev)
{
	if (ev->kind == EVENT_SKU)
		ev->u.sku.proof = rng_percent(&s->late, 40);
	else if (ev->kind == EVENT_ORDER && ev->u.order.side == SIDE_BUY && rng_percent(&s->late, 15))
		ev->u.order.flags |= ORDER_UNVERIFIED;
	else if (ev->kind != EVENT_RULES && s->step > 26 && rng_percent(&s->late, 6))
		do_verified(s, ev);
}

bool stream_proofs_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind != EVENT_HOST_VERIFIED)
		return false;
	memset(why_long, 'w', sizeof why_long - 1);
	switch (rng_below(&s->late, 7)) {
	case 0:
		ev->u.host_verified.until = s->r->minute;
		break;
	case 1:
		ev->u.host_verified.until = MINUTE_MAX + 1;
		break;
	case 2:
		ev->u.host_verified.until = -1;
		break;
	case 3:
		ev->u.host_verified.result = rng_percent(&s->late, 50) ? PROOF_NONE : PROOF_OUTGROWN + 1;
		break;
	case 4:
		ev->u.host_verified.why = why_long;
		break;
	case 5:
		ev->u.host_verified.since = ev->u.host_verified.result != PROOF_FAILED ? 1 : -1;
		break;
	default:
		ev->subject = s->r->next_id;
		break;
	}
	return true;
}
