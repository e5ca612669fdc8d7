/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways of setting a limit share: files of sysfs with microwatts. Seen by this room alone. */
#ifndef AGENTD_POWER_DEVICE_PART_H
#define AGENTD_POWER_DEVICE_PART_H

#include "agentd/power/device.h"

/* A file of microwatts below the device's folder, as milliwatts; POWER_UNKNOWN where it is missing or absurd. */
int64_t device_milliwatts(const struct power_device *d, const char *file);

/* Any integer of such a file in [min, max]. */
int64_t device_number(const struct power_device *d, const char *file, int64_t min, int64_t max);

/* Writes microwatts, never 0: that means "no limit" or "the default". 0 or a negative errno. */
int device_write(const struct power_device *d, const char *file, int64_t milliwatts, struct fail *f);

/* Tells that its limit could not be read. */
void device_lost(struct power_device *d, const char *why);

/* Fills folder with the first of the GPU's hwmon folders that has this file; false: none. */
bool device_hwmon(const char *root, struct power_device *d, const char *file);

/* Adds this machine's processors. Returns the new number of devices. */
size_t rapl_find(const char *root, struct power_device *list, size_t count);

#endif
