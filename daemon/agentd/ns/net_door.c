/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's door: the agent makes the listening socket, where buyers reach it, and hands it to systemd-socket-proxyd in
 * the hub, which reaches the node. The proxy runs as nobody: it only has to copy bytes.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/ns/net.h"
#include "agentd/ns/net_part.h"
#include "agentd/os/port.h"
#include "agentd/os/spawn.h"

enum { NOBODY = 65534, PIDS = 16, KILL_MS = 5000 };

/* Runs in the child, in the hub. */
static int net_door_prepare(void *arg)
{
	const struct node_spec *n = arg;
	int rc = cgroup_enter(n, CGROUP_DOOR);
	char pid[16];

	if (rc)
		return rc;
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	if (setenv("LISTEN_FDS", "1", 1) != 0 || setenv("LISTEN_PID", pid, 1) != 0 || setgroups(0, NULL) != 0 ||
			setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
		return -errno;
	return 0;
}

bool net_door_open(const struct node_spec *n)
{
	pid_t pids[PIDS];
	size_t count = cgroup_pids(n, CGROUP_DOOR, pids, PIDS);
	bool open = false;
	int space;

	if (!count || net_hub_open(n, &space, NULL) != 0)
		return false;
	for (size_t i = 0; i < count && i < PIDS; i++)
		open |= net_is_in(pids[i], space);
	close(space);
	return open;
}

int net_door(const struct node_spec *n, struct fail *f)
{
	char to[NET_ADDRESS + 8], log[NET_PATH];
	const char *argv[] = { "systemd-socket-proxyd", to, NULL };
	struct net_names names;
	int space, fd = -1, rc;
	pid_t pid;

	if (net_door_open(n))
		return 0;
	rc = cgroup_kill(n, CGROUP_DOOR, KILL_MS, f);
	if (!rc)
		rc = net_hub_open(n, &space, f);
	if (rc)
		return rc;
	net_names(n, &names);
	snprintf(to, sizeof to, "%s:22", names.address);
	snprintf(log, sizeof log, "%s/door.log", n->dir);
	rc = port_listen(n->setup->listen, n->port, &fd, f);
	if (!rc) {
		rc = spawn_leave(&(struct spawn){ .argv = argv,
					 .net = space,
					 .prepare = net_door_prepare,
					 .arg = (void *)(uintptr_t)n },
			log, fd, &pid, f);
		close(fd);
	}
	close(space);
	return rc;
}
