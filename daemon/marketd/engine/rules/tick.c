/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/tick.h"

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/depot.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/rules/procure.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/review.h"
#include "marketd/engine/live/shelf.h"

/* The pools whose instances a lease that begins or ends here may give a host to, or take one from. */
static void owners_change(struct engine *e, const struct tenure *t)
{
	const struct tenure *parent = world_tenure(e, t->pub.parent);

	world_stale(e, world_depot(e, t->pub.pool));
	world_stale(e, t->unit->depot);
	if (parent)
		world_stale(e, world_depot(e, parent->pub.pool));
}

static void settle_due(struct engine *e)
{
	struct due *d;

	while ((d = due_first(&e->leases_due)) && d->minute <= e->minute) {
		struct tenure *t = list_entry(d, struct tenure, due);

		if (!t->begun) {
			t->begun = true;
			owners_change(e, t);
			lease_schedule(e, t);
			continue;
		}
		lease_settle(e, t, e->minute);
		if (t->pub.end > e->minute) {
			lease_schedule(e, t);
			continue;
		}
		owners_change(e, t);
		calendar_trim(t->unit, e->minute);
		lease_end(e, t);
	}
}

static void hosts_due(struct engine *e)
{
	struct due *d;

	while ((d = due_first(&e->hosts_due)) && d->minute <= e->minute) {
		struct unit *u = list_entry(d, struct unit, due);

		world_stale(e, u->depot);
		depot_host_due(e, u);
	}
}

/* The hour that the shelves look at goes on, and with it what is past is forgotten everywhere. */
static void turn_shelves(struct engine *e)
{
	struct ware *w;

	for (size_t at = 0; (w = rank_next(&e->all[SKUS], &at));) {
		if ((e->minute + 1) / HOUR <= w->hour)
			continue;
		for (size_t i = 0; i < w->slot_count; i++)
			if (w->slots[i])
				calendar_trim(w->slots[i], e->minute);
		shelf_turn(w, e->minute);
	}
}

static void one_minute(struct engine *e, int64_t minute)
{
	e->minute = minute;
	e->round++;
	turn_shelves(e);
	settle_due(e);
	hosts_due(e);
	resting_pass_minute(e);
	resting_try_marked(e);
	procure_all(e);
	resting_try_marked(e);
	review_all(e, 60 * minute);
}

/* The next minute in which anything is due. */
static int64_t next_minute(const struct engine *e, int64_t last)
{
	const struct due *first[] = { due_first(&e->leases_due), due_first(&e->orders_due), due_first(&e->hosts_due) };
	int64_t next = e->enabled ? e->minute + 1 : last;

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (first[i] && first[i]->minute < next)
			next = first[i]->minute;
	return next > e->minute ? next : e->minute + 1;
}

int tick_apply(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t minute = ev->u.tick.minute;

	if (minute <= e->minute || minute >= MINUTE_MAX)
		return fail_set(why, REASON_INVALID, "a tick names a later minute than the last");
	while (e->minute < minute)
		one_minute(e, next_minute(e, minute));
	return 0;
}
