/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/capacity.h"

#include <dirent.h>
#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agentd/machine/sysfs.h"
#include "agentd/os/disk.h"
#include "base/str.h"

enum { CPUS_MAX = 4096, THREADS_MOST = 65536, TABLES_PART = 16, RESERVE_PART = 16, SHRANK_PART = 64 };

static const int64_t memory_reserve_least = (int64_t)1 << 30, memory_most = (int64_t)1 << 50;

static bool capacity_is_here(const char *root)
{
	return !root || !*root || strcmp(root, "/") == 0;
}

/* ---- Processors --------------------------------------------------------------------------- */

struct thread {
	unsigned cpu;
	int64_t package, core;
};

static int thread_compare(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void thread_read(unsigned cpu, struct thread *t)
{
	char path[SYSFS_PATH];

	*t = (struct thread){ .cpu = cpu, .core = (int64_t)cpu };
	sysfs_int(sysfs_path(path, "", "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu), 0, CPUS_MAX,
		&t->package);
	sysfs_int(sysfs_path(path, "", "/sys/devices/system/cpu/cpu%u/topology/core_id", cpu), 0, THREADS_MOST,
		&t->core);
}

size_t capacity_cpus(const char *root, unsigned *cpus, size_t max)
{
	size_t count = 0, size = CPU_ALLOC_SIZE(CPUS_MAX);
	struct thread *all = calloc(CPUS_MAX, sizeof *all);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);

	if (all && set && capacity_is_here(root) && sched_getaffinity(0, size, set) == 0) {
		for (unsigned cpu = 0; cpu < CPUS_MAX && count < max; cpu++)
			if (CPU_ISSET_S(cpu, size, set))
				thread_read(cpu, &all[count++]);
		qsort(all, count, sizeof *all, thread_compare);
		for (size_t i = 0; i < count; i++)
			cpus[i] = all[i].cpu;
	}
	if (set)
		CPU_FREE(set);
	free(all);
	return count;
}

static int64_t capacity_vcpus(const char *root)
{
	char path[SYSFS_PATH];
	unsigned cpus[CPUS_MAX];
	int64_t online = -1, mine = (int64_t)capacity_cpus(root, cpus, CPUS_MAX);

	sysfs_count(sysfs_path(path, root, "/sys/devices/system/cpu/online"), THREADS_MOST, &online);
	return mine && (online < 0 || mine < online) ? mine : online;
}

/* ---- Memory and disk ---------------------------------------------------------------------- */

static int64_t capacity_memory(const char *root)
{
	char path[SYSFS_PATH], text[64];
	int64_t bytes, reserve;
	long kib;

	if (!sysfs_field(sysfs_path(path, root, "/proc/meminfo"), "MemTotal", text, sizeof text))
		return -1;
	text[strcspn(text, " ")] = '\0';
	if (str_to_long(text, 1, (long)(memory_most / 1024), &kib) != 0)
		return -1;
	bytes = (int64_t)kib * 1024;
	reserve = bytes / RESERVE_PART > memory_reserve_least ? bytes / RESERVE_PART : memory_reserve_least;
	return bytes > reserve ? bytes - reserve : 0;
}

/* Of a volume that its market no longer names, or that was put aside (kept_volumes.h), nobody sells the room. */
static bool capacity_named(const char *folder, const char *id)
{
	char path[SYSFS_PATH + NAME_MAX + 32];
	json_t *j;
	bool named;

	snprintf(path, sizeof path, "%s/%s/volume.json", folder, id);
	j = strchr(id, '.') ? NULL : json_load_file(path, 0, NULL);
	named = json_is_true(json_object_get(j, "named"));
	json_decref(j);
	return named;
}

static int64_t capacity_held_in(const char *data, const char *where, bool named)
{
	static const char *const disks[] = { "disk.img", "disk.new", "disk.img.new", "vm/disk.qcow2", "vm/disk.new" };
	char folder[SYSFS_PATH], path[SYSFS_PATH + NAME_MAX + 32];
	int64_t sum = 0;
	struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof folder, "%s/%s", data, where);
	d = opendir(folder);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || (named && !capacity_named(folder, e->d_name)))
			continue;
		for (size_t i = 0; i < sizeof disks / sizeof *disks; i++) {
			snprintf(path, sizeof path, "%s/%s/%s", folder, e->d_name, disks[i]);
			sum += disk_held(path);
		}
	}
	if (d)
		closedir(d);
	return sum;
}

/* What nodes hold already is theirs to hold: else the capacity would shrink with each node. */
static int64_t capacity_held(const char *data)
{
	return capacity_held_in(data, "nodes", false) + capacity_held_in(data, "shared", false) +
		capacity_held_in(data, "volumes", true);
}

static int64_t capacity_disk_files(const char *data)
{
	int64_t room = 0;

	return data && disk_room(data, &room) == 0 ? room + capacity_held(data) : -1;
}

void capacity_read(const char *root, const char *data, struct capacity *out)
{
	const char *top = capacity_is_here(root) ? "" : root;

	out->vcpus = capacity_vcpus(top);
	out->memory = capacity_memory(top);
	out->disk_files = capacity_disk_files(data);
	/* The market sums what is sold: tables and journals take a little more. */
	out->disk = out->disk_files < 0 ? -1 : out->disk_files - out->disk_files / TABLES_PART;
}

/* ---- Less than before --------------------------------------------------------------------- */

static int64_t shrank_gpus(const json_t *capacity)
{
	int64_t sum = 0;
	json_t *gpu;
	size_t i;

	json_array_foreach(json_object_get(capacity, "gpus"), i, gpu)
		sum += json_integer_value(json_object_get(gpu, "count"));
	return sum;
}

bool capacity_shrank(const char *before, const char *after)
{
	static const char *const sizes[] = { "vcpus", "memory_bytes", "disk_bytes" };
	json_t *a = before ? json_loads(before, 0, NULL) : NULL, *b = after ? json_loads(after, 0, NULL) : NULL;
	const json_t *was = json_object_get(a, "capacity"), *is = json_object_get(b, "capacity");
	bool less = was && is && shrank_gpus(is) < shrank_gpus(was);

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const json_t *x = json_object_get(was, sizes[i]), *y = json_object_get(is, sizes[i]);
		int64_t had = json_integer_value(x);

		less = less || (x && y && json_integer_value(y) < had - had / SHRANK_PART);
	}
	json_decref(a);
	json_decref(b);
	return less;
}
