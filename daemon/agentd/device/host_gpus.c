/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/host_gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/device/gpu_needs.h"
#include "agentd/device/gpu_reset.h"
#include "agentd/machine/gpu.h"
#include "agentd/os/pci_function.h"
#include "agentd/os/statefile.h"

enum { MEMORY_PART = 10 }; /* of what was promised a driver may show less, as the market allows, too */

/* The file while it is open: the array of its GPUs. */
struct gpu_book {
	const char *data;
	int lock;
	json_t *gpus;
	int64_t promised; /* to all hosts together, as the market last said */
};

/* ---- The file ------------------------------------------------------------------------------- */

static int book_load(struct gpu_book *b, struct fail *f)
{
	char path[STATEFILE_PATH];
	json_t *j = NULL, *list;
	int rc = statefile_path(path, b->data, "gpus.json", NULL);

	rc = rc ? fail_set(f, rc, "the path of '%s' is too long", b->data) : statefile_load(path, &j, f);
	if (rc == -ENOENT) {
		b->gpus = json_array();
		return b->gpus ? 0 : fail_set(f, -ENOMEM, "out of memory");
	}
	if (rc)
		return rc;
	list = json_object_get(j, "gpus");
	b->gpus = json_is_array(list) ? json_incref(list) : NULL;
	b->promised = statefile_int(j, "promised", 0);
	json_decref(j);
	return b->gpus ? 0 : fail_set(f, -EINVAL, "'%s' is damaged", path);
}

static int book_open(struct gpu_book *b, const char *data, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = statefile_path(path, data, "gpus.lock", NULL);

	*b = (struct gpu_book){ .data = data, .lock = -1 };
	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", data);
	b->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (b->lock < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	while (flock(b->lock, LOCK_EX) != 0)
		if (errno != EINTR)
			return fail_errno(f, -errno, errno, "cannot lock '%s'", path);
	return book_load(b, f);
}

static int book_save(const struct gpu_book *b, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = statefile_path(path, b->data, "gpus.json", NULL);

	return rc ? fail_set(f, rc, "the path of '%s' is too long", b->data)
		  : statefile_json(path, json_pack("{s:O, s:I}", "gpus", b->gpus, "promised", (json_int_t)b->promised),
			    f);
}

static void book_close(struct gpu_book *b)
{
	json_decref(b->gpus);
	if (b->lock >= 0)
		close(b->lock);
}

static const char *book_word(const json_t *gpu, const char *name)
{
	const char *text = json_string_value(json_object_get(gpu, name));

	return text ? text : "";
}

static bool book_is(const json_t *gpu, const char *name, const char *value)
{
	return strcmp(book_word(gpu, name), value) == 0;
}

static void book_set(json_t *gpu, const char *name, const char *value)
{
	json_object_set_new(gpu, name, json_string(value));
}

static json_t *book_find(const struct gpu_book *b, const char *address)
{
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu) if (book_is(gpu, "address", address)) return gpu;
	return NULL;
}

/* A node that left no folder has ended, whoever ended it. */
static bool book_is_dead(const struct gpu_book *b, const char *node)
{
	char nodes[STATEFILE_PATH], path[STATEFILE_PATH];
	struct stat st;

	return *node && statefile_path(nodes, b->data, "nodes", NULL) == 0 &&
		statefile_path(path, nodes, node, NULL) == 0 && stat(path, &st) != 0 && errno == ENOENT;
}

/* Has a node the GPU? A dead one's GPU goes to the next, who resets it first (take_from_dead()). */
static bool book_in_use(const struct gpu_book *b, const json_t *gpu)
{
	return !book_is(gpu, "node", "") && !book_is_dead(b, book_word(gpu, "node"));
}

/* ---- Fixing --------------------------------------------------------------------------------- */

