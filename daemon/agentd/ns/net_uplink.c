/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out of a hub: slirp4netns, whose tap is the hub's default route. The hub forwards and answers for its nodes
 * on that tap (proxy_arp), so there is no NAT; net_wall.c says what nodes cannot reach through it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/ns/net.h"
#include "agentd/ns/net_part.h"
#include "agentd/os/spawn.h"

enum { READY_MS = 5000, END_MS = 5000 };

static const char resolver[] = "nameserver " NET_RESOLVER "\n";
static const char nowhere[] = "# nodes of this machine cannot reach other networks\n";

bool net_uplink_works(struct fail *f)
{
	char path[NET_PATH];

	if (!spawn_find("slirp4netns", path, sizeof path)) {
		fail_set(f, -ENOENT,
			"nodes cannot reach other networks: 'slirp4netns' is not installed; 'apt install slirp4netns'");
		return false;
	}
	if (access("/dev/net/tun", R_OK | W_OK) != 0) {
		fail_set(f, -ENOENT, "nodes cannot reach other networks: '/dev/net/tun' is missing");
		return false;
	}
	return true;
}

const char *net_resolv(const struct driver_setup *s)
{
	return s->uplink && net_uplink_works(NULL) ? resolver : nowhere;
}

/* Runs in the child. In our mount namespace, slirp4netns' sandbox would unmount /run/netns for the whole machine. */
static int net_uplink_prepare(void *arg)
{
	int rc = cgroup_own_enter(arg);

	if (!rc && (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0))
		rc = -errno;
	return rc;
}

static int net_uplink_write_switch(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, value, 1) != 1)
		error = errno;
	close(fd);
	return -error;
}

/*
 * /proc/sys/net shows the namespace of whoever opens it. The tap exists as long as slirp4netns runs. With rp_filter,
 * which a hub inherits from this machine, the wall would also keep out the answers of what it lets a node ask.
 */
static int net_uplink_forward(void *arg)
{
	static const char *const switches[][2] = { { "/proc/sys/net/ipv4/conf/tap0/proxy_arp", "1" },
		{ "/proc/sys/net/ipv4/conf/all/rp_filter", "0" }, { "/proc/sys/net/ipv4/conf/tap0/rp_filter", "0" },
		{ "/proc/sys/net/ipv4/ip_forward", "1" } };
	int rc = 0;

	(void)arg;
	for (size_t i = 0; !rc && i < sizeof switches / sizeof *switches; i++)
		rc = net_uplink_write_switch(switches[i][0], switches[i][1]);
	return rc;
}

static int net_uplink_wait_ready(int fd, const char *log, struct fail *f)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	if (poll(&p, 1, READY_MS) == 1 && read(fd, &c, 1) == 1)
		return 0;
	return fail_set(f, -EIO, "'slirp4netns' did not start; see '%s'", log);
}

static int net_uplink_begin(const struct driver_setup *s, const char *hub, struct fail *f)
{
	char path[NET_PATH], log[NET_PATH];
	const char *argv[] = { "slirp4netns", "--netns-type=path", "--configure", "--disable-host-loopback",
		"--enable-sandbox", "--enable-seccomp", "--ready-fd=3", path, "tap0", NULL };
	int ready[2], rc;
	pid_t pid;

	snprintf(path, sizeof path, "/run/netns/%s", hub);
	snprintf(log, sizeof log, "%s/%s.log", s->data, hub);
	unlink(log);
	if (pipe2(ready, O_CLOEXEC) != 0)
		return fail_errno(f, -errno, errno, "cannot make a pipe");
	rc = spawn_leave(&(struct spawn){ .argv = argv, .prepare = net_uplink_prepare, .arg = (void *)(uintptr_t)hub },
		log, ready[1], &pid, f);
	close(ready[1]);
	if (!rc)
		rc = net_uplink_wait_ready(ready[0], log, f);
	close(ready[0]);
	return rc;
}

int net_uplink(const struct driver_setup *s, const char *hub, int space, struct fail *f)
{
	pid_t pid;
	int rc;

	if (!s->uplink || !net_uplink_works(NULL))
		return 0;
	if (cgroup_own_pids(hub, &pid, 1) && net_inside(space, net_uplink_forward, NULL) == 0)
		return 0;
	rc = cgroup_own_remove(hub, END_MS, f);
	if (!rc)
		rc = cgroup_own(hub, f);
	if (!rc)
		rc = net_uplink_begin(s, hub, f);
	if (!rc) {
		rc = net_inside(space, net_uplink_forward, NULL);
		if (rc)
			fail_errno(f, rc, -rc, "cannot connect the nodes of '%s' to other networks", hub);
	}
	if (rc)
		cgroup_own_remove(hub, END_MS, NULL);
	return rc;
}

int net_uplink_end(const char *hub, struct fail *f)
{
	return cgroup_own_remove(hub, END_MS, f);
}
