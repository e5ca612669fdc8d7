/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/host_gpus.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/device/gpu_book.h"
#include "agentd/device/gpu_holders.h"
#include "agentd/device/gpu_needs.h"
#include "agentd/device/gpu_reset.h"
#include "agentd/device/gpu_slices.h"
#include "agentd/device/guest_gpus.h"
#include "agentd/machine/gpu.h"
#include "agentd/os/pci_function.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"

enum { RESET_MS = 90000, PAUSE_MS = 100 };

/* ---- Between tenants ------------------------------------------------------------------------ */

/* A GPU that a node gives back. */
struct given {
	char address[PCI_ADDRESS];
	bool guest;  /* a guest had it, or was to have it */
	bool lent;   /* and its drivers have not all of it again */
	bool shared; /* another node stays with a share of it, so it cannot be reset */
	bool slice;
	struct fail why;
};

static bool give_is_of(const json_t *gpu, const char *address, const char *node)
{
	return gpu_book_is(gpu, "address", address) && gpu_book_is(gpu, "node", node);
}

/* Does another node stay on the GPU? One that is leaving does not: of nodes that end together, one has to reset. */
static bool give_is_shared(const struct gpu_book *b, const char *address, const char *node)
{
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu) if (gpu_book_is(gpu, "address", address) && gpu_book_in_use(b, gpu) &&
		!gpu_book_is(gpu, "node", node) && !json_is_true(json_object_get(gpu, "leaving"))) return true;
	return false;
}

/* The last node to begin resets. What is to be reset is marked, so that no node takes a share of it meanwhile. */
static int give_begin(const char *data, const char *node, struct given *list, size_t *count, struct fail *f)
{
	struct gpu_book b;
	json_t *gpu;
	size_t i;
	int rc = gpu_book_open(&b, data, f);

	if (!rc)
		json_array_foreach(b.gpus, i, gpu)
		{
			struct given *g = &list[*count];

			if (*count == DEVICES_GPUS || !gpu_book_is(gpu, "node", node))
				continue;
			snprintf(g->address, sizeof g->address, "%s", gpu_book_word(gpu, "address"));
			g->shared = give_is_shared(&b, g->address, node);
			g->slice = gpu_book_is_slice(gpu);
			json_object_set_new(gpu, "leaving", json_true());
			json_object_set_new(gpu, "ending", json_boolean(!g->shared));
			++*count;
		}
	if (!rc && *count)
		rc = gpu_book_save(&b, f);
	gpu_book_close(&b);
	return rc;
}

/* A GPU that could not be reset is kept back with all its shares: nobody else is on it. */
static int give_end(const char *data, const char *node, const struct given *list, size_t count, struct fail *f)
{
	struct gpu_book b;
	json_t *gpu;
	size_t i;
	int rc = gpu_book_open(&b, data, f);

	for (size_t k = 0; !rc && k < count; k++)
		json_array_foreach(b.gpus, i, gpu)
		{
			bool mine = give_is_of(gpu, list[k].address, node);

			if (list[k].why.code &&
				(mine || (!list[k].shared && gpu_book_is(gpu, "address", list[k].address))))
				gpu_book_keep_back(gpu, &list[k].why);
			if (mine) {
				gpu_book_set(gpu, "node", "");
				json_object_del(gpu, "ending");
				json_object_del(gpu, "leaving");
				if (!list[k].lent)
					guest_gpus_forget(gpu);
			}
		}
	rc = rc ? rc : gpu_book_save(&b, f);
	gpu_book_close(&b);
	return rc;
}

/* A guest's was reset before. Only what is returned counts: what failed at first leaves a sentence, too. */
static void give_one(const char *data, const char *root, const char *node, struct given *g)
{
	struct fail why = { 0 };
	int rc;

	if (g->slice && gpu_slices_any(data, g->address))
		rc = gpu_slices_undo(data, root, g->address, node, &why);
	else if (g->shared)
		rc = gpu_holders_gone(data, root, g->address, node, &why);
	else if (g->guest && (rc = guest_gpus_return(data, root, node, g->address, &why)) != 0)
		g->lent = true;
	else if (g->guest)
		rc = gpu_slices_end(data, root, g->address, &why);
	else if ((rc = gpu_slices_end(data, root, g->address, &why)) == 0)
		rc = gpu_reset(data, root, g->address, &why);
	if (rc && !g->why.code)
		g->why = why;
}

