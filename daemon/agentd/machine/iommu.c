/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/iommu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/gpu.h"
#include "agentd/machine/sysfs.h"

#define GROUPS "/sys/kernel/iommu_groups"

enum { GROUPS_MOST = 65536, MEMBERS = 256, BRIDGE = 0x06, SLOT_CHARS = sizeof "0000:19:00" - 1 };

/* ---- Is it on ------------------------------------------------------------------------------- */

static int iommu_off(const char *root, struct fail *f)
{
	char path[SYSFS_PATH], vendor[64] = "";

	sysfs_path(path, root, "/proc/cpuinfo");
	if (!sysfs_field(path, "vendor_id", vendor, sizeof vendor))
		sysfs_field(path, "model name", vendor, sizeof vendor);
	if (strstr(vendor, "AMD"))
		return fail_set(f, -ENOTSUP,
			"the IOMMU is off: turn on AMD-Vi (IOMMU) in the BIOS and boot without amd_iommu=off");
	if (strstr(vendor, "Intel"))
		return fail_set(f, -ENOTSUP, "the IOMMU is off: turn on VT-d in the BIOS and boot with intel_iommu=on");
	return fail_set(f, -ENOTSUP,
		"the IOMMU is off: turn it on in the BIOS (VT-d, AMD-Vi) and boot with intel_iommu=on on Intel's "
		"processors");
}

int iommu_on(const char *root, struct fail *f)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	size_t count = 0;

	if (sysfs_list(sysfs_path(path, root, GROUPS), GROUPS_MOST, &names, &count) == 0)
		free(names);
	return count ? 0 : iommu_off(root, f);
}

/* ---- One slot ------------------------------------------------------------------------------- */

static bool iommu_same_slot(const char *a, const char *b)
{
	return strncmp(a, b, SLOT_CHARS) == 0;
}

static const char *iommu_kind(const struct pci *p)
{
	switch (p->class >> 16) {
	case 0x01:
		return "storage";
	case 0x02:
		return "network";
	case 0x03:
		return "display";
	case 0x04:
		return "sound";
	case BRIDGE:
		return "bridge";
	case 0x0c:
		return p->class >> 8 == 0x0c03 ? "USB" : "bus";
	default:
		return "device";
	}
}

/* A bridge moves no data of its own; one whose driver does, as a switch's, the kernel takes for a stranger. */
static bool iommu_is_bridge(const struct pci *p)
{
	return p->class >> 16 == BRIDGE &&
		(!*p->driver || strcmp(p->driver, "pcieport") == 0 || strcmp(p->driver, "pci-stub") == 0);
}

/* Is the function part of one of the guest's GPUs? */
static bool iommu_is_guests(const char *root, const char *address, const char (*guest)[PCI_ADDRESS], size_t count)
{
	char first[PCI_ADDRESS];
	struct pci p;

	for (size_t i = 0; guest && i < count; i++)
		if (iommu_same_slot(guest[i], address))
			return true;
	/* The GPU is the slot's first function. */
	snprintf(first, sizeof first, "%.*s.0", (int)SLOT_CHARS, address);
	return !guest && pci_read(root, first, &p) == 0 && gpu_is(&p);
}

struct iommu_look {
	const char *root, *address;
	const char (*guest)[PCI_ADDRESS];
	size_t guest_count, strangers;
	struct pci first; /* stranger */
	struct iommu_slot *slot;
};

static void iommu_add_gpu(struct iommu_slot *slot, const char *address)
{
	if (slot->gpu_count < IOMMU_GPUS)
		snprintf(slot->gpus[slot->gpu_count], PCI_ADDRESS, "%s", address);
	slot->gpu_count++;
}

static void iommu_look_at(struct iommu_look *l, const char *member)
{
	struct pci p;

	if (iommu_same_slot(member, l->address) || pci_read(l->root, member, &p) != 0 || iommu_is_bridge(&p))
		return;
	if (!iommu_is_guests(l->root, member, l->guest, l->guest_count))
		l->first = l->strangers++ ? l->first : p;
	else if (gpu_is(&p))
		iommu_add_gpu(l->slot, member);
}

