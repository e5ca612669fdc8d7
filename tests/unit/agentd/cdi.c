/* SPDX-License-Identifier: Apache-2.0 */
/* CDI files of three vendors' tools, what hostile ones get, and GPUs that no tool described. */
#include "agentd/device/cdi.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agentd/device/gpu_needs.h"
#include "inventorytree.h"

static struct cdi *cdi_fixture(const char *name)
{
	const char *top = getenv("abs_top_srcdir");
	struct fail f = { 0 };
	struct cdi *c = NULL;
	char path[512];

	snprintf(path, sizeof path, "%s/tests/fixtures/cdi/%s", top ? top : ".", name);
	ok(cdi_read(path, &c, &f) == 0, "%s is read", name);
	if (!c) {
		diag("%s", f.text);
		exit(99);
	}
	return c;
}

static void test_nvidia(void)
{
	struct cdi *c = cdi_fixture("nvidia.yaml");

	is_str(c->kind, "nvidia.com/gpu", "its kind");
	is_int(c->count, 4, "four devices");
	is_int(c->edits.node_count, 4, "four nodes are for each");
	is_str(c->edits.env[0].text, "NVIDIA_VISIBLE_DEVICES=void", "the environment");
	is_int(c->edits.mount_count, 3, "three mounts");
	is_int(c->edits.link_count, 2, "two links, made by us");
	is_str(c->edits.links[0].target, "libcuda.so.1", "the target of the first");
	is_str(c->edits.links[0].path, "/usr/lib/x86_64-linux-gnu/libcuda.so", "and its path");
	is_int(c->edits.folder_count, 1, "a folder for the ld cache");
	is_str(c->devices[0].edits.nodes[0].inside, "/dev/nvidia0", "the node of device 0");
	ok(!c->devices[0].edits.nodes[0].numbered, "whose numbers the file lacks");
	is_str(c->devices[0].edits.links[1].path, "/dev/dri/by-path/pci-0000:1b:00.0-render", "its link by path");
	cdi_free(c);
}

static void test_others(void)
{
	struct cdi *c = cdi_fixture("amd.json");

	ok(c->edits.nodes[0].numbered && c->edits.nodes[0].major == 235, "AMD: numbers of /dev/kfd");
	is_int(c->edits.nodes[0].access, DEVICE_READ | DEVICE_WRITE, "AMD: to read and to write");
	is_int(c->devices[0].edits.node_count, 2, "AMD: card and renderD");
	cdi_free(c);
	c = cdi_fixture("intel.yaml");
	is_int(c->devices[0].edits.node_count, 2, "Intel: card and renderD");
	is_int(c->devices[0].edits.mount_count, 0, "Intel: no mount below /dev");
	cdi_free(c);
}

static void test_hostile(void)
{
	static const struct {
		const char *edits, *says;
	} all[] = {
		{ "{mounts: [{hostPath: /usr/../etc/shadow, containerPath: /x}]}", "'..'" },
		{ "{mounts: [{hostPath: etc, containerPath: /x}]}", "absolute" },
		{ "{mounts: [{hostPath: /a}]}", "containerPath" },
		{ "{deviceNodes: [{path: /etc/passwd}]}", "not below /dev" },
		{ "{deviceNodes: [{path: /dev/a, type: p}]}", "pipe" },
		{ "{deviceNodes: [{path: /dev/a, major: -4, type: c}]}", "device number" },
		{ "{deviceNodes: [{path: /dev/a, permissions: rwx}]}", "r, w, m" },
		{ "{deviceNodes: /dev/a}", "list" },
		{ "{env: ['A B=c']}", "NAME=value" },
		{ "{env: [\"A=b\\nc\"]}", "not allowed" },
		{ "{hooks: [{args: [x, create-symlinks, --link, 'a::../b']}]}", "target::path" },
		{ "{hooks: [{args: [x, update-ldcache, --folder, lib]}]}", "absolute" },
	};
	char text[512];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct fail f = { 0 };
		struct cdi *c = NULL;

		snprintf(text, sizeof text, "{cdiVersion: 0.8.0, kind: a.b/gpu, containerEdits: %s}", all[i].edits);
		is_int(cdi_parse("bad.yaml", text, strlen(text), &c, &f), -EINVAL, "refused: %s", all[i].edits);
		has_str(f.text, all[i].says, "and says why");
		cdi_free(c);
	}
}

static void test_unknown_hook(void)
{
	static const char text[] = "{cdiVersion: 1.1.0, kind: a.b/gpu, containerEdits: {hooks: [{hookName: prestart, "
				   "path: /bin/sh, args: [sh, -c, 'rm -rf /']}], intelRdt: {closID: x}}}";
	struct fail f = { 0 };
	struct cdi *c = NULL;

	is_int(cdi_parse("x", text, strlen(text), &c, &f), 0, "an unknown hook is no error");
	ok(c && !c->edits.link_count && !c->edits.folder_count, "and nothing comes of it");
	cdi_free(c);
	c = NULL;
	is_int(cdi_parse("x", "cdiVersion: 2.0.0\nkind: a/gpu\n", 29, &c, &f), -EINVAL, "version 2.0.0 is refused");
	has_str(f.text, "0.3 to 1.1", "and says which are not");
}

/* ---- From the kernel ------------------------------------------------------------------------ */

