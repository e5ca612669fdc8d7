/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/vfio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agentd/machine/iommu.h"
#include "agentd/machine/sysfs.h"
#include "agentd/os/spawn.h"

#define FUNCTIONS "/sys/bus/pci/devices"

enum { MODPROBE_MS = 20000, GROUPS_MOST = 8 };

/* ---- Taking --------------------------------------------------------------------------------- */

void vfio_remember(const char *root, struct vfio_function *f)
{
	char path[SYSFS_PATH];

	function_driver(root, f->address, f->driver);
	sysfs_text(sysfs_path(path, root, FUNCTIONS "/%s/driver_override", f->address), f->override,
		sizeof f->override);
	if (strcmp(f->override, "(null)") == 0)
		f->override[0] = '\0';
}

static bool vfio_is_there(const char *root)
{
	char path[SYSFS_PATH];

	return access(sysfs_path(path, root, "/sys/bus/pci/drivers/" VFIO_DRIVER), F_OK) == 0;
}

int vfio_ready(const char *root, struct fail *f)
{
	struct fail why = { 0 };

	/* A module is for this machine, not for a tree that stands for another. */
	if (!vfio_is_there(root) && (!root || !*root))
		spawn_words(MODPROBE_MS, &why, "modprobe", VFIO_DRIVER, NULL);
	if (vfio_is_there(root))
		return 0;
	return fail_set(f, -ENOTSUP,
		"this kernel has no driver " VFIO_DRIVER ": 'modprobe " VFIO_DRIVER "' has to load it%s%s",
		*why.text ? "; " : "", why.text);
}

static int vfio_take_one(const char *root, const char *address, struct fail *f)
{
	char now[FUNCTION_NAME];
	int rc = function_override(root, address, VFIO_DRIVER, f);

	function_driver(root, address, now);
	if (!rc && strcmp(now, VFIO_DRIVER) != 0)
		rc = function_unbind(root, address, f);
	return rc ? rc : function_bind(root, address, VFIO_DRIVER, f);
}

int vfio_take(const char *root, const struct vfio_function *list, size_t count, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++)
		rc = vfio_take_one(root, list[i].address, f);
	return rc;
}

/* The kernel opens a group once. To take a function of one away from its guest would wait until that ends. */
static int vfio_unused(const char *root, const struct vfio_function *v, struct fail *f)
{
	char path[SYSFS_PATH];
	int fd = open(sysfs_path(path, root, "/dev/vfio/%d", v->group), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno == EBUSY ? fail_set(f, -EBUSY, "a guest still has %s", v->address) : 0;
	close(fd);
	return 0;
}

/* ---- Resetting ------------------------------------------------------------------------------ */

struct vfio_open {
	int container, device;
	int groups[GROUPS_MOST];
	size_t count;
};

static int vfio_open_group(const char *root, int group, struct vfio_open *o, struct fail *f)
{
	char path[SYSFS_PATH];
	int fd;

	if (o->count == GROUPS_MOST)
		return fail_set(f, -E2BIG, "the GPU is in more than %d IOMMU groups", GROUPS_MOST);
	fd = open(sysfs_path(path, root, "/dev/vfio/%d", group), O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	o->groups[o->count++] = fd;
	if (ioctl(fd, VFIO_GROUP_SET_CONTAINER, &o->container) != 0)
		return fail_errno(f, -errno, errno, "cannot use IOMMU group %d", group);
	if (o->count == 1 && ioctl(o->container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) != 0)
		return fail_errno(f, -errno, errno, "cannot use the IOMMU");
	return 0;
}

static int vfio_open_all(const char *root, const struct vfio_function *list, size_t count, struct vfio_open *o,
	struct fail *f)
{
	char path[SYSFS_PATH];
	int rc = 0;

	o->container = open(sysfs_path(path, root, "/dev/vfio/vfio"), O_RDWR | O_CLOEXEC);
	if (o->container < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	for (size_t i = 0; !rc && i < count; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again = again || list[k].group == list[i].group;
		rc = again ? 0 : vfio_open_group(root, list[i].group, o, f);
	}
	if (!rc && (o->device = ioctl(o->groups[0], VFIO_GROUP_GET_DEVICE_FD, list[0].address)) < 0)
		rc = fail_errno(f, -errno, errno, "cannot open %s by " VFIO_DRIVER, list[0].address);
	return rc;
}

/* Resets the bus. The kernel refuses it where something on it is not in the groups that we show. */
static int vfio_reset_bus(const char *root, const struct vfio_function *list, size_t count, struct fail *f)
{
	struct vfio_open o = { .container = -1, .device = -1 };
	struct vfio_pci_hot_reset *ask = calloc(1, sizeof *ask + sizeof o.groups);
	int rc = ask ? vfio_open_all(root, list, count, &o, f) : fail_set(f, -ENOMEM, "out of memory");

	if (!rc) {
		ask->argsz = (uint32_t)(sizeof *ask + o.count * sizeof *o.groups);
		ask->count = (uint32_t)o.count;
		memcpy(ask->group_fds, o.groups, o.count * sizeof *o.groups);
		if (ioctl(o.device, VFIO_DEVICE_PCI_HOT_RESET, ask) != 0)
			rc = fail_errno(f, -errno, errno, "the kernel cannot reset %s with what is on its bus",
				list[0].address);
	}
	if (o.device >= 0)
		close(o.device);
	for (size_t i = 0; i < o.count; i++)
		close(o.groups[i]);
	if (o.container >= 0)
		close(o.container);
	free(ask);
	return rc;
}

int vfio_reset(const char *root, const struct vfio_function *list, size_t count, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++)
		rc = vfio_unused(root, &list[i], f);
	if (rc)
		return rc;
	/* A card with sound has "bus" among its ways, and the kernel refuses it: the card is not alone on its bus. */
	if (function_resets_alone(root, list[0].address) && function_reset(root, list[0].address, NULL) == 0)
		return 0;
	return vfio_reset_bus(root, list, count, f);
}

/* ---- Giving back ---------------------------------------------------------------------------- */

static int vfio_leave(const char *root, const struct vfio_function *v, struct fail *f)
{
	char now[FUNCTION_NAME];
	int rc = vfio_unused(root, v, f);

	rc = rc ? rc : function_override(root, v->address, v->override, f);
	function_driver(root, v->address, now);
	return rc || strcmp(now, VFIO_DRIVER) != 0 ? rc : function_unbind(root, v->address, f);
}

/*
 * All leave before the first goes back, where that is vfio-pci, too: the kernel makes a group's device file, which the
 * guest's user owned, anew only once nobody has a function of it.
 */
int vfio_give_back(const char *root, const struct vfio_function *list, size_t count, struct fail *f)
{
	struct fail why[IOMMU_SLOT] = { 0 };
	int first = 0, rc[IOMMU_SLOT];

	for (size_t i = 0; i < count; i++)
		rc[i] = vfio_leave(root, &list[i], &why[i]);
	for (size_t i = 0; i < count; i++) {
		if (!rc[i] && *list[i].driver)
			rc[i] = function_bind(root, list[i].address, list[i].driver, &why[i]);
		if (rc[i] && !first)
			first = fail_set(f, rc[i], "cannot give %s back to %s: %s", list[i].address,
				*list[i].driver ? list[i].driver : "nobody", why[i].text);
	}
	return first;
}
