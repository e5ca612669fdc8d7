/* SPDX-License-Identifier: Apache-2.0 */
/* Which host gets which GPU, or which share of one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agentd/contract.h"
#include "agentd/device/gpu_book.h"
#include "agentd/device/gpu_slices.h"
#include "agentd/device/host_gpus.h"
#include "agentd/machine/gpu.h"
#include "agentd/machine/iommu.h"
#include "agentd/os/statefile.h"

enum {
	MEMORY_PART = 10, /* of what was promised a driver may show less, as the market allows, too */
	LACK_TEXT = 480,
};

static bool fix_has_vendor(const struct gpu *g, const char *word)
{
	return !*word || (g->pci.vendor == GPU_NVIDIA && strcmp(word, "nvidia") == 0) ||
		(g->pci.vendor == GPU_AMD && strcmp(word, "amd") == 0) ||
		(g->pci.vendor == GPU_INTEL && strcmp(word, "intel") == 0);
}

static bool fix_has_memory(int64_t memory, const struct host_want *w)
{
	return !w->memory || memory == GPU_UNKNOWN || memory >= w->memory - w->memory / MEMORY_PART;
}

/* As the market compares them. */
static bool fix_fits(const struct gpu *g, const struct host_want *w)
{
	return !g->integrated && fix_has_vendor(g, w->vendor) && (!*w->model || strcasecmp(w->model, g->market) == 0) &&
		(!w->parts || g->pci.vendor == GPU_NVIDIA) && /* of others nobody watches the memory */
		fix_has_memory(g->memory, w);
}

static const char *fix_slice(const struct host_want *w)
{
	return w->slice ? w->slice : "";
}

static bool fix_is_of(const json_t *gpu, const struct host_want *w)
{
	return w->count && gpu_book_is(gpu, "host", w->host) && gpu_book_is_cut(gpu, w->parts, fix_slice(w));
}

static unsigned fix_count(const json_t *gpus, const struct host_want *w)
{
	unsigned count = 0;
	json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu) count += fix_is_of(gpu, w);
	return count;
}

/* No host, no node, and not kept back. */
static bool fix_is_idle(const struct gpu_book *b, const json_t *gpu)
{
	return gpu_book_is(gpu, "host", "") && !gpu_book_in_use(b, gpu) && gpu_book_is(gpu, "quarantine", "");
}

/* Nobody has the GPU, or a share of it. */
static bool fix_is_free(const struct gpu_book *b, const char *address)
{
	bool is_free = true;
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu) if (gpu_book_is(gpu, "address", address))
		is_free = is_free && fix_is_idle(b, gpu);
	return is_free;
}

/* Into how many such shares the GPU can be cut; 0: it is given whole, or has no such slices. */
static unsigned fix_parts(const struct gpu_book *b, const char *address, const struct host_want *w)
{
	return *fix_slice(w) ? gpu_slices_count(b->known, address, w->slice, NULL) : w->parts;
}

/* The GPU is cut into such shares already, and one is left: *share then, or NULL where it was never given. */
static bool fix_has_share(const struct gpu_book *b, const char *address, const struct host_want *w, json_t **share)
{
	unsigned shares = 0, parts = fix_parts(b, address, w);
	json_t *gpu;
	size_t i;

	*share = NULL;
	json_array_foreach(b->gpus, i, gpu)
	{
		if (!gpu_book_is(gpu, "address", address) || gpu_book_parts(gpu) != parts ||
			!gpu_book_is(gpu, "slice", fix_slice(w)))
			continue;
		shares++;
		if (fix_is_idle(b, gpu))
			*share = gpu;
	}
	return shares && (*share || shares < parts);
}

/* A GPU that nobody has becomes one element again, whatever it was: who has it next resets what a dead node left. */
static json_t *fix_one_element(struct gpu_book *b, const char *address)
{
	json_t *first = NULL;

	for (size_t i = 0; i < json_array_size(b->gpus);) {
		json_t *gpu = json_array_get(b->gpus, i);
		bool same = gpu_book_is(gpu, "address", address);

		if (same && first) {
			if (!gpu_book_is(gpu, "node", ""))
				gpu_book_set(first, "node", gpu_book_word(gpu, "node"));
			json_array_remove(b->gpus, i);
			continue;
		}
		first = same ? gpu : first;
		i++;
	}
	return first;
}

