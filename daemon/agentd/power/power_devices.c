/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/power_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/gpu.h"
#include "agentd/power/device_part.h"

/* What sets the limit of this GPU; NULL: nothing does. */
static const struct power_way *devices_way(const char *root, const struct gpu *g, struct power_device *d)
{
	if (strcmp(g->pci.driver, "nvidia") == 0)
		return &power_nvml;
	if (strcmp(g->pci.driver, "amdgpu") == 0)
		return device_hwmon(root, d, "power1_cap") ? &power_amdgpu : NULL;
	if (strcmp(g->pci.driver, "xe") == 0 || strcmp(g->pci.driver, "i915") == 0)
		return device_hwmon(root, d, "power1_max") ? &power_intel : NULL;
	return NULL;
}

static size_t devices_find_gpus(const char *root, struct power_device *list)
{
	char(*addresses)[PCI_ADDRESS];
	size_t n, count = 0;

	if (pci_list(root, &addresses, &n))
		return 0;
	for (size_t i = 0; i < n && count < POWER_DEVICES / 2; i++) {
		struct power_device *d = &list[count];
		struct pci p;
		struct gpu g;

		if (pci_read(root, addresses[i], &p) || !gpu_is(&p))
			continue;
		gpu_read(root, &p, &g);
		if (g.integrated)
			continue;
		*d = (struct power_device){ .kind = POWER_GPU,
			.number = (unsigned)count,
			.least = POWER_UNKNOWN,
			.most = POWER_UNKNOWN,
			.usual = POWER_UNKNOWN,
			.enforced = POWER_UNKNOWN,
			.draw = POWER_UNKNOWN,
			.fixed = POWER_UNKNOWN };
		snprintf(d->address, sizeof d->address, "%s", g.pci.address);
		snprintf(d->name, sizeof d->name, "%.95s", g.name);
		d->way = devices_way(root, &g, d);
		count++;
	}
	free(addresses);
	return count;
}

size_t power_find(const char *root, struct power_device list[POWER_DEVICES])
{
	const char *below = root && strcmp(root, "/") != 0 ? root : "";
	size_t count = devices_find_gpus(below, list);

	count = rapl_find(below, list, count);
	power_read(root, list, count);
	return count;
}

void power_read(const char *root, struct power_device *list, size_t count)
{
	static const struct power_way *const ways[] = { &power_nvml, &power_amdgpu, &power_intel, &power_rapl };
	const char *below = root && strcmp(root, "/") != 0 ? root : "";

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		ways[i]->read(below, list, count);
}
