/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of AMD's and Intel's cards, by the files of their drivers below hwmon. To Intel's 0 is "no limit", to AMD's
 * "the default": neither is ever written.
 */
#include <stdio.h>
#include <string.h>

#include "agentd/power/device_part.h"

enum { PARTS = 4, WINDOW_MS = 2000, WINDOW_MOST_MS = 30000 };

/* Below this nothing computes: what a driver calls its least may be 0. */
static int64_t hwmon_least(int64_t told, int64_t usual, int64_t most)
{
	int64_t part = (usual != POWER_UNKNOWN && usual ? usual : most) / PARTS;

	if (most == POWER_UNKNOWN || most < 1000)
		return POWER_UNKNOWN;
	part = part < 1000 ? 1000 : part;
	return told != POWER_UNKNOWN && told > part ? told : part;
}

static void hwmon_draw(struct power_device *d, const char *counter)
{
	int64_t energy;

	d->draw = device_milliwatts(d, "power1_average");
	if (d->draw == POWER_UNKNOWN)
		d->draw = device_milliwatts(d, "power1_input");
	energy = d->draw == POWER_UNKNOWN ? device_number(d, counter, 0, INT64_MAX / 2) : POWER_UNKNOWN;
	if (energy != POWER_UNKNOWN)
		power_count(d, energy, 0);
}

static void amdgpu_read_one(struct power_device *d)
{
	d->most = device_milliwatts(d, "power1_cap_max");
	d->usual = device_milliwatts(d, "power1_cap_default");
	d->enforced = device_milliwatts(d, "power1_cap");
	if (d->most == POWER_UNKNOWN)
		d->most = d->usual;
	d->least = hwmon_least(device_milliwatts(d, "power1_cap_min"), d->usual, d->most);
	d->window_ms = WINDOW_MS;
	hwmon_draw(d, "energy1_input");
	if (d->enforced == POWER_UNKNOWN || d->enforced == 0)
		device_lost(d, "its driver shows no power1_cap");
}

/* A limit that is switched off counts as all that the card can draw. */
static void intel_read_one(struct power_device *d)
{
	int64_t crit = device_milliwatts(d, "power1_crit"), window;

	d->usual = device_milliwatts(d, "power1_rated_max");
	d->enforced = device_milliwatts(d, "power1_max");
	d->most = d->usual != POWER_UNKNOWN && d->usual ? d->usual : d->enforced;
	d->usual = d->most;
	d->least = hwmon_least(POWER_UNKNOWN, d->usual, d->most);
	window = device_number(d, "power1_max_interval", 1, 1000 * 1000);
	d->window_ms = window == POWER_UNKNOWN || window < WINDOW_MS ? WINDOW_MS
		: window > WINDOW_MOST_MS                            ? WINDOW_MOST_MS
								     : window;
	hwmon_draw(d, "energy1_input");
	if (d->enforced == 0)
		d->enforced = crit != POWER_UNKNOWN && crit > d->most ? crit : d->most != 0 ? d->most : POWER_UNKNOWN;
	if (d->enforced == POWER_UNKNOWN)
		device_lost(d, "its driver shows no power1_max");
}

static void hwmon_read_all(struct power_device *list, size_t count, const struct power_way *way,
	void (*one)(struct power_device *))
{
	for (size_t i = 0; i < count; i++)
		if (list[i].way == way) {
			list[i].why[0] = '\0';
			one(&list[i]);
		}
}

static void amdgpu_read(const char *root, struct power_device *list, size_t count)
{
	(void)root;
	hwmon_read_all(list, count, &power_amdgpu, amdgpu_read_one);
}

static int amdgpu_set(const char *root, const struct power_device *d, int64_t milliwatts, struct fail *f)
{
	(void)root;
	return device_write(d, "power1_cap", milliwatts, f);
}

static void intel_read(const char *root, struct power_device *list, size_t count)
{
	(void)root;
	hwmon_read_all(list, count, &power_intel, intel_read_one);
}

static int intel_set(const char *root, const struct power_device *d, int64_t milliwatts, struct fail *f)
{
	(void)root;
	return device_write(d, "power1_max", milliwatts, f);
}

const struct power_way power_amdgpu = { "amdgpu", amdgpu_read, amdgpu_set };
const struct power_way power_intel = { "intel", intel_read, intel_set };
