/* SPDX-License-Identifier: Apache-2.0 */
/* The vm driver's table. It finds what a killed call left by name, never from memory. */
#include "agentd/vm/vm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/os/node_hostkey.h"
#include "agentd/vm/qmp.h"
#include "agentd/os/spawn.h"
#include "agentd/vm/freeze.h"
#include "agentd/vm/life.h"
#include "agentd/vm/passthrough.h"
#include "agentd/vm/qemu.h"
#include "base/file.h"

enum { REKEY_MS = 20000 };

/* For calls that end or inspect a node: how it would run does not matter. */
static int vm_known(const struct node_spec *n, struct vmnode *out, struct fail *f)
{
	struct node_spec any = *n;
	int rc;

	any.memory = 0;
	rc = vmnode_of(&any, false, out, f);
	out->n = n;
	return rc;
}

static const char *vm_without_kvm(void)
{
	struct stat st;

	if (geteuid() == 0 && stat("/dev/kvm", &st) == 0 && (st.st_mode & 0060) != 0060 &&
		(st.st_mode & 0006) != 0006)
		return "QEMU's user may not open '/dev/kvm' ('chgrp kvm /dev/kvm; chmod 660 /dev/kvm' lets it)";
	return "KVM runs no guest here";
}

static int vm_probe(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	unsigned all = HOLDS_PROCESSES | HOLDS_FILES | HOLDS_NETWORK | HOLDS_CPU | HOLDS_MEMORY | HOLDS_DISK |
		HOLDS_KERNEL | HOLDS_SYSTEM;
	char path[VMIMAGE_PATH];
	struct vmaccel accel;
	bool uplink;
	int rc = 0;

	if (geteuid() != 0 &&
		(!spawn_find("newuidmap", path, sizeof path) || !spawn_find("unshare", path, sizeof path)))
		return fail_set(f, -ENOTSUP, "'newuidmap' is not installed: apt-get install uidmap");
	/* An ordinary user's QEMU takes whole processors: nothing limits it to a part of one. */
	if (geteuid() != 0) {
		all &= ~(unsigned)HOLDS_CPU;
	} else {
		unsigned limits = 0;

		rc = cgroup_probe(&limits, f);
		all &= ~(unsigned)HOLDS_CPU | (limits & HOLDS_CPU);
		if (!rc)
			rc = net_probe(s, &uplink, f);
	}
	if (!rc)
		rc = vmaccel_probe(s, &accel, f);
	if (!rc)
		*holds = all;
	if (!rc && !accel.kvm) {
		fail_set(f, 0, "%s, so the processor is emulated: some ten times slower", vm_without_kvm());
		return 0;
	}
	if (rc && f)
		f->code = -ENOTSUP;
	return rc ? -ENOTSUP : 0;
}

/* Where nobody knows yet whether KVM works, the larger one. */
static void vm_terms(const struct driver_setup *s, struct driver_terms *out)
{
	struct vmaccel accel = { .kvm = false };

	vmaccel_probe(s, &accel, NULL);
	out->node_memory = vmnode_memory_beside(accel.kvm);
	out->no_rate = geteuid() != 0;
	out->disk_file = vmnode_disk_file;
}

/* Links the files of an image or of a frozen guest into the node; the word says which. */
static int vm_make_disk(const struct vmnode *v, const struct vmaccel *accel, struct fail *f)
{
	const struct driver_setup *s = v->n->setup;
	struct vmfrozen frozen;
	struct vmimage i;
	struct fail why;
	struct stat st;
	char path[VMIMAGE_ROOM];
	bool clone;
	int rc = vmimage_make(s->images, v->n->image, &i, f);

	if (rc)
		return rc;
	vmimage_at(path, i.path, "base.ext4");
	if (stat(path, &st) == 0 && v->disk < st.st_size)
		return fail_set(f, -EINVAL, "the image needs a disk of %lld MiB", (long long)(st.st_size >> 20) + 1);
	clone = passthrough_any(v) ? fail_set(&why, -ENOTSUP, "%s", PASSTHROUGH_NO_CLONE) == 0
				   : vmfreeze_make(s, &i, accel, &v->shape, &frozen, &why) == 0;
	if (!clone)
		vmlife_note(v->n, why.text);
	rc = vmnode_share(v, clone ? frozen.path : i.path, clone ? vmlife_clone : vmlife_cold, f);
	return rc ? rc : vmnode_put(v, VMNODE_MADE, clone ? "clone\n" : "cold\n", f);
}

static int driver_vm_put_user(const struct node_spec *n, struct fail *f)
{
	char path[VMIMAGE_ROOM];
	int rc, fd;

	vmimage_at(path, n->dir, "user");
	rc = file_replace(path, "root\n", 5, 0600);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", path);
	vmimage_at(path, n->dir, "console");
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", path);
	close(fd);
	return 0;
}

