/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people expect of a host that its owner takes out of service, looked at from outside:
 *
 *   had:   whoever has bought time of it has that time up to the announced minute.
 *   paid:  nobody pays for a minute after it that they do not get; they have their money back at once, all of it.
 *   told:  whoever loses time hears of it; of time that is theirs for good so early that they can find other time,
 *          unless the host has been broken for as long or the operator says so.
 *   quiet: from then on its owner sells nothing of it beyond that minute, however it is bought.
 *   once:  no owner sells a minute of a machine for good a second time, unless whoever had it gave it back.
 */
#include <stdlib.h>
#include <string.h>

#include "renewal.h"

enum { ACCOUNTS = BUYERS + SELLERS + 1, LEASES_MOST = 4096 };

struct bought {
	uint64_t id, buyer;
	int64_t start, end, price;
	bool for_good; /* nobody may take it back */
};

/* What there was before an owner said so. */
static struct before {
	int64_t spendable[ACCOUNTS], back[ACCOUNTS];
	uint64_t people[ACCOUNTS];
	bool excused;
	struct bought leases[LEASES_MOST];
	size_t count;
} was;

static size_t person_of(uint64_t account)
{
	for (size_t i = 0; i < ACCOUNTS; i++)
		if (was.people[i] == account)
			return i;
	abort();
}

static int slot_of(const struct market_world *w, uint64_t host)
{
	int slot = 0;

	while (slot < HOSTS && w->hosts[slot] != host)
		slot++;
	return slot;
}

static void drain_remember(const struct market_world *w, const struct event *ev)
{
	int slot = slot_of(w, ev->subject);
	size_t n = 0;

	was.count = 0;
	was.excused = ev->u.host_drain.by_operator ||
		(slot < HOSTS && w->broken[slot] && renewal_now(w) - w->broken[slot] >= DRAIN_TOLD);
	memset(was.back, 0, sizeof was.back);
	for (const struct account *a = NULL; (a = engine_account_after(w->e, a ? a->id : 0)); n++) {
		was.people[n] = a->id;
		was.spendable[n] = a->available;
	}
	for (const struct lease *l = NULL; (l = engine_lease_after(w->e, 0, l ? l->id : 0));)
		if (l->host == ev->subject && was.count < LEASES_MOST) {
			int64_t from = l->start > ev->u.host_drain.from ? l->start : ev->u.host_drain.from;

			was.leases[was.count++] = (struct bought){ l->id, l->buyer, l->start, l->end, l->price,
				!l->interruptible };
			if (ev->u.host_drain.ends && l->paid_end > from)
				was.back[person_of(l->buyer)] += l->price * (l->paid_end - from);
		}
}

void renewal_drain_before(struct market_world *w, const struct event *ev)
{
	if (ev->kind == EVENT_HOST_DRAIN)
		drain_remember(w, ev);
}

/* What was bought is had up to the minute, and beyond it where the owner lets it run out. */
static bool drain_had(struct market_world *w, const struct event *ev)
{
	int64_t from = ev->u.host_drain.from;

	for (size_t i = 0; i < was.count; i++) {
		const struct bought *b = &was.leases[i];
		int64_t end = ev->u.host_drain.ends && from < b->end ? from : b->end;
		const struct lease *l = engine_lease(w->e, b->id);

		if (b->start < end && (!l || l->start != b->start || l->end != end || l->price != b->price))
			return renewal_says(w, "time that was sold is not had up to the announced minute", b->id);
	}
	return true;
}

static bool drain_told(struct market_world *w, const struct bought *b, int64_t from)
{
	for (size_t i = 0; i < w->did.count; i++) {
		const struct notice *t = &w->did.list[i].u.notice;

		if (w->did.list[i].kind == EFFECT_NOTICE && t->kind == NOTICE_SHORTENED && t->subject == b->id &&
			t->account == b->buyer && t->minute == (b->start > from ? b->start : from))
			return t->minute > renewal_now(w) + (b->for_good && !was.excused ? DRAIN_TOLD : 2);
	}
	return false;
}

static bool drain_paid(struct market_world *w, const struct event *ev)
{
	for (size_t i = 0; i < ACCOUNTS; i++)
		if (engine_account(w->e, was.people[i])->available != was.spendable[i] + was.back[i])
			return renewal_says(w, "time that ends early is not given back, or something else is",
				was.people[i]);
	for (size_t i = 0; ev->u.host_drain.ends && i < was.count; i++)
		if (was.leases[i].end > ev->u.host_drain.from && !drain_told(w, &was.leases[i], ev->u.host_drain.from))
			return renewal_says(w, "a buyer loses time and hears too late of it", was.leases[i].id);
	return true;
}

/* Nobody has a minute that the owner has ended, and none was sold by this event that the owner keeps back. */
static bool drain_quiet(struct market_world *w)
{
	for (int i = 0; i < HOSTS; i++) {
		const struct host *h = engine_host(w->e, w->hosts[i]);
		const struct piece *last = h && !h->retired && h->drain_ends ? &h->pieces[h->piece_count - 1] : NULL;

		if (last && last->end > h->drain && (last->pool != h->pool || last->order))
			return renewal_says(w, "time after the end is sold or for sale", h->id);
	}
	for (size_t i = 0; i < w->did.count; i++) {
		const struct lease *l = &w->did.list[i].u.lease.lease;
		const struct host *h = w->did.list[i].kind == EFFECT_LEASE ? engine_host(w->e, l->host) : NULL;

		if (h && w->did.list[i].u.lease.is_new && h->drain && l->end > h->drain && l->seller == h->account)
			return renewal_says(w, "a host that drains is sold", l->id);
	}
	return true;
}

/* What is sold for good is marked, and what its buyer gives back is not any more. */
static bool sold_once(struct market_world *w, const struct event *ev)
{
	for (size_t i = 0; i < w->did.count; i++) {
		const struct effect *f = &w->did.list[i];
		const struct lease *l = f->kind == EFFECT_LEASE ? &f->u.lease.lease : NULL;
		bool is_new = l && f->u.lease.is_new;
		int host = l ? slot_of(w, l->host) : HOSTS;

		if (!l || l->interruptible || (!is_new && (ev->kind != EVENT_RELEASE || !f->u.lease.over)))
			continue;
		if (host == HOSTS || l->seller != w->sellers[host % SELLERS])
			continue;
		for (int64_t t = l->start; t < l->end && t < FIRST + SPAN; t++) {
			if (is_new && w->sold[host][t - FIRST])
				return renewal_says(w, "a minute of a machine is sold a second time", l->id);
			w->sold[host][t - FIRST] = is_new;
		}
	}
	return true;
}

static void see_broken(struct market_world *w)
{
	for (int i = 0; i < HOSTS; i++) {
		const struct host *h = engine_host(w->e, w->hosts[i]);

		if (!h || !h->down || !h->watched)
			w->broken[i] = 0;
		else if (!w->broken[i])
			w->broken[i] = renewal_now(w);
	}
}

bool renewal_drain_after(struct market_world *w, const struct event *ev)
{
	see_broken(w);
	if (ev->kind == EVENT_HOST_DRAIN && (!drain_had(w, ev) || !drain_paid(w, ev)))
		return false;
	return drain_quiet(w) && sold_once(w, ev);
}