/* Not under the lock: a reset may take a minute. */
int host_gpus_give_back(const char *data, const char *root, const char *node, struct fail *f)
{
	struct given list[DEVICES_GPUS] = { 0 };
	size_t count = 0;
	int rc = *node ? give_begin(data, node, list, &count, f) : 0;

	if (rc || !count)
		return rc;
	for (size_t i = 0; i < count; i++)
		list[i].guest = !list[i].slice && !list[i].shared &&
			guest_gpus_reset(data, root, node, list[i].address, &list[i].why) <= 0;
	for (size_t i = 0; i < count; i++)
		give_one(data, root, node, &list[i]);
	return give_end(data, node, list, count, f);
}

/* ---- For a node ------------------------------------------------------------------------------ */

/* What the GPUs of a host are: looked up before the lock is taken, since a driver may take seconds to answer. */
struct take_facts {
	struct {
		char address[PCI_ADDRESS];
		bool there;
		struct gpu is;
	} list[DEVICES_GPUS];
	size_t count;
	struct nvml_processes *holders; /* where the host has shares */
	struct fail blind;              /* why nobody can tell who holds memory of them */
};

/* Is it a share whose memory has to be watched? A slice has its own. */
static bool take_is_watched(const json_t *gpu)
{
	return gpu_book_parts(gpu) && !gpu_book_is_slice(gpu);
}

static void take_look(struct take_facts *t, const struct gpu_book *b, const char *root, const char *host)
{
	bool shares = false;
	json_t *gpu;
	size_t i;

	free(t->holders);
	*t = (struct take_facts){ .count = 0 };
	json_array_foreach(b->gpus, i, gpu)
	{
		const char *address = gpu_book_word(gpu, "address");
		struct pci p;

		if (!gpu_book_is(gpu, "host", host) || t->count == DEVICES_GPUS)
			continue;
		snprintf(t->list[t->count].address, PCI_ADDRESS, "%s", address);
		t->list[t->count].there = function_address_good(address) && pci_read(root, address, &p) == 0;
		if (t->list[t->count].there)
			gpu_read(root, &p, &t->list[t->count].is);
		shares = shares || take_is_watched(gpu);
		t->count++;
	}
	if (shares)
		gpu_holders_read(b->data, root, &t->holders, &t->blind);
}

/* The index of the GPU; count: nobody has looked at it. */
static size_t take_find(const struct take_facts *t, const json_t *gpu)
{
	size_t i = 0;

	while (i < t->count && !gpu_book_is(gpu, "address", t->list[i].address))
		i++;
	return i;
}

/* Does the host still have the GPUs that were looked at? */
static bool take_is_fresh(const struct take_facts *t, const struct gpu_book *b, const char *host)
{
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu) if (gpu_book_is(gpu, "host", host) && t->count < DEVICES_GPUS &&
		(take_find(t, gpu) == t->count ||
			(take_is_watched(gpu) && !t->holders && !t->blind.code))) return false;
	return true;
}

/* *memory: what those who share the GPU have together, which its watcher divides, too. */
static int take_check_share(const struct take_facts *t, const char *address, int64_t *memory, struct fail *f)
{
	struct fail why = t->blind;

	if (t->holders && nvml_processes_of(t->holders, address, memory, &why) == 0)
		return 0;
	return fail_set(f, -ENODEV, "nobody can see who holds memory of the GPU at %s, so it has no shares: %s",
		address, why.text);
}