static bool fix_has_vendor(const struct gpu *g, const char *word)
{
	return !*word || (g->pci.vendor == GPU_NVIDIA && strcmp(word, "nvidia") == 0) ||
		(g->pci.vendor == GPU_AMD && strcmp(word, "amd") == 0) ||
		(g->pci.vendor == GPU_INTEL && strcmp(word, "intel") == 0);
}

/* As the market compares them. */
static bool fix_fits(const struct gpu *g, const struct host_want *w)
{
	return !g->integrated && fix_has_vendor(g, w->vendor) && (!*w->model || strcasecmp(w->model, g->market) == 0) &&
		(!w->memory || g->memory == GPU_UNKNOWN || g->memory >= w->memory - w->memory / MEMORY_PART);
}

static unsigned fix_count(const struct gpu_book *b, const char *host)
{
	unsigned count = 0;
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu) count += book_is(gpu, "host", host);
	return count;
}

static int fix_give(struct gpu_book *b, const struct gpu *g, const char *host)
{
	json_t *gpu = book_find(b, g->pci.address);

	if (!gpu) {
		gpu = json_pack("{s:s, s:s, s:s, s:s, s:s}", "address", g->pci.address, "node", "", "host", host,
			"model", g->market, "uuid", g->uuid);
		return gpu ? json_array_append_new(b->gpus, gpu) : -1;
	}
	book_set(gpu, "host", host);
	book_set(gpu, "model", g->market);
	book_set(gpu, "uuid", g->uuid);
	return 0;
}

/* Gives the host what it lacks of GPUs that nobody has. */
static int fix_host(struct gpu_book *b, const char *root, const struct host_want *w, bool *changed, struct fail *f)
{
	unsigned has = fix_count(b, w->host);
	char(*list)[PCI_ADDRESS] = NULL;
	size_t count = 0;
	int rc = has < w->count ? pci_list(root, &list, &count) : 0;

	for (size_t i = 0; !rc && has < w->count && i < count; i++) {
		json_t *known = book_find(b, list[i]);
		struct gpu g;
		struct pci p;

		if ((known &&
			    (!book_is(known, "host", "") || book_in_use(b, known) ||
				    !book_is(known, "quarantine", ""))) ||
			pci_read(root, list[i], &p) != 0 || !gpu_is(&p))
			continue;
		gpu_read(root, &p, &g);
		if (!fix_fits(&g, w))
			continue;
		if (fix_give(b, &g, w->host) != 0)
			rc = fail_set(f, -ENOMEM, "out of memory");
		has++;
		*changed = true;
	}
	free(list);
	if (!rc && has < w->count)
		rc = fail_set(f, -ENODEV, "the host '%s' was promised %u GPUs%s%s, and this machine has %u for it",
			w->host, w->count, *w->model ? " of type " : "", w->model, has);
	return rc;
}

static bool fix_drop_others(struct gpu_book *b, const struct host_want *hosts, size_t count)
{
	bool changed = false;
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu)
	{
		bool wanted = book_is(gpu, "host", "");

		for (size_t k = 0; k < count && !wanted; k++)
			wanted = hosts[k].count && book_is(gpu, "host", hosts[k].host);
		if (wanted || book_in_use(b, gpu))
			continue;
		book_set(gpu, "host", "");
		changed = true;
	}
	return changed;
}

int host_gpus_fix(const char *data, const char *root, const struct host_want *hosts, size_t count, struct fail *f)
{
	struct fail first = { 0 };
	struct gpu_book b;
	int64_t promised = 0;
	bool changed;
	int rc = book_open(&b, data, f);

	for (size_t i = 0; i < count; i++)
		promised += hosts[i].count;
	if (!rc) {
		changed = fix_drop_others(&b, hosts, count) || b.promised != promised;
		b.promised = promised;
		for (size_t i = 0; i < count; i++)
			if (hosts[i].count)
				fix_host(&b, root, &hosts[i], &changed, first.code ? NULL : &first);
		rc = changed ? book_save(&b, f) : 0;
	}
	book_close(&b);
	if (!rc && first.code) {
		rc = first.code;
		if (f)
			*f = first;
	}
	return rc;
}