static void test_kernel_nvidia(const char *root)
{
	struct node_devices d = { 0 };
	struct fail f = { 0 };

	tree_put(root, "proc/devices",
		"Character devices:\n195 nvidia-frontend\n509 nvidia-uvm\n\nBlock devices:\n  8 sd");
	tree_put(root, "usr/lib/x86_64-linux-gnu/libcuda.so.535.129.03", "x");
	tree_put(root, "usr/lib/x86_64-linux-gnu/libc.so.6", "x");
	tree_put(root, "usr/bin/nvidia-smi", "x");
	is_int(gpu_needs(root, "0000:1b:00.0", &d, &f), 0, "NVIDIA without a CDI file");
	diag("%s", f.text);
	is_int(d.node_count, 5, "its node, ctl, modeset, uvm, uvm-tools");
	is_str(d.nodes[0].inside, "/dev/nvidia0", "by the driver's minor number");
	ok(d.nodes[0].major == 195 && d.nodes[0].minor == 0 && d.nodes[3].major == 509, "with their numbers");
	is_int(d.mount_count, 2, "the driver's library and nvidia-smi");
	is_str(d.links[0].path, "/usr/lib/x86_64-linux-gnu/libcuda.so", "a link to libcuda");
	is_str(d.gpus[0].model, "h100", "its model");
	ok(*d.gpus[0].uuid, "and its UUID");
	devices_release(&d);
	is_int(gpu_needs(root, "0000:ff:00.0", &d, &f), -ENODEV, "a GPU that is not there");
	has_str(f.text, "no GPU at 0000:ff:00.0", "is named");
	devices_release(&d);
}

/* The vendor's file counts before what the kernel shows, and the entry is found by its device node. */
static void test_tool_first(const char *root)
{
	static const char *const nodes[] = { "nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools", "nvidiactl", "nvidia0",
		"dri/card1", "dri/renderD128" };
	const char *top = getenv("abs_top_srcdir");
	struct node_devices d = { 0 };
	struct fail f = { 0 };
	char from[512], to[1024];
	struct buf text;

	snprintf(from, sizeof from, "%s/tests/fixtures/cdi/nvidia.yaml", top ? top : ".");
	buf_init(&text, 1 << 16);
	ok(buf_read_file(&text, from) == 0, "the file is there");
	tree_put(root, "var/run/cdi/nvidia.yaml", buf_text(&text));
	tree_put(root, "var/run/cdi/notes.txt", "not CDI");
	buf_release(&text);
	is_int(gpu_needs(root, "0000:1b:00.0", &d, &f), -ENODEV, "a device node that is not there");
	has_str(f.text, "/dev/nvidia0", "is named");
	devices_release(&d);
	if (geteuid() != 0) {
		skip("only root can make device nodes");
		return;
	}
	tree_put(root, "dev/dri/", "");
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		snprintf(to, sizeof to, "%s/dev/%s", root, nodes[i]);
		ok(mknod(to, S_IFCHR | 0600, makedev(240, (unsigned)i)) == 0, "stand-in for %s", nodes[i]);
	}
	is_int(gpu_needs(root, "0000:1b:00.0", &d, &f), 0, "by the file");
	diag("%s", f.text);
	is_int(d.node_count, 7, "its nodes and those for each");
	ok(d.nodes[0].numbered && d.nodes[0].major == 240 && d.nodes[0].minor == 4, "numbered as they are here");
	is_int(d.mount_count, 2, "files that are here, and no socket");
	devices_release(&d);
	tree_put(root, "proc/driver/nvidia/gpus/0000:43:00.0/information", "Device Minor: \t 1");
	is_int(gpu_needs(root, "0000:43:00.0", &d, &f), -ENODEV, "the other GPU's node is missing");
	has_str(f.text, "/dev/nvidia1", "and named");
	devices_release(&d);
}

static void test_kernel_drm(const char *root, const char *address, const char *what, size_t nodes)
{
	struct node_devices d = { 0 };
	struct fail f = { 0 };
	struct cdi *c = NULL;
	struct buf out;
	char path[256];

	is_int(gpu_needs(root, address, &d, &f), -ENODEV, "%s: no device node", what);
	has_str(f.text, "no device node", "%s: says so", what);
	tree_put(root, "proc/devices", "Character devices:\n226 drm\n235 kfd");
	snprintf(path, sizeof path, "sys/bus/pci/devices/%s/drm/renderD130/dev", address);
	tree_put(root, path, "226:130");
	snprintf(path, sizeof path, "sys/bus/pci/devices/%s/drm/card2/dev", address);
	tree_put(root, path, "226:2");
	is_int(gpu_needs(root, address, &d, &f), 0, "%s: from the kernel", what);
	is_int(d.node_count, nodes, "%s: its nodes", what);
	is_str(d.nodes[0].inside, "/dev/dri/renderD130", "%s: the one that computes", what);
	ok(d.nodes[0].major == 226 && d.nodes[0].minor == 130, "%s: numbered", what);
	devices_release(&d);
	buf_init(&out, 1 << 20);
	is_int(gpu_needs_cdi(root, &out, &f), 0, "%s: a CDI file of all that have a driver", what);
	is_int(cdi_parse("ours", buf_text(&out), out.len, &c, &f), 0, "%s: which we can read", what);
	ok(c && c->count == 1 && c->devices[0].edits.node_count == nodes && c->devices[0].edits.nodes[0].minor == 130,
		"%s: and it says the same", what);
	cdi_free(c);
	buf_release(&out);
}

int main(void)
{
	char root[512];

	plan_none;
	test_nvidia();
	test_others();
	test_hostile();
	test_unknown_hook();
	tree_unpack("h100-sxm8", root, sizeof root);
	test_kernel_nvidia(root);
	test_tool_first(root);
	tree_remove(root);
	tree_unpack("mi300x8", root, sizeof root);
	test_kernel_drm(root, "0000:05:00.0", "AMD", 3);
	tree_remove(root);
	tree_unpack("arc-a770x2", root, sizeof root);
	test_kernel_drm(root, "0000:03:00.0", "Intel", 2);
	tree_remove(root);
	return done();
}
