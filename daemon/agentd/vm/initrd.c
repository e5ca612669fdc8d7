/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel for guests, and the small first root whose modules find the disk. */
#include "agentd/vm/bootimage.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/spawn.h"
#include "agentd/vm/archive.h"
#include "agentd/vm/guest.h"

enum { INITRD_MAX = 64 << 20, MODULE_MAX = 16 << 20, DEP_MAX = 8 << 20, MODULES = 32, MODULE_NAME = 160 };

const char *vmimage_at(char room[VMIMAGE_ROOM], const char *folder, const char *file)
{
	if (snprintf(room, VMIMAGE_ROOM, "%s/%s", folder, file) >= VMIMAGE_ROOM)
		*room = '\0';
	return room;
}

/* ---- Kernel ------------------------------------------------------------------------------- */

/* Prefer a cloud kernel, which is smaller and has all that a guest needs; else the newest. */
static bool initrd_better(const char *release, const char *than)
{
	bool cloud = strstr(release, "-cloud-"), than_cloud = strstr(than, "-cloud-");

	return !*than || (cloud != than_cloud ? cloud : strverscmp(release, than) > 0);
}

static void vminitrd_look_in(const char *root, struct vmkernel *best)
{
	struct vmkernel k;
	char boot[VMIMAGE_PATH], dep[VMIMAGE_PATH + 16];
	struct dirent *e;
	DIR *d;

	snprintf(boot, sizeof boot, "%s/boot", root);
	d = opendir(boot);
	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, "vmlinuz-", 8) != 0 || strlen(e->d_name + 8) >= sizeof k.release)
			continue;
		snprintf(k.release, sizeof k.release, "%s", e->d_name + 8);
		if (snprintf(k.vmlinuz, sizeof k.vmlinuz, "%s/boot/%s", root, e->d_name) >= (int)sizeof k.vmlinuz ||
			snprintf(k.modules, sizeof k.modules, "%s/lib/modules/%s", root, k.release) >=
				(int)sizeof k.modules)
			continue;
		snprintf(dep, sizeof dep, "%s/modules.dep", k.modules);
		if (access(k.vmlinuz, R_OK) == 0 && access(dep, R_OK) == 0 && initrd_better(k.release, best->release))
			*best = k;
	}
	if (d)
		closedir(d);
}

int vmimage_kernel(const char *root, const char *images, struct vmkernel *out, struct fail *f)
{
	struct vmkernel best = { .release = "" };
	char room[VMIMAGE_ROOM];

	if (root)
		vminitrd_look_in(root, &best);
	if (!*best.release)
		vminitrd_look_in(vmimage_at(room, images, "kernel"), &best);
	if (!*best.release)
		vminitrd_look_in("", &best);
	if (!*best.release)
		return fail_set(f, -ENOTSUP,
			"no kernel for guests that this user can read: apt-get install "
			"linux-image-cloud-amd64");
	*out = best;
	return 0;
}

/* ---- Modules ------------------------------------------------------------------------------ */

struct order {
	char path[MODULES][MODULE_NAME];   /* below the folder of modules; in load order */
	size_t count;
};

static const char *vminitrd_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int vminitrd_add_module(struct order *o, const char *path, size_t len, struct fail *f)
{
	for (size_t i = 0; i < o->count; i++)
		if (strlen(o->path[i]) == len && memcmp(o->path[i], path, len) == 0)
			return 0;
	if (o->count == MODULES || len >= MODULE_NAME)
		return fail_set(f, -E2BIG, "the kernel's modules need too many others");
	memcpy(o->path[o->count], path, len);
	o->path[o->count++][len] = '\0';
	return 0;
}

/* "a.ko: b.ko c.ko": b needs c, so the last is loaded first. */
static int initrd_add_line(struct order *o, const char *line, size_t len, struct fail *f)
{
	const char *colon = memchr(line, ':', len), *end = line + len;
	int rc = 0;

	while (!rc && end > colon + 1) {
		const char *word = end;

		while (word > colon + 1 && word[-1] != ' ')
			word--;
		if (word < end)
			rc = vminitrd_add_module(o, word, (size_t)(end - word), f);
		end = word > colon + 1 ? word - 1 : word;
	}
	return rc ? rc : vminitrd_add_module(o, line, (size_t)(colon - line), f);
}

/* Is the line about module name, with any compression? A module that no line names is built into the kernel. */
static bool vminitrd_line_is(const char *line, size_t len, const char *name)
{
	const char *colon = memchr(line, ':', len), *slash = colon;

	while (slash && slash > line && slash[-1] != '/')
		slash--;
	return slash && (size_t)(colon - slash) > strlen(name) + 3 - 1 && strncmp(slash, name, strlen(name)) == 0 &&
		strncmp(slash + strlen(name), ".ko", 3) == 0;
}

