/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the inventory: as JSON for the market, and as text for the machine's owner. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/inventory.h"

/* ---- JSON ------------------------------------------------------------------------------------- */

/* Unknown values are left out. */
static void show_put_int(json_t *o, const char *key, int64_t n)
{
	if (n >= 0)
		json_object_set_new(o, key, json_integer(n));
}

static void inventory_show_put_text(json_t *o, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(o, key, json_stringn_nocheck(text, strlen(text)));
}

static void show_put_bool(json_t *o, const char *key, int64_t n)
{
	if (n == 0 || n == 1)
		json_object_set_new(o, key, json_boolean(n == 1));
}

static void show_put_gpu(json_t *o, const struct inventory *v, size_t i)
{
	const struct gpu *g = &v->gpus[i];
	json_t *link = json_object();
	char ids[16];

	inventory_show_put_text(o, "address", g->pci.address);
	snprintf(ids, sizeof ids, "%04x:%04x", g->pci.vendor & 0xffff, g->pci.device & 0xffff);
	inventory_show_put_text(o, "ids", ids);
	snprintf(ids, sizeof ids, "%04x:%04x", g->pci.sub_vendor & 0xffff, g->pci.sub_device & 0xffff);
	inventory_show_put_text(o, "subsystem", ids);
	inventory_show_put_text(o, "accelerator", g->market);
	inventory_show_put_text(o, "form_factor", g->form_factor);
	inventory_show_put_text(o, "name", g->name);
	inventory_show_put_text(o, "name_from", g->name_from);
	show_put_int(o, "memory", g->memory);
	inventory_show_put_text(o, "memory_from", g->memory_from);
	inventory_show_put_text(o, "driver", g->pci.driver);
	inventory_show_put_text(o, "driver_version", g->driver_version);
	show_put_int(link, "generation", g->pci.gen);
	show_put_int(link, "generation_max", g->pci.gen_max);
	show_put_int(link, "width", g->pci.width);
	show_put_int(link, "width_max", g->pci.width_max);
	show_put_int(link, "width_slot", g->pci.width_slot ? g->pci.width_slot : -1);
	json_object_set_new(o, "link", link);
	show_put_int(o, "numa_node", g->pci.numa);
	show_put_int(o, "iommu_group", g->pci.iommu_group);
	show_put_int(o, "bar", g->pci.bar_max ? (int64_t)g->pci.bar_max : -1);
	inventory_show_put_text(o, "power_state", g->pci.power_state);
	show_put_int(o, "sriov_total", g->pci.sriov_total);
	show_put_int(o, "sriov_used", g->pci.sriov_now);
	show_put_int(o, "power_limit_milliwatts", g->power_limit);
	show_put_int(o, "power_limit_min_milliwatts", g->power_min);
	show_put_int(o, "power_limit_max_milliwatts", g->power_max);
	inventory_show_put_text(o, "partition", g->partition);
	show_put_bool(o, "ecc", g->ecc);
	show_put_bool(o, "mig", g->mig);
	if (g->integrated)
		show_put_bool(o, "integrated", 1);
	if (g->asleep)
		show_put_bool(o, "asleep", 1);
}

static void show_put_disk(json_t *o, const struct inventory *v, size_t i)
{
	inventory_show_put_text(o, "name", v->disks[i].name);
	inventory_show_put_text(o, "model", v->disks[i].model);
	show_put_int(o, "bytes", v->disks[i].bytes);
	show_put_bool(o, "rotational", v->disks[i].rotational);
}

static void show_put_nic(json_t *o, const struct inventory *v, size_t i)
{
	inventory_show_put_text(o, "name", v->nics[i].name);
	inventory_show_put_text(o, "driver", v->nics[i].driver);
	inventory_show_put_text(o, "state", v->nics[i].state);
	show_put_int(o, "megabits", v->nics[i].speed);
	inventory_show_put_text(o, "rdma", v->nics[i].rdma);
	show_put_int(o, "numa_node", v->nics[i].numa);
}

