/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/gpu_reset.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agentd/device/gpu_book.h"
#include "agentd/device/gpu_nodes.h"
#include "agentd/machine/sysfs.h"
#include "agentd/machine/xid.h"
#include "agentd/os/pci_function.h"
#include "agentd/os/spawn.h"
#include "base/clock.h"

enum { USERS_MS = 3000, PAUSE_MS = 50, TOOL_MS = 60000 };

/* How each vendor resets a GPU whose own driver has it; the address is the last word. No tool: by its PCI function. */
static const struct reset_vendor {
	unsigned vendor;
	const char *driver, *tool[4];
} reset_vendors[] = {
	{ GPU_NVIDIA, "nvidia", { "nvidia-smi", "--gpu-reset", "-i", NULL } },
	{ GPU_AMD, "amdgpu", { NULL } },
	{ GPU_INTEL, "xe", { NULL } },
	{ GPU_INTEL, "i915", { NULL } },
};

static const struct reset_vendor *reset_vendor_of(const struct pci *p)
{
	for (size_t i = 0; i < sizeof reset_vendors / sizeof *reset_vendors; i++)
		if (reset_vendors[i].vendor == p->vendor && strcmp(reset_vendors[i].driver, p->driver) == 0)
			return &reset_vendors[i];
	return NULL;
}

/* ---- Who has it open ------------------------------------------------------------------------ */

static bool reset_process_has(const char *root, const char *pid, dev_t device)
{
	char path[SYSFS_PATH];
	struct dirent *e;
	bool has = false;
	struct stat st;
	DIR *d = opendir(sysfs_path(path, root, "/proc/%s/fd", pid));

	while (d && !has && (e = readdir(d)))
		has = fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == device;
	if (d)
		closedir(d);
	return has;
}

/* The process that has the device open; false: none. */
static bool reset_find_user(const char *root, dev_t device, char pid[16])
{
	char path[SYSFS_PATH];
	struct dirent *e;
	bool found = false;
	DIR *d = opendir(sysfs_path(path, root, "/proc"));

	while (d && !found && (e = readdir(d)))
		if (isdigit((unsigned char)*e->d_name) && strlen(e->d_name) < 16 &&
			reset_process_has(root, e->d_name, device)) {
			memcpy(pid, e->d_name, strlen(e->d_name) + 1);
			found = true;
		}
	if (d)
		closedir(d);
	return found;
}

static int reset_wait_unused(const char *root, const struct gpu *g, struct fail *f)
{
	int64_t until = clock_ms() + USERS_MS;
	struct node_devices d = { 0 };
	char pid[16] = "", path[SYSFS_PATH], name[64] = "";
	bool used = false;

	if (gpu_nodes_kernel(root, g, &d, NULL) == 0 && d.node_count)
		while ((used = reset_find_user(root, makedev(d.nodes[0].major, d.nodes[0].minor), pid)) &&
			clock_ms() < until)
			poll(NULL, 0, PAUSE_MS);
	devices_release(&d);
	if (!used)
		return 0;
	sysfs_text(sysfs_path(path, root, "/proc/%s/comm", pid), name, sizeof name);
	return fail_set(f, -EBUSY, "the process %s (%s) still uses the GPU at %s", pid, name, g->pci.address);
}

/* ---- Resetting ------------------------------------------------------------------------------ */

static int reset_by_tool(const struct reset_vendor *v, const char *address, struct fail *f)
{
	return spawn_words(TOOL_MS, f, v->tool[0], v->tool[1], v->tool[2], address, NULL);
}

/* A card with sound has "bus" among its ways, and the kernel refuses it: the card is not alone on its bus. */
static int reset_function(const char *root, const char *address, struct fail *f)
{
	bool alone = function_resets_alone(root, address);
	struct fail why = { 0 };
	int rc = alone ? function_reset(root, address, f) : -ENOTSUP, bus;

	if (rc == 0) {
		function_rescan(root, address); /* a reset by its bus may have been cut off before */
		return 0;
	}
	bus = function_reset_bus(root, address, &why);
	if (bus == 0)
		return 0;
	return alone && bus == -ENOTSUP ? rc : fail_set(f, bus, "%s", why.text);
}

/* Without a driver nobody uses the GPU while it is reset, and the driver begins with it anew. */
static int reset_by_function(const char *root, const struct pci *p, struct fail *f)
{
	struct fail why = { 0 };
	int rc = function_unbind(root, p->address, f), back;

	if (rc)
		return rc;
	rc = reset_function(root, p->address, f);
	/* Without one it was cut off here before. */
	back = *p->driver ? function_bind(root, p->address, p->driver, &why) : function_free(root, p->address, &why);
	if (!rc && back && f)
		*f = why;
	return rc ? rc : back;
}

/* A tool opens all GPUs: looks wait for it, and other resets by it. */
static int reset_in_turn(const char *data, const char *root, const struct reset_vendor *v, const struct gpu *g,
	struct fail *f)
{
	char program[SYSFS_PATH];
	int turn = gpu_book_turn(data, LOCK_EX, f), rc;

	if (turn < 0)
		return turn;
	rc = reset_wait_unused(root, g, f);
	/* A tool knows only this machine, not a tree that stands for another. */
	if (!rc && (!root || !*root) && spawn_find(v->tool[0], program, sizeof program))
		rc = reset_by_tool(v, g->pci.address, f);
	else if (!rc)
		rc = reset_by_function(root, &g->pci, f);
	close(turn);
	return rc;
}

int gpu_reset_unused(const char *root, const char *address, struct fail *f)
{
	struct gpu g;
	struct pci p;

	if (pci_read(root, address, &p) != 0)
		return fail_set(f, -ENODEV, "the GPU at %s is gone", address);
	gpu_read(root, &p, &g);
	return reset_wait_unused(root, &g, f);
}

int gpu_reset(const char *data, const char *root, const char *address, struct fail *f)
{
	const struct reset_vendor *v;
	struct gpu g;
	struct pci p;
	int rc;

	if (pci_read(root, address, &p) != 0)
		return fail_set(f, -ENODEV, "the GPU at %s is gone", address);
	gpu_read(root, &p, &g);
	v = reset_vendor_of(&p);
	if (v && v->tool[0]) {
		rc = reset_in_turn(data, root, v, &g, f);
	} else {
		rc = reset_wait_unused(root, &g, f);
		rc = rc ? rc : reset_by_function(root, &p, f);
	}
	if (!rc)
		xid_note_reset(root, address);
	return rc;
}