static int take_one(const struct take_facts *t, json_t *gpu, const char *node, struct fail *f)
{
	const char *address = gpu_book_word(gpu, "address"), *uuid = gpu_book_word(gpu, "uuid");
	size_t at = take_find(t, gpu);
	const struct gpu *g = &t->list[at < t->count ? at : 0].is;
	int64_t memory = g->memory;

	if (!gpu_book_is(gpu, "node", "") && !gpu_book_is(gpu, "node", node))
		return fail_set(f, -EBUSY, "the GPU at %s is not free yet: '%s' has it", address,
			gpu_book_word(gpu, "node"));
	if (!gpu_book_is(gpu, "quarantine", ""))
		return fail_set(f, -ENODEV, "the GPU at %s is kept back: %s", address,
			gpu_book_word(gpu, "quarantine"));
	if (at == t->count || !t->list[at].there)
		return fail_set(f, -ENODEV, "the GPU at %s (%s) of this host is gone", address,
			gpu_book_word(gpu, "model"));
	if (*uuid && *g->uuid && strcmp(uuid, g->uuid) != 0)
		return fail_set(f, -ENODEV, "the GPU at %s is another one: '%s', was '%s'", address, g->uuid, uuid);
	if (take_is_watched(gpu) && take_check_share(t, address, &memory, f) != 0)
		return -ENODEV;
	gpu_book_set(gpu, "node", node);
	if (memory != GPU_UNKNOWN && !gpu_book_is_slice(gpu))
		json_object_set_new(gpu, "memory", json_integer(memory));
	return 0;
}

static int take_describe(const json_t *gpu, struct node_devices *out)
{
	struct device_gpu g = { .vendor = 0 };

	snprintf(g.address, sizeof g.address, "%s", gpu_book_word(gpu, "address"));
	snprintf(g.model, sizeof g.model, "%s", gpu_book_word(gpu, "model"));
	snprintf(g.uuid, sizeof g.uuid, "%s", gpu_book_word(gpu, "uuid"));
	return devices_add_gpu(out, &g);
}

/* GPUs of the host whose node ended without giving them back. */
static int take_from_dead(const char *data, const char *root, const char *host, const char *node, struct fail *f)
{
	char dead[FUNCTION_NAME] = "";
	struct gpu_book b;
	json_t *gpu;
	size_t i;
	int rc;

	do {
		*dead = '\0';
		rc = gpu_book_open(&b, data, f);
		if (!rc)
			json_array_foreach(b.gpus, i, gpu) if (gpu_book_is(gpu, "host", host) &&
				!gpu_book_is(gpu, "node", "") && !gpu_book_is(gpu, "node", node) &&
				gpu_book_is_dead(&b, gpu_book_word(gpu, "node")))
				snprintf(dead, sizeof dead, "%s", gpu_book_word(gpu, "node"));
		gpu_book_close(&b);
		rc = rc || !*dead ? rc : host_gpus_give_back(data, root, dead, f);
	} while (!rc && *dead);
	return rc;
}

/* Is a GPU of the host being reset after the last node that had a share of it? Not by a node that died over it. */
static bool take_has_ending(const struct gpu_book *b, const char *host, const char *node)
{
	json_t *mine, *gpu;
	size_t i, k;

	json_array_foreach(b->gpus, i, mine) if (gpu_book_is(mine, "host", host))
		json_array_foreach(b->gpus, k, gpu) if (json_is_true(json_object_get(gpu, "ending")) &&
			gpu_book_is(gpu, "address", gpu_book_word(mine, "address")) && gpu_book_in_use(b, gpu) &&
			!gpu_book_is(gpu, "node", node)) return true;
	return false;
}

