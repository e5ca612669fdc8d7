/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a tenant's nodes on this machine: a namespace (the hub) with a bridge, slirp4netns as the way out, and
 * for each node a door: a port of the agent's own namespace that forwards to the node's SSH. The machine's own
 * namespace gets neither address nor interface. After a crash everything is found again by name.
 */
#ifndef AGENTD_NS_NET_H
#define AGENTD_NS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agentd/driver.h"

enum { NET_NAME = 16, NET_ADDRESS = 16, NET_MAC = 18, NET_HUB = 48, NET_BITS = 16 };
#define NET_GATEWAY "10.88.0.1"
#define NET_RESOLVER "10.0.2.3"
#define NET_BRIDGE "br0"

/* Derived from the node's spec alone: no two nodes of a machine have the same. */
struct net_names {
	char hub[NET_HUB];           /* the tenant's namespace, in /run/netns */
	char port[NET_NAME];         /* the node's interface on the hub's bridge: a veth's end, or a tap */
	char inner[NET_NAME];        /* the veth's other end, before it is moved into the node */
	char sends[NET_NAME];        /* where what it sends waits, if its network has a rate */
	char address[NET_ADDRESS];   /* 10.88.x.y, /NET_BITS, gateway NET_GATEWAY */
	char mac[NET_MAC];           /* of the node's own interface */
};

void net_names(const struct node_spec *n, struct net_names *out);

/* The contents of the node's resolv.conf: the uplink's name server, or a comment that says why there is none. */
const char *net_resolv(const struct driver_setup *s);

/*
 * Makes the tenant's hub with its bridge, the wall before the provider's own network and (setup->uplink) the way out.
 * 0 also if it exists.
 */
int net_hub(const struct node_spec *n, struct fail *f);

/* Opens the hub's namespace, for spawn's .net or setns: -ENOENT where there is none. The caller closes it. */
int net_hub_open(const struct node_spec *n, int *fd, struct fail *f);

/*
 * Makes a new veth of the node: port on the bridge; inner in the hub, down, with its mac, waiting to be moved. It
 * replaces an older one.
 */
int net_veth(const struct node_spec *n, struct fail *f);

/*
 * Limits what passes the node's port on the bridge to network_mbps in each direction; 0: no limit. Call it after
 * net_veth or net_tap, when the port is new.
 */
int net_rate(const struct node_spec *n, struct fail *f);

/* Makes the node's tap on the bridge, up, for a QEMU that runs in the hub as user uid. 0 also if it exists. */
int net_tap(const struct node_spec *n, uid_t uid, struct fail *f);

/* Forwards setup->listen : port to the node's port 22. 0 also if it does. Needs the hub and cgroups. */
int net_door(const struct node_spec *n, struct fail *f);
bool net_door_open(const struct node_spec *n);

/* Removes door, port and what limits its rate; the hub stays for net_tidy. Neither exists: 0. */
int net_node_remove(const struct node_spec *n, struct fail *f);

/* Removes the hubs of this setup whose bridge has no node any more, with their uplinks. */
int net_tidy(const struct driver_setup *s, struct fail *f);

/* Closes to all hubs of this setup what the machine now has as its own address, and opens setup->open. */
int net_renew(const struct driver_setup *s, struct fail *f);

/*
 * Can this machine make hubs? 0, or -ENOTSUP with the sentence. *uplink: nodes will have a way out; if not, *f says
 * why, and the result is still 0.
 */
int net_probe(const struct driver_setup *s, bool *uplink, struct fail *f);

#endif