static int fix_give(struct gpu_book *b, const struct gpu *g, json_t *gpu, const struct host_want *w)
{
	unsigned parts = w->parts;
	int64_t memory = 0;

	if (!gpu) {
		gpu = json_pack("{s:s, s:s}", "address", g->pci.address, "node", "");
		if (!gpu || json_array_append_new(b->gpus, gpu) != 0)
			return -1;
	}
	gpu_book_set(gpu, "host", w->host);
	gpu_book_set(gpu, "model", g->market);
	gpu_book_set(gpu, "uuid", g->uuid);
	json_object_del(gpu, "parts");
	json_object_del(gpu, "slice");
	if (*fix_slice(w)) {
		gpu_book_set(gpu, "slice", w->slice);
		parts = gpu_slices_count(b->known, g->pci.address, w->slice, &memory);
		json_object_set_new(gpu, "memory", json_integer(memory));
	}
	return parts ? json_object_set_new(gpu, "parts", json_integer(parts)) : 0;
}

/* May the host have the GPU, or a share of it? join: of one that is cut already; else it is free. */
static bool fix_may_have(struct gpu_book *b, const char *root, const char *address, const struct host_want *w,
	bool join, struct gpu *g)
{
	json_t *share;
	struct pci p;

	if (!(join ? fix_has_share(b, address, w, &share) : fix_is_free(b, address)) ||
		(*fix_slice(w) && !fix_parts(b, address, w)) || pci_read(root, address, &p) != 0 || !gpu_is(&p))
		return false;
	gpu_read(root, &p, g);
	return fix_fits(g, w);
}

static bool fix_has(const struct gpu_book *b, const char *address, const struct host_want *w)
{
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu) if (fix_is_of(gpu, w) && gpu_book_is(gpu, "address", address)) return true;
	return false;
}

/*
 * The GPUs that the host gets with this one, which it may have, and this one first: a guest gets all of an IOMMU group.
 * 0: it cannot have them all.
 */
static size_t fix_together(struct gpu_book *b, const char *root, const char *address, const struct host_want *w,
	char (*out)[PCI_ADDRESS])
{
	struct iommu_slot slot;
	size_t count = 1;
	struct gpu g;

	memcpy(out[0], address, PCI_ADDRESS);
	if (!w->guests)
		return count;
	if (iommu_slot(root, address, NULL, 0, &slot, NULL) != 0 || slot.gpu_count > IOMMU_GPUS)
		return 0;
	for (size_t i = 1; i < slot.gpu_count; i++) {
		if (fix_has(b, slot.gpus[i], w))
			continue;
		if (!fix_may_have(b, root, slot.gpus[i], w, false, &g))
			return 0;
		memcpy(out[count++], slot.gpus[i], PCI_ADDRESS);
	}
	return count;
}

/* ---- Making room ----------------------------------------------------------------------------- */

struct fix_hosts {
	const struct host_want *list;
	size_t count;
};

/* Gives the host that has the share another one, on a GPU that is cut already; false: there is none. */
static bool fix_move_share(struct gpu_book *b, const char *root, const struct fix_hosts *h, json_t *share,
	char (*list)[PCI_ADDRESS], size_t count)
{
	const struct host_want *w = NULL;
	json_t *to;
	struct gpu g;

	for (size_t k = 0; !w && k < h->count; k++)
		w = fix_is_of(share, &h->list[k]) ? &h->list[k] : NULL;
	for (size_t i = 0; w && i < count; i++) {
		if (gpu_book_is(share, "address", list[i]) || !fix_may_have(b, root, list[i], w, true, &g))
			continue;
		gpu_book_set(share, "host", "");
		fix_has_share(b, list[i], w, &to);
		return fix_give(b, &g, to, w) == 0;
	}
	return false;
}

/* Moves all shares of the GPU to others; false: it has none, or one of them has a node, is kept back, or cannot go. */
static bool fix_move_all(struct gpu_book *b, const char *root, const struct fix_hosts *h, const char *address,
	char (*list)[PCI_ADDRESS], size_t count)
{
	bool any = false;

	for (size_t i = 0; i < json_array_size(b->gpus); i++) { /* it grows */
		json_t *gpu = json_array_get(b->gpus, i);

		if (!gpu_book_is(gpu, "address", address))
			continue;
		if (!gpu_book_parts(gpu) || gpu_book_in_use(b, gpu) || !gpu_book_is(gpu, "quarantine", "") ||
			(!gpu_book_is(gpu, "host", "") && !fix_move_share(b, root, h, gpu, list, count)))
			return false;
		any = true;
	}
	return any;
}

