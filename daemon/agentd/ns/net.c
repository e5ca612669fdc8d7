/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/ns/net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/ns/net_part.h"
#include "agentd/os/spawn.h"
#include "base/hash.h"
#include "base/str.h"

enum { LINES_MAX = 4096, KILL_MS = 5000, TRIES = 4, PER_BLOCK = 250 };

void net_names(const struct node_spec *n, struct net_names *out)
{
	const char *prefix = n->setup->prefix;
	unsigned slot = n->slot, mark = (unsigned)hash_more(HASH_BEGIN, prefix, strlen(prefix));

	snprintf(out->hub, sizeof out->hub, "%.8s-t-%016llx", prefix,
		(unsigned long long)hash_more(HASH_BEGIN, n->tenant, strlen(n->tenant)));
	snprintf(out->port, sizeof out->port, "%.8sn%u", prefix, slot & 0xfff);
	snprintf(out->inner, sizeof out->inner, "%.8se%u", prefix, slot & 0xfff);
	snprintf(out->sends, sizeof out->sends, "sends%u", slot & 0xfff);
	snprintf(out->address, sizeof out->address, "10.88.%u.%u", 1 + (slot & 0xfff) / PER_BLOCK,
		2 + (slot & 0xfff) % PER_BLOCK);
	snprintf(out->mac, sizeof out->mac, "02:4e:%02x:%02x:%02x:%02x", mark & 0xff, mark >> 8 & 0xff,
		slot >> 8 & 0xff, slot & 0xff);
}

static int net_lock_hubs(const struct driver_setup *s, int *fd, struct fail *f)
{
	char path[NET_PATH];
	int lock;

	snprintf(path, sizeof path, "%s/net.lock", s->data);
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) != 0) {
		int error = errno;

		if (lock >= 0)
			close(lock);
		return fail_errno(f, -error, error, "cannot lock '%s'", path);
	}
	*fd = lock;
	return 0;
}

/* ---- Hubs ----------------------------------------------------------------------------------- */

struct interface {
	const char *name;
	bool there, up;
};

static int net_look_at(void *arg)
{
	struct interface *i = arg;
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	snprintf(r.ifr_name, sizeof r.ifr_name, "%s", i->name);
	i->there = ioctl(fd, SIOCGIFFLAGS, &r) == 0;
	i->up = i->there && (r.ifr_flags & IFF_UP);
	close(fd);
	return 0;
}

/* Clouds serve a machine's secrets at these addresses: most clouds, Alibaba, Azure, Oracle. */
static const char *const secret[] = { "169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32" };

/* The bridge is raised last: if it is up, the hub is complete. */
static int net_furnish(const char *hub, int space, struct fail *f)
{
	struct interface bridge = { .name = NET_BRIDGE };
	struct buf b;
	int rc = net_inside(space, net_look_at, &bridge);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot inspect the namespace '%s'", hub);
	if (bridge.up)
		return 0;
	buf_init(&b, LINES_MAX);
	if (!bridge.there)
		buf_adds(&b, "link add " NET_BRIDGE " type bridge\n");
	buf_addf(&b, "addr replace " NET_GATEWAY "/%d dev " NET_BRIDGE "\nlink set lo up\n", NET_BITS);
	for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
		buf_addf(&b, "route replace prohibit %s\n", secret[i]);
	buf_adds(&b, "link set " NET_BRIDGE " up\n");
	rc = net_batch(hub, &b, f);
	buf_release(&b);
	return rc;
}

static int open_or_add(const struct driver_setup *s, const char *hub, int *space, struct fail *f)
{
	char path[NET_PATH];
	int rc = net_space_open(hub, space);

	if (rc == 0)
		return 0;
	snprintf(path, sizeof path, "/run/netns/%s", hub);
	unlink(path);
	net_wall_forget(s, hub);
	rc = net_uplink_end(hub, f);   /* left from a namespace that lost its name */
	if (!rc)
		rc = spawn_words(NET_COMMAND_MS, f, "ip", "netns", "add", hub, NULL);
	if (rc)
		return rc;
	rc = net_space_open(hub, space);
	return rc ? fail_errno(f, rc, -rc, "cannot open the namespace '%s'", hub) : 0;
}

