/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/gauges.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "agentd/machine/sysfs.h"
#include "base/buf.h"

enum { TEXT_MAX = 1 << 20, SECTOR = 512 };

/* ---- The machine ------------------------------------------------------------------------------ */

/* A file of procfs as lines; NULL: unreadable. The caller releases b. */
static char *gauges_text(const char *root, const char *path, struct buf *b)
{
	char room[SYSFS_PATH];

	buf_init(b, TEXT_MAX);
	return buf_read_file(b, sysfs_path(room, root ? root : "", "%s", path)) == 0 && buf_adds(b, "") == 0 && b->data
		? (char *)(uintptr_t)buf_text(b)
		: NULL;
}

/* "cpu  user nice system idle iowait irq softirq steal …": all but idle and iowait is use. */
static void gauges_read_cpu(const char *root, struct gauges_machine *m)
{
	int64_t t[8] = { 0 };
	struct buf b;
	const char *text = gauges_text(root, "/proc/stat", &b);

	if (text &&
		sscanf(text,
			"cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
			" %" SCNd64,
			&t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) >= 4) {
		m->cpu_used = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
		m->cpu_all = m->cpu_used + t[3] + t[4];
	}
	buf_release(&b);
}

static void gauges_read_memory(const char *root, struct gauges_machine *m)
{
	int64_t total = 0, available = 0;
	struct buf b;
	const char *text = gauges_text(root, "/proc/meminfo", &b), *at;

	if (text && (at = strstr(text, "MemTotal:")) && sscanf(at, "MemTotal: %" SCNd64, &total) == 1 && total > 0)
		m->memory_total = total * 1024;
	if (total > 0 && (at = strstr(text, "MemAvailable:")) &&
		sscanf(at, "MemAvailable: %" SCNd64, &available) == 1 && available <= total)
		m->memory = (total - available) * 1024;
	buf_release(&b);
}

/* Whole disks: what is mapped onto them and their parts would count twice. */
static bool gauges_is_disk(const char *root, const char *name)
{
	char path[SYSFS_PATH], target[SYSFS_NAME];

	return sysfs_link(sysfs_path(path, root ? root : "", "/sys/block/%s/device", name), target, sizeof target);
}

static void gauges_read_disks(const char *root, struct gauges_machine *m)
{
	struct buf b;
	char *text = gauges_text(root, "/proc/diskstats", &b), *save = NULL, name[64];
	int64_t in, out;

	if (text)
		m->disk_read = m->disk_written = 0;
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, " %*d %*d %63s %*d %*d %" SCNd64 " %*d %*d %*d %" SCNd64, name, &in, &out) == 3 &&
			gauges_is_disk(root, name)) {
			m->disk_read += in * SECTOR;
			m->disk_written += out * SECTOR;
		}
	buf_release(&b);
}

/* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes …" of each that counts. */
static void gauges_sum_network(const char *root, const char *path, bool (*counts)(const char *root, const char *name),
	int64_t *in, int64_t *out)
{
	struct buf b;
	char *text = gauges_text(root, path, &b), *save = NULL;
	int64_t received, sent;

	if (text)
		*in = *out = 0;
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':'), *name = line + strspn(line, " ");

		if (!colon ||
			sscanf(colon + 1, " %" SCNd64 " %*d %*d %*d %*d %*d %*d %*d %" SCNd64, &received, &sent) != 2)
			continue;
		*colon = '\0';
		if (counts(root, name)) {
			*in += received;
			*out += sent;
		}
	}
	buf_release(&b);
}

/* Network cards: a bridge or a tunnel would count the same bytes again. */
static bool gauges_is_card(const char *root, const char *name)
{
	char path[SYSFS_PATH], target[SYSFS_NAME];

	return sysfs_link(sysfs_path(path, root ? root : "", "/sys/class/net/%s/device", name), target, sizeof target);
}

static bool gauges_no_loopback(const char *root, const char *name)
{
	(void)root;
	return strcmp(name, "lo") != 0;
}

void gauges_read_network(const char *root, long pid, int64_t *in, int64_t *out)
{
	char path[64];

	*in = *out = GAUGE_UNKNOWN;
	snprintf(path, sizeof path, "/proc/%ld/net/dev", pid);
	gauges_sum_network(root, path, gauges_no_loopback, in, out);
}

void gauges_read_machine(const char *root, const char *folder, struct gauges_machine *out)
{
	struct statvfs v;

	*out = (struct gauges_machine){ GAUGE_UNKNOWN, GAUGE_UNKNOWN, GAUGE_UNKNOWN, GAUGE_UNKNOWN, GAUGE_UNKNOWN,
		GAUGE_UNKNOWN, GAUGE_UNKNOWN, GAUGE_UNKNOWN, GAUGE_UNKNOWN, GAUGE_UNKNOWN };
	gauges_read_cpu(root, out);
	gauges_read_memory(root, out);
	gauges_read_disks(root, out);
	gauges_sum_network(root, "/proc/net/dev", gauges_is_card, &out->network_in, &out->network_out);
	if (folder && statvfs(folder, &v) == 0 && v.f_blocks) {
		out->disk_total = (int64_t)(v.f_blocks * v.f_frsize);
		out->disk = (int64_t)((v.f_blocks - v.f_bfree) * v.f_frsize);
	}
}

/* ---- GPUs --------------------------------------------------------------------------------------- */

