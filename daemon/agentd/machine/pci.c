/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/pci.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/sysfs.h"

#define DEVICES "/sys/bus/pci/devices"

enum { BAR_MEMORY = 0x200, BAR_PREFETCH = 0x2000, WIDTH_MAX = 32 };

static int64_t pci_number(const char *root, const char *address, const char *name, int64_t max, int64_t otherwise)
{
	char path[SYSFS_PATH];
	int64_t n;

	return sysfs_int(sysfs_path(path, root, DEVICES "/%s/%s", address, name), 0, max, &n) ? n : otherwise;
}

/* "16.0 GT/s PCIe" is generation 4. */
static int pci_generation(const char *root, const char *address, const char *name)
{
	static const char *const speeds[] = { "2.5", "5.0", "8.0", "16.0", "32.0", "64.0", "128.0" };
	char path[SYSFS_PATH], text[64];

	if (!sysfs_text(sysfs_path(path, root, DEVICES "/%s/%s", address, name), text, sizeof text))
		return 0;
	text[strcspn(text, " ")] = '\0';
	if (strcmp(text, "5") == 0 || strcmp(text, "8") == 0) /* older kernels */
		snprintf(text, sizeof text, "%s.0", text[0] == '5' ? "5" : "8");
	for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
		if (strcmp(text, speeds[i]) == 0)
			return (int)i + 1;
	return 0;
}

static int pci_width(const char *root, const char *address, const char *name)
{
	return (int)pci_number(root, address, name, WIDTH_MAX, 0);
}

/* Lines "start end flags" in hexadecimal; the first six are BARs. */
static void pci_read_bars(const char *root, struct pci *p)
{
	char path[SYSFS_PATH], line[128];
	FILE *f = fopen(sysfs_path(path, root, DEVICES "/%s/resource", p->address), "re");

	for (int i = 0; f && i < PCI_BARS && fgets(line, sizeof line, f); i++) {
		char *at = line;
		uint64_t start = strtoull(at, &at, 16), end = strtoull(at, &at, 16), flags = strtoull(at, &at, 16);

		if (!(flags & BAR_MEMORY) || end <= start)
			continue;
		p->bars[i] = end - start + 1;
		if ((flags & BAR_PREFETCH) && p->bars[i] > p->bar_max)
			p->bar_max = p->bars[i];
	}
	if (f)
		fclose(f);
}

static void pci_read_power(const char *root, struct pci *p)
{
	char path[SYSFS_PATH], status[32];

	sysfs_text(sysfs_path(path, root, DEVICES "/%s/power_state", p->address), p->power_state,
		sizeof p->power_state);
	sysfs_text(sysfs_path(path, root, DEVICES "/%s/power/runtime_status", p->address), status, sizeof status);
	p->asleep = strcmp(status, "suspended") == 0 || strncmp(p->power_state, "D3", 2) == 0;
}

int pci_read(const char *root, const char *address, struct pci *out)
{
	struct pci p = { .numa = -1, .iommu_group = -1 };
	char path[SYSFS_PATH], name[64];

	if (strlen(address) >= sizeof p.address)
		return -ENOENT;
	snprintf(p.address, sizeof p.address, "%s", address);
	p.vendor = (unsigned)pci_number(root, address, "vendor", 0xffff, 0);
	p.device = (unsigned)pci_number(root, address, "device", 0xffff, 0);
	if (!p.vendor || p.vendor == 0xffff)
		return -ENOENT;
	p.sub_vendor = (unsigned)pci_number(root, address, "subsystem_vendor", 0xffff, 0);
	p.sub_device = (unsigned)pci_number(root, address, "subsystem_device", 0xffff, 0);
	p.class = (uint32_t)pci_number(root, address, "class", 0xffffff, 0);
	sysfs_link(sysfs_path(path, root, DEVICES "/%s/driver", address), p.driver, sizeof p.driver);
	p.lent = sysfs_link(sysfs_path(path, root, DEVICES "/%s/physfn", address), name, sizeof name);
	if (sysfs_link(sysfs_path(path, root, DEVICES "/%s/iommu_group", address), name, sizeof name) &&
		isdigit((unsigned char)*name))
		p.iommu_group = (int)strtol(name, NULL, 10);
	p.gen = pci_generation(root, address, "current_link_speed");
	p.gen_max = pci_generation(root, address, "max_link_speed");
	p.width = pci_width(root, address, "current_link_width");
	p.width_max = pci_width(root, address, "max_link_width");
	p.width_slot = pci_width(root, address, "../max_link_width"); /* ".." of the folder that the link names */
	p.numa = (int)pci_number(root, address, "numa_node", 4095, -1);
	p.sriov_total = (int)pci_number(root, address, "sriov_totalvfs", 65535, -1);
	p.sriov_now = (int)pci_number(root, address, "sriov_numvfs", 65535, -1);
	pci_read_bars(root, &p);
	pci_read_power(root, &p);
	*out = p;
	return 0;
}

int pci_list(const char *root, char (**out)[PCI_ADDRESS], size_t *count)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME], (*list)[PCI_ADDRESS];
	size_t n = 0, kept = 0;
	int rc = sysfs_list(sysfs_path(path, root, DEVICES), PCI_MAX, &names, &n);

	if (rc)
		return rc;
	list = calloc(n ? n : 1, sizeof *list);
	for (size_t i = 0; list && i < n; i++)
		if (strlen(names[i]) < PCI_ADDRESS)
			memcpy(list[kept++], names[i], strlen(names[i]) + 1);
	free(names);
	if (!list)
		return -ENOMEM;
	*out = list;
	*count = kept;
	return 0;
}