static int vminitrd_order_modules(const struct vmkernel *k, const char *const *modules, struct order *o, struct fail *f)
{
	char path[VMIMAGE_PATH + 16];
	struct buf dep;
	int rc;

	snprintf(path, sizeof path, "%s/modules.dep", k->modules);
	buf_init(&dep, DEP_MAX);
	rc = buf_read_file(&dep, path);
	if (rc)
		rc = fail_errno(f, rc, -rc, "cannot read '%s'", path);
	for (size_t i = 0; !rc && modules[i]; i++)
		for (const char *line = buf_text(&dep), *next; !rc && *line; line = *next ? next + 1 : next) {
			next = strchrnul(line, '\n');
			if (vminitrd_line_is(line, (size_t)(next - line), modules[i])) {
				rc = initrd_add_line(o, line, (size_t)(next - line), f);
				break;
			}
		}
	buf_release(&dep);
	return rc;
}

/* ---- Initrd ------------------------------------------------------------------------------- */

/* A program that needs a loader would not start without one: 64-bit ELF with a segment of type "interpreter". */
static bool vminitrd_is_static(const struct buf *program)
{
	enum { HEAD = 64, PART = 56, AT_CLASS = 4, AT_PARTS = 32, AT_COUNT = 56, INTERPRETER = 3 };
	uint64_t parts;
	uint16_t count;

	if (program->len < HEAD || memcmp(program->data, "\177ELF", 4) != 0 || program->data[AT_CLASS] != 2)
		return false;
	memcpy(&parts, program->data + AT_PARTS, sizeof parts);
	memcpy(&count, program->data + AT_COUNT, sizeof count);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t type;

		if (parts > program->len || program->len - parts < (i + 1) * PART)
			return false;
		memcpy(&type, program->data + parts + i * PART, sizeof type);
		if (type == INTERPRETER)
			return false;
	}
	return true;
}

static int vminitrd_put_busybox(struct buf *out, struct fail *f)
{
	char path[VMIMAGE_PATH];
	struct buf program;
	int rc;

	if (!spawn_find("busybox", path, sizeof path))
		return fail_set(f, -ENOTSUP, "'busybox' is not installed: apt-get install busybox-static");
	buf_init(&program, MODULE_MAX);
	rc = buf_read_file(&program, path);
	if (rc)
		rc = fail_errno(f, rc, -rc, "cannot read '%s'", path);
	else if (!vminitrd_is_static(&program))
		rc = fail_set(f, -ENOTSUP, "'%s' is not the static one: apt-get install busybox-static", path);
	else
		rc = vmarchive_cpio(out, "bin/busybox", S_IFREG | 0755, program.data, program.len);
	buf_release(&program);
	return rc;
}

static int vminitrd_put_module(const struct vmkernel *k, const char *path, struct buf *out, struct buf *init,
	struct fail *f)
{
	char from[VMIMAGE_PATH + MODULE_NAME], to[MODULE_NAME + 8];
	struct buf data;
	int rc;

	snprintf(from, sizeof from, "%s/%s", k->modules, path);
	snprintf(to, sizeof to, "m/%s", vminitrd_base_name(path));
	buf_init(&data, MODULE_MAX);
	rc = buf_read_file(&data, from);
	if (rc)
		rc = fail_errno(f, rc, -rc, "cannot read '%s'", from);
	if (!rc)
		rc = vmarchive_cpio(out, to, S_IFREG | 0644, data.data, data.len);
	if (!rc)
		rc = buf_addf(init, "$B insmod /%s\n", to);
	buf_release(&data);
	return rc;
}

int vmimage_initrd(const struct vmkernel *k, const char *const *modules, const char *script, struct buf *out,
	struct fail *f)
{
	static const char *const folders[] = { "bin", "proc", "sys", "dev", "m", "new" };
	struct order order = { .count = 0 };
	struct buf init;
	int rc = vminitrd_order_modules(k, modules, &order, f);

	buf_init(&init, MODULE_MAX);
	if (!rc)
		rc = buf_adds(&init, vmguest_init_begin);
	for (size_t i = 0; !rc && i < sizeof folders / sizeof *folders; i++)
		rc = vmarchive_cpio(out, folders[i], S_IFDIR | 0755, NULL, 0);
	if (!rc)
		rc = vminitrd_put_busybox(out, f);
	for (size_t i = 0; !rc && i < order.count; i++)
		rc = vminitrd_put_module(k, order.path[i], out, &init, f);
	if (!rc)
		rc = buf_adds(&init, script);
	if (!rc)
		rc = vmarchive_cpio(out, "init", S_IFREG | 0755, init.data, init.len);
	if (!rc)
		rc = vmarchive_cpio_end(out);
	buf_release(&init);
	return rc == -ENOMEM || rc == -EFBIG ? fail_set(f, rc, "the guest's initrd is too large") : rc;
}