/* Empties a GPU that fits the host and whose shares, which no node has, fit on other GPUs; false: there is none. */
static bool fix_make_room(struct gpu_book *b, const char *root, const struct fix_hosts *h, const struct host_want *w,
	char (*list)[PCI_ADDRESS], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		json_t *before = json_deep_copy(b->gpus);
		struct pci p;
		struct gpu g;

		if (!before || pci_read(root, list[i], &p) != 0 || !gpu_is(&p)) {
			json_decref(before);
			continue;
		}
		gpu_read(root, &p, &g);
		if (fix_fits(&g, w) && fix_move_all(b, root, h, list[i], list, count)) {
			json_decref(before);
			return true;
		}
		json_decref(b->gpus);
		b->gpus = before;
	}
	return false;
}

/* ---- What a host lacks ----------------------------------------------------------------------- */

/* Could it be the host's, as far as the book tells? A model is of one vendor, and so are shares. */
static bool lack_fits(const json_t *gpu, const struct host_want *w)
{
	bool fits = *w->model ? strcasecmp(w->model, gpu_book_word(gpu, "model")) == 0
			      : !*w->vendor || (gpu_book_parts(gpu) && strcmp(w->vendor, "nvidia") == 0);

	return fits && fix_has_memory(statefile_int(gpu, "memory", GPU_UNKNOWN), w);
}

/* A GPU for the host that is kept back and no other host's; else one that nodes have in shares of another size. */
static const json_t *lack_other(const json_t *gpus, const struct host_want *w)
{
	const json_t *cut = NULL;
	json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu)
	{
		if (!lack_fits(gpu, w))
			continue;
		if (gpu_book_is(gpu, "host", "") && !gpu_book_is(gpu, "quarantine", ""))
			return gpu;
		if (!cut && gpu_book_parts(gpu) && !gpu_book_is_cut(gpu, w->parts, fix_slice(w)) &&
			!gpu_book_is(gpu, "node", ""))
			cut = gpu;
	}
	return cut;
}

/* What nodes of the host can have. *kept: a GPU of the host that is kept back; else it stays. */
static unsigned lack_count(const json_t *gpus, const struct host_want *w, const json_t **kept)
{
	unsigned count = 0;
	json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu)
	{
		if (!fix_is_of(gpu, w))
			continue;
		if (gpu_book_is(gpu, "quarantine", ""))
			count++;
		else
			*kept = gpu;
	}
	return count;
}

/* Begins with ": ", or is empty. */
static void lack_why(const json_t *gpu, char why[static LACK_TEXT])
{
	why[0] = '\0';
	if (gpu && !gpu_book_is(gpu, "quarantine", ""))
		snprintf(why, LACK_TEXT, ": the GPU at %s is kept back: %s", gpu_book_word(gpu, "address"),
			gpu_book_word(gpu, "quarantine"));
	else if (gpu)
		snprintf(why, LACK_TEXT, ": nodes have shares of the GPU at %s until they end",
			gpu_book_word(gpu, "address"));
}

bool host_gpus_lack(const json_t *gpus, const char *root, const struct host_want *w, char *room, size_t size)
{
	const json_t *kept = NULL;
	unsigned has = lack_count(gpus, w, &kept);
	char what[64], found[16], why[LACK_TEXT];
	struct fail f = { 0 };

	if (has >= w->count)
		return false;
	if (*fix_slice(w))
		snprintf(what, sizeof what, "a slice mig:%.31s of a GPU", w->slice);
	else
		snprintf(what, sizeof what,
			w->parts                ? "1/%u of a GPU"
				: w->count == 1 ? "%u GPU"
						: "%u GPUs",
			w->parts ? w->parts : w->count);
	snprintf(found, sizeof found, has ? "%u" : "none", has);
	lack_why(kept ? kept : lack_other(gpus, w), why);
	if (!*why && w->guests && iommu_any(root, &f) != 0)
		snprintf(why, sizeof why, ": %.400s", f.text);
	snprintf(room, size, "the host '%s' was promised %s%s%s, and this machine has %s for it%s", w->host, what,
		*w->model ? " of type " : "", w->model, found, why);
	return true;
}

/* ---- All hosts ------------------------------------------------------------------------------- */

