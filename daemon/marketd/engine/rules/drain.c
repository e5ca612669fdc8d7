/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/drain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/rules/trade.h"

/* Down by the market's watch for as long as a buyer may expect notice: a seller can bring about a short outage. */
static bool drain_broken(const struct engine *e, const struct host *h)
{
	int64_t minutes = world_drain_notice(e) - e->minute - 1;

	return h->down && h->watched && h->down_at && e->minute - h->down_at / 60 >= minutes;
}

/* Whoever ends a lease here, or what it was sold on from, has to say so before this minute begins. */
static int64_t drain_bound(const struct engine *e, const struct live_host *h, const struct live_lease *l,
	bool by_operator)
{
	if (!by_operator && !drain_broken(e, &h->pub))
		for (; l; l = world_lease(e, l->pub.parent))
			if (!l->pub.interruptible)
				return world_drain_notice(e);
	return world_notice(e);
}

int64_t drain_earliest(const struct engine *e, const struct live_host *h, bool by_operator)
{
	int64_t at = e->minute + 1;

	for (size_t i = calendar_find(h, at); i < h->pub.piece_count; i++) {
		const struct piece *p = &h->pub.pieces[i];
		const struct live_lease *l = world_lease(e, p->lease);
		int64_t bound = l ? drain_bound(e, h, l, by_operator) : at, until = p->end < bound ? p->end : bound;

		if (p->start < bound && until > at)
			at = until;
	}
	return at;
}

static int drain_check(const struct engine *e, const struct event *ev, struct live_host **out, struct fail *why)
{
	int64_t from = ev->u.host_drain.from > e->minute ? ev->u.host_drain.from : e->minute + 1, earliest;
	bool ends = ev->u.host_drain.ends;
	int rc = pool_find_host(e, ev, out, why);

	if (rc)
		return rc;
	if (!ev->u.host_drain.from && !(*out)->pub.drain)
		return fail_set(why, REASON_WRONG_STATE, "host '%s' does not drain", (*out)->pub.name);
	if (ev->u.host_drain.from < 0 || ev->u.host_drain.from >= MINUTE_MAX || (ends && !ev->u.host_drain.from))
		return fail_set(why, REASON_INVALID, "a host drains from a minute on");
	if (ev->text && strlen(ev->text) > WHY_BYTES)
		return fail_set(why, REASON_INVALID, "a reason has at most %d bytes", WHY_BYTES);
	earliest = ends ? drain_earliest(e, *out, ev->u.host_drain.by_operator) : from;
	if (from < earliest)
		return fail_set(why, REASON_PAST, "buyers need notice: %" PRId64 " minutes more", earliest - from);
	return 0;
}

/* Takes what is from `from` on off sale: what the owner sells, with `all` what buyers resell too. */
static void drain_withdraw(struct engine *e, struct live_host *h, int64_t from, bool all)
{
	size_t i;

	for (int64_t at = from; (i = calendar_find(h, at)) < h->pub.piece_count;) {
		struct piece p = h->pub.pieces[i];
		struct live_order *sell = world_order(e, p.order);

		at = p.end;
		if (!sell || (!all && sell->pool != h->pool))
			continue;
		live_order_touch(e, sell);
		calendar_off_sale(h, p.start > from ? p.start : from, p.end, p.order);
	}
	trade_finish(e);
}

/* A lease from `from` on, and those that it was sold on from: each buyer is told by the id that they know. */
static void drain_chain(struct engine *e, struct live_lease *l, int64_t from)
{
	struct live_lease *tail = l->pub.start < from ? lease_split(e, l, from) : l;

	while (tail) {
		struct live_lease *next = world_lease(e, tail->pub.parent), *known = world_lease(e, l->pub.parent);

		lease_shorten(e, tail, l->pub.id);
		tail = next;
		l = known;
	}
}

/* What was sold from `from` on goes back to the owner, who never sells it again. */
static void drain_leases(struct engine *e, struct live_host *h, int64_t from)
{
	size_t i;

	for (int64_t at = from; (i = calendar_find(h, at)) < h->pub.piece_count;) {
		struct piece p = h->pub.pieces[i];
		struct live_lease *l = world_lease(e, p.lease);

		if (l) {
			drain_chain(e, l, from);
			calendar_put(h, p.start > from ? p.start : from, p.end,
				&(struct piece){ .pool = h->pub.pool, .taken = p.pool });
		}
		at = p.end;
	}
}

int host_drain(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t from = ev->u.host_drain.from;
	struct live_host *h;
	int rc = drain_check(e, ev, &h, why);

	if (rc)
		return rc;
	if (from && from <= e->minute)
		from = e->minute + 1;
	h->pub.drain = from;
	h->pub.drain_ends = ev->u.host_drain.ends;
	free(h->pub.drain_why);
	h->pub.drain_why = must_copy(from ? ev->text : NULL);
	if (from)
		drain_withdraw(e, h, from, h->pub.drain_ends);
	if (h->pub.drain_ends)
		drain_leases(e, h, from);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_HOST_DRAIN,
			.account = h->pub.account,
			.subject = h->pub.id,
			.minute = from });
	return 0;
}