/* Opens the book when no GPU of the host is being reset, and its GPUs are those that were looked at. */
static int take_open(struct gpu_book *b, struct take_facts *t, const char *data, const char *root, const char *host,
	const char *node, struct fail *f)
{
	int64_t until = clock_ms() + RESET_MS;

	for (;; poll(NULL, 0, PAUSE_MS)) {
		bool ready;
		int rc;

		*b = (struct gpu_book){ .data = data, .lock = -1 };
		rc = gpu_book_load(b, f);
		ready = !rc && !take_has_ending(b, host, node);
		if (ready)
			take_look(t, b, root, host);
		gpu_book_close(b);
		if (ready)
			rc = gpu_book_open(b, data, f);
		if (rc || (ready && !take_has_ending(b, host, node) && take_is_fresh(t, b, host)))
			return rc;
		gpu_book_close(b);
		if (clock_ms() >= until)
			return fail_set(f, -EBUSY, "a GPU of this host is still being reset");
	}
}

/* *any: the host has some. */
static int take_of_host(const struct gpu_book *b, const struct take_facts *t, const struct host_taker *who, bool *any,
	struct fail *f)
{
	json_t *gpu;
	int rc = 0;
	size_t i;

	json_array_foreach(b->gpus, i, gpu)
	{
		if (!gpu_book_is(gpu, "host", who->host))
			continue;
		*any = true;
		rc = gpu_book_is_cut(gpu, who->parts, who->slice ? who->slice : "")
			? take_one(t, gpu, who->node, f)
			: fail_set(f, -EBUSY, "this host still has %s of the GPU at %s as another type had it",
				  gpu_book_parts(gpu) ? "a share" : "all", gpu_book_word(gpu, "address"));
		if (rc)
			return rc;
		if (who->guest)
			guest_gpus_begin(gpu);
	}
	return *any ? gpu_book_save(b, f) : 0; /* before a node can use one */
}

/* What the node needs to use it. A slice is made for it; else the GPU must not be cut any more. */
static int take_prepare(const char *data, const char *root, const json_t *gpu, const char *node,
	struct node_devices *out, struct fail *f)
{
	const char *address = gpu_book_word(gpu, "address"), *slice = gpu_book_word(gpu, "slice");
	struct mig_instance made;
	int rc;

	if (!*slice) {
		rc = gpu_slices_end(data, root, address, f);
		rc = rc ? rc : gpu_slices_off(data, root, address, f);
		return rc ? rc : gpu_needs(root, address, out, f);
	}
	rc = gpu_slices_make(data, root, address, slice, node, &made, f);
	return rc ? rc : gpu_needs_slice(root, address, &made, out, f);
}

static int take_devices(const char *data, const char *root, const char *node, bool nodes, struct node_devices *out,
	struct fail *f)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	json_t *gpu;
	size_t i;
	int rc = gpu_book_load(&b, f);

	if (!rc)
		json_array_foreach(b.gpus, i, gpu) if (!rc && gpu_book_is(gpu, "node", node))
			rc = nodes ? take_prepare(data, root, gpu, node, out, f) : take_describe(gpu, out);
	gpu_book_close(&b);
	return rc;
}

int host_gpus_take(const char *data, const char *root, const struct host_taker *who, struct node_devices *out,
	struct fail *f)
{
	struct take_facts *t = *who->host ? calloc(1, sizeof *t) : NULL;
	struct gpu_book b = { .data = data, .lock = -1 };
	bool any = false;
	int rc;

	if (!t)
		return *who->host ? fail_set(f, -ENOMEM, "out of memory") : 0;
	rc = take_from_dead(data, root, who->host, who->node, f);
	rc = rc ? rc : take_open(&b, t, data, root, who->host, who->node, f);
	rc = rc ? rc : take_of_host(&b, t, who, &any, f);
	gpu_book_close(&b);
	free(t->holders);
	free(t);
	return rc || !any ? rc : take_devices(data, root, who->node, who->nodes, out, f);
}

int host_gpus_of(const char *data, const char *node, struct node_devices *out, struct fail *f)
{
	return take_devices(data, NULL, node, false, out, f);
}

/* Has a host the GPU, or a share of it, that comes earlier in the book? */
static bool promised_is_counted(const json_t *gpus, size_t at)
{
	const char *address = gpu_book_word(json_array_get(gpus, at), "address");

	for (size_t i = 0; i < at; i++)
		if (gpu_book_is(json_array_get(gpus, i), "address", address) &&
			!gpu_book_is(json_array_get(gpus, i), "host", ""))
			return true;
	return false;
}

