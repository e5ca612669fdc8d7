/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/gpu_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/machine/sysfs.h"
#include "base/buf.h"
#include "base/str.h"

enum {
	NVIDIA_MAJOR = 195,
	NVIDIA_CTL = 255,
	NVIDIA_MODESET = 254,
	NVIDIA_MINORS = 254,
	CAP_MINORS_TAKEN = 3, /* 1 and 2 make and watch slices: never for a node */
	CAP_MINORS = 1 << 20,
	DRM_MAX = 64,
	FILES_MAX = 8192,
	TEXT_MAX = 1 << 20
};

static int nodes_add(struct node_devices *d, const char *path, unsigned major, unsigned minor)
{
	struct device_node n = { .type = 'c', .numbered = true, .major = major, .minor = minor, .access = DEVICE_ALL };

	snprintf(n.inside, sizeof n.inside, "%s", path);
	snprintf(n.outside, sizeof n.outside, "%s", path);
	return devices_add_node(d, &n);
}

/* The major number of a character device by its name in /proc/devices; 0: none. */
static unsigned nodes_major(const char *root, const char *name)
{
	char path[SYSFS_PATH], word[64], *rest, *line;
	unsigned number, found = 0;
	struct buf b;

	buf_init(&b, TEXT_MAX);
	if (buf_read_file(&b, sysfs_path(path, root, "/proc/devices")) == 0)
		for (rest = b.data; rest && (line = strsep(&rest, "\n")) && !str_starts(line, "Block");)
			if (sscanf(line, "%u %63s", &number, word) == 2 && strcmp(word, name) == 0)
				found = number;
	buf_release(&b);
	return found;
}

/* ---- AMD, Intel ----------------------------------------------------------------------------- */

/* The name that the GPU's driver has in /dev/dri: kind "renderD" or "card". */
static bool nodes_drm(const char *root, const struct gpu *g, const char *kind, char room[SYSFS_NAME])
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	bool found = false;
	size_t count;

	if (sysfs_list(sysfs_path(path, root, "/sys/bus/pci/devices/%s/drm", g->pci.address), DRM_MAX, &names,
		    &count) != 0)
		return false;
	for (size_t i = 0; i < count && !found; i++)
		if (str_starts(names[i], kind)) {
			memcpy(room, names[i], SYSFS_NAME);
			found = true;
		}
	free(names);
	return found;
}

static int nodes_add_drm(const char *root, const struct gpu *g, const char *kind, struct node_devices *d)
{
	char path[SYSFS_PATH], name[SYSFS_NAME], text[32];
	unsigned major, minor;

	if (!nodes_drm(root, g, kind, name))
		return -ENODEV;
	if (!sysfs_text(sysfs_path(path, root, "/sys/bus/pci/devices/%s/drm/%s/dev", g->pci.address, name), text,
		    sizeof text) ||
		sscanf(text, "%u:%u", &major, &minor) != 2 ||
		snprintf(path, DEVICES_PATH, "/dev/dri/%s", name) >= DEVICES_PATH)
		return -ENODEV;
	return nodes_add(d, path, major, minor);
}

static int nodes_of_drm(const char *root, const struct gpu *g, struct node_devices *d)
{
	unsigned kfd = g->pci.vendor == GPU_AMD ? nodes_major(root, "kfd") : 0;
	int rc = nodes_add_drm(root, g, "renderD", d);

	if (!rc)
		rc = nodes_add_drm(root, g, "card", d);
	if (rc == -ENODEV && d->node_count)
		rc = 0; /* a card that only computes has no 'card' node */
	return !rc && kfd ? nodes_add(d, "/dev/kfd", kfd, 0) : rc;
}

/* ---- NVIDIA --------------------------------------------------------------------------------- */

static bool nodes_nvidia_minor(const char *root, const char *address, long *out)
{
	char path[SYSFS_PATH], text[32];

	sysfs_path(path, root, "/proc/driver/nvidia/gpus/%s/information", address);
	return sysfs_field(path, "Device Minor", text, sizeof text) &&
		str_to_long(text, 0, NVIDIA_MINORS - 1, out) == 0;
}

static int nodes_of_nvidia(const char *root, const struct gpu *g, struct node_devices *d)
{
	unsigned uvm = nodes_major(root, "nvidia-uvm");
	char path[64];
	long minor;
	int rc;

	if (!nodes_nvidia_minor(root, g->pci.address, &minor))
		return -ENODEV;
	snprintf(path, sizeof path, "/dev/nvidia%ld", minor);
	rc = nodes_add(d, path, NVIDIA_MAJOR, (unsigned)minor);
	rc = rc ? rc : nodes_add(d, "/dev/nvidiactl", NVIDIA_MAJOR, NVIDIA_CTL);
	rc = rc ? rc : nodes_add(d, "/dev/nvidia-modeset", NVIDIA_MAJOR, NVIDIA_MODESET);
	if (!rc && uvm)
		rc = nodes_add(d, "/dev/nvidia-uvm", uvm, 0);
	if (!rc && uvm)
		rc = nodes_add(d, "/dev/nvidia-uvm-tools", uvm, 1);
	return rc ? rc : devices_add_env(d, "NVIDIA_VISIBLE_DEVICES=void");
}

