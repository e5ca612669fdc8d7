/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/tick.h"

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/account.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/procure/procure.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/review.h"
#include "marketd/engine/money/dunning.h"
#include "marketd/engine/money/tariff.h"
#include "marketd/engine/money/volume.h"
#include "marketd/engine/live/offer_index.h"

/* Marks the pools whose instances may get or lose a host because a lease begins or ends here. */
static void owners_change(struct engine *e, const struct live_lease *l)
{
	const struct live_lease *parent = world_lease(e, l->pub.parent);

	world_stale(e, world_pool(e, l->pub.pool));
	world_stale(e, l->host->pool);
	if (parent)
		world_stale(e, world_pool(e, parent->pub.pool));
}

static void settle_due(struct engine *e)
{
	struct due *d;

	while ((d = due_first(&e->leases_due)) && d->minute <= e->minute) {
		struct live_lease *l = list_entry(d, struct live_lease, due);

		if (!l->begun) {
			l->begun = true;
			owners_change(e, l);
			lease_schedule(e, l);
			continue;
		}
		lease_settle(e, l, e->minute);
		if (l->pub.end > e->minute) {
			lease_schedule(e, l);
			continue;
		}
		owners_change(e, l);
		calendar_trim(l->host, e->minute);
		lease_end(e, l);
	}
}

static void hosts_due(struct engine *e)
{
	struct due *d;

	while ((d = due_first(&e->hosts_due)) && d->minute <= e->minute) {
		struct live_host *h = list_entry(d, struct live_host, due);

		world_stale(e, h->pool);
		host_pass_due(e, h);
	}
}

/* Moves the offer indexes on by an hour and forgets the past everywhere. */
static void turn_shelves(struct engine *e)
{
	struct live_sku *s;

	for (size_t at = 0; (s = rank_next(&e->all[SKUS], &at));) {
		if ((e->minute + 1) / HOUR <= s->hour)
			continue;
		for (size_t i = 0; i < s->slot_count; i++)
			if (s->slots[i])
				calendar_trim(s->slots[i], e->minute);
		offer_index_turn(s, e->minute);
	}
}

static void one_minute(struct engine *e, int64_t minute)
{
	e->minute = minute;
	e->round++;
	turn_shelves(e);
	subscription_turn(e);
	settle_due(e);
	hosts_due(e);
	volume_pass_minute(e);
	resting_pass_minute(e);
	resting_try_marked(e);
	procure_all(e);
	resting_try_marked(e);
	review_all(e, 60 * minute);
	dunning_look(e);
}

/* The next minute in which anything is due. */
static int64_t next_minute(const struct engine *e, int64_t last)
{
	const struct due *first[] = { due_first(&e->leases_due), due_first(&e->orders_due), due_first(&e->hosts_due),
		due_first(&e->volumes_due) };
	int64_t next = e->enabled ? e->minute + 1 : last;

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (first[i] && first[i]->minute < next)
			next = first[i]->minute;
	if (subscription_due(e) < next)
		next = subscription_due(e);
	return next > e->minute ? next : e->minute + 1;
}

int tick_apply(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t minute = ev->u.tick.minute;

	if (minute <= e->minute || minute >= MINUTE_MAX)
		return fail_set(why, REASON_INVALID, "a tick must name a later minute than the last");
	while (e->minute < minute)
		one_minute(e, next_minute(e, minute));
	announce_forget(e);
	invitation_forget(e);
	return 0;
}
