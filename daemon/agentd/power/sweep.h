/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how fast a GPU computes at several limits, from the one it has downwards, so that all fits the envelope as
 * it did before. A second process waits beside it and puts the limit back, however the first one ends.
 */
#ifndef AGENTD_POWER_SWEEP_H
#define AGENTD_POWER_SWEEP_H

#include "agentd/power/curve.h"

/* The process that puts limits back. */
struct sweep_guard {
	int pid, fd;
};

/* Starts it for these devices, with the limits that they have. It keeps lock (of hold_lock()) as long as it needs. */
int sweep_guard(const char *root, const struct power_device *list, size_t count, int lock, struct sweep_guard *out,
	struct fail *f);

/* Has it put the limits back, and waits for that. 0, or -EIO where one could not be put back. */
int sweep_end(struct sweep_guard *g);

/*
 * Measures list[index] at so many limits (2 to CURVE_POINTS), seconds each. said gets a line for each. -ENOTSUP: it is
 * not NVIDIA's, or CUDA is not there.
 */
int sweep_gpu(const char *root, struct power_device *list, size_t count, size_t index, size_t steps,
	void (*said)(const struct power_device *d, const struct curve_point *p), struct curve *out, struct fail *f);

#endif