/* ---- Between tenants ------------------------------------------------------------------------ */

/* Not under the lock: a reset may take a minute. */
int host_gpus_give_back(const char *data, const char *root, const char *node, struct fail *f)
{
	struct fail why[DEVICES_GPUS] = { { 0 } };
	struct node_devices had = { 0 };
	struct gpu_book b;
	int rc = host_gpus_of(data, node, &had, f);

	if (rc || !had.gpu_count) {
		devices_release(&had);
		return rc;
	}
	for (size_t i = 0; i < had.gpu_count; i++)
		gpu_reset(root, had.gpus[i].address, &why[i]);
	rc = book_open(&b, data, f);
	for (size_t i = 0; !rc && i < had.gpu_count; i++) {
		json_t *gpu = book_find(&b, had.gpus[i].address), *text = json_string(why[i].text);

		if (gpu && book_is(gpu, "node", node)) {
			book_set(gpu, "node", "");
			if (why[i].code)
				json_object_set(gpu, "quarantine", text ? text : json_null());
		}
		json_decref(text);
	}
	rc = rc ? rc : book_save(&b, f);
	book_close(&b);
	devices_release(&had);
	return rc;
}

static int take_one(const char *root, json_t *gpu, const char *node, struct fail *f)
{
	const char *address = book_word(gpu, "address"), *uuid = book_word(gpu, "uuid");
	struct gpu g;
	struct pci p;

	if (!book_is(gpu, "node", "") && !book_is(gpu, "node", node))
		return fail_set(f, -EBUSY, "the GPU at %s is not free yet: '%s' has it", address,
			book_word(gpu, "node"));
	if (!book_is(gpu, "quarantine", ""))
		return fail_set(f, -ENODEV, "the GPU at %s is kept back: %s", address, book_word(gpu, "quarantine"));
	if (!function_address_good(address) || pci_read(root, address, &p) != 0)
		return fail_set(f, -ENODEV, "the GPU at %s (%s) of this host is gone", address,
			book_word(gpu, "model"));
	gpu_read(root, &p, &g);
	if (*uuid && *g.uuid && strcmp(uuid, g.uuid) != 0)
		return fail_set(f, -ENODEV, "the GPU at %s is another one: '%s', was '%s'", address, g.uuid, uuid);
	book_set(gpu, "node", node);
	if (g.memory != GPU_UNKNOWN)
		json_object_set_new(gpu, "memory", json_integer(g.memory));
	return 0;
}

static int take_describe(const json_t *gpu, struct node_devices *out)
{
	struct device_gpu g = { .vendor = 0 };

	snprintf(g.address, sizeof g.address, "%s", book_word(gpu, "address"));
	snprintf(g.model, sizeof g.model, "%s", book_word(gpu, "model"));
	snprintf(g.uuid, sizeof g.uuid, "%s", book_word(gpu, "uuid"));
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
		rc = book_open(&b, data, f);
		if (!rc)
			json_array_foreach(b.gpus, i, gpu) if (book_is(gpu, "host", host) &&
				!book_is(gpu, "node", "") && !book_is(gpu, "node", node) &&
				book_is_dead(&b, book_word(gpu, "node")))
				snprintf(dead, sizeof dead, "%s", book_word(gpu, "node"));
		book_close(&b);
		rc = rc || !*dead ? rc : host_gpus_give_back(data, root, dead, f);
	} while (!rc && *dead);
	return rc;
}

int host_gpus_take(const char *data, const char *root, const char *host, const char *node, bool nodes,
	struct node_devices *out, struct fail *f)
{
	struct gpu_book b;
	bool any = false;
	json_t *gpu;
	size_t i;
	int rc = *host ? take_from_dead(data, root, host, node, f) : 0;

