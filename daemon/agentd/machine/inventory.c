/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/inventory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agentd/machine/iommu.h"
#include "agentd/machine/nvml.h"
#include "agentd/machine/nvml_mig.h"
#include "agentd/machine/nvml_processes.h"
#include "agentd/machine/sysfs.h"
#include "base/str.h"

enum { THREADS_MAX = 65536, SECTOR = 512, SPEED_MAX = 10 * 1000 * 1000 };

static const int64_t bytes_most = (int64_t)1 << 60;

void inventory_note(struct inventory *v, const char *fmt, ...)
{
	va_list ap;

	if (v->note_count == INVENTORY_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(v->notes[v->note_count++], INVENTORY_NOTE, fmt, ap);
	va_end(ap);
}

static bool this_machine(const char *root)
{
	return !root || !*root || strcmp(root, "/") == 0;
}

/* ---- Processor, memory, kernel ------------------------------------------------------------- */

static int64_t inventory_field_number(const char *path, const char *key)
{
	char text[32];
	long n;

	return sysfs_field(path, key, text, sizeof text) && str_to_long(text, 1, THREADS_MAX, &n) == 0 ? n
												       : GPU_UNKNOWN;
}

/* Counts the threads that are online; "siblings" are the threads of a socket. */
static void inventory_read_cpu(const char *root, struct inventory *v)
{
	struct inventory_cpu *c = &v->cpu;
	char path[SYSFS_PATH], online[SYSFS_PATH];
	int64_t siblings, cores;
	struct utsname u;

	sysfs_path(path, root, "/proc/cpuinfo");
	c->threads = c->cores = c->sockets = GPU_UNKNOWN;
	if (!sysfs_field(path, "model name", c->model, sizeof c->model) &&
		!sysfs_field(path, "Model", c->model, sizeof c->model))
		inventory_note(v, "/proc/cpuinfo does not name the processor's model");
	if (!sysfs_count(sysfs_path(online, root, "/sys/devices/system/cpu/online"), THREADS_MAX, &c->threads))
		inventory_note(v, "cannot read the number of processors");
	siblings = inventory_field_number(path, "siblings");
	cores = inventory_field_number(path, "cpu cores");
	if (c->threads != GPU_UNKNOWN && siblings != GPU_UNKNOWN && cores != GPU_UNKNOWN && cores <= siblings) {
		c->sockets = c->threads > siblings ? c->threads / siblings : 1;
		c->cores = c->sockets * cores < c->threads ? c->sockets * cores : c->threads;
	}
	if (this_machine(root) && uname(&u) == 0)
		snprintf(c->arch, sizeof c->arch, "%.31s", u.machine);
}

static void inventory_read_memory(const char *root, struct inventory *v)
{
	char path[SYSFS_PATH], text[64];
	long kib;

	v->memory = GPU_UNKNOWN;
	if (sysfs_field(sysfs_path(path, root, "/proc/meminfo"), "MemTotal", text, sizeof text)) {
		text[strcspn(text, " ")] = '\0';
		if (str_to_long(text, 1, (long)(bytes_most / 1024), &kib) == 0)
			v->memory = (int64_t)kib * 1024;
	}
	if (v->memory == GPU_UNKNOWN)
		inventory_note(v, "cannot read the memory from /proc/meminfo");
}

static int64_t inventory_count_in(const char *path)
{
	char (*names)[SYSFS_NAME];
	size_t n;

	if (sysfs_list(path, 65536, &names, &n))
		return GPU_UNKNOWN;
	free(names);
	return (int64_t)n;
}

static void inventory_read_kernel(const char *root, struct inventory *v)
{
	char path[SYSFS_PATH];

	if (!sysfs_text(sysfs_path(path, root, "/proc/sys/kernel/osrelease"), v->kernel, sizeof v->kernel))
		inventory_note(v, "cannot read the kernel's version");
	if (access(sysfs_path(path, root, "/sys/fs/cgroup/cgroup.controllers"), F_OK) == 0)
		v->cgroup = 2;
	else if (access(sysfs_path(path, root, "/sys/fs/cgroup/memory"), F_OK) == 0)
		v->cgroup = 1;
	v->iommu_groups = inventory_count_in(sysfs_path(path, root, "/sys/kernel/iommu_groups"));
	if (!sysfs_count(sysfs_path(path, root, "/sys/devices/system/node/online"), 4096, &v->numa_nodes))
		v->numa_nodes = GPU_UNKNOWN;
}

/* ---- Disks and networks --------------------------------------------------------------------- */

static bool inventory_is_disk(const char *root, const char *name)
{
	static const char *const not_one[] = { "loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd", "mtdblock" };
	char path[SYSFS_PATH];
	int64_t hidden;

	for (size_t i = 0; i < sizeof not_one / sizeof *not_one; i++)
		if (str_starts(name, not_one[i]))
			return false;
	return !sysfs_int(sysfs_path(path, root, "/sys/block/%s/hidden", name), 1, 1, &hidden);
}

static void inventory_read_disk(const char *root, const char *name, struct inventory *v)
{
	struct inventory_disk d = { .rotational = -1 };
	char path[SYSFS_PATH];
	int64_t n;

	snprintf(d.name, sizeof d.name, "%.31s", name);
	if (!sysfs_int(sysfs_path(path, root, "/sys/block/%s/size", name), 0, bytes_most / SECTOR, &n)) {
		inventory_note(v, "cannot read the size of the disk '%s'", d.name);
		return;
	}
	if (!n)
		return; /* a slot without a medium */
	d.bytes = n * SECTOR;
	if (sysfs_int(sysfs_path(path, root, "/sys/block/%s/queue/rotational", name), 0, 1, &n))
		d.rotational = (int)n;
	sysfs_text(sysfs_path(path, root, "/sys/block/%s/device/model", name), d.model, sizeof d.model);
	if (v->disk_count < INVENTORY_DISKS)
		v->disks[v->disk_count++] = d;
	else
		inventory_note(v, "there are more than %d disks: '%s' is left out", INVENTORY_DISKS, d.name);
}

static void inventory_read_disks(const char *root, struct inventory *v)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	size_t n;

	if (sysfs_list(sysfs_path(path, root, "/sys/block"), 4096, &names, &n)) {
		inventory_note(v, "cannot list the disks");
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (inventory_is_disk(root, names[i]))
			inventory_read_disk(root, names[i], v);
	free(names);
}

/* The RDMA device of a network card is a folder beside it, below the same PCI function. */
static void inventory_read_rdma(const char *root, const char *name, struct inventory_nic *nic)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME], layer[16] = "", rate[32] = "";
	size_t n;

	if (sysfs_list(sysfs_path(path, root, "/sys/class/net/%s/device/infiniband", name), 16, &names, &n))
		return;
	if (n) {
		sysfs_text(sysfs_path(path, root, "/sys/class/infiniband/%s/ports/1/link_layer", names[0]), layer,
			sizeof layer);
		sysfs_text(sysfs_path(path, root, "/sys/class/infiniband/%s/ports/1/rate", names[0]), rate,
			sizeof rate);
		snprintf(nic->rdma, sizeof nic->rdma, "%s", strcmp(layer, "InfiniBand") == 0 ? "infiniband" : "roce");
		if (nic->speed == GPU_UNKNOWN && *rate) { /* "400 Gb/sec (4X NDR)" */
			long gigabits;

			rate[strcspn(rate, " .")] = '\0';
			if (str_to_long(rate, 1, SPEED_MAX / 1000, &gigabits) == 0)
				nic->speed = (int64_t)gigabits * 1000;
		}
	}
	free(names);
}