/* join: a share of a GPU that is cut already. */
static int fix_give_one(struct gpu_book *b, const char *root, const char *address, const struct host_want *w, bool join)
{
	json_t *gpu = NULL;
	struct pci p;
	struct gpu g;

	if (pci_read(root, address, &p) != 0)
		return -ENODEV;
	gpu_read(root, &p, &g);
	if (join)
		fix_has_share(b, address, w, &gpu);
	else
		gpu = fix_one_element(b, address);
	return fix_give(b, &g, gpu, w) == 0 ? 0 : -ENOMEM;
}

/* Gives the host those that come together in so many, until it has all. */
static int fix_give_these(struct gpu_book *b, const char *root, const struct host_want *w, bool join, size_t together,
	char (*list)[PCI_ADDRESS], size_t count, unsigned *has)
{
	for (size_t i = 0; *has + together <= w->count && i < count; i++) {
		char with[IOMMU_GPUS][PCI_ADDRESS];
		struct gpu g;
		int rc = 0;

		if (!fix_may_have(b, root, list[i], w, join, &g) || fix_together(b, root, list[i], w, with) != together)
			continue;
		for (size_t k = 0; !rc && k < together; k++)
			rc = fix_give_one(b, root, with[k], w, join);
		if (rc)
			return rc;
		*has += (unsigned)together;
	}
	return 0;
}

/*
 * Gives the host GPUs that nobody has, or shares: join, of GPUs that are cut already. Those first of which no host has
 * one without the others.
 */
static int fix_give_host(struct gpu_book *b, const char *root, const struct host_want *w, bool join,
	char (*list)[PCI_ADDRESS], size_t count, unsigned *has)
{
	size_t lacks = w->count - *has, most = !w->guests ? 1 : IOMMU_GPUS;
	int rc = 0;

	for (size_t together = lacks < most ? lacks : most; !rc && together; together--)
		rc = fix_give_these(b, root, w, join, together, list, count, has);
	return rc;
}

/* Gives the host what it lacks. */
static int fix_host(struct gpu_book *b, const char *root, const struct fix_hosts *h, const struct host_want *w,
	bool *changed, struct fail *f)
{
	unsigned has = fix_count(b->gpus, w), had = has;
	char(*list)[PCI_ADDRESS] = NULL, text[LACK_TEXT];
	size_t count = 0;
	int rc = has < w->count ? pci_list(root, &list, &count) : 0;

	if (!rc && (w->parts || *fix_slice(w)))
		rc = fix_give_host(b, root, w, true, list, count, &has);
	rc = rc ? rc : fix_give_host(b, root, w, false, list, count, &has);
	for (size_t i = 0; i < count && !rc && has < w->count && fix_make_room(b, root, h, w, list, count); i++)
		rc = fix_give_host(b, root, w, false, list, count, &has);
	if (rc == -ENOMEM)
		fail_set(f, rc, "out of memory");
	*changed = *changed || has != had;
	free(list);
	if (!rc && host_gpus_lack(b->gpus, root, w, text, sizeof text))
		rc = fail_set(f, -ENODEV, "%s", text);
	return rc;
}

static bool fix_is_wanted(const json_t *gpu, const struct fix_hosts *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (fix_is_of(gpu, &h->list[i]))
			return true;
	return false;
}

static bool fix_drop_others(struct gpu_book *b, const struct fix_hosts *h)
{
	bool changed = false;
	json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu)
	{
		if (gpu_book_is(gpu, "host", "") || fix_is_wanted(gpu, h) || gpu_book_in_use(b, gpu))
			continue;
		gpu_book_set(gpu, "host", "");
		changed = true;
	}
	return changed;
}

int host_gpus_fix(const char *data, const char *root, const struct host_want *hosts, size_t count, struct fail *f)
{
	const struct fix_hosts all = { hosts, count };
	struct fail first = { 0 };
	struct gpu_book b;
	bool changed;
	int rc = gpu_book_open(&b, data, f);

	if (!rc) {
		b.known = gpu_slices_load(data);
		changed = fix_drop_others(&b, &all);
		for (size_t i = 0; i < count; i++)
			if (hosts[i].count)
				fix_host(&b, root, &all, &hosts[i], &changed, first.code ? NULL : &first);
		rc = changed ? gpu_book_save(&b, f) : 0;
	}
	gpu_book_close(&b);
	if (!rc && first.code) {
		rc = first.code;
		if (f)
			*f = first;
	}
	return rc;
}