	if (rc || !*host)
		return rc;
	rc = book_open(&b, data, f);
	if (!rc)
		json_array_foreach(b.gpus, i, gpu)
		{
			if (!book_is(gpu, "host", host))
				continue;
			any = true;
			rc = take_one(root, gpu, node, f);
			if (rc)
				break;
		}
	if (!rc && any) /* before a node can use one */
		rc = book_save(&b, f);
	if (!rc)
		json_array_foreach(b.gpus, i, gpu) if (!rc && any && book_is(gpu, "node", node))
			rc = nodes ? gpu_needs(root, book_word(gpu, "address"), out, f) : take_describe(gpu, out);
	book_close(&b);
	return rc;
}

int host_gpus_of(const char *data, const char *node, struct node_devices *out, struct fail *f)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	json_t *gpu;
	size_t i;
	int rc = book_load(&b, f);

	if (!rc)
		json_array_foreach(b.gpus, i, gpu) if (!rc && book_is(gpu, "node", node)) rc = take_describe(gpu, out);
	book_close(&b);
	return rc;
}

int64_t host_gpus_promised(const char *data)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	int64_t promised = book_load(&b, NULL) == 0 ? b.promised : 0;

	book_close(&b);
	return promised;
}

/* ---- For the market ------------------------------------------------------------------------- */

static json_t *report_same(const json_t *list, const json_t *gpu)
{
	json_t *kind;
	size_t i;

	json_array_foreach(list, i, kind) if (book_is(kind, "model", book_word(gpu, "model")) &&
		statefile_int(kind, "memory_bytes", 0) == statefile_int(gpu, "memory", 0)) return kind;
	return NULL;
}

static void report_add(json_t *list, const json_t *gpu)
{
	json_t *kind = report_same(list, gpu);

	if (!kind) {
		kind = json_pack("{s:s, s:i}", "model", book_word(gpu, "model"), "count", 0);
		if (kind && statefile_int(gpu, "memory", 0) > 0)
			json_object_set(kind, "memory_bytes", json_object_get(gpu, "memory"));
		json_array_append_new(list, kind);
	}
	json_object_set_new(kind, "count", json_integer(statefile_int(kind, "count", 0) + 1));
}

json_t *host_gpus_report(const char *data, const char *node)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	json_t *list = json_array(), *gpu;
	size_t i;

	if (book_load(&b, NULL) == 0)
		json_array_foreach(b.gpus, i, gpu) if (book_is(gpu, "node", node)) report_add(list, gpu);
	book_close(&b);
	return list;
}

/* ---- For people ----------------------------------------------------------------------------- */

json_t *host_gpus_json(const char *data, struct fail *f)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	json_t *list = book_load(&b, f) == 0 ? json_incref(b.gpus) : NULL;

	book_close(&b);
	return list;
}

int host_gpus_release(const char *data, const char *address, struct fail *f)
{
	struct gpu_book b;
	json_t *gpu;
	int rc = book_open(&b, data, f);

	if (!rc) {
		gpu = book_find(&b, address);
		if (!gpu || book_is(gpu, "quarantine", ""))
			rc = fail_set(f, -ENOENT, "no GPU at '%s' is kept back; 'nanopod-agentd gpus' lists them",
				address);
		else
			json_object_del(gpu, "quarantine");
	}
	rc = rc ? rc : book_save(&b, f);
	book_close(&b);
	return rc;
}

bool host_gpus_problem(const char *data, char *room, size_t size)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	bool found = false;
	json_t *gpu;
	size_t i;

	if (book_load(&b, NULL) == 0)
		json_array_foreach(b.gpus, i, gpu) if (!found && !book_is(gpu, "quarantine", ""))
		{
			snprintf(room, size,
				"the GPU at %s is kept back: %s; 'nanopod-agentd gpus release %s' sells it again",
				book_word(gpu, "address"), book_word(gpu, "quarantine"), book_word(gpu, "address"));
			found = true;
		}
	book_close(&b);
	return found;
}