void gauges_take_gpu(const struct gpu *g, struct gauges_gpu *out)
{
	*out = (struct gauges_gpu){ .use = g->use,
		.memory = g->memory_used,
		.memory_total = g->memory,
		.temperature = g->temperature,
		.power = g->power,
		.power_limit = g->power_limit,
		.clock = g->clock,
		.throttled = g->throttled,
		.errors = g->uncorrected,
		.xid = GAUGE_UNKNOWN };
	snprintf(out->address, sizeof out->address, "%s", g->pci.address);
}

/* ---- As the market takes them ------------------------------------------------------------------- */

static void gauges_set(json_t *o, const char *name, bool known, double value)
{
	if (known)
		json_object_set_new(o, name, json_real(value));
}

static void gauges_set_number(json_t *o, const char *name, int64_t value, double unit)
{
	gauges_set(o, name, value != GAUGE_UNKNOWN, (double)value / unit);
}

/* Of a counter that grew; one that was set back, or is new, tells nothing yet. */
static void gauges_set_rate(json_t *o, const char *name, int64_t now, int64_t before, double over)
{
	bool known = now != GAUGE_UNKNOWN && before != GAUGE_UNKNOWN && now >= before && over > 0;

	gauges_set(o, name, known, known ? (double)(now - before) / over : 0);
}

static json_t *gauges_machine_json(const struct gauges_machine *now, const struct gauges_machine *before,
	double seconds)
{
	json_t *o = json_object();

	if (before) {
		gauges_set_rate(o, "cpu", now->cpu_used, before->cpu_used,
			now->cpu_all == GAUGE_UNKNOWN ? 0 : (double)(now->cpu_all - before->cpu_all));
		gauges_set_rate(o, "disk_read", now->disk_read, before->disk_read, seconds);
		gauges_set_rate(o, "disk_written", now->disk_written, before->disk_written, seconds);
		gauges_set_rate(o, "network_in", now->network_in, before->network_in, seconds);
		gauges_set_rate(o, "network_out", now->network_out, before->network_out, seconds);
	}
	gauges_set_number(o, "memory", now->memory, 1);
	gauges_set_number(o, "memory_total", now->memory_total, 1);
	gauges_set_number(o, "disk", now->disk, 1);
	gauges_set_number(o, "disk_total", now->disk_total, 1);
	return o;
}

static json_t *gauges_gpu_json(const struct gauges_gpu *g)
{
	json_t *o = json_object();

	gauges_set_number(o, "use", g->use, 100);
	gauges_set_number(o, "memory", g->memory, 1);
	gauges_set_number(o, "memory_total", g->memory_total, 1);
	gauges_set_number(o, "temperature", g->temperature, 1000);
	gauges_set_number(o, "power", g->power, 1000);
	gauges_set_number(o, "power_limit", g->power_limit, 1000);
	gauges_set_number(o, "clock", g->clock, 1e-6);
	gauges_set_number(o, "throttled", g->throttled, 1);
	gauges_set_number(o, "memory_errors", g->errors, 1);
	gauges_set_number(o, "xid", g->xid, 1);
	return o;
}

static const struct gauges_node *gauges_find(const struct gauges *g, const char *id)
{
	for (size_t i = 0; g && i < g->node_count; i++)
		if (strcmp(g->nodes[i].id, id) == 0)
			return &g->nodes[i];
	return NULL;
}

static json_t *gauges_node_json(const struct gauges *g, const struct gauges_node *n, const struct gauges_node *before,
	double seconds)
{
	json_t *measures = json_object(), *gpus = n->gpu_count ? json_array() : NULL, *o;

	if (before) {
		gauges_set_rate(measures, "cpu", n->cpu_us, before->cpu_us, seconds * 1e6);
		gauges_set_rate(measures, "network_in", n->network_in, before->network_in, seconds);
		gauges_set_rate(measures, "network_out", n->network_out, before->network_out, seconds);
	}
	gauges_set_number(measures, "memory", n->memory, 1);
	gauges_set_number(measures, "processes", n->processes, 1);
	gauges_set_number(measures, "disk", n->disk, 1);
	gauges_set_number(measures, "disk_total", n->disk_total, 1);
	for (size_t i = 0; i < n->gpu_count; i++)
		if (n->gpus[i] < g->gpu_count) {
			json_t *gpu = gauges_gpu_json(&g->gpus[n->gpus[i]]);

			gauges_set_number(gpu, "machine_gpu", n->gpus[i], 1);
			json_array_append_new(gpus, gpu);
		}
	o = json_pack("{s:s, s:o}", "id", n->id, "measures", measures);
	if (o && gpus)
		json_object_set(o, "gpus", gpus);
	json_decref(gpus);
	return o;
}

json_t *gauges_json(const struct gauges *now, const struct gauges *before)
{
	double seconds = before ? (double)(now->at_us - before->at_us) / 1e6 : 0;
	json_t *o = json_pack("{s:o, s:[], s:[]}", "machine",
		gauges_machine_json(&now->machine, before ? &before->machine : NULL, seconds), "gpus", "nodes");

	for (size_t i = 0; o && i < now->gpu_count; i++)
		json_array_append_new(json_object_get(o, "gpus"), gauges_gpu_json(&now->gpus[i]));
	for (size_t i = 0; o && i < now->node_count; i++)
		json_array_append_new(json_object_get(o, "nodes"),
			gauges_node_json(now, &now->nodes[i], gauges_find(before, now->nodes[i].id), seconds));
	return o;
}
