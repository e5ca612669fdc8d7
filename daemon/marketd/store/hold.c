/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/hold.h"

static int64_t hold_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t hold_awaits(const struct watched *a, int64_t awaits)
{
	return a ? hold_later(awaits, a->held_until) : awaits;
}

int64_t hold_from(const struct watched *a, int64_t awaits)
{
	return hold_later(awaits, a->held_since) / 60;
}

int hold_give_back(const struct watched *a, struct market *m, const struct host *h, struct fail *f)
{
	const struct engine *e = market_engine(m);
	const struct instance *i = engine_host_instance(e, h->id);
	int64_t awaits = i ? watch_awaits(e, i) : 0;
	struct event ev = { .kind = EVENT_HOST_STATE,
		.account = h->account,
		.subject = h->id,
		.u.host_state = { .watch = true, .since = a ? hold_from(a, awaits) : 0 } };

	if (!a || !a->held_since || !awaits || h->down || i->pool == h->pool) /* its owner's own node costs nothing */
		return 0;
	return market_apply(m, &ev, NULL, f);
}

int hold_set(struct watched *a, struct market *m, uint64_t agent, bool held, int64_t now, struct fail *f)
{
	const struct host *h;
	uint64_t id = 0;
	int rc = 0;

	if (held == (a->held_since != 0))
		return 0;
	while (!held && !rc && (h = engine_host_of_agent(market_engine(m), agent, id))) {
		id = h->id;
		rc = hold_give_back(a, m, h, f);
	}
	a->held_since = held ? now : 0;
	a->held_until = held ? a->held_until : now;
	a->due = 0; /* look at once */
	return rc;
}