static void inventory_read_nic(const char *root, const char *name, struct inventory *v)
{
	struct inventory_nic nic = { .speed = GPU_UNKNOWN, .numa = -1 };
	char path[SYSFS_PATH];
	int64_t n;

	if (access(sysfs_path(path, root, "/sys/class/net/%s/device", name), F_OK) != 0)
		return; /* a virtual interface */
	if (access(sysfs_path(path, root, "/sys/class/net/%s/device/physfn", name), F_OK) == 0)
		return; /* a virtual function, lent to guests */
	snprintf(nic.name, sizeof nic.name, "%.31s", name);
	sysfs_link(sysfs_path(path, root, "/sys/class/net/%s/device/driver", name), nic.driver, sizeof nic.driver);
	sysfs_text(sysfs_path(path, root, "/sys/class/net/%s/operstate", name), nic.state, sizeof nic.state);
	if (sysfs_int(sysfs_path(path, root, "/sys/class/net/%s/speed", name), 1, SPEED_MAX, &n))
		nic.speed = n;
	if (sysfs_int(sysfs_path(path, root, "/sys/class/net/%s/device/numa_node", name), 0, 4095, &n))
		nic.numa = (int)n;
	inventory_read_rdma(root, name, &nic);
	if (v->nic_count < INVENTORY_NICS)
		v->nics[v->nic_count++] = nic;
	else
		inventory_note(v, "there are more than %d network cards: '%s' is left out", INVENTORY_NICS, nic.name);
}

