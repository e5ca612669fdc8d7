/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/guest_gpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agentd/device/gpu_book.h"
#include "agentd/device/gpu_reset.h"
#include "agentd/device/gpu_slices.h"
#include "agentd/device/vfio.h"
#include "agentd/machine/iommu.h"
#include "agentd/machine/xid.h"
#include "agentd/os/statefile.h"

/* In the book: "functions" of a GPU, none before the first changes, and "lent" once all were ready for a guest. */
struct guest_gpu {
	char address[PCI_ADDRESS];
	struct vfio_function functions[IOMMU_SLOT];
	size_t count;
	bool taken, lent;
};

struct guest_gpus {
	struct guest_gpu list[DEVICES_GPUS];
	char addresses[DEVICES_GPUS][PCI_ADDRESS];
	size_t count;
};

/* ---- The book ------------------------------------------------------------------------------- */

/* Their groups may have other numbers since the machine was started again. */
static void guest_read(const json_t *gpu, const char *root, struct guest_gpu *out)
{
	json_t *one;
	size_t i;

	*out = (struct guest_gpu){ .taken = json_is_array(json_object_get(gpu, "functions")),
		.lent = json_is_true(json_object_get(gpu, "lent")) };
	snprintf(out->address, sizeof out->address, "%s", gpu_book_word(gpu, "address"));
	json_array_foreach(json_object_get(gpu, "functions"), i, one)
	{
		struct vfio_function *v = &out->functions[out->count];
		struct pci p;

		if (out->count == IOMMU_SLOT || !function_address_good(gpu_book_word(one, "address")))
			continue;
		statefile_text(one, "address", v->address, sizeof v->address);
		statefile_text(one, "driver", v->driver, sizeof v->driver);
		statefile_text(one, "override", v->override, sizeof v->override);
		v->group = pci_read(root, v->address, &p) == 0 ? p.iommu_group : -1;
		out->count++;
	}
}

static void guest_write(json_t *gpu, const struct guest_gpu *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->count; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s}", "address", g->functions[i].address, "driver",
				g->functions[i].driver, "override", g->functions[i].override));
	json_object_set_new(gpu, "functions", list);
}

void guest_gpus_begin(json_t *gpu)
{
	if (!json_is_array(json_object_get(gpu, "functions")))
		json_object_set_new(gpu, "functions", json_array());
}

void guest_gpus_forget(json_t *gpu)
{
	json_object_del(gpu, "functions");
	json_object_del(gpu, "lent");
}

static int guest_load(const char *data, const char *root, const char *node, struct guest_gpus *out, struct fail *f)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	json_t *gpu;
	size_t i;
	int rc = gpu_book_load(&b, f);

	out->count = 0;
	json_array_foreach(rc ? NULL : b.gpus, i, gpu)
	{
		if (out->count == DEVICES_GPUS || !gpu_book_is(gpu, "node", node) || gpu_book_parts(gpu) ||
			!function_address_good(gpu_book_word(gpu, "address")))
			continue;
		guest_read(gpu, root, &out->list[out->count]);
		memcpy(out->addresses[out->count], out->list[out->count].address, PCI_ADDRESS);
		out->count++;
	}
	gpu_book_close(&b);
	return rc;
}

/* Only the lock's holder changes a file; nobody resets or binds under it. */
static int guest_save(const char *data, const char *node, const struct guest_gpus *g, bool lent, struct fail *f)
{
	struct gpu_book b;
	json_t *gpu;
	size_t i;
	int rc = gpu_book_open(&b, data, f);

	json_array_foreach(rc ? NULL : b.gpus, i, gpu) for (size_t k = 0; k < g->count; k++)
	{
		if (!gpu_book_is(gpu, "node", node) || !gpu_book_is(gpu, "address", g->addresses[k]))
			continue;
		guest_write(gpu, &g->list[k]);
		json_object_set_new(gpu, "lent", json_boolean(lent || g->list[k].lent));
	}
	rc = rc ? rc : gpu_book_save(&b, f);
	gpu_book_close(&b);
	return rc;
}

/* ---- Taking --------------------------------------------------------------------------------- */

static int guest_add(const struct iommu_slot *slot, struct node_devices *out, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < slot->count; i++) {
		const struct iommu_function *s = &slot->functions[i];
		struct device_function d = { .group = s->group, .space = s->bars + s->bar_max };

		memcpy(d.address, s->address, sizeof s->address);
		rc = devices_add_function(out, &d);
	}
	return rc ? fail_errno(f, rc, -rc, "cannot give so many functions to a guest") : 0;
}