/* Libraries of the driver end in its version: libcuda.so.535.129.03. */
static bool nodes_is_library(const char *name, const char *version)
{
	const char *at = strstr(name, ".so.");

	return str_starts(name, "lib") && at && strcmp(at + 4, version) == 0;
}

static int nodes_libraries(const char *root, const char *folder, const char *version, struct node_devices *d)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	bool any = false;
	size_t count;
	int rc = 0;

	if (sysfs_list(sysfs_path(path, root, "%s", folder), FILES_MAX, &names, &count) != 0)
		return 0;
	for (size_t i = 0; !rc && i < count; i++) {
		if (!nodes_is_library(names[i], version))
			continue;
		any = true;
		if (snprintf(path, DEVICES_PATH, "%s/%s", folder, names[i]) < DEVICES_PATH)
			rc = devices_add_mount(d, path, path);
		if (!rc && str_starts(names[i], "libcuda.so.") &&
			snprintf(path, DEVICES_PATH, "%s/libcuda.so", folder) < DEVICES_PATH)
			rc = devices_add_link(d, "libcuda.so.1", path);
	}
	free(names);
	return rc || !any ? rc : devices_add_folder(d, folder);
}

static int nodes_files_of_nvidia(const char *root, const struct gpu *g, struct node_devices *d)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/usr/lib64" };
	static const char *const programs[] = { "/usr/bin/nvidia-smi", "/usr/bin/nvidia-debugdump",
		"/usr/bin/nvidia-cuda-mps-control", "/usr/bin/nvidia-cuda-mps-server" };
	char path[SYSFS_PATH];
	int rc = 0;

	for (size_t i = 0; !rc && *g->driver_version && i < sizeof folders / sizeof *folders; i++)
		rc = nodes_libraries(root, folders[i], g->driver_version, d);
	for (size_t i = 0; !rc && i < sizeof programs / sizeof *programs; i++)
		if (access(sysfs_path(path, root, "%s", programs[i]), F_OK) == 0)
			rc = devices_add_mount(d, programs[i], programs[i]);
	return rc;
}

/* ---- Slices --------------------------------------------------------------------------------- */

/* /dev/nvidia-caps/nvidia-capN, where the file says which N. */
static int nodes_add_cap(unsigned major, const char *path, struct node_devices *d)
{
	char text[32], name[DEVICES_PATH];
	long minor;

	if (!sysfs_field(path, "DeviceFileMinor", text, sizeof text) ||
		str_to_long(text, CAP_MINORS_TAKEN, CAP_MINORS, &minor) != 0)
		return -ENODEV;
	snprintf(name, sizeof name, "/dev/nvidia-caps/nvidia-cap%ld", minor);
	return nodes_add(d, name, major, (unsigned)minor);
}

int gpu_nodes_slice(const char *root, const char *address, unsigned instance, unsigned part, struct node_devices *out,
	struct fail *f)
{
	unsigned major = nodes_major(root, "nvidia-caps");
	char path[SYSFS_PATH], folder[SYSFS_PATH];
	long minor = 0;
	int rc = major && nodes_nvidia_minor(root, address, &minor) ? 0 : -ENODEV;

	snprintf(folder, sizeof folder, "/proc/driver/nvidia/capabilities/gpu%ld/mig/gi%u", minor, instance);
	if (!rc)
		rc = nodes_add_cap(major, sysfs_path(path, root, "%s/access", folder), out);
	if (!rc)
		rc = nodes_add_cap(major, sysfs_path(path, root, "%s/ci%u/access", folder, part), out);
	if (rc == -ENODEV)
		return fail_set(f, rc, "the kernel shows no device nodes of slice %u of the GPU at %s", instance,
			address);
	return rc ? fail_errno(f, rc, -rc, "cannot take the devices of the GPU at %s", address) : 0;
}

/* ---- Both ----------------------------------------------------------------------------------- */

static int nodes_no_driver(const struct gpu *g, struct fail *f)
{
	return fail_set(f, -ENODEV, "the GPU at %s (%s) has no device node: its driver is %s%s", g->pci.address,
		g->market, *g->pci.driver ? g->pci.driver : "not loaded",
		strcmp(g->pci.driver, "vfio-pci") == 0 ? ", for a guest" : "");
}

int gpu_nodes_own(const char *root, const struct gpu *g, char out[DEVICES_PATH], struct fail *f)
{
	char name[SYSFS_NAME];
	long minor;

	if (g->pci.vendor == GPU_NVIDIA && nodes_nvidia_minor(root, g->pci.address, &minor))
		snprintf(out, DEVICES_PATH, "/dev/nvidia%ld", minor);
	else if (g->pci.vendor != GPU_NVIDIA && nodes_drm(root, g, "renderD", name))
		snprintf(out, DEVICES_PATH, "/dev/dri/%.200s", name);
	else
		return nodes_no_driver(g, f);
	return 0;
}

int gpu_nodes_kernel(const char *root, const struct gpu *g, struct node_devices *out, struct fail *f)
{
	bool nvidia = g->pci.vendor == GPU_NVIDIA;
	int rc = nvidia ? nodes_of_nvidia(root, g, out) : nodes_of_drm(root, g, out);

	if (!rc && nvidia)
		rc = nodes_files_of_nvidia(root, g, out);
	if (rc == -ENODEV)
		return nodes_no_driver(g, f);
	return rc ? fail_errno(f, rc, -rc, "cannot take the devices of the GPU at %s", g->pci.address) : 0;
}
