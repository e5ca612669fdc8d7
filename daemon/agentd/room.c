/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/room.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/market/resources.h"
#include "agentd/os/disk.h"
#include "agentd/os/statefile.h"

enum {
	CPUS_MAX = 4096,
	HOSTS_MAX = WORK_HOSTS,
	WHOLE = 720720, /* parts of a processor: what 1 to 16 divide */
};

/* ---- Lists of processors ------------------------------------------------------------------- */

/* Adds parts to the load of each processor in a list like "0-1,4". */
static void room_load_cores(const char *cores, unsigned *load, unsigned parts)
{
	while (*cores) {
		char *end;
		unsigned long from = strtoul(cores, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long i = from; i <= to && i < CPUS_MAX; i++)
			load[i] += parts;
		if (*end != ',')
			return;
		cores = end + 1;
	}
}

/* Writes those processors whose mark is set as a list. False: it does not fit. */
static bool room_write_cores(const bool *mark, char cores[NODE_CORES])
{
	size_t at = 0;

	cores[0] = '\0';
	for (unsigned i = 0, end; i < CPUS_MAX; i = end + 1) {
		for (end = i; end < CPUS_MAX && mark[end]; end++)
			;
		if (end == i)
			continue;
		at += (size_t)snprintf(cores + at, NODE_CORES - at, end - i > 1 ? "%s%u-%u" : "%s%u", at ? "," : "", i,
			end - 1);
		if (at >= NODE_CORES) {
			cores[0] = '\0';
			return false;
		}
	}
	return true;
}

static unsigned room_parts(const struct contract *c)
{
	return WHOLE / (c->overcommit ? c->overcommit : 1);
}

static void room_loads(const struct room *r, const struct room_host *but, unsigned *load)
{
	memset(load, 0, CPUS_MAX * sizeof *load);
	for (size_t i = 0; i < r->count; i++)
		if (&r->hosts[i] != but)
			room_load_cores(r->hosts[i].cores, load, room_parts(&r->hosts[i].contract));
}

/*
 * Chooses the fullest processors that still have enough: shared ones are shared by as many as may, so that whole ones
 * stay free. False: too few. A machine whose processors cannot be told apart binds nobody.
 */
static bool room_choose_cores(const struct room *r, const struct room_host *but, const struct contract *c,
	char cores[NODE_CORES])
{
	static unsigned cpus[CPUS_MAX], load[CPUS_MAX];
	static bool mark[CPUS_MAX];
	size_t count = capacity_cpus(r->sysfs_root, cpus, CPUS_MAX);
	unsigned parts = room_parts(c);

	cores[0] = '\0';
	if (!count || !c->vcpus)
		return true;
	room_loads(r, but, load);
	memset(mark, 0, sizeof mark);
	for (unsigned n = 0; n < c->vcpus; n++) {
		size_t best = count;

		for (size_t i = 0; i < count; i++)
			if (!mark[cpus[i]] && load[cpus[i]] + parts <= WHOLE &&
				(best == count || load[cpus[i]] > load[cpus[best]]))
				best = i;
		if (best == count)
			return false;
		mark[cpus[best]] = true;
	}
	return room_write_cores(mark, cores);
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static struct room_host *room_find(const struct room *r, const char *id)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->hosts[i].id, id) == 0)
			return &r->hosts[i];
	return NULL;
}

/* What a node takes of the machine: its own memory, and its driver's beside it. */
static int64_t room_memory(const struct room *r, const struct contract *c)
{
	return c->memory ? c->memory + r->terms.node_memory : 0;
}

/* What its disk, and its part of a shared one, take of the machine's: files with their file systems. */
static int64_t room_disk(const struct room *r, const struct contract *c)
{
	int64_t own = c->disk ? (r->terms.disk_file ? r->terms.disk_file : disk_file_size)(c->disk, c->inodes) : 0;

	return own + (c->shared ? disk_file_size(c->shared, 0) : 0);
}

