/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What draws power in this machine and can be limited: GPUs and processors, each behind one table of functions. All
 * powers are milliwatts.
 */
#ifndef AGENTD_POWER_DEVICE_H
#define AGENTD_POWER_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/machine/sysfs.h"
#include "base/fail.h"

#define POWER_UNKNOWN INT64_MIN

enum { POWER_DEVICES = 72, POWER_TEXT = 96, POWER_ADDRESS = 24, POWER_MOST = 5000 * 1000, POWER_GRAIN = 1000 };

enum power_kind { POWER_GPU, POWER_CPU };

struct power_way;

struct power_device {
	enum power_kind kind;
	const struct power_way *way; /* how its limit is set; NULL: it has none that can be set */
	unsigned number;             /* among those of its kind */
	char address[POWER_ADDRESS]; /* "0000:19:00.0", "package-0" */
	char name[POWER_TEXT];
	char folder[SYSFS_PATH];    /* of its files; "": it has none */
	int64_t least, most, usual; /* limits that it takes, and its default; POWER_UNKNOWN */
	int64_t enforced;           /* the limit in force; POWER_UNKNOWN: it could not be read */
	int64_t draw;               /* POWER_UNKNOWN */
	int64_t fixed;              /* without a way: what it counts as */
	int64_t window_ms;          /* over so long it averages: after that a new limit holds */
	int64_t target;             /* what the budget gives it */
	bool idle;                  /* nobody paid for it: others come first */
	char why[200];              /* why it could not be read */
	int64_t energy, energy_us;  /* the last counter of energy, in microjoules, and when it was read */
};

/* One interface. Both may block for seconds; root: as in inventory.h. */
struct power_way {
	const char *name; /* "nvml" */
	/* Reads limits, enforced and draw of those devices of the list that have this way; sets why where it fails. */
	void (*read)(const char *root, struct power_device *list, size_t count);
	int (*set)(const char *root, const struct power_device *d, int64_t milliwatts, struct fail *f);
};

extern const struct power_way power_nvml, power_amdgpu, power_intel, power_rapl;

/* "gpu 0" or "cpu 0". */
const char *power_label(const struct power_device *d, char room[32]);

/* Draw from a counter of energy that was read before; for ways. wraps: the counter's maximum, 0: unknown. */
void power_count(struct power_device *d, int64_t energy, int64_t wraps);

#endif