static int iommu_look_in(struct iommu_look *l, int group, struct fail *f)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	size_t count = 0;
	int rc = sysfs_list(sysfs_path(path, l->root, GROUPS "/%d/devices", group), MEMBERS, &names, &count);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot list IOMMU group %d", group);
	for (size_t i = 0; i < count; i++)
		iommu_look_at(l, names[i]);
	free(names);
	return 0;
}

static int iommu_read_slot(const char *root, const char *address, struct iommu_slot *out, struct fail *f)
{
	char at[PCI_ADDRESS];
	struct pci p;

	for (unsigned n = 0; n < IOMMU_SLOT; n++) {
		struct iommu_function *to = &out->functions[out->count];

		snprintf(at, sizeof at, "%.*s.%u", (int)SLOT_CHARS, address, n);
		if (pci_read(root, at, &p) != 0)
			continue;
		if (p.iommu_group < 0) {
			int rc = iommu_on(root, f);

			return rc ? rc
				  : fail_set(f, -ENOTSUP, "the GPU at %s is in no IOMMU group, so no guest can have it",
					    at);
		}
		*to = (struct iommu_function){ .group = p.iommu_group, .bar_max = p.bar_max };
		memcpy(to->address, at, sizeof at);
		for (size_t i = 0; i < PCI_BARS; i++)
			to->bars += p.bars[i];
		out->count++;
	}
	return out->count ? 0 : fail_set(f, -ENODEV, "the GPU at %s is gone", address);
}

int iommu_slot(const char *root, const char *address, const char (*guest)[PCI_ADDRESS], size_t guest_count,
	struct iommu_slot *out, struct fail *f)
{
	struct iommu_slot slot = { .count = 0 };
	struct iommu_look l = { .root = root,
		.address = address,
		.guest = guest,
		.guest_count = guest_count,
		.slot = &slot };
	char more[48] = "";
	int rc = iommu_read_slot(root, address, &slot, f);

	iommu_add_gpu(&slot, address);
	for (size_t i = 0; !rc && i < slot.count; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again = again || slot.functions[k].group == slot.functions[i].group;
		rc = again ? 0 : iommu_look_in(&l, slot.functions[i].group, f);
	}
	if (rc)
		return rc;
	if (l.strangers > 1)
		snprintf(more, sizeof more, " and %zu more", l.strangers - 1);
	if (l.strangers)
		return fail_set(f, -EBUSY,
			"the GPU at %s shares IOMMU group %d with %s (%s, driver %s)%s, which its guest would reach, "
			"too; move it to another slot, or turn on ACS in the BIOS",
			address, l.first.iommu_group, l.first.address, iommu_kind(&l.first),
			*l.first.driver ? l.first.driver : "none", more);
	*out = slot;
	return 0;
}

int iommu_any(const char *root, struct fail *f)
{
	char(*list)[PCI_ADDRESS] = NULL;
	struct fail first = { 0 }, why;
	bool any = false, good = false;
	size_t count = 0;

	pci_list(root, &list, &count);
	for (size_t i = 0; i < count && !good; i++) {
		struct iommu_slot slot;
		struct pci p;
		struct gpu g;

		if (pci_read(root, list[i], &p) != 0 || !gpu_is(&p))
			continue;
		gpu_read(root, &p, &g);
		if (g.integrated)
			continue;
		why = (struct fail){ 0 };
		good = iommu_slot(root, list[i], NULL, 0, &slot, &why) == 0;
		first = any ? first : why;
		any = true;
	}
	free(list);
	if (!any)
		return fail_set(f, -ENODEV, "this machine has no GPU");
	return good ? 0 : fail_set(f, first.code, "%s", first.text);
}