static json_t *inventory_show_list(const struct inventory *v, size_t count,
	void (*put)(json_t *o, const struct inventory *v, size_t i))
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *o = json_object();

		put(o, v, i);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *show_cpu_json(const struct inventory *v)
{
	json_t *o = json_object();

	inventory_show_put_text(o, "model", v->cpu.model);
	inventory_show_put_text(o, "architecture", v->cpu.arch);
	show_put_int(o, "sockets", v->cpu.sockets);
	show_put_int(o, "cores", v->cpu.cores);
	show_put_int(o, "threads", v->cpu.threads);
	return o;
}

/* "sold_as" and, for readers that want single fields, "accelerator" and "form_factor" at the top. */
static void show_put_kind(json_t *root, const struct inventory *v)
{
	struct inventory_kind k;
	struct fail why = { 0 };
	char text[128];

	if (inventory_kind(v, 1, &k, &why)) {
		inventory_show_put_text(root, "not_sold_because", why.text);
		return;
	}
	inventory_kind_text(&k, text, sizeof text);
	inventory_show_put_text(root, "sold_as", text);
	inventory_show_put_text(root, "accelerator", k.accelerator);
	inventory_show_put_text(root, "form_factor", k.form_factor);
	show_put_int(root, "num_accelerators", k.gpus);
}

static const char *show_vendor(const struct gpu *g)
{
	return g->pci.vendor == GPU_NVIDIA   ? "nvidia"
		: g->pci.vendor == GPU_AMD   ? "amd"
		: g->pci.vendor == GPU_INTEL ? "intel"
					     : "";
}

/* The element that is the same but for its count; NULL. */
static json_t *show_same_gpu(const json_t *list, const json_t *gpu)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *one = json_array_get(list, i), *bare = json_copy(one);
		bool same;

		json_object_del(bare, "count");
		same = json_equal(bare, gpu);
		json_decref(bare);
		if (same)
			return one;
	}
	return NULL;
}

/* [] where it has none, so that the market forgets those that it had. */
static void show_put_slices(json_t *o, const struct gpu *g)
{
	json_t *list = g->slices_known ? json_array() : NULL;

	for (size_t i = 0; list && i < g->slice_count; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:I, s:I}", "profile", g->slices[i].profile, "count",
				(json_int_t)g->slices[i].count, "memory_bytes", (json_int_t)g->slices[i].memory));
	if (list)
		json_object_set_new(o, "slices", list);
}

/* GPUs that can be promised, alike ones together. */
static json_t *show_capacity_gpus(const struct inventory *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];
		json_t *o = json_object(), *same, *count;

		inventory_show_put_text(o, "vendor", show_vendor(g));
		inventory_show_put_text(o, "model", g->market);
		show_put_int(o, "memory_bytes", g->memory);
		show_put_slices(o, g);
		same = show_same_gpu(list, o);
		count = json_object_get(same, "count");
		if (g->integrated || (v->devices && v->unfit[i]))
			;
		else if (same)
			json_integer_set(count, json_integer_value(count) + 1);
		else {
			json_object_set_new(o, "count", json_integer(1));
			json_array_append(list, o);
		}
		json_decref(o);
	}
	return list;
}

/* What the market may promise of this machine. */
static json_t *show_capacity(const struct inventory *v)
{
	json_t *o = json_object();

	show_put_int(o, "vcpus", v->capacity.vcpus);
	show_put_int(o, "memory_bytes", v->capacity.memory);
	show_put_int(o, "disk_bytes", v->capacity.disk);
	json_object_set_new(o, "gpus", show_capacity_gpus(v));
	inventory_show_put_text(o, "driver", v->driver);
	json_object_set_new(o, "devices", json_boolean(v->devices));
	if (*v->no_gpus)
		inventory_show_put_text(o, "no_gpus", v->no_gpus);
	if (v->shares >= 0)
		json_object_set_new(o, "shares", json_string(v->shares ? "nvidia" : ""));
	show_put_int(o, "node_memory_bytes", v->node_memory);
	json_object_set_new(o, "network", json_boolean(!v->no_rate));
	json_object_set_new(o, "shared_storage", json_boolean(v->shared));
	return o;
}

