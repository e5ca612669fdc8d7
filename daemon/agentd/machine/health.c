/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/health.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agentd/machine/inventory.h"
#include "agentd/machine/sysfs.h"
#include "agentd/machine/xid.h"

enum { CLOCK_DEGRADED = 5, CLOCK_DRAINING = 60, HOT = 90 * 1000, TOO_HOT = 100 * 1000 };

/* ---- Disk and clock ----------------------------------------------------------------------------- */

static void health_check_disk(const struct health_setup *s, struct health_report *r)
{
	struct statvfs v;
	uint64_t bytes, percent, files;
	enum health h;

	if (!s->data)
		return;
	if (statvfs(s->data, &v) != 0) {
		health_found(r, HEALTH_UNHEALTHY, "disk", "", "mount the file system that '--data' is on",
			"cannot inspect the folder '%s': %s", s->data, strerror(errno));
		return;
	}
	bytes = (uint64_t)v.f_bavail * v.f_frsize;
	percent = v.f_blocks ? (uint64_t)v.f_bavail * 100 / v.f_blocks : 100;
	files = v.f_files ? (uint64_t)v.f_favail * 100 / v.f_files : 100;
	h = bytes < (256 << 20) || files < 1            ? HEALTH_UNHEALTHY
		: bytes < (2LL << 30) || files < 5      ? HEALTH_DRAINING
		: percent < 10 && bytes < (100LL << 30) ? HEALTH_DEGRADED
							: HEALTH_OK;
	if (h)
		health_found(r, h, "disk", "", "free disk space: 'nanopod host image list' shows images that could go",
			"only %" PRIu64 " MiB (%" PRIu64 " %%) are free on the disk of '%s'", bytes >> 20, percent,
			s->data);
}

static void health_check_clock(const struct health_setup *s, struct health_report *r)
{
	int64_t off;

	if (!s->clock_known)
		return;
	off = s->local_now - s->market_now;
	if (llabs(off) > CLOCK_DEGRADED)
		health_found(r, llabs(off) > CLOCK_DRAINING ? HEALTH_DRAINING : HEALTH_DEGRADED, "clock", "",
			"timedatectl set-ntp true", "the clock is %lld s %s the market's", (long long)llabs(off),
			off > 0 ? "ahead of" : "behind");
}

/* ---- The kernel's log ------------------------------------------------------------------------------- */

static void health_check_kmsg(const struct health_setup *s, struct health_report *r)
{
	const char *path = xid_log(s->root, s->kmsg);

	if (*path)
		xid_read(path, s->kmsg_now_us, r);
}

/* ---- GPUs ------------------------------------------------------------------------------------------- */

static void health_check_nvml(const struct inventory *v, struct health_report *r)
{
	const char *why = v->note_count ? v->notes[v->note_count - 1] : "";
	size_t known = 0;

	if (v->nvml == -ETIMEDOUT)
		health_found(r, HEALTH_UNHEALTHY, "nvml", "",
			"restart the machine; if it comes back, have the cards checked",
			"NVIDIA's library does not answer: a GPU may be dying");
	else if (v->nvml == -ENOENT || v->nvml == -ENOSYS)
		health_found(r, HEALTH_DEGRADED, "nvml", "", "apt-get install libnvidia-ml1 (the driver's version)",
			"%s", why);
	else if (v->nvml < 0)
		health_found(r, HEALTH_DRAINING, "nvml", "", "nvidia-smi; if it fails too, restart the machine", "%s",
			why);
	for (size_t i = 0; i < v->gpu_count; i++)
		if (v->gpus[i].lost) {
			known++;
			health_found(r, HEALTH_UNHEALTHY, "nvml", v->gpus[i].pci.address,
				"restart the machine; if it comes back, have the card checked",
				"NVIDIA's library cannot reach the GPU '%s' (%s)", v->gpus[i].pci.address,
				v->gpus[i].market);
		}
	if (v->nvml_lost > known)
		health_found(r, HEALTH_UNHEALTHY, "nvml", "",
			"restart the machine; if it comes back, have the cards checked",
			"NVIDIA's library cannot reach %zu of its GPUs", v->nvml_lost - known);
}