static void inventory_read_nics(const char *root, struct inventory *v)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	size_t n;

	if (sysfs_list(sysfs_path(path, root, "/sys/class/net"), 65536, &names, &n)) {
		inventory_note(v, "cannot list the network cards");
		return;
	}
	for (size_t i = 0; i < n; i++)
		inventory_read_nic(root, names[i], v);
	free(names);
}

/* ---- GPUs ------------------------------------------------------------------------------------- */

static void inventory_add_gpu(const char *root, const struct pci *p, struct inventory *v)
{
	struct gpu *g;

	if (v->gpu_count == INVENTORY_GPUS) {
		inventory_note(v, "there are more than %d GPUs: '%s' is left out", INVENTORY_GPUS, p->address);
		return;
	}
	g = &v->gpus[v->gpu_count++];
	gpu_read(root, p, g);
	if (g->asleep)
		inventory_note(v, "the GPU '%s' is asleep and was not woken: only the PCI bus was read",
			p->address);
	else if (!*p->driver)
		inventory_note(v, "the GPU '%s' has no driver: only the PCI bus was read", p->address);
	else if (strcmp(p->driver, "nouveau") == 0)
		inventory_note(v, "the GPU '%s' has the driver nouveau, which cannot compute: install NVIDIA's",
			p->address);
}

static void inventory_read_gpus(const char *root, struct inventory *v)
{
	char (*list)[PCI_ADDRESS];
	size_t n;

	if (pci_list(root, &list, &n)) {
		inventory_note(v, "cannot list the PCI bus: the number of GPUs is unknown");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct pci p;

		if (pci_read(root, list[i], &p) == 0 && gpu_is(&p))
			inventory_add_gpu(root, &p, v);
	}
	free(list);
}

/* NVML wakes every GPU that it finds, so we ask it only when all are awake. */
static bool inventory_may_ask_nvml(const struct inventory *v)
{
	bool there = false;

	for (size_t i = 0; i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];

		if (g->pci.vendor == GPU_NVIDIA && g->asleep)
			return false;
		there = there || strcmp(g->pci.driver, "nvidia") == 0;
	}
	return there;
}

static void inventory_take_nvml(struct gpu *g, const struct nvml *n, const struct nvml_gpu *from)
{
	if (from->name[0] && strcmp(g->name_from, "driver") != 0) {
		snprintf(g->name, sizeof g->name, "%s", from->name);
		g->name_from = "driver";
	}
	if (from->uuid[0])
		snprintf(g->uuid, sizeof g->uuid, "%.63s", from->uuid);
	if (n->driver[0])
		snprintf(g->driver_version, sizeof g->driver_version, "%.63s", n->driver);
	if (from->memory != GPU_UNKNOWN) {
		g->memory = from->memory;
		g->memory_from = "nvml";
	}
	g->memory_used = from->memory_used;
	g->use = from->use;
	g->clock = from->clock;
	g->throttled = from->throttled;
	g->temperature = from->temperature;
	g->power = from->power;
	g->power_limit = from->power_limit;
	g->power_min = from->power_min;
	g->power_max = from->power_max;
	g->ecc = from->ecc;
	g->uncorrected = from->uncorrected;
	g->mig = from->mig;
}