static void room_sum(const struct room *r, const struct room_host *but, int64_t *parts, int64_t *memory, int64_t *disk)
{
	*parts = *memory = *disk = 0;
	for (size_t i = 0; i < r->count; i++) {
		const struct contract *c = &r->hosts[i].contract;

		if (&r->hosts[i] == but)
			continue;
		*parts += (int64_t)c->vcpus * room_parts(c);
		*memory += room_memory(r, c);
		*disk += room_disk(r, c);
	}
}

void room_promised(const struct room *r, int64_t *cpu_milli, int64_t *memory, int64_t *disk)
{
	int64_t parts;

	room_sum(r, NULL, &parts, memory, disk);
	*cpu_milli = parts / (WHOLE / 1000);
}

bool room_rest(const struct room *r, char cores[NODE_CORES])
{
	static unsigned cpus[CPUS_MAX], load[CPUS_MAX];
	static bool mark[CPUS_MAX];
	size_t count = capacity_cpus(r->sysfs_root, cpus, CPUS_MAX), left = 0;

	room_loads(r, NULL, load);
	memset(mark, 0, sizeof mark);
	for (size_t i = 0; i < count; i++)
		if (load[cpus[i]] < WHOLE) {
			mark[cpus[i]] = true;
			left++;
		}
	cores[0] = '\0';
	if (left && left < count)
		room_write_cores(mark, cores);
	return left > 0;
}

static int room_lacks(int64_t wants, int64_t has, int64_t promised, const char *what, struct fail *f)
{
	enum { MIB = 1 << 20 };

	if (has < 0 || wants <= 0 || wants <= has - promised)
		return 0;
	return fail_set(f, -ENOSPC, "it needs %lld MiB of %s, and %lld MiB of %lld are promised to other hosts",
		(long long)(wants / MIB), what, (long long)(promised / MIB), (long long)(has / MIB));
}

/* Does it fit beside all hosts but the one that it replaces? */
static int room_fits(const struct room *r, const struct room_host *but, const struct contract *c,
	char cores[NODE_CORES], struct fail *f)
{
	int64_t parts, memory, disk, wants = (int64_t)c->vcpus * room_parts(c);
	int rc;

	room_sum(r, but, &parts, &memory, &disk);
	if ((wants && r->capacity.vcpus >= 0 && parts + wants > r->capacity.vcpus * WHOLE) ||
		!room_choose_cores(r, but, c, cores))
		return fail_set(f, -ENOSPC, "it needs %u processors, and %lld of %lld are promised to other hosts",
			c->vcpus, (long long)((parts + WHOLE - 1) / WHOLE), (long long)r->capacity.vcpus);
	if (c->network_mbps && r->terms.no_rate)
		return fail_set(f, -ENOTSUP,
			"nothing here limits its network to %lld Mbit/s; run nanopod-agentd as root, with "
			"driver ns or vm",
			(long long)c->network_mbps);
	if (c->shared && !r->terms.shared)
		return fail_set(f, -ENOTSUP,
			"its nodes share no folder; run nanopod-agentd as root, with driver ns, where there are loop "
			"devices");
	rc = room_lacks(room_memory(r, c), r->capacity.memory, memory, "memory", f);
	return rc ? rc : room_lacks(room_disk(r, c), r->capacity.disk_files, disk, "disk", f);
}

/* ---- Hosts ---------------------------------------------------------------------------------- */

static bool room_is_promised(const struct contract *c)
{
	return c->vcpus || c->memory || c->disk || c->shared || c->network_mbps;
}

static bool room_same(const struct contract *a, const struct contract *b)
{
	return a->vcpus == b->vcpus && room_parts(a) == room_parts(b) && a->memory == b->memory && a->disk == b->disk &&
		a->inodes == b->inodes && a->shared == b->shared;
}