/* What the function had before it was lent: as the book says where an earlier call began. */
static void guest_remember(const char *root, const struct guest_gpu *before, const struct iommu_function *is,
	struct vfio_function *out)
{
	*out = (struct vfio_function){ .group = is->group };
	memcpy(out->address, is->address, sizeof out->address);
	for (size_t i = 0; i < before->count; i++)
		if (strcmp(before->functions[i].address, is->address) == 0) {
			memcpy(out->driver, before->functions[i].driver, sizeof out->driver);
			memcpy(out->override, before->functions[i].override, sizeof out->override);
			return;
		}
	vfio_remember(root, out);
}

static int guest_plan(const char *root, const struct guest_gpus *all, struct guest_gpu *g, struct node_devices *out,
	struct fail *f)
{
	const struct guest_gpu before = *g;
	struct iommu_slot slot;
	int rc = iommu_slot(root, g->address, (const char(*)[PCI_ADDRESS])all->addresses, all->count, &slot, f);

	if (rc)
		return rc;
	g->count = slot.count;
	for (size_t i = 0; i < slot.count; i++)
		guest_remember(root, &before, &slot.functions[i], &g->functions[i]);
	return guest_add(&slot, out, f);
}

/* NVIDIA's library opens all GPUs, and the kernel waits with who takes away one that is open. */
static int guest_take_one(const char *data, const char *root, const struct guest_gpu *g, struct fail *f)
{
	int turn = gpu_book_turn(data, LOCK_EX, f), rc;

	if (turn < 0)
		return turn;
	rc = gpu_reset_unused(root, g->address, f);
	rc = rc ? rc : vfio_take(root, g->functions, g->count, f);
	close(turn);
	return rc;
}

/* A guest gets a GPU that is not cut: some keep that mode, also where the guest before chose it. */
static int guest_uncut(const char *data, const char *root, const char *address, struct fail *f)
{
	struct pci p;
	int rc;

	if (pci_read(root, address, &p) != 0 || strcmp(p.driver, "nvidia") != 0)
		return 0;
	rc = gpu_slices_end(data, root, address, f);
	return rc ? rc : gpu_slices_off(data, root, address, f);
}

int guest_gpus_take(const char *data, const char *root, const char *node, struct node_devices *out, struct fail *f)
{
	struct guest_gpus g;
	int rc = guest_load(data, root, node, &g, f);

	if (rc || !g.count)
		return rc;
	for (size_t i = 0; !rc && i < g.count; i++)
		rc = guest_plan(root, &g, &g.list[i], out, f);
	rc = rc ? rc : vfio_ready(root, f);
	for (size_t i = 0; !rc && i < g.count; i++)
		rc = guest_uncut(data, root, g.list[i].address, f);
	rc = rc ? rc : guest_save(data, node, &g, false, f);
	for (size_t i = 0; !rc && i < g.count; i++)
		rc = guest_take_one(data, root, &g.list[i], f);
	return rc ? rc : guest_save(data, node, &g, true, f);
}

/* ---- Returning ------------------------------------------------------------------------------ */

/* 0; 1: it was not taken for a guest. */
static int guest_find(const char *data, const char *root, const char *node, const char *address, struct guest_gpu *out,
	struct fail *f)
{
	struct guest_gpus all;
	int rc = guest_load(data, root, node, &all, f);

	if (rc)
		return rc;
	for (size_t i = 0; i < all.count; i++)
		if (strcmp(all.addresses[i], address) == 0 && all.list[i].taken) {
			*out = all.list[i];
			return 0;
		}
	return 1;
}

/* vfio-pci has it, unless an earlier call or a restart of the machine came between, after which nobody loaded that. */
int guest_gpus_reset(const char *data, const char *root, const char *node, const char *address, struct fail *f)
{
	struct guest_gpu g;
	int rc = guest_find(data, root, node, address, &g, f);

	if (rc || !g.lent)
		return rc;
	rc = vfio_ready(root, f);
	rc = rc ? rc : guest_take_one(data, root, &g, f);
	rc = rc ? rc : vfio_reset(root, g.functions, g.count, f);
	if (!rc)
		xid_note_reset(root, address);
	return rc;
}

int guest_gpus_return(const char *data, const char *root, const char *node, const char *address, struct fail *f)
{
	struct guest_gpu g;
	int rc = guest_find(data, root, node, address, &g, f);

	return rc ? rc : vfio_give_back(root, g.functions, g.count, f);
}
