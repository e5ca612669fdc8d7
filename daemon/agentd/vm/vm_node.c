/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/vm_node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/devices.h"
#include "agentd/os/disk.h"
#include "agentd/os/spawn.h"
#include "agentd/vm/guest_identity.h"
#include "agentd/vm/qemu.h"
#include "base/file.h"

enum {
	MIB = 1 << 20,
	LEAST_MIB = 192,
	USUAL_MIB = 512,
	MOST_CPUS = 240,
	IMG_MS = 30000,
	OVER_KVM = 128,
	OVER_TCG = 352,
	INODE = 256,
	MAPS = 1024,
	TABLES_MIB = 68,    /* the journal, and groups that are there from the start */
	IOMMU_TABLES = 512, /* eight bytes for each page, at most */
	CLUSTERS = 4096     /* QEMU's own tables take less than this part of a disk */
};
static const int64_t usual_disk = (int64_t)16 << 30;

/* As ext4 counts: what people see of a disk is less than its size. */
static int64_t vm_node_disk_size(int64_t disk)
{
	return (disk + disk / VMIMAGE_PER_INODE * INODE + disk / MAPS + (int64_t)(TABLES_MIB + 1) * MIB) / MIB * MIB;
}

int64_t vmnode_memory_beside(bool kvm)
{
	return (int64_t)(kvm ? OVER_KVM : OVER_TCG) * MIB;
}

int vmnode_of(const struct node_spec *n, bool kvm, struct vmnode *out, struct fail *f)
{
	struct vmnode v = { .n = n, .group = *n, .hub = geteuid() == 0, .uid = geteuid(), .shape.kvm = kvm };
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cpus = n->cpu_milli ? (n->cpu_milli + 999) / 1000 : (unsigned)(online > 0 ? online : 1);

	if (snprintf(v.dir, sizeof v.dir, "%s/vm", n->dir) >= (int)sizeof v.dir - 32 ||
	    snprintf(v.name, sizeof v.name, "%s.%s", n->setup->prefix, n->id) >= (int)sizeof v.name)
		return fail_set(f, -ENAMETOOLONG, "the path of the node's folder '%s' is too long", n->dir);
	if (v.hub) {
		v.uid = VMPROC_UID_FIRST + n->slot % VMPROC_SLOTS;
		net_names(n, &v.net);
	}
	v.shape.cpus = cpus < 1 ? 1 : cpus > MOST_CPUS ? MOST_CPUS : cpus;
	v.shape.mib = n->memory ? (unsigned)(n->memory / MIB) : USUAL_MIB;
	if (v.shape.mib < LEAST_MIB)
		return fail_set(f, -EINVAL, "a virtual machine needs at least %d MiB of memory", LEAST_MIB);
	v.disk = vm_node_disk_size(n->disk ? n->disk : usual_disk);
	v.group.memory = (int64_t)v.shape.mib * MIB + vmnode_memory_beside(kvm);
	if (n->devices && n->devices->function_count)
		v.group.memory += v.group.memory / IOMMU_TABLES;
	*out = v;
	return 0;
}

static const char *vm_node_at(const struct vmnode *v, const char *file, char room[VMIMAGE_ROOM])
{
	return vmimage_at(room, v->dir, file);
}

bool vmnode_has(const struct vmnode *v, const char *file)
{
	char room[VMIMAGE_ROOM];

	return access(vm_node_at(v, file, room), F_OK) == 0;
}

void vmnode_read(const struct vmnode *v, const char *file, char *room, size_t size)
{
	char path[VMIMAGE_ROOM];
	struct buf b;

	buf_init(&b, 4096);
	snprintf(room, size, "%s", buf_read_file(&b, vm_node_at(v, file, path)) == 0 ? buf_text(&b) : "");
	buf_release(&b);
}

bool vmnode_says(const struct vmnode *v, const char *file, const char *text)
{
	char said[256];

	vmnode_read(v, file, said, sizeof said);
	return strcmp(said, text) == 0;
}

int vmnode_put(const struct vmnode *v, const char *file, const char *text, struct fail *f)
{
	char room[VMIMAGE_ROOM];
	int rc;

	vm_node_at(v, file, room);
	rc = file_replace(room, text, strlen(text), 0600);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", room) : 0;
}

int vmnode_share(const struct vmnode *v, const char *folder, const char *const *files, struct fail *f)
{
	char from[VMIMAGE_ROOM], to[VMIMAGE_ROOM];
	int rc = 0;

	for (size_t i = 0; !rc && files[i]; i++) {
		vmimage_at(from, folder, files[i]);
		vm_node_at(v, files[i], to);
		unlink(to);
		rc = vmimage_share(from, to, f);
	}
	return rc;
}