static int room_add(struct room *r, const char *id, const struct contract *c, const char *cores)
{
	struct room_host *more = r->count < HOSTS_MAX ? reallocarray(r->hosts, r->count + 1, sizeof *more) : NULL, *h;

	if (!more)
		return -ENOMEM;
	r->hosts = more;
	h = &r->hosts[r->count++];
	*h = (struct room_host){ .contract = *c };
	snprintf(h->id, sizeof h->id, "%s", id);
	snprintf(h->cores, sizeof h->cores, "%s", cores);
	return 0;
}

static void room_drop(struct room *r, struct room_host *h)
{
	*h = r->hosts[--r->count];
}

static void room_save(const struct room *r)
{
	json_t *list = json_array(), *one;
	char path[STATEFILE_PATH];
	struct fail f = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		one = json_pack("{s:s, s:s}", "host", r->hosts[i].id, "cores", r->hosts[i].cores);
		if (one)
			json_object_set_new(one, "contract", resources_json(&r->hosts[i].contract));
		json_array_append_new(list, one);
	}
	if (statefile_path(path, r->data, "room.json", NULL) != 0 ||
		statefile_json(path, json_pack("{s:o}", "hosts", list), &f) != 0)
		log_at(r->log, LOG_ERROR, "cannot keep which processors belong to whom: %s", f.text);
}

/* Places a host, or replaces what it was promised. */
static int room_set(struct room *r, const char *id, const struct contract *c, struct fail *f)
{
	struct room_host *h = room_find(r, id);
	char cores[NODE_CORES];
	int rc = room_fits(r, h, c, cores, f);

	if (rc)
		return rc;
	if (h && *h->cores && h->contract.vcpus == c->vcpus && room_parts(&h->contract) == room_parts(c))
		snprintf(cores, sizeof cores, "%s", h->cores);
	if (h)
		room_drop(r, h);
	rc = room_add(r, id, c, cores);
	if (rc)
		return fail_set(f, rc, "out of memory");
	room_save(r);
	return 0;
}

/* As r, with the hosts alone that have a node, and without this one. */
static int room_used(const struct room *r, const char *but, bool (*has)(const void *arg, const char *host),
	const void *arg, struct room *out)
{
	int rc = 0;

	*out = (struct room){ .data = r->data,
		.sysfs_root = r->sysfs_root,
		.terms = r->terms,
		.capacity = r->capacity };
	for (size_t i = 0; !rc && i < r->count; i++)
		if (strcmp(r->hosts[i].id, but) != 0 && has(arg, r->hosts[i].id))
			rc = room_add(out, r->hosts[i].id, &r->hosts[i].contract, r->hosts[i].cores);
	return rc;
}

/* What is ordered comes before what is on sale: the latest hosts without a node lose their place, until it fits. */
static bool room_make_way(struct room *r, const char *host, const struct contract *c,
	bool (*has)(const void *arg, const char *host), const void *arg)
{
	char cores[NODE_CORES];
	struct room used;
	bool fits = room_used(r, host, has, arg, &used) == 0 && room_fits(&used, NULL, c, cores, NULL) == 0;

	room_release(&used);
	for (size_t i = r->count; fits && i-- > 0 && room_fits(r, room_find(r, host), c, cores, NULL) != 0;)
		if (strcmp(r->hosts[i].id, host) != 0 && !has(arg, r->hosts[i].id))
			room_drop(r, &r->hosts[i]);
	return fits;
}

/* A new node may find the host as its last one left it, or with a promise that was changed since. */
int room_place(struct room *r, const char *host, const struct contract *c,
	bool (*has)(const void *arg, const char *host), const void *arg, char cores[NODE_CORES], struct fail *f)
{
	const struct room_host *h = room_find(r, host);
	int rc = 0;

	if (!room_is_promised(c))
		return 0;
	if (!h || !room_same(&h->contract, c)) {
		rc = room_set(r, host, c, f);
		if (rc == -ENOSPC && room_make_way(r, host, c, has, arg))
			rc = room_set(r, host, c, f);
	}
	if (!rc && c->vcpus && (h = room_find(r, host)))
		memcpy(cores, h->cores, NODE_CORES);
	return rc;
}

