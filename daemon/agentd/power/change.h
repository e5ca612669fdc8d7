/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the devices from the limits that they have to those of the budget, so that enforced limits fit the envelope at
 * every instant: first lowers, reads back what is enforced, waits until averages have followed, and only then raises.
 * It may be killed at any instruction; the next one begins from what is enforced.
 */
#ifndef AGENTD_POWER_CHANGE_H
#define AGENTD_POWER_CHANGE_H

#include "agentd/power/budget.h"

/* What it works with: real devices, or a model of them. All of them: -EINTR: stop at once and touch nothing more. */
struct change_ways {
	void *arg;
	int (*read)(void *arg, struct power_device *list, size_t count);
	int (*set)(void *arg, struct power_device *d, int64_t milliwatts, struct fail *f);
	int (*wait)(void *arg, int64_t ms);
};

/*
 * To the targets that budget_plan() set. 0: every device enforces its own, or less where it takes no more. -EIO: a
 * device cannot be read, set, or does not do as told; -EBUSY: one draws more than its limit; -EINTR.
 */
int change_make(const struct change_ways *w, const struct envelope *e, struct power_device *list, size_t count,
	struct fail *f);

/* Do they enforce their targets, as they were last read? f says which does not. */
bool change_done(const struct envelope *e, const struct power_device *list, size_t count, struct fail *f);

#endif
