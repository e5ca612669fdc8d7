/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/sysfs.h"
#include "base/str.h"

#define DEVICES "/sys/bus/pci/devices"

enum { CLASS_VGA = 0x0300, CLASS_3D = 0x0302, CLASS_DISPLAY = 0x0380, CLASS_ACCELERATOR = 0x1200 };

static const int64_t memory_most = (int64_t)1 << 42,
		     small_memory = (int64_t)4 << 30; /* of one card; below it, the processor's graphics */
static const int64_t microwatts_most = 5000LL * 1000 * 1000, heat_most = 250 * 1000,
		     hertz_most = 20LL * 1000 * 1000 * 1000;

bool gpu_is(const struct pci *p)
{
	unsigned class = p->class >> 8;

	if (p->vendor != GPU_NVIDIA && p->vendor != GPU_AMD && p->vendor != GPU_INTEL)
		return false;
	/* Intel uses 0x1200 for data accelerators too, which are no GPUs and are not sold here. */
	if (class == CLASS_ACCELERATOR && p->vendor == GPU_INTEL)
		return false;
	return !p->lent &&
		(class == CLASS_VGA || class == CLASS_3D || class == CLASS_DISPLAY || class == CLASS_ACCELERATOR);
}

static const char *gpu_vendor_word(unsigned vendor)
{
	return vendor == GPU_NVIDIA ? "nvidia" : vendor == GPU_AMD ? "amd" : "intel";
}

static void gpu_set_name(struct gpu *g, const char *name, const char *from)
{
	snprintf(g->name, sizeof g->name, "%s", name);
	g->name_from = from;
}

static void gpu_name_by_table(struct gpu *g)
{
	const struct gpu_known *k = gpu_known(g->pci.vendor, g->pci.device);

	g->form_factor = "";
	g->memory_from = "";
	if (k) {
		g->known = true;
		g->form_factor = k->form_factor;
		snprintf(g->market, sizeof g->market, "%s", k->market);
		gpu_set_name(g, k->name, "table");
		if (k->gib) {
			g->memory = (int64_t)k->gib << 30;
			g->memory_from = "table";
		}
		return;
	}
	snprintf(g->market, sizeof g->market, "%s-%04x:%04x", gpu_vendor_word(g->pci.vendor), g->pci.vendor,
		g->pci.device);
	gpu_set_name(g, g->market, "ids");
}

static bool gpu_number(const char *root, const struct gpu *g, const char *name, int64_t min, int64_t max, int64_t *out)
{
	char path[SYSFS_PATH];

	return sysfs_int(sysfs_path(path, root, DEVICES "/%s/%s", g->pci.address, name), min, max, out);
}

static void gpu_set_memory(struct gpu *g, int64_t bytes, const char *from)
{
	g->memory = bytes;
	g->memory_from = from;
}

/* ---- hwmon: AMD and Intel ------------------------------------------------------------------ */

static void gpu_milliwatts(const char *folder, const char *name, int64_t *out)
{
	char path[SYSFS_PATH + 32];
	int64_t micro;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (sysfs_int(path, 0, microwatts_most, &micro))
		*out = micro / 1000;
}

static void gpu_read_hwmon(const char *root, struct gpu *g)
{
	char folder[SYSFS_PATH], path[SYSFS_PATH + SYSFS_NAME + 8], (*names)[SYSFS_NAME];
	size_t count;

	sysfs_path(folder, root, DEVICES "/%s/hwmon", g->pci.address);
	if (sysfs_list(folder, 16, &names, &count))
		return;
	if (count) {
		char file[SYSFS_PATH + SYSFS_NAME + 32];

		snprintf(path, sizeof path, "%s/%s", folder, names[0]);
		snprintf(file, sizeof file, "%s/temp%d_input", path,
			g->pci.vendor == GPU_INTEL && strcmp(g->pci.driver, "xe") == 0 ? 2 : 1);
		sysfs_int(file, -50 * 1000, heat_most, &g->temperature);
		gpu_milliwatts(path, "power1_average", &g->power);
		if (g->power == GPU_UNKNOWN)
			gpu_milliwatts(path, "power1_input", &g->power);
		if (g->pci.vendor == GPU_AMD) {
			snprintf(file, sizeof file, "%s/freq1_input", path);
			if (sysfs_int(file, 0, hertz_most, &g->clock))
				g->clock /= 1000000;
			gpu_milliwatts(path, "power1_cap", &g->power_limit);
			gpu_milliwatts(path, "power1_cap_min", &g->power_min);
			gpu_milliwatts(path, "power1_cap_max", &g->power_max);
		} else {
			gpu_milliwatts(path, "power1_max", &g->power_limit);
			gpu_milliwatts(path, "power1_rated_max", &g->power_max);
			if (g->power_limit == 0) /* Intel writes 0 for "no limit" */
				g->power_limit = GPU_UNKNOWN;
		}
	}
	free(names);
}