/* Needs the lock. */
static int net_hub_ready(const struct node_spec *n, int *space, struct fail *f)
{
	struct net_names names;
	int fd = -1, rc;

	net_names(n, &names);
	rc = open_or_add(n->setup, names.hub, &fd, f);
	if (!rc)
		rc = net_furnish(names.hub, fd, f);
	if (!rc)
		rc = net_wall(n->setup, names.hub, f);
	if (!rc)
		rc = net_uplink(n->setup, names.hub, fd, f);
	if (rc && fd >= 0)
		close(fd);
	if (!rc)
		*space = fd;
	return rc;
}

int net_hub(const struct node_spec *n, struct fail *f)
{
	int lock, space, rc = net_lock_hubs(n->setup, &lock, f);

	if (rc)
		return rc;
	rc = net_hub_ready(n, &space, f);
	if (!rc)
		close(space);
	close(lock);
	return rc;
}

int net_hub_open(const struct node_spec *n, int *fd, struct fail *f)
{
	struct net_names names;
	int rc;

	net_names(n, &names);
	rc = net_space_open(names.hub, fd);
	return rc ? fail_errno(f, rc, -rc, "cannot open the namespace '%s'", names.hub) : 0;
}

/* ---- A node's interface --------------------------------------------------------------------- */

static int net_port_there(const struct net_names *names, int space, bool *there, struct fail *f)
{
	struct interface port = { .name = names->port };
	int rc = net_inside(space, net_look_at, &port);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot inspect the namespace '%s'", names->hub);
	*there = port.there;
	return 0;
}

/*
 * The kernel removes a port a moment after its node's end, and a command that a killed agent had started may still make
 * it: either may happen between our look and our commands. Then we look again.
 */
static int net_with_port(const struct node_spec *n,
	void (*lines)(struct buf *b, const struct net_names *names, bool there, uid_t uid), uid_t uid, struct fail *f)
{
	struct net_names names;
	struct buf b;
	int lock, space, rc = net_lock_hubs(n->setup, &lock, f);
	bool was = false, there = false;
	int tries = TRIES;

	if (rc)
		return rc;
	net_names(n, &names);
	buf_init(&b, LINES_MAX);
	rc = net_hub_ready(n, &space, f);
	if (!rc) {
		rc = net_port_there(&names, space, &there, f);
		while (!rc) {
			was = there;
			buf_clear(&b);
			lines(&b, &names, there, uid);
			rc = net_batch(names.hub, &b, f);
			if (!rc || !--tries || net_port_there(&names, space, &there, NULL) || there == was)
				break;
			rc = 0;
		}
		close(space);
	}
	buf_release(&b);
	close(lock);
	return rc;
}

static void veth_lines(struct buf *b, const struct net_names *names, bool there, uid_t uid)
{
	(void)uid;
	if (there)
		buf_addf(b, "link del %s\n", names->port);
	buf_addf(b, "link add %s type veth peer name %s address %s\nlink set %s master " NET_BRIDGE " up\n",
		names->port, names->inner, names->mac, names->port);
}

int net_veth(const struct node_spec *n, struct fail *f)
{
	return net_with_port(n, veth_lines, 0, f);
}

static void tap_lines(struct buf *b, const struct net_names *names, bool there, uid_t uid)
{
	if (!there)
		buf_addf(b, "tuntap add %s mode tap user %u\n", names->port, uid);
	buf_addf(b, "link set %s master " NET_BRIDGE " up\n", names->port);
}

int net_tap(const struct node_spec *n, uid_t uid, struct fail *f)
{
	return net_with_port(n, tap_lines, uid, f);
}

/* The kernel removes a port with its node's end, perhaps between our look and our command. */
static int net_remove_link(const char *hub, int space, const char *name, struct fail *f)
{
	struct interface link = { .name = name };
	int rc = net_inside(space, net_look_at, &link);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot inspect the namespace '%s'", hub);
	if (!link.there)
		return 0;
	rc = spawn_words(NET_COMMAND_MS, f, "ip", "-n", hub, "link", "del", name, NULL);
	if (rc && net_inside(space, net_look_at, &link) == 0 && !link.there)
		rc = 0;
	return rc;
}

int net_node_remove(const struct node_spec *n, struct fail *f)
{
	struct net_names names;
	int space, rc = cgroup_kill(n, CGROUP_DOOR, KILL_MS, f);

	net_names(n, &names);
	if (rc || net_space_open(names.hub, &space) != 0)
		return rc;
	rc = net_remove_link(names.hub, space, names.port, f);
	if (!rc)
		rc = net_remove_link(names.hub, space, names.sends, f);
	close(space);
	return rc;
}

