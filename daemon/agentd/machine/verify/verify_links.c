/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what connects: this machine's memory, the PCIe link of each GPU, RDMA where a network card has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/inventory.h"
#include "agentd/machine/sysfs.h"
#include "agentd/machine/verify/verify_part.h"

enum { MEGA = 1000 * 1000, LINKS_MOST = 32 };

void verify_memory(const struct verify_setup *s, struct claim *list, int *count)
{
	struct claim *r;
	struct fail why = { 0 };
	struct speed copy;

	if (s->root && *s->root)
		return; /* another machine's tree */
	r = verify_begin(list, count, "memory copy");
	snprintf(r->method, sizeof r->method, "one core copies 64 MiB four times a run");
	if (speed_memory(&copy, &why)) {
		verify_fail(r, "memtester; if it fails too, have the memory changed", "%s", why.text);
		return;
	}
	verify_put(r, &copy, MEGA, "MB/s");
	verify_say(r, "copied by one core");
}

/* Power saving lowers the speed of an idle link, but never its width. */
static void verify_links_pcie(const struct gpu *g, struct claim *list, int *count)
{
	int width = g->pci.width_max;
	struct claim *r;

	if (!g->pci.width || !g->pci.width_max)
		return;
	if (g->pci.width_slot > 0 && g->pci.width_slot < width)
		width = g->pci.width_slot;
	r = verify_begin(list, count, "pcie link");
	snprintf(r->device, sizeof r->device, "%s", g->pci.address);
	snprintf(r->method, sizeof r->method, "read from sysfs");
	verify_put(r, &(struct speed){ g->pci.width, g->pci.width, g->pci.width }, 1, "lanes");
	r->runs = 1;
	if (g->pci.width < width)
		verify_fail(r, "seat the card anew; look at its riser and power cable", "%s runs on %d of %d lanes",
			g->pci.address, g->pci.width, width);
	else
		verify_say(r, "%s: PCIe %d now, up to %d%s", g->pci.address, g->pci.gen, g->pci.gen_max,
			g->pci.width_slot > 0 && g->pci.width_slot < g->pci.width_max ? "; the slot has no more lanes"
										      : "");
}

/* The port of the RDMA device that the card has beside its network device. */
static void verify_links_rdma(const char *root, const struct inventory_nic *n, struct claim *list, int *count)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME], state[64] = "", rate[64] = "";
	struct claim *r;
	size_t found;

	if (sysfs_list(sysfs_path(path, root, "/sys/class/net/%s/device/infiniband", n->name), 16, &names, &found))
		return;
	if (found) {
		r = verify_begin(list, count, "rdma");
		snprintf(r->method, sizeof r->method, "read from sysfs");
		sysfs_text(sysfs_path(path, root, "/sys/class/infiniband/%s/ports/1/state", names[0]), state,
			sizeof state);
		sysfs_text(sysfs_path(path, root, "/sys/class/infiniband/%s/ports/1/rate", names[0]), rate,
			sizeof rate);
		if (strstr(state, "ACTIVE"))
			verify_say(r, "%s '%.64s' of %s is up%s%s", n->rdma, names[0], n->name, *rate ? ", " : "",
				rate);
		else
			verify_skip(r, "%s '%.64s' of %s is not up: its port is '%s'", n->rdma, names[0], n->name,
				*state ? state : "unknown");
	}
	free(names);
}

void verify_links(const struct verify_setup *s, struct claim *list, int *count)
{
	struct inventory *v;

	if (inventory_read(&(struct inventory_setup){ .root = s->root, .nvml = "" }, &v))
		return;
	for (size_t i = 0; i < v->gpu_count && *count < LINKS_MOST; i++)
		if (!v->gpus[i].integrated && !v->gpus[i].asleep)
			verify_links_pcie(&v->gpus[i], list, count);
	for (size_t i = 0; i < v->nic_count && *count < 2 * LINKS_MOST; i++)
		if (*v->nics[i].rdma)
			verify_links_rdma(s->root ? s->root : "", &v->nics[i], list, count);
	free(v);
}
