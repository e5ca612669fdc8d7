/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with GPUs that can be cut into slices, and nodes that come and go; for tests of these. */
#ifndef TESTS_SLICETREE_H
#define TESTS_SLICETREE_H

#include <stdlib.h>

#include "agentd/device/gpu_slices.h"
#include "agentd/device/host_gpus.h"
#include "fakebus.h"

static const char *const addresses[] = { "0000:01:00.0", "0000:02:00.0" };
static char root[512], data[600];

static TAP_UNUSED void remove_file(const char *name)
{
	char path[1200];

	snprintf(path, sizeof path, "%s/%s", root, name);
	unlink(path);
}

static struct node_devices got;

static TAP_UNUSED int take_as(const char *host, const char *node, const char *slice, struct fail *f)
{
	const struct host_taker who = { .host = host, .node = node, .slice = slice, .nodes = true };

	node_folder(data, node, true);
	devices_release(&got);
	got = (struct node_devices){ 0 };
	*f = (struct fail){ 0 };
	return host_gpus_take(data, root, &who, &got, f);
}

static const char *sold = "1g.3gb";

static TAP_UNUSED int take(const char *host, const char *node, struct fail *f)
{
	return take_as(host, node, sold, f);
}

static TAP_UNUSED int give(const char *node)
{
	int rc = host_gpus_give_back(data, root, node, NULL);

	node_folder(data, node, false);
	return rc;
}

static TAP_UNUSED const char *env(const char *name)
{
	for (size_t i = 0; i < got.env_count; i++)
		if (strncmp(got.env[i].text, name, strlen(name)) == 0)
			return got.env[i].text + strlen(name) + 1;
	return "";
}

/* What the GPUs are: "on gi-0-1 ci-0-1"; "": they are not cut. */
static TAP_UNUSED const char *cut(void)
{
	static char text[600];
	static const char *const kinds[] = { "mig", "gi-0", "ci-0", "gi-1", "ci-1" };

	text[0] = '\0';
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (int id = 0; id < 9; id++) {
			char path[700], name[32];

			snprintf(name, sizeof name, "%s-%d", kinds[k], id);
			snprintf(path, sizeof path, "%s/state/%s", root, name);
			if (access(path, F_OK) == 0)
				snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "",
					name);
		}
	return text;
}

static TAP_UNUSED struct host_want want(const char *host, const char *slice)
{
	return (struct host_want){ .host = host, .vendor = "nvidia", .model = "", .count = 1, .slice = slice };
}

static TAP_UNUSED void caps(void)
{
	char path[200], text[100];

	tree_put(root, "proc/devices", "Character devices:\n195 nvidia\n235 nvidia-caps\n\nBlock devices:\n259 blkext");
	for (int id = 1; id < 8; id++) {
		snprintf(path, sizeof path, "proc/driver/nvidia/capabilities/gpu0/mig/gi%d/access", id);
		snprintf(text, sizeof text, "DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1",
			10 * id + 1);
		tree_put(root, path, text);
		snprintf(path, sizeof path, "proc/driver/nvidia/capabilities/gpu0/mig/gi%d/ci0/access", id);
		snprintf(text, sizeof text, "DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1",
			10 * id + 2);
		tree_put(root, path, text);
	}
}

/* A machine with two GPUs that can be cut, once `state/mig` is there. */
static TAP_UNUSED void slices_begin_tree(struct bus *b)
{
	char path[900], to[600];

	tree_unpack("rtx4090x2", root, sizeof root);
	snprintf(data, sizeof data, "%s/agent", root);
	mkdir(data, 0700);
	snprintf(path, sizeof path, "-> %s/tests/lib/.libs/fakenvml.so", getcwd(to, sizeof to));
	tree_put(root, "lib/libnvidia-ml.so.1", path);
	tree_put(root, "sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/power/runtime_status", "active");
	tree_put(root, "sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/power_state", "D0");
	tree_put(root, "state/processes", "");
	snprintf(path, sizeof path, "%s/state", root);
	setenv("FAKE_NVML_STATE", path, 1);
	setenv("FAKE_NVML", "good", 1);
	bus_driver(b, "nvidia");
	bus_driver(b, "vfio-pci");
	bus_file(b, "sys/bus/pci/drivers_probe");
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "sys/bus/pci/devices/%s/reset", addresses[i]);
		bus_file(b, path);
		bus_drives(root, addresses[i], "nvidia");
	}
	bus_begin(b, "nvidia");
	caps();
}

static TAP_UNUSED void slices_end_tree(struct bus *b)
{
	devices_release(&got);
	bus_end(b);
	tree_remove(root);
}

#endif