/* ---- What each vendor's driver shows in sysfs, without a library ----------------------------- */

static void gpu_read_amd(const char *root, struct gpu *g)
{
	char path[SYSFS_PATH], text[GPU_NAME], memory[16];
	int64_t n;
	long errors;

	if (sysfs_text(sysfs_path(path, root, DEVICES "/%s/product_name", g->pci.address), text, sizeof text))
		gpu_set_name(g, text, "driver");
	if (gpu_number(root, g, "mem_info_vram_total", 1, memory_most, &n))
		gpu_set_memory(g, n, "driver");
	if (gpu_number(root, g, "mem_info_vram_used", 0, memory_most, &n))
		g->memory_used = n;
	gpu_number(root, g, "gpu_busy_percent", 0, 100, &g->use);
	if (sysfs_text(sysfs_path(path, root, DEVICES "/%s/current_compute_partition", g->pci.address), text, 16)) {
		sysfs_text(sysfs_path(path, root, DEVICES "/%s/current_memory_partition", g->pci.address), memory,
			sizeof memory);
		snprintf(g->partition, sizeof g->partition, "%.14s%s%.14s", text, *memory ? "/" : "", memory);
	}
	if (sysfs_field(sysfs_path(path, root, DEVICES "/%s/ras/umc_err_count", g->pci.address), "ue", text,
		    sizeof text) &&
		str_to_long(text, 0, INT32_MAX, &errors) == 0)
		g->uncorrected = errors;
	sysfs_text(sysfs_path(path, root, "/sys/module/amdgpu/version"), g->driver_version, sizeof g->driver_version);
	gpu_read_hwmon(root, g);
}

/* Memory of an Intel card is its local-memory BAR, if that can be resized to all of it. */
static void gpu_read_intel(const char *root, struct gpu *g)
{
	if (g->memory == GPU_UNKNOWN && g->pci.bar_max >= (uint64_t)small_memory &&
		g->pci.bar_max <= (uint64_t)memory_most)
		gpu_set_memory(g, (int64_t)g->pci.bar_max, "bar");
	gpu_read_hwmon(root, g);
}

static void gpu_read_nvidia(const char *root, struct gpu *g)
{
	char path[SYSFS_PATH], text[GPU_NAME];

	sysfs_path(path, root, "/proc/driver/nvidia/gpus/%s/information", g->pci.address);
	if (sysfs_field(path, "Model", text, sizeof text))
		gpu_set_name(g, text, "driver");
	sysfs_field(path, "GPU UUID", g->uuid, sizeof g->uuid);
	sysfs_text(sysfs_path(path, root, "/sys/module/nvidia/version"), g->driver_version, sizeof g->driver_version);
}

/* Integrated: on the processor's own bus, or with only the little memory that the processor lends. */
static bool gpu_is_integrated(const struct gpu *g)
{
	if (g->known)
		return false;
	if (g->pci.vendor == GPU_INTEL)
		return strncmp(g->pci.address, "0000:00:", 8) == 0;
	return g->pci.vendor == GPU_AMD && g->memory != GPU_UNKNOWN && g->memory < small_memory;
}

void gpu_read(const char *root, const struct pci *p, struct gpu *out)
{
	struct gpu g = { .pci = *p,
		.memory = GPU_UNKNOWN,
		.memory_used = GPU_UNKNOWN,
		.temperature = GPU_UNKNOWN,
		.power = GPU_UNKNOWN,
		.power_limit = GPU_UNKNOWN,
		.power_min = GPU_UNKNOWN,
		.power_max = GPU_UNKNOWN,
		.use = GPU_UNKNOWN,
		.clock = GPU_UNKNOWN,
		.throttled = GPU_UNKNOWN,
		.ecc = GPU_UNKNOWN,
		.uncorrected = GPU_UNKNOWN,
		.mig = GPU_UNKNOWN,
		.asleep = p->asleep };

	gpu_name_by_table(&g);
	if (!g.asleep && strcmp(p->driver, "nvidia") == 0)
		gpu_read_nvidia(root, &g);
	else if (!g.asleep && strcmp(p->driver, "amdgpu") == 0)
		gpu_read_amd(root, &g);
	else if (!g.asleep && (strcmp(p->driver, "i915") == 0 || strcmp(p->driver, "xe") == 0))
		gpu_read_intel(root, &g);
	g.integrated = gpu_is_integrated(&g);
	*out = g;
}