int room_keep(struct room *r, const struct node *n)
{
	if (!room_is_promised(&n->contract) || room_find(r, n->host))
		return 0;
	return room_add(r, n->host, &n->contract, n->cores);
}

static bool room_wanted(const struct work *w, const char *id)
{
	for (size_t i = 0; i < w->host_count; i++)
		if (strcmp(w->hosts[i].id, id) == 0)
			return !*w->hosts[i].wrong && room_is_promised(&w->hosts[i].contract);
	return false;
}

bool room_later(const struct room *r, const struct work *w, const char *host, const struct contract *c,
	bool (*stays)(const void *arg, const char *host), const void *arg)
{
	char cores[NODE_CORES];
	struct room later;
	bool fits;
	int rc = room_used(r, host, stays, arg, &later);

	for (size_t i = 0; !rc && i < w->host_count; i++)
		if (strcmp(w->hosts[i].id, host) != 0 && room_wanted(w, w->hosts[i].id) &&
			!room_find(&later, w->hosts[i].id))
			rc = room_add(&later, w->hosts[i].id, &w->hosts[i].contract, "");
	fits = !rc && room_fits(&later, NULL, c, cores, NULL) == 0;
	room_release(&later);
	return fits;
}

/* ---- The market's word ---------------------------------------------------------------------- */

void room_take(struct room *r, const struct work *w, bool (*has)(const void *arg, const char *host), const void *arg)
{
	size_t before = r->count;

	capacity_read(r->sysfs_root, r->data, &r->capacity);
	for (size_t i = 0; i < w->volume_count; i++) {
		int64_t size = disk_file_size(w->volumes[i].bytes, 0);

		r->capacity.disk_files -= r->capacity.disk_files > size ? size : r->capacity.disk_files;
		r->capacity.disk -= r->capacity.disk > size ? size : r->capacity.disk;
	}
	for (size_t i = r->count; i-- > 0;)
		if (!room_wanted(w, r->hosts[i].id) && !has(arg, r->hosts[i].id))
			room_drop(r, &r->hosts[i]);
	if (r->count != before)
		room_save(r);
	/* Those with processors of their own first: what is left is shared. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < w->host_count; i++) {
			const struct work_host *h = &w->hosts[i];
			const struct room_host *old = room_find(r, h->id);
			struct fail f = { 0 };

			if (*h->wrong || !room_is_promised(&h->contract) || (h->contract.overcommit > 1) != pass ||
				has(arg, h->id) || (old && room_same(&old->contract, &h->contract)))
				continue;
			if (room_set(r, h->id, &h->contract, &f) != 0)
				log_at(r->log, LOG_ERROR, "%s (%s): no room on this machine: %s", h->id, h->name,
					f.text);
		}
}

/* ---- The file ------------------------------------------------------------------------------- */

static int room_read_host(struct room *r, const json_t *j)
{
	char id[WORK_ID], cores[NODE_CORES];
	struct contract c;

	statefile_text(j, "host", id, sizeof id);
	statefile_text(j, "cores", cores, sizeof cores);
	if (!work_is_id(id, "host_") || room_find(r, id) || !resources_read(json_object_get(j, "contract"), &c))
		return -EINVAL;
	return room_add(r, id, &c, cores);
}

int room_load(struct room *r, struct fail *f)
{
	char path[STATEFILE_PATH];
	json_t *j = NULL, *list;
	int rc = statefile_path(path, r->data, "room.json", NULL);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s/room.json'", r->data);
	statefile_tidy(r->data, "room.json");
	rc = statefile_load(path, &j, f);
	if (rc == -ENOENT)
		return 0;
	list = json_object_get(j, "hosts");
	for (size_t i = 0; !rc && i < json_array_size(list); i++)
		if ((rc = room_read_host(r, json_array_get(list, i))) != 0)
			fail_set(f, rc, "'%s' is damaged; remove it, and the nodes here keep their processors", path);
	json_decref(j);
	return rc;
}

void room_release(struct room *r)
{
	free(r->hosts);
	r->hosts = NULL;
	r->count = 0;
}