int inventory_json(const struct inventory *v, struct buf *out)
{
	json_t *root = json_object(), *notes = json_array();
	char *text;
	int rc;

	inventory_show_put_text(root, "object", "inventory");
	show_put_kind(root, v);
	json_object_set_new(root, "cpu", show_cpu_json(v));
	show_put_int(root, "memory", v->memory);
	inventory_show_put_text(root, "kernel", v->kernel);
	show_put_int(root, "cgroup", v->cgroup ? v->cgroup : -1);
	show_put_int(root, "iommu_groups", v->iommu_groups);
	show_put_int(root, "numa_nodes", v->numa_nodes);
	json_object_set_new(root, "gpus", inventory_show_list(v, v->gpu_count, show_put_gpu));
	json_object_set_new(root, "disks", inventory_show_list(v, v->disk_count, show_put_disk));
	json_object_set_new(root, "networks", inventory_show_list(v, v->nic_count, show_put_nic));
	for (size_t i = 0; i < v->note_count; i++)
		json_array_append_new(notes, json_string(v->notes[i]));
	json_object_set_new(root, "capacity", show_capacity(v));
	json_object_set_new(root, "notes", notes);
	text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	rc = text ? buf_adds(out, text) : -ENOMEM;
	free(text);
	return rc;
}

/* ---- Text ------------------------------------------------------------------------------------- */

/* "80 GiB", "1.5 TiB"; "?" if unknown. */
static const char *show_size_text(int64_t bytes, char room[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	int64_t tenths = bytes;
	size_t u = 0;

	if (bytes < 0)
		return "?";
	if (bytes >= 1024) {
		for (tenths = bytes, u = 0; tenths >= 1024 * 1024 && u < 4; u++)
			tenths /= 1024;
		tenths = tenths * 10 / 1024;
		u++;
		if (tenths % 10)
			snprintf(room, 32, "%" PRId64 ".%" PRId64 " %s", tenths / 10, tenths % 10, units[u]);
		else
			snprintf(room, 32, "%" PRId64 " %s", tenths / 10, units[u]);
	} else {
		snprintf(room, 32, "%" PRId64 " B", bytes);
	}
	return room;
}

static const char *show_count_text(int64_t n, char room[32])
{
	if (n < 0)
		return "?";
	snprintf(room, 32, "%" PRId64, n);
	return room;
}

static int show_gpu_line(const struct gpu *g, struct buf *out)
{
	char memory[32], watts[32] = "";

	if (g->power_limit > 0)
		snprintf(watts, sizeof watts, ", %" PRId64 " W", g->power_limit / 1000);
	return buf_addf(out, "  gpu      %s  %s: %s%s%s, %s, PCIe %d.0 x%d of %d.0 x%d%s, driver %s %s%s%s\n",
		g->pci.address, g->market, g->name, *g->form_factor ? ", " : "", g->form_factor,
		show_size_text(g->memory, memory), g->pci.gen, g->pci.width, g->pci.gen_max, g->pci.width_max, watts,
		*g->pci.driver ? g->pci.driver : "none", g->driver_version,
		g->integrated ? " (integrated, not sold)" : "", g->asleep ? " (asleep)" : "");
}

static int show_slice_lines(const struct gpu *g, struct buf *out)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < g->slice_count; i++)
		rc = buf_addf(out, "%s%u x mig:%s", i ? ", " : "  slices   ", g->slices[i].count, g->slices[i].profile);
	return rc || !g->slice_count ? rc : buf_addc(out, '\n');
}

static int show_disk_lines(const struct inventory *v, struct buf *out)
{
	char bytes[32];
	int rc = 0;

	for (size_t i = 0; !rc && i < v->disk_count; i++)
		rc = buf_addf(out, "  disk     %s  %s%s%s%s\n", v->disks[i].name,
			show_size_text(v->disks[i].bytes, bytes), *v->disks[i].model ? ", " : "", v->disks[i].model,
			/* virtio does not tell, and the kernel then says that the disk rotates. */
			v->disks[i].rotational == 1 && strncmp(v->disks[i].name, "vd", 2) != 0 ? ", rotating" : "");
	return rc;
}

