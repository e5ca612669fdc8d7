/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes this machine's devices keep what the owner set, and reads it back. One process at a time does so
 * (DATA/power.lock); any of them may be killed at any moment, and the limits that it left stay in force.
 */
#ifndef AGENTD_POWER_HOLD_H
#define AGENTD_POWER_HOLD_H

#include "agentd/power/budget.h"

struct hold {
	const char *data, *root; /* the agent's folder; root as in inventory.h */
	struct envelope e;
	struct power_device list[POWER_DEVICES];
	size_t count;
	struct budget b;
};

/* Waits for the lock. 0 with a descriptor to close; -EBUSY: another process changes or measures limits. */
int hold_lock(const char *data, int64_t wait_ms, int *fd, struct fail *f);

/* These two open the GPUs: the caller has its turn (os/gpu_turn.h). */
/* Finds the devices and plans for h->e. -ENODEV: a GPU of the settings is gone; else as budget_plan(). */
int hold_plan(struct hold *h, struct fail *f);

/* After hold_plan(), with the lock: changes the limits and reads them back. As change_make(). */
int hold_change(struct hold *h, struct fail *f);

/* All of it, in its turn, by the settings on disk. -ENOENT: nothing is set. */
int hold_apply(struct hold *h, struct fail *f);

#endif
