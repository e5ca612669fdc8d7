/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/gpu_needs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agentd/device/cdi.h"
#include "agentd/device/gpu_nodes.h"
#include "agentd/machine/gpu.h"
#include "agentd/machine/sysfs.h"
#include "base/str.h"

static const char *const cdi_folders[] = { "/etc/cdi", "/var/run/cdi" };

/* ---- CDI files ------------------------------------------------------------------------------ */

static bool needs_is_cdi_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name &&
		(strcmp(dot, ".json") == 0 || strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

/* Device nodes that each stand for one GPU: another GPU's among them makes the entry one of several, like "all". */
static bool needs_is_own_kind(const char *path, const char *own)
{
	size_t len = strlen(own);

	while (len && isdigit((unsigned char)own[len - 1]))
		len--;
	return strncmp(path, own, len) == 0 && isdigit((unsigned char)path[len]);
}

static bool needs_only_this(const struct cdi_device *d, const char *own)
{
	bool has = false;

	if (str_starts(d->name, "MIG-") || strchr(d->name, ':')) /* a slice */
		return false;
	for (size_t i = 0; i < d->edits.node_count; i++) {
		const char *path = d->edits.nodes[i].outside;

		if (strcmp(path, own) == 0)
			has = true;
		else if (needs_is_own_kind(path, own))
			return false;
	}
	return has;
}

static const struct cdi_device *needs_find(const struct cdi *c, const char *own)
{
	const char *class = strchr(c->kind, '/');
	const struct cdi_device *best = NULL;

	if (!class || strcmp(class, "/gpu") != 0)
		return NULL;
	for (size_t i = 0; i < c->count; i++)
		if (needs_only_this(&c->devices[i], own) &&
			(!best || c->devices[i].edits.node_count < best->edits.node_count))
			best = &c->devices[i];
	return best;
}

/* 1: found and added; 0: this folder says nothing of it. */
static int needs_in_folder(const char *root, const char *folder, const char *own, struct node_devices *out,
	struct fail *f)
{
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	size_t count = 0;
	int rc = sysfs_list(sysfs_path(path, root, "%s", folder), CDI_FILES, &names, &count);

	if (rc == -ENOENT)
		return 0;
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read the folder '%s'", path);
	for (size_t i = 0; !rc && i < count; i++) {
		const struct cdi_device *d;
		struct cdi *c;

		if (!needs_is_cdi_name(names[i]))
			continue;
		rc = cdi_read(sysfs_path(path, root, "%s/%s", folder, names[i]), &c, f);
		if (rc)
			break;
		d = needs_find(c, own);
		if (d) {
			rc = devices_merge(out, &d->edits);
			rc = rc ? rc : devices_merge(out, &c->edits);
			rc = rc ? fail_errno(f, rc, -rc, "cannot use '%s'", path) : 1;
		}
		cdi_free(c);
	}
	free(names);
	return rc;
}

/* ---- Numbers and files of this machine ------------------------------------------------------ */

static int needs_number(const char *root, struct device_node *n, struct fail *f)
{
	char path[SYSFS_PATH];
	struct stat st;

	if (n->numbered)
		return 0;
	if (stat(sysfs_path(path, root, "%s", n->outside), &st) != 0)
		return fail_errno(f, -ENODEV, errno, "cannot use the device '%s'", path);
	if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
		return fail_set(f, -ENODEV, "'%s' is not a device", path);
	n->type = S_ISBLK(st.st_mode) ? 'b' : 'c';
	n->major = major(st.st_rdev);
	n->minor = minor(st.st_rdev);
	n->numbered = true;
	return 0;
}

/* Keeps files and folders: a socket would let the node talk to a program of this machine. */
static void needs_keep_mounts(const char *root, struct node_devices *d)
{
	char path[SYSFS_PATH];
	size_t kept = 0;
	struct stat st;

	for (size_t i = 0; i < d->mount_count; i++)
		if (stat(sysfs_path(path, root, "%s", d->mounts[i].outside), &st) == 0 && *path &&
			strlen(path) < DEVICES_PATH && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
			d->mounts[kept] = d->mounts[i];
			memcpy(d->mounts[kept++].outside, path, strlen(path) + 1);
		}
	d->mount_count = kept;
}

static int needs_finish(const char *root, struct node_devices *d, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < d->node_count; i++)
		rc = needs_number(root, &d->nodes[i], f);
	needs_keep_mounts(root, d);
	return rc;
}