static int vm_create(const struct node_spec *n, struct fail *f)
{
	struct vmaccel accel;
	struct vmnode v;
	int rc = vmlife_of(n, &v, &accel, f);

	if (!rc)
		rc = vmnode_can_keep(&v, f);
	if (!rc)
		rc = hostkey_make(n->dir, f);
	if (!rc)
		rc = driver_vm_put_user(n, f);
	if (!rc)
		rc = vmnode_folder(v.dir, v.uid, f);
	if (!rc && !vmnode_has(&v, VMNODE_MADE))
		rc = vm_make_disk(&v, &accel, f);
	return rc;
}

static int vm_rekey(const struct node_spec *n, struct fail *f)
{
	int64_t serial;
	struct vmnode v;
	pid_t pid;
	int rc = vm_known(n, &v, f);

	if (rc || !vmnode_has(&v, VMNODE_MADE))
		return rc;
	rc = vmnode_identity(&v, &serial, f);
	pid = rc ? 0 : vmproc_find(v.name);
	if (pid && vmnode_has(&v, VMNODE_BOOTED))
		rc = driver_vm_tell(&v, pid, "apply", serial, false, REKEY_MS, f);
	return rc;
}

static int vm_stop(const struct node_spec *n, int64_t grace_ms, struct fail *f)
{
	struct vmnode v;
	int rc = vm_known(n, &v, f);

	return rc ? rc : vmlife_halt(&v, grace_ms, f);
}

/* Removes all in the folder but the agent's own files. */
static int vm_empty(const char *dir, struct fail *f)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : fail_errno(f, -errno, errno, "cannot read '%s'", dir);
	while (!rc && (e = readdir(d))) {
		char path[VMIMAGE_ROOM];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			strcmp(e->d_name, "node.json") == 0 || strcmp(e->d_name, "lock") == 0)
			continue;
		rc = vmimage_remove(vmimage_at(path, dir, e->d_name), f);
	}
	closedir(d);
	return rc;
}

static int vm_destroy(const struct node_spec *n, struct fail *f)
{
	struct vmnode v;
	int rc = vm_known(n, &v, f);

	if (!rc)
		rc = vmlife_halt(&v, 0, f);
	return rc ? rc : vm_empty(n->dir, f);
}

static int vm_inspect(const struct node_spec *n, enum node_is *out, struct fail *f)
{
	struct vmnode v;
	int rc = vm_known(n, &v, f);

	if (rc)
		return rc;
	*out = !vmnode_has(&v, VMNODE_MADE) ? NODE_ABSENT :
		vmnode_has(&v, VMNODE_BOOTED) && vmproc_find(v.name) ? NODE_RUNNING : NODE_STOPPED;
	return 0;
}

/* Reports each id once, whether it has groups, a process, or both. */
struct listing {
	void (*found)(void *arg, const char *id);
	void *arg;
	char **ids;
	size_t count;
};

static void vm_list_one(void *arg, const char *id)
{
	struct listing *l = arg;
	char **more;

	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->ids[i], id) == 0)
			return;
	more = realloc(l->ids, (l->count + 1) * sizeof *more);
	if (more) {
		l->ids = more;
		l->ids[l->count] = strdup(id);
		l->count += l->ids[l->count] != NULL;
	}
	l->found(l->arg, id);
}

static int vm_list_nodes(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg,
	struct fail *f)
{
	struct listing l = { .found = found, .arg = arg };
	char begin[64];
	int rc;

	snprintf(begin, sizeof begin, "%s.", s->prefix);
	rc = vmproc_each(begin, vm_list_one, &l);
	if (rc)
		fail_errno(f, rc, -rc, "cannot list the processes");
	if (!rc && geteuid() == 0)
		rc = cgroup_list(s, vm_list_one, &l, f);
	for (size_t i = 0; i < l.count; i++)
		free(l.ids[i]);
	free(l.ids);
	return rc;
}

static int vm_tidy(const struct driver_setup *s, struct fail *f)
{
	int rc = vmfreeze_tidy(s, f);

	return rc || geteuid() != 0 ? rc : net_tidy(s, f);
}

const struct driver driver_vm = {
	.name = "vm",
	.about = "QEMU: a full Debian with its own kernel",
	.devices = DEVICES_FUNCTIONS,
	.probe = vm_probe,
	.terms = vm_terms,
	.create = vm_create,
	.start = driver_vm_start,
	.rekey = vm_rekey,
	.rebind = cgroup_rebind,
	.stop = vm_stop,
	.destroy = vm_destroy,
	.inspect = vm_inspect,
	.list = vm_list_nodes,
	.renew = net_renew,
	.tidy = vm_tidy,
};