/* ---- Tidying -------------------------------------------------------------------------------- */

struct ports {
	const char *prefix;
	size_t count;
};

static int count_ports(void *arg)
{
	struct ports *p = arg;
	struct if_nameindex *all = if_nameindex();

	if (!all)
		return -errno;
	for (struct if_nameindex *i = all; i->if_name; i++)
		p->count += str_starts(i->if_name, p->prefix);
	if_freenameindex(all);
	return 0;
}

static int net_tidy_one(const struct driver_setup *s, const char *hub, struct fail *f)
{
	struct ports ports = { .prefix = s->prefix };
	char log[NET_PATH];
	int space, rc = net_space_open(hub, &space);

	if (!rc) {
		rc = net_inside(space, count_ports, &ports);
		if (!rc && ports.count)
			rc = net_uplink(s, hub, space, f);   /* the uplink may have been killed */
		close(space);
		if (rc || ports.count)
			return rc;
	}
	rc = net_uplink_end(hub, f);
	if (!rc)
		rc = spawn_words(NET_COMMAND_MS, f, "ip", "netns", "del", hub, NULL);
	snprintf(log, sizeof log, "%s/%s.log", s->data, hub);
	unlink(log);
	net_wall_forget(s, hub);
	return rc;
}

/*
 * A hub without its bridge is being made at this moment, or was cut off: whoever makes it raises its wall. One that an
 * older agent made may still check its packets in a way that the wall does not go with, so its uplink comes first.
 */
static int net_renew_one(const struct driver_setup *s, const char *hub, struct fail *f)
{
	struct interface bridge = { .name = NET_BRIDGE };
	int space, rc = net_space_open(hub, &space);

	if (rc)
		return 0;
	rc = net_inside(space, net_look_at, &bridge);
	if (!rc && bridge.there) {
		int uplink = net_uplink(s, hub, space, f);

		rc = net_wall(s, hub, uplink ? NULL : f);
		rc = uplink ? uplink : rc;
	}
	close(space);
	return rc;
}

static int net_each(const struct driver_setup *s,
	int (*one)(const struct driver_setup *s, const char *hub, struct fail *f), struct fail *f)
{
	char begin[32];
	int lock, rc = net_lock_hubs(s, &lock, f);
	struct dirent *e;
	DIR *d;

	if (rc)
		return rc;
	snprintf(begin, sizeof begin, "%.8s-t-", s->prefix);
	d = opendir("/run/netns");
	while (d && (e = readdir(d)))
		if (str_starts(e->d_name, begin)) {
			int result = one(s, e->d_name, rc ? NULL : f);

			rc = rc ? rc : result;
		}
	if (d)
		closedir(d);
	close(lock);
	return rc;
}

int net_tidy(const struct driver_setup *s, struct fail *f)
{
	return net_each(s, net_tidy_one, f);
}

int net_renew(const struct driver_setup *s, struct fail *f)
{
	return net_each(s, net_renew_one, f);
}

int net_probe(const struct driver_setup *s, bool *uplink, struct fail *f)
{
	char path[NET_PATH], name[32];
	int rc;

	if (!spawn_find("ip", path, sizeof path))
		return fail_set(f, -ENOTSUP, "'ip' is not installed; 'apt install iproute2' installs it");
	if (!spawn_find("systemd-socket-proxyd", path, sizeof path))
		return fail_set(f, -ENOTSUP,
			"'systemd-socket-proxyd' is not installed; 'apt install systemd' installs it");
	snprintf(name, sizeof name, "%.8s-probe%d", s->prefix, (int)getpid());
	rc = spawn_words(NET_COMMAND_MS, f, "ip", "netns", "add", name, NULL);
	if (!rc)
		rc = spawn_words(NET_COMMAND_MS, f, "ip", "-n", name, "link", "add", NET_BRIDGE, "type", "bridge",
			NULL);
	if (!rc)
		rc = net_wall_probe(name, f);
	spawn_words(NET_COMMAND_MS, NULL, "ip", "netns", "del", name, NULL);
	if (rc) {
		if (f)
			f->code = -ENOTSUP;
		return -ENOTSUP;
	}
	*uplink = s->uplink && net_uplink_works(f);
	return 0;
}