int64_t host_gpus_promised(const char *data)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	int64_t count = 0;
	json_t *gpu;
	size_t i;

	if (gpu_book_load(&b, NULL) == 0)
		json_array_foreach(b.gpus, i, gpu)
			count += !gpu_book_is(gpu, "host", "") && !promised_is_counted(b.gpus, i);
	gpu_book_close(&b);
	return count;
}

/* ---- For the market ------------------------------------------------------------------------- */

/* A share is told with the memory that it may take. */
static json_t *report_kind(const json_t *gpu)
{
	json_t *kind = json_pack("{s:s}", "model", gpu_book_word(gpu, "model"));
	unsigned parts = gpu_book_is_slice(gpu) ? 0 : gpu_book_parts(gpu);
	int64_t memory = statefile_int(gpu, "memory", 0) / (parts ? parts : 1);

	if (memory > 0)
		json_object_set_new(kind, "memory_bytes", json_integer(memory));
	if (parts)
		json_object_set_new(kind, "share", json_sprintf("1/%u", parts));
	if (gpu_book_is_slice(gpu))
		json_object_set_new(kind, "share", json_sprintf("mig:%s", gpu_book_word(gpu, "slice")));
	return kind;
}

static void report_add(json_t *list, const json_t *gpu)
{
	json_t *kind = report_kind(gpu), *one;
	int64_t count = 1;
	size_t i;

	json_array_foreach(list, i, one)
	{
		json_t *bare = json_copy(one);

		json_object_del(bare, "count");
		if (json_equal(bare, kind)) {
			count += statefile_int(one, "count", 0);
			json_array_remove(list, i--);
		}
		json_decref(bare);
	}
	json_object_set_new(kind, "count", json_integer(count));
	json_array_append_new(list, kind);
}

json_t *host_gpus_report(const char *data, const char *node)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	json_t *list = json_array(), *gpu;
	size_t i;

	if (gpu_book_load(&b, NULL) == 0)
		json_array_foreach(b.gpus, i, gpu) if (gpu_book_is(gpu, "node", node)) report_add(list, gpu);
	gpu_book_close(&b);
	return list;
}

/* ---- For people ----------------------------------------------------------------------------- */

json_t *host_gpus_json(const char *data, struct fail *f)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	json_t *list = gpu_book_load(&b, f) == 0 ? json_incref(b.gpus) : NULL;

	gpu_book_close(&b);
	return list;
}

int host_gpus_release(const char *data, const char *address, struct fail *f)
{
	struct gpu_book b;
	bool found = false;
	json_t *gpu;
	size_t i;
	int rc = gpu_book_open(&b, data, f);

	if (!rc)
		json_array_foreach(b.gpus, i, gpu) if (gpu_book_is(gpu, "address", address) &&
			!gpu_book_is(gpu, "quarantine", "")) found = json_object_del(gpu, "quarantine") == 0;
	if (!rc && !found)
		rc = fail_set(f, -ENOENT, "no GPU at '%s' is kept back; 'nanopod-agentd gpus' lists them", address);
	rc = rc ? rc : gpu_book_save(&b, f);
	gpu_book_close(&b);
	return rc;
}

bool host_gpus_problem(const char *data, char *room, size_t size)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	bool found = false;
	json_t *gpu;
	size_t i;

	if (gpu_book_load(&b, NULL) == 0)
		json_array_foreach(b.gpus, i, gpu) if (!found && !gpu_book_is(gpu, "quarantine", ""))
		{
			snprintf(room, size,
				"the GPU at %s is kept back: %s; 'nanopod-agentd gpus release %s' sells it again",
				gpu_book_word(gpu, "address"), gpu_book_word(gpu, "quarantine"),
				gpu_book_word(gpu, "address"));
			found = true;
		}
	gpu_book_close(&b);
	return found;
}
