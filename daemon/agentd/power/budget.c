/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/budget.h"

#include <errno.h>
#include <stdio.h>

/* Whole watts: drivers and people know no others. */
static int64_t budget_whole(int64_t milliwatts)
{
	return milliwatts / 1000 * 1000;
}

/* The range in which the target of a device is. */
struct range {
	int64_t low, high;
};

static int budget_range(const struct envelope *e, const struct power_device *d, size_t cpus, struct range *r,
	struct fail *f)
{
	int64_t cap = d->kind == POWER_GPU ? envelope_cap(e, d->address) : e->cpu / (int64_t)(cpus ? cpus : 1);
	char label[32];

	power_label(d, label);
	if (!d->way) {
		r->low = r->high = cap ? cap : d->fixed;
		return r->high == POWER_UNKNOWN
			? fail_set(f, -ENODATA,
				  "%s (%s) has no limit that can be set: tell what it draws at most with "
				  "'--gpu %u=WATTS'",
				  label, d->name, d->number)
			: 0;
	}
	if (d->least == POWER_UNKNOWN || d->most == POWER_UNKNOWN)
		return fail_set(f, -EIO, "cannot read the limits of %s (%s): %s", label, d->name, d->why);
	if (cap && (cap < d->least || cap > d->most))
		return fail_set(f, -ERANGE, "%s (%s) takes limits from %lld to %lld W, not %lld W", label, d->name,
			(long long)((d->least + 999) / 1000), (long long)(d->most / 1000), (long long)(cap / 1000));
	r->low = (d->least + 999) / 1000 * 1000;
	r->high = cap ? cap : d->usual != POWER_UNKNOWN && d->usual < d->most ? d->usual : d->most;
	if (d->kind == POWER_CPU) { /* not traded for the GPUs' */
		r->high = cap ? cap : d->enforced != POWER_UNKNOWN ? d->enforced : d->most;
		r->low = r->high;
	}
	r->high = r->high > r->low ? r->high : r->low;
	return 0;
}

/* Raises all of one priority to the highest level that the room allows. Returns what is left of it. */
static int64_t budget_fill(struct power_device *list, const struct range *ranges, size_t count, bool idle, int64_t room)
{
	int64_t low = 0, high = POWER_MOST / 1000, used = 0;

	while (low < high) {
		int64_t level = low + (high - low + 1) / 2, more = 0;

		for (size_t i = 0; i < count; i++) {
			int64_t to = level * 1000 < ranges[i].high ? level * 1000 : budget_whole(ranges[i].high);

			if (list[i].way && list[i].kind == POWER_GPU && list[i].idle == idle && to > ranges[i].low)
				more += to - ranges[i].low;
		}
		if (more <= room)
			low = level;
		else
			high = level - 1;
	}
	for (size_t i = 0; i < count; i++) {
		int64_t to = low * 1000 < ranges[i].high ? low * 1000 : budget_whole(ranges[i].high);

		if (list[i].way && list[i].kind == POWER_GPU && list[i].idle == idle && to > ranges[i].low) {
			list[i].target = to;
			used += to - ranges[i].low;
		}
	}
	return room - used;
}

static int budget_too_little(const struct envelope *e, int64_t need, size_t gpus, struct fail *f)
{
	int64_t wall = supply_wall(&e->supply, need);

	if (wall == SUPPLY_TOO_MUCH)
		return fail_set(f, -ENOSPC,
			"the least limits of %zu GPUs with processor and reserve need %lld W, more than the supply's "
			"%lld W; take out a GPU or use a stronger supply",
			gpus, (long long)((need + 999) / 1000), (long long)(e->supply.rated / 1000));
	return fail_set(f, -ENOSPC,
		"the least limits of %zu GPUs with processor and reserve need %lld W at the wall, not %lld W; "
		"use '--envelope %lldW', a smaller '--cpu' or '--reserve', or take out a GPU",
		gpus, (long long)((wall + 999) / 1000), (long long)(e->wall / 1000), (long long)((wall + 999) / 1000));
}

int budget_plan(const struct envelope *e, struct power_device *list, size_t count, struct budget *out, struct fail *f)
{
	struct range ranges[POWER_DEVICES] = { { 0, 0 } };
	int64_t need = e->reserve, room;
	size_t gpus = 0, cpus = 0;

	for (size_t i = 0; i < count; i++)
		cpus += list[i].kind == POWER_CPU;
	for (size_t i = 0; i < count; i++) {
		int rc = budget_range(e, &list[i], cpus, &ranges[i], f);

		if (rc)
			return rc;
		gpus += list[i].kind == POWER_GPU;
		list[i].target = ranges[i].low;
		/* Drivers round a limit by up to this. */
		need += ranges[i].low + (list[i].way ? POWER_GRAIN : 0);
	}
	out->behind = supply_behind(&e->supply, e->wall);
	if (need > out->behind)
		return budget_too_little(e, need, gpus, f);
	room = budget_fill(list, ranges, count, false, out->behind - need);
	budget_fill(list, ranges, count, true, room);
	out->given = e->reserve;
	for (size_t i = 0; i < count; i++)
		out->given += list[i].target;
	out->wall = supply_wall(&e->supply, out->given);
	return 0;
}

int64_t budget_counts(const struct power_device *d)
{
	if (!d->way)
		return d->target > 0 ? d->target : d->fixed != POWER_UNKNOWN ? d->fixed : POWER_MOST;
	if (d->enforced != POWER_UNKNOWN)
		return d->enforced;
	return d->most != POWER_UNKNOWN ? d->most : POWER_MOST;
}

int64_t budget_now(const struct envelope *e, const struct power_device *list, size_t count)
{
	int64_t sum = e->reserve;

	for (size_t i = 0; i < count; i++)
		sum += budget_counts(&list[i]);
	return sum;
}

bool budget_fits(const struct envelope *e, const struct power_device *list, size_t count, const struct power_device *d,
	int64_t milliwatts)
{
	int64_t sum = budget_now(e, list, count);

	if (d)
		sum += milliwatts - budget_counts(d);
	return supply_wall(&e->supply, sum) <= e->wall;
}