static int needs_open(const char *root, const char *address, struct gpu *g, char own[DEVICES_PATH], struct fail *f)
{
	struct pci p;

	if (pci_read(root, address, &p) != 0 || !gpu_is(&p))
		return fail_set(f, -ENODEV, "this machine has no GPU at %s", address);
	gpu_read(root, &p, g);
	return gpu_nodes_own(root, g, own, f);
}

static int needs_add(struct node_devices *out, const struct node_devices *d, const struct gpu *g, struct fail *f)
{
	struct device_gpu id = { .vendor = g->pci.vendor };
	int rc = devices_merge(out, d);

	snprintf(id.address, sizeof id.address, "%s", g->pci.address);
	snprintf(id.model, sizeof id.model, "%s", g->market);
	snprintf(id.uuid, sizeof id.uuid, "%s", g->uuid);
	rc = rc ? rc : devices_add_gpu(out, &id);
	return rc ? fail_errno(f, rc, -rc, "cannot take the devices of the GPU at %s", g->pci.address) : 0;
}

int gpu_needs(const char *root, const char *address, struct node_devices *out, struct fail *f)
{
	struct node_devices d = { 0 };
	char own[DEVICES_PATH];
	struct gpu g;
	int rc = needs_open(root, address, &g, own, f), found = 0;

	for (size_t i = 0; !rc && !found && i < sizeof cdi_folders / sizeof *cdi_folders; i++) {
		found = needs_in_folder(root, cdi_folders[i], own, &d, f);
		rc = found < 0 ? found : 0;
	}
	if (!rc && !found)
		rc = gpu_nodes_kernel(root, &g, &d, f);
	rc = rc ? rc : needs_finish(root, &d, f);
	rc = rc ? rc : needs_add(out, &d, &g, f);
	devices_release(&d);
	return rc;
}

/*
 * CDI files that name slices were written before this one was made, so its own device nodes come from the kernel, and
 * only the rest from the file: without them the driver lets nobody use a slice, but root of this machine.
 */
int gpu_needs_slice(const char *root, const char *address, const struct mig_instance *slice, struct node_devices *out,
	struct fail *f)
{
	char text[DEVICES_TEXT];
	int rc = gpu_needs(root, address, out, f);

	rc = rc ? rc : gpu_nodes_slice(root, address, slice->id, slice->part, out, f);
	if (rc)
		return rc;
	snprintf(text, sizeof text, "CUDA_VISIBLE_DEVICES=%s", slice->uuid);
	rc = devices_add_env(out, text);
	return rc ? fail_errno(f, rc, -rc, "cannot take the devices of the GPU at %s", address) : 0;
}

int gpu_needs_kernel(const char *root, const char *address, struct node_devices *out, struct fail *f)
{
	struct node_devices d = { 0 };
	char own[DEVICES_PATH];
	struct gpu g;
	int rc = needs_open(root, address, &g, own, f);

	rc = rc ? rc : gpu_nodes_kernel(root, &g, &d, f);
	rc = rc ? rc : needs_add(out, &d, &g, f);
	devices_release(&d);
	return rc;
}

/* ---- A file for others ---------------------------------------------------------------------- */

int gpu_needs_cdi(const char *root, struct buf *out, struct fail *f)
{
	char(*list)[PCI_ADDRESS];
	struct cdi c = { .kind = "nanopod.local/gpu" };
	size_t count;
	int rc = pci_list(root, &list, &count);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot list the PCI bus");
	c.devices = calloc(count + 1, sizeof *c.devices);
	rc = c.devices ? 0 : fail_set(f, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < count; i++) {
		struct cdi_device *d = &c.devices[c.count];
		struct fail why = { 0 };
		struct pci p;

		if (pci_read(root, list[i], &p) != 0 || !gpu_is(&p) ||
			gpu_needs_kernel(root, list[i], &d->edits, &why) != 0)
			continue;
		snprintf(d->name, sizeof d->name, "%s", list[i]);
		c.count++;
	}
	free(list);
	if (!rc && !c.count)
		rc = fail_set(f, -ENODEV, "this machine has no GPU whose driver is loaded");
	if (!rc && (rc = cdi_write(&c, out)) != 0)
		fail_set(f, rc, "out of memory");
	for (size_t i = 0; c.devices && i < c.count; i++)
		devices_release(&c.devices[i].edits);
	free(c.devices);
	return rc;
}
