/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processors: Intel's limits by intel-rapl, one zone a socket. A zone has a limit for many seconds and a higher one for
 * a few: what counts is the higher one, and both are set. AMD's zones tell energy and have no limit; a processor
 * without one counts by its threads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/power/device_part.h"
#include "base/str.h"

enum {
	LIMITS = 2,
	PER_THREAD = 8 * 1000,
	FIXED_LEAST = 65 * 1000,
	FIXED_MOST = 400 * 1000,
	LEAST = 10 * 1000,
	WINDOW_MS = 1000,
	WINDOW_MOST_MS = 30000,
	ZONES = 64,
	THREADS_MOST = 65536
};

#define POWERCAP "/sys/class/powercap"

static void rapl_read_one(struct power_device *d)
{
	int64_t energy = device_number(d, "energy_uj", 0, INT64_MAX / 2), window, enforced = POWER_UNKNOWN;

	if (energy != POWER_UNKNOWN)
		power_count(d, energy, device_number(d, "max_energy_range_uj", 1, INT64_MAX / 2));
	if (!d->way)
		return;
	for (int i = 0; i < LIMITS; i++) {
		char file[64];
		int64_t one;

		snprintf(file, sizeof file, "constraint_%d_power_limit_uw", i);
		one = device_milliwatts(d, file);
		if (one != POWER_UNKNOWN && one > enforced)
			enforced = one;
	}
	d->enforced = enforced > 0 ? enforced : POWER_UNKNOWN;
	d->most = device_milliwatts(d, "constraint_0_max_power_uw");
	if (d->most == POWER_UNKNOWN || d->most < LEAST || d->most < d->enforced)
		d->most = d->enforced;
	d->usual = d->most;
	d->least = d->most == POWER_UNKNOWN ? POWER_UNKNOWN : LEAST < d->most ? LEAST : d->most;
	window = device_number(d, "constraint_0_time_window_us", 1, (int64_t)1000 * 1000 * 1000);
	d->window_ms = window == POWER_UNKNOWN || window < WINDOW_MS * 1000 ? WINDOW_MS
		: window > (int64_t)WINDOW_MOST_MS * 1000                   ? WINDOW_MOST_MS
									    : window / 1000;
	if (d->enforced == POWER_UNKNOWN)
		device_lost(d, "intel-rapl shows no limit");
}

static void rapl_read(const char *root, struct power_device *list, size_t count)
{
	(void)root;
	for (size_t i = 0; i < count; i++)
		if (list[i].kind == POWER_CPU) {
			list[i].why[0] = '\0';
			rapl_read_one(&list[i]);
		}
}

/* The short limit first: the kernel refuses a long one above it. Either may be missing. */
static int rapl_set(const char *root, const struct power_device *d, int64_t milliwatts, struct fail *f)
{
	int64_t now = device_milliwatts(d, "constraint_0_power_limit_uw");
	bool raises = now != POWER_UNKNOWN && milliwatts > now;
	int rc = 0;

	(void)root;
	if (d->most != POWER_UNKNOWN && milliwatts > d->most)
		return fail_set(f, -ERANGE, "a limit of %" PRId64 " W is more than the %" PRId64 " W that '%s' takes",
			milliwatts / 1000, d->most / 1000, d->address);
	for (int i = 0; !rc && i < LIMITS; i++) {
		char file[64];

		snprintf(file, sizeof file, "constraint_%d_power_limit_uw", raises ? LIMITS - 1 - i : i);
		if (device_milliwatts(d, file) != POWER_UNKNOWN)
			rc = device_write(d, file, milliwatts, f);
	}
	return rc;
}

/* Is it a socket's zone, of those that intel-rapl makes from its registers? "psys" and parts of a socket are not. */
static bool rapl_is_socket(const char *root, const char *zone, char *name, size_t size)
{
	char path[SYSFS_PATH];

	return str_starts(zone, "intel-rapl:") && !strchr(zone + strlen("intel-rapl:"), ':') &&
		sysfs_text(sysfs_path(path, root, POWERCAP "/%s/name", zone), name, size) &&
		str_starts(name, "package-");
}

static struct power_device *rapl_add(const char *root, struct power_device *list, size_t count, unsigned number)
{
	struct power_device *d = &list[count];
	char path[SYSFS_PATH];

	*d = (struct power_device){ .kind = POWER_CPU,
		.number = number,
		.least = POWER_UNKNOWN,
		.most = POWER_UNKNOWN,
		.usual = POWER_UNKNOWN,
		.enforced = POWER_UNKNOWN,
		.draw = POWER_UNKNOWN,
		.fixed = POWER_UNKNOWN };
	sysfs_path(path, root, "/proc/cpuinfo");
	if (!sysfs_field(path, "model name", d->name, sizeof d->name))
		snprintf(d->name, sizeof d->name, "processor");
	return d;
}

/* Without a limit each socket counts by its share of the threads: more than any such processor's rating. */
static int64_t rapl_fixed(const char *root, size_t sockets)
{
	char path[SYSFS_PATH];
	int64_t threads, fixed;

	if (!sysfs_count(sysfs_path(path, root, "/sys/devices/system/cpu/online"), THREADS_MOST, &threads))
		return FIXED_MOST;
	fixed = threads / (int64_t)(sockets ? sockets : 1) * PER_THREAD;
	return fixed < FIXED_LEAST ? FIXED_LEAST : fixed > FIXED_MOST ? FIXED_MOST : fixed;
}

size_t rapl_find(const char *root, struct power_device *list, size_t count)
{
	char path[SYSFS_PATH], name[POWER_ADDRESS], (*zones)[SYSFS_NAME];
	size_t n, first = count;

	if (sysfs_list(sysfs_path(path, root, POWERCAP), ZONES, &zones, &n) == 0) {
		for (size_t i = 0; i < n && count < POWER_DEVICES; i++) {
			struct power_device *d;

			if (!rapl_is_socket(root, zones[i], name, sizeof name))
				continue;
			d = rapl_add(root, list, count, (unsigned)(count - first));
			memcpy(d->address, name, sizeof name);
			sysfs_path(d->folder, root, POWERCAP "/%s", zones[i]);
			d->way = device_number(d, "constraint_0_power_limit_uw", 1, INT64_MAX / 2) == POWER_UNKNOWN
				? NULL
				: &power_rapl;
			count++;
		}
		free(zones);
	}
	if (count == first && count < POWER_DEVICES) {
		rapl_add(root, list, count, 0);
		snprintf(list[count++].address, POWER_ADDRESS, "package-0");
	}
	for (size_t i = first; i < count; i++)
		if (!list[i].way)
			list[i].fixed = rapl_fixed(root, count - first);
	return count;
}

const struct power_way power_rapl = { "intel-rapl", rapl_read, rapl_set };
