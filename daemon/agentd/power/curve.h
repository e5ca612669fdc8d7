/* SPDX-License-Identifier: Apache-2.0 */
/* How fast each GPU was at which limit, as a sweep measured it: the file power-sweep.json in the agent's folder. */
#ifndef AGENTD_POWER_CURVE_H
#define AGENTD_POWER_CURVE_H

#include "agentd/power/device.h"

enum { CURVE_POINTS = 16, CURVE_GPUS = 64, CURVE_FILE_MAX = 256 * 1024 };

struct curve {
	char address[POWER_ADDRESS], name[POWER_TEXT];
	int64_t measured_at; /* Unix time */
	size_t count;
	struct curve_point {
		int64_t limit; /* milliwatts, rising */
		int64_t speed; /* multiplications a second */
	} points[CURVE_POINTS];
};

struct curves {
	struct curve list[CURVE_GPUS];
	size_t count;
};

/* 0; -EINVAL: text is no such file's. */
int curve_parse(const char *text, size_t len, struct curves *out, struct fail *f);

/* Of DATA/power-sweep.json; one that is missing or damaged has no curves. */
void curve_load(const char *data, struct curves *out);
int curve_save(const char *data, const struct curves *c, struct fail *f);

/* Replaces or adds the curve of that GPU; too many are dropped. */
void curve_put(struct curves *c, const struct curve *one);

/* Thousandths of its best speed that this GPU has at that limit; -1: not measured, or another card was in its place. */
int curve_speed(const struct curves *c, const struct power_device *d, int64_t limit, int64_t *measured_at);

#endif
