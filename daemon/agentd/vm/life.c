/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/life.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/vm/qmp.h"
#include "agentd/vm/qemu.h"

enum { ASK_MS = 3000, KILL_MS = 20000 };

const char *const vmlife_cold[] = { "base.ext4", "vmlinuz", "initrd", NULL };
const char *const vmlife_clone[] = { "base.ext4", "gold.qcow2", "state", "vmlinuz", "initrd", NULL };

int vmlife_of(const struct node_spec *n, struct vmnode *out, struct vmaccel *accel, struct fail *f)
{
	int rc = vmaccel_probe(n->setup, accel, f);

	return rc ? rc : vmnode_of(n, accel->kvm, out, f);
}

void vmlife_note(const struct node_spec *n, const char *text)
{
	char path[VMIMAGE_ROOM];
	int fd = open(vmimage_at(path, n->dir, "console"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		0600);

	if (fd < 0)
		return;
	dprintf(fd, "nanopod: booting instead of cloning: %s\n", text);
	close(fd);
}

/* Removes its port in the hub where it was started: a node found by its process alone has no tenant in its spec. */
static int vmlife_leave_network(const struct vmnode *v, struct fail *f)
{
	struct node_spec then = *v->n;
	char tenant[256];
	int rc = net_node_remove(v->n, f);

	vmnode_read(v, VMNODE_TENANT, tenant, sizeof tenant);
	then.tenant = tenant;
	return rc || !*tenant || strcmp(tenant, v->n->tenant) == 0 ? rc : net_node_remove(&then, f);
}

int vmlife_halt(const struct vmnode *v, int64_t grace_ms, struct fail *f)
{
	pid_t pid = grace_ms > 0 ? vmproc_find(v->name) : 0;
	char run[VMIMAGE_ROOM];
	struct qmp *q;
	int rc;

	vmimage_at(run, v->dir, "run");
	if (pid)
		vmnode_put(v, VMNODE_ENDING, "begun\n", NULL);   /* a full disk must not keep it running */
	if (pid && qmp_open(&q, run, "qmp", pid, ASK_MS, NULL) == 0) {
		qmp_do(q, "system_powerdown", NULL, ASK_MS, NULL, NULL);
		qmp_close(q);
	}
	rc = vmproc_end(v->name, grace_ms, f);
	if (!rc && v->hub)
		rc = vmlife_leave_network(v, f);
	if (!rc && v->hub)
		rc = cgroup_kill(v->n, CGROUP_ALL, KILL_MS, f);
	if (!rc && v->hub)
		rc = cgroup_remove(v->n, f);
	return rc;
}
