/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/watchhold.h"

static const int64_t NEVER = INT64_MAX / 2;

static int64_t hold_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void hold_set(struct hold *x, bool held, int64_t now)
{
	x->since = held ? now : 0;
	x->until = held ? x->until : now;
}

int64_t hold_awaits(const struct hold *x, int64_t awaits)
{
	if (x && x->since)
		return NEVER;
	return x ? hold_later(awaits, x->until) : awaits;
}

int64_t hold_from(const struct hold *x, int64_t awaits)
{
	return hold_later(awaits, x->since) / 60;
}

int hold_give_back(const struct hold *x, struct market *m, const struct host *h, int64_t awaits, struct fail *f)
{
	const struct instance *i = engine_host_instance(market_engine(m), h->id);
	struct event ev = { .kind = EVENT_HOST_STATE,
		.account = h->account,
		.subject = h->id,
		.u.host_state = { .watch = true, .since = x ? hold_from(x, awaits) : 0 } };

	if (!x || !x->since || !awaits || h->down || !i || i->pool == h->pool) /* its owner's own node costs nothing */
		return 0;
	return market_apply(m, &ev, NULL, f);
}
