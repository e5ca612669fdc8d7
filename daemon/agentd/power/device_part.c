/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/device_part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { COUNT_MIN_US = 50 * 1000, DRAW_MOST = 10 * 1000 * 1000 };

const char *power_label(const struct power_device *d, char room[32])
{
	snprintf(room, 32, "%s %u", d->kind == POWER_GPU ? "gpu" : "cpu", d->number);
	return room;
}

static const char *device_path(char room[SYSFS_PATH], const struct power_device *d, const char *file)
{
	int n = snprintf(room, SYSFS_PATH, "%s/%s", d->folder, file);

	if (!*d->folder || n >= SYSFS_PATH)
		room[0] = '\0';
	return room;
}

int64_t device_number(const struct power_device *d, const char *file, int64_t min, int64_t max)
{
	char path[SYSFS_PATH];
	int64_t n;

	return sysfs_int(device_path(path, d, file), min, max, &n) ? n : POWER_UNKNOWN;
}

int64_t device_milliwatts(const struct power_device *d, const char *file)
{
	int64_t micro = device_number(d, file, 0, (int64_t)POWER_MOST * 1000);

	return micro == POWER_UNKNOWN ? POWER_UNKNOWN : micro / 1000;
}

int device_write(const struct power_device *d, const char *file, int64_t milliwatts, struct fail *f)
{
	char path[SYSFS_PATH], text[32];
	int n = snprintf(text, sizeof text, "%" PRId64 "\n", milliwatts * 1000), fd, rc = 0;

	if (milliwatts < 1000 || milliwatts > POWER_MOST)
		return fail_set(f, -ERANGE, "a limit of %" PRId64 " mW is never written", milliwatts);
	fd = open(device_path(path, d, file), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_TRUNC | O_NOFOLLOW);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		rc = fail_errno(f, errno ? -errno : -EIO, errno, "cannot write '%s'", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

void device_lost(struct power_device *d, const char *why)
{
	d->enforced = d->draw = POWER_UNKNOWN;
	snprintf(d->why, sizeof d->why, "%.180s", why);
}

bool device_hwmon(const char *root, struct power_device *d, const char *file)
{
	char above[SYSFS_PATH], path[SYSFS_PATH], (*names)[SYSFS_NAME];
	bool found = false;
	size_t n;

	sysfs_path(above, root, "/sys/bus/pci/devices/%s/hwmon", d->address);
	if (sysfs_list(above, 16, &names, &n))
		return false;
	for (size_t i = 0; i < n && !found; i++) {
		if (snprintf(d->folder, sizeof d->folder, "%.200s/%.200s", above, names[i]) < SYSFS_PATH)
			found = access(device_path(path, d, file), F_OK) == 0;
	}
	free(names);
	if (!found)
		d->folder[0] = '\0';
	return found;
}

void power_count(struct power_device *d, int64_t energy, int64_t wraps)
{
	int64_t now = clock_us(), took = now - d->energy_us, used = energy - d->energy, draw;

	if (d->energy_us && took < COUNT_MIN_US)
		return;
	if (used < 0 && wraps > 0)
		used += wraps;
	draw = d->energy_us && took > 0 && used >= 0 && used < INT64_MAX / 1000 ? used * 1000 / took : POWER_UNKNOWN;
	d->draw = draw > DRAW_MOST ? POWER_UNKNOWN : draw;
	d->energy = energy;
	d->energy_us = now;
}