int vmnode_folder(const char *dir, uid_t uid, struct fail *f)
{
	char run[VMIMAGE_ROOM];

	vmimage_at(run, dir, "run");
	if ((mkdir(dir, 0700) != 0 && errno != EEXIST) || (mkdir(run, 0700) != 0 && errno != EEXIST))
		return fail_errno(f, -errno, errno, "cannot make '%s'", run);
	/* The folder itself stays ours: a guest that took over its QEMU can replace no name in it. */
	if (geteuid() == 0 && (chmod(dir, 0711) != 0 || lchown(run, uid, uid) != 0))
		return fail_errno(f, -errno, errno, "cannot give '%s' to its user", run);
	return 0;
}

int vmnode_disk(const char *dir, const char *base, const char *format, int64_t size, uid_t uid, struct fail *f)
{
	const char *argv[] = { "qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", format, "disk.new", NULL,
		NULL };
	char fresh[VMIMAGE_ROOM], path[VMIMAGE_ROOM], bytes[32];
	int rc;

	vmimage_at(fresh, dir, "disk.new");
	vmimage_at(path, dir, "disk.qcow2");
	snprintf(bytes, sizeof bytes, "%lld", (long long)size);
	if (size)
		argv[10] = bytes;
	unlink(fresh);
	rc = spawn_run(&(struct spawn){ .argv = argv, .dir = dir }, IMG_MS, NULL, f);
	if (rc)
		return rc;
	if (chmod(fresh, 0600) != 0 || (geteuid() == 0 && lchown(fresh, uid, uid) != 0) || rename(fresh, path) != 0)
		return fail_errno(f, -errno, errno, "cannot make the disk '%s'", path);
	return 0;
}

int64_t vmnode_disk_file(int64_t disk, int64_t inodes)
{
	int64_t size = vm_node_disk_size(disk);

	(void)inodes; /* it holds as many as its size gives */
	return size + size / CLUSTERS + (int64_t)8 * MIB;
}

int vmnode_hold(const struct vmnode *v, struct fail *f)
{
	char path[VMIMAGE_ROOM];

	return v->n->disk_taken ? disk_hold(vm_node_at(v, "disk.qcow2", path), vmnode_disk_file(v->n->disk, 0), f) : 0;
}

int vmnode_can_keep(const struct vmnode *v, struct fail *f)
{
	const struct node_spec *n = v->n;

	if (n->network_mbps && !v->hub)
		return fail_set(f, -ENOTSUP,
			"driver vm limits the network only as root, and the type promises "
			"%lld Mbit/s; run nanopod-agentd as root",
			(long long)n->network_mbps);
	if (n->inodes > v->disk / VMIMAGE_PER_INODE)
		return fail_set(f, -ENOTSUP,
			"a virtual machine's disk of %lld MiB holds %lld files, and the type promises %lld; use driver "
			"ns, or a type with fewer files",
			(long long)((n->disk ? n->disk : usual_disk) / MIB), (long long)(v->disk / VMIMAGE_PER_INODE),
			(long long)n->inodes);
	return 0;
}

static int machine_id(const struct vmnode *v, char room[VMNODE_MACHINE_ID], struct fail *f)
{
	char path[VMIMAGE_ROOM];
	unsigned char random[16];
	struct buf b;
	int rc;

	vm_node_at(v, "machine-id", path);
	buf_init(&b, 4096);
	if (buf_read_file(&b, path) == 0 && b.len == VMNODE_MACHINE_ID - 1) {
		memcpy(room, b.data, VMNODE_MACHINE_ID);
		buf_release(&b);
		return 0;
	}
	buf_release(&b);
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return fail_set(f, -EIO, "no random numbers available");
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(room + 2 * i, 3, "%02x", random[i]);
	rc = file_replace(path, room, VMNODE_MACHINE_ID - 1, 0600);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

int vmnode_words(const struct vmnode *v, char *room, size_t size, struct fail *f)
{
	char id[VMNODE_MACHINE_ID];
	int rc = machine_id(v, id, f);

	if (!rc)
		snprintf(room, size, "systemd.machine_id=%s", id);
	return rc;
}

int vmnode_identity(const struct vmnode *v, int64_t *serial, struct fail *f)
{
	char id[VMNODE_MACHINE_ID], path[VMIMAGE_ROOM], address[80];
	struct vmidentity d = { .name = v->n->name,
		.address = address,
		.machine_id = id,
		.keys = v->n->keys,
		.script = v->n->script,
		.hostkey = v->n->dir,
		.resolv = v->hub ? net_resolv(v->n->setup)
				 : "# This node cannot reach other networks: its host runs it as an ordinary user.\n" };
	int rc = machine_id(v, id, f);

	if (rc)
		return rc;
	if (v->hub)
		snprintf(address, sizeof address, "%s/%d %s %s\n", v->net.address, NET_BITS, NET_GATEWAY, v->net.mac);
	else
		snprintf(address, sizeof address, "10.0.2.15/24 10.0.2.2 52:54:00:12:%02x:%02x\n",
			v->n->slot >> 8 & 0xff, v->n->slot & 0xff);
	vm_node_at(v, "identity", path);
	return vmidentity_write(&d, path, v->uid, serial, f);
}