/* A card that is gone answers every read of its registers with ones. */
static bool gpu_off_the_bus(const char *root, const struct gpu *g)
{
	static const unsigned char gone[4] = { 255, 255, 255, 255 };
	unsigned char head[sizeof gone] = { 0 };
	char path[SYSFS_PATH];
	int fd = open(sysfs_path(path, root, "/sys/bus/pci/devices/%s/config", g->pci.address), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);

	if (fd >= 0)
		close(fd);
	return n == sizeof head && memcmp(head, gone, sizeof gone) == 0;
}

static void health_check_gpu(const char *root, const struct gpu *g, struct health_report *r)
{
	int could = g->pci.width_slot && g->pci.width_slot < g->pci.width_max ? g->pci.width_slot : g->pci.width_max;

	if (g->integrated || g->asleep)
		return;
	if (gpu_off_the_bus(root, g))
		health_found(r, HEALTH_UNHEALTHY, "bus", g->pci.address,
			"restart the machine; if it comes back, have the card checked",
			"the GPU '%s' (%s) does not answer on the bus", g->pci.address, g->market);
	if (!*g->pci.driver || strcmp(g->pci.driver, "nouveau") == 0)
		health_found(r, HEALTH_DEGRADED, "gpu", g->pci.address,
			g->pci.vendor == GPU_NVIDIA ? "install NVIDIA's driver: apt-get install nvidia-driver"
						    : "install the firmware that its driver needs: apt-get install "
						      "firmware-misc-nonfree firmware-amd-graphics",
			"the GPU '%s' (%s) has no driver for computing", g->pci.address, g->market);
	if (g->pci.width > 0 && g->pci.width < could)
		health_found(r, HEALTH_DEGRADED, "link", g->pci.address, "power off, and reseat the card and its riser",
			"the GPU '%s' (%s) uses only %d of %d PCIe lanes", g->pci.address, g->market, g->pci.width,
			could);
	if (g->temperature != GPU_UNKNOWN && g->temperature >= HOT)
		health_found(r, g->temperature >= TOO_HOT ? HEALTH_DRAINING : HEALTH_DEGRADED, "temperature",
			g->pci.address, "check fans, dust and air flow", "the GPU '%s' (%s) is at %" PRId64 " degrees",
			g->pci.address, g->market, g->temperature / 1000);
	if (g->uncorrected > 0)
		health_found(r, HEALTH_DEGRADED, "ecc", g->pci.address, "restart the machine when nothing runs on it",
			"the GPU '%s' (%s) had %" PRId64 " memory errors that could not be corrected", g->pci.address,
			g->market, g->uncorrected);
}

static void health_check_gpus(const struct health_setup *s, struct health_report *r)
{
	struct inventory *v;

	if (inventory_read(&(struct inventory_setup){ .root = s->root, .nvml = s->nvml, .deadline_ms = s->deadline_ms },
		    &v))
		return;
	health_check_nvml(v, r);
	for (size_t i = 0; i < v->gpu_count; i++)
		health_check_gpu(s->root ? s->root : "", &v->gpus[i], r);
	free(v);
}

void health_keep(const struct health_report *before, struct health_report *r)
{
	static const char *const told[] = { "nvml", "ecc", "temperature" };

	for (size_t i = 0; i < before->count; i++) {
		const struct health_finding *f = &before->list[i];
		bool keeps = false;

		for (size_t k = 0; k < sizeof told / sizeof *told; k++)
			keeps = keeps || strcmp(f->check, told[k]) == 0;
		for (size_t k = 0; k < r->count; k++)
			keeps = keeps &&
				(strcmp(r->list[k].check, f->check) != 0 || strcmp(r->list[k].gpu, f->gpu) != 0);
		if (keeps)
			health_found(r, f->health, f->check, f->gpu, f->action, "%s", f->text);
	}
}

/* ---- All ----------------------------------------------------------------------------------------------- */

void health_check(const struct health_setup *s, struct health_report *out)
{
	memset(out, 0, sizeof *out);
	health_check_disk(s, out);
	health_check_clock(s, out);
	health_check_kmsg(s, out);
	health_check_gpus(s, out);
}