static bool nvml_answers_for(const struct nvml *n, const struct gpu *g)
{
	for (size_t k = 0; k < n->count; k++)
		if (strcmp(g->pci.address, n->gpus[k].address) == 0)
			return true;
	return false;
}

/* The library says how many it lost, not which: those of its driver that it does not name, where the numbers agree. */
static void inventory_mark_lost(struct inventory *v, const struct nvml *n)
{
	size_t missing = 0;

	for (int mark = 0; mark < 2 && (!mark || missing == n->lost); mark++)
		for (size_t i = 0; i < v->gpu_count; i++) {
			struct gpu *g = &v->gpus[i];
			bool lost = g->pci.vendor == GPU_NVIDIA && strcmp(g->pci.driver, "nvidia") == 0 &&
				!nvml_answers_for(n, g);

			missing += lost && !mark;
			g->lost = lost && mark;
		}
}

static void inventory_ask_nvml(const struct inventory_setup *s, struct inventory *v)
{
	struct fail why = { 0 };
	struct nvml n;

	v->nvml = 1;
	if ((s->nvml && !*s->nvml) || (!s->nvml && !this_machine(s->root)) || !inventory_may_ask_nvml(v))
		return;
	memset(&n, 0, sizeof n);
	v->nvml = nvml_read(s->nvml, s->deadline_ms, &n, &why);
	if (v->nvml) {
		inventory_note(v, "NVIDIA's library adds nothing: %s", why.text);
		return;
	}
	for (size_t i = 0; i < v->gpu_count; i++)
		for (size_t k = 0; k < n.count; k++)
			if (strcmp(v->gpus[i].pci.address, n.gpus[k].address) == 0)
				inventory_take_nvml(&v->gpus[i], &n, &n.gpus[k]);
	v->nvml_lost = n.lost;
	inventory_mark_lost(v, &n);
	if (n.lost)
		inventory_note(v, "NVIDIA's library cannot reach %zu of its GPUs", n.lost);
}

static bool inventory_has_nvidia(const struct inventory *v)
{
	for (size_t i = 0; i < v->gpu_count; i++)
		if (v->gpus[i].pci.vendor == GPU_NVIDIA && strcmp(v->gpus[i].pci.driver, "nvidia") == 0)
			return true;
	return false;
}

static bool inventory_has_known(const struct inventory *v, const char *address)
{
	for (size_t i = 0; i < v->gpu_count; i++)
		if (strcmp(v->gpus[i].pci.address, address) == 0)
			return v->gpus[i].known;
	return false;
}

/* 0: they tell. Beside one that does, an old display card, of a model that the table lacks, need not. */
static int inventory_blind(const struct inventory *v, const struct nvml_processes *n)
{
	int known = 0, other = 0;
	bool tells = false;

	for (size_t i = 0; i < n->gpu_count; i++) {
		int code = n->gpus[i].code;

		tells = tells || !code;
		if (!known && inventory_has_known(v, n->gpus[i].address))
			known = code;
		else if (code)
			other = code;
	}
	return known || tells ? known : other;
}

/*
 * Shares are sold only where the memory of all GPUs that may be cut can be watched. A driver that is busy now may tell
 * later.
 */
static int inventory_shares(const struct inventory *v, const char *root)
{
	struct nvml_processes *n;
	int rc;

	if (!inventory_has_nvidia(v))
		return 0;
	n = inventory_may_ask_nvml(v) ? malloc(sizeof *n) : NULL;
	rc = n ? nvml_processes_read(root, n, NULL) : -EAGAIN;
	rc = rc ? rc : inventory_blind(v, n);
	free(n);
	return rc == 0 ? 1 : rc == -ENOENT || rc == -ENOTSUP ? 0 : -1;
}

