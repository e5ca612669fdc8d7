/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may draw how much, so that the limits of all devices and the reserve, over the supply's efficiency, fit the
 * envelope. Pure: from what is there and what the owner set to a target for each device.
 */
#ifndef AGENTD_POWER_BUDGET_H
#define AGENTD_POWER_BUDGET_H

#include "agentd/power/envelope.h"

struct budget {
	int64_t behind; /* what the supply may give */
	int64_t given;  /* targets, what counts without a limit, and the reserve */
	int64_t wall;   /* at the wall for that */
};

/*
 * Sets the target of each device: first the least for all, then evenly up to each one's own most (its default, or the
 * owner's cap), those that are paid for first. -ENOSPC: not even the least fits, and f says what would; -ERANGE: a cap
 * is outside of what the GPU takes; -ENODATA: a device has no limit and nobody said what it draws.
 */
int budget_plan(const struct envelope *e, struct power_device *list, size_t count, struct budget *out, struct fail *f);

/* What a device may draw now: its enforced limit, or what it counts as; the worst where it cannot be read. */
int64_t budget_counts(const struct power_device *d);

/* Would all fit now, if this device had that limit? d NULL: as they are. */
bool budget_fits(const struct envelope *e, const struct power_device *list, size_t count, const struct power_device *d,
	int64_t milliwatts);

/* Limits of all and the reserve, behind the supply. */
int64_t budget_now(const struct envelope *e, const struct power_device *list, size_t count);

#endif