static int show_nic_lines(const struct inventory *v, struct buf *out)
{
	char speed[32];
	int rc = 0;

	for (size_t i = 0; !rc && i < v->nic_count; i++) {
		const struct inventory_nic *n = &v->nics[i];

		rc = buf_addf(out, "  network  %s  %s%s, %s%s%s%s%s\n", n->name,
			n->speed == GPU_UNKNOWN ? "speed unknown" : show_count_text(n->speed, speed),
			n->speed == GPU_UNKNOWN ? "" : " Mbit/s", *n->state ? n->state : "?", *n->driver ? ", " : "",
			n->driver, *n->rdma ? ", " : "", n->rdma);
	}
	return rc;
}

static int show_kind_line(const struct inventory *v, struct buf *out)
{
	struct inventory_kind k;
	struct fail why = { 0 };
	char text[128];

	if (inventory_kind(v, 1, &k, &why))
		return buf_addf(out, "  sold as  nothing: %s\n", why.text);
	inventory_kind_text(&k, text, sizeof text);
	return buf_addf(out, "  sold as  %s\n", k.gpus ? text : "a node without accelerator");
}

static int show_capacity_line(const struct inventory *v, struct buf *out)
{
	char cpus[32], memory[32], disk[32];

	return buf_addf(out, "  for sale %s vCPUs, %s of memory, %s of disk\n",
		show_count_text(v->capacity.vcpus, cpus), show_size_text(v->capacity.memory, memory),
		show_size_text(v->capacity.disk, disk));
}

int inventory_text(const struct inventory *v, struct buf *out)
{
	char a[32], b[32], c[32], memory[32];
	int rc = buf_addf(out, "  cpu      %s: %s socket%s, %s core%s, %s thread%s\n",
		*v->cpu.model ? v->cpu.model : "?", show_count_text(v->cpu.sockets, a), v->cpu.sockets == 1 ? "" : "s",
		show_count_text(v->cpu.cores, b), v->cpu.cores == 1 ? "" : "s", show_count_text(v->cpu.threads, c),
		v->cpu.threads == 1 ? "" : "s");

	rc = rc ? rc
		: buf_addf(out, "  memory   %s\n  kernel   %s, cgroup v%s, %s IOMMU group%s, %s NUMA node%s\n",
			  show_size_text(v->memory, memory), *v->kernel ? v->kernel : "?",
			  v->cgroup == 2           ? "2"
				  : v->cgroup == 1 ? "1"
						   : "?",
			  show_count_text(v->iommu_groups, a), v->iommu_groups == 1 ? "" : "s",
			  show_count_text(v->numa_nodes, b), v->numa_nodes == 1 ? "" : "s");
	for (size_t i = 0; !rc && i < v->gpu_count; i++) {
		rc = show_gpu_line(&v->gpus[i], out);
		rc = rc ? rc : show_slice_lines(&v->gpus[i], out);
	}
	rc = rc ? rc : show_disk_lines(v, out);
	rc = rc ? rc : show_nic_lines(v, out);
	rc = rc ? rc : show_capacity_line(v, out);
	for (size_t i = 0; !rc && i < v->note_count; i++)
		rc = buf_addf(out, "  note     %s\n", v->notes[i]);
	return rc ? rc : show_kind_line(v, out);
}

int inventory_verb(const struct inventory_setup *s, bool json, FILE *out, FILE *err)
{
	struct inventory *v = NULL;
	struct buf text;
	int rc = inventory_read(s, &v);

	buf_init(&text, INVENTORY_JSON_MAX);
	rc = rc ? rc : json ? inventory_json(v, &text) : inventory_text(v, &text);
	if (!rc && (fprintf(out, "%s%s", buf_text(&text), json ? "\n" : "") < 0 || fflush(out)))
		rc = -EIO;
	if (rc)
		fprintf(err, "nanopod-agentd: cannot print the inventory: %s\n", strerror(-rc));
	free(v);
	buf_release(&text);
	return rc ? 1 : 0;
}