static void inventory_take_slices(struct inventory *v, struct gpu *g, const struct mig_gpu *from)
{
	g->slices_known = from->code == -ENOTSUP || (!from->code && from->profile_count);
	if (!from->code && !from->profile_count)
		inventory_note(v, "the GPU at %s tells its slices only while MIG is on: 'nvidia-smi -i %s -mig 1'",
			from->address, from->address);
	for (size_t i = 0; i < from->profile_count && i < GPU_SLICES && !from->code; i++) {
		struct gpu_slices *to = &g->slices[g->slice_count++];

		snprintf(to->profile, sizeof to->profile, "%s", from->profiles[i].name);
		to->count = from->profiles[i].count;
		to->memory = from->profiles[i].memory;
	}
}

/* What NVIDIA's GPUs can be cut into. Where the library says that it knows nothing of slices, there are none. */
static void inventory_ask_slices(const struct inventory_setup *s, const char *root, struct inventory *v)
{
	/* A library that hangs would hang again, and the inventory has a deadline. */
	bool asks = s->shares && v->nvml != -ETIMEDOUT && inventory_may_ask_nvml(v);
	struct mig_gpus *m = asks ? calloc(1, sizeof *m) : NULL;
	int rc = m ? mig_read(root, m, NULL) : -EAGAIN;

	for (size_t i = 0; i < v->gpu_count && s->driver; i++) {
		struct gpu *g = &v->gpus[i];

		if (g->pci.vendor != GPU_NVIDIA)
			continue;
		g->slices_known = !s->shares || rc == -ENOENT || rc == -ENOTSUP;
		for (size_t k = 0; !rc && k < m->count; k++)
			if (strcmp(m->list[k].address, g->pci.address) == 0)
				inventory_take_slices(v, g, &m->list[k]);
	}
	free(m);
}

/* Which GPUs a guest can have; false: none. */
static bool inventory_guests(struct inventory *v, const char *root)
{
	struct fail why = { 0 };
	struct iommu_slot slot;
	bool any = false;

	if (this_machine(root) && geteuid() != 0)
		fail_set(&why, -EPERM, "only root can give them: run nanopod-agentd as root");
	if (why.code || iommu_on(root, &why) != 0) {
		if (v->gpu_count) {
			inventory_note(v, "virtual machines get no GPUs here: %s", why.text);
			snprintf(v->no_gpus, sizeof v->no_gpus, "%.230s", why.text);
		}
		return false;
	}
	for (size_t i = 0; i < v->gpu_count; i++) {
		v->unfit[i] = iommu_slot(root, v->gpus[i].pci.address, NULL, 0, &slot, &why) != 0;
		if (v->unfit[i] && !v->gpus[i].integrated)
			inventory_note(v, "%s", why.text);
		any = any || (!v->unfit[i] && !v->gpus[i].integrated);
	}
	if (!any)
		snprintf(v->no_gpus, sizeof v->no_gpus, "%.230s", why.text);
	return any;
}

int inventory_read(const struct inventory_setup *s, struct inventory **out)
{
	const char *root = this_machine(s->root) ? "" : s->root;
	struct inventory *v = calloc(1, sizeof *v);

	if (!v)
		return -ENOMEM;
	inventory_read_cpu(root, v);
	inventory_read_memory(root, v);
	inventory_read_kernel(root, v);
	inventory_read_disks(root, v);
	inventory_read_nics(root, v);
	inventory_read_gpus(root, v);
	inventory_ask_nvml(s, v);
	capacity_read(root, s->data, &v->capacity);
	snprintf(v->driver, sizeof v->driver, "%s", s->driver ? s->driver : "");
	v->devices = s->devices && (!s->functions || inventory_guests(v, root));
	v->shares = s->shares ? inventory_shares(v, root) : 0;
	inventory_ask_slices(s, root, v);
	v->node_memory = s->node_memory;
	v->no_rate = s->no_rate;
	v->shared = s->shared;
	*out = v;
	return 0;
}
