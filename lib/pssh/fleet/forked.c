/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet after fork(). The child has copies of the sessions and descriptors; a byte sent, a watch
 * removed or a process ended by it would break the parent's connections. So it only frees and closes.
 */
#include <unistd.h>

#include "pssh/fleet/fleet.h"

static void fleet_leave(struct pssh *p)
{
	struct list *pos, *tmp;

	p->left = true;
	loop_leave(p->shared.loop);
	resolver_leave(p->shared.resolver);
	unlocker_leave(p->shared.unlocker);
	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);
		struct list *at, *next;

		if (h->conn)
			conn_leave(h->conn);
		list_each (at, next, &h->runs) {
			struct run *r = list_entry(at, struct run, in_host);

			if (r->xfer)
				xfer_leave(r->xfer);
			if (r->tunnel)
				tunnel_leave(r->tunnel);
		}
	}
	while (p->reap_count)
		proxy_leave(p->reaping[--p->reap_count]);
}

bool fleet_forked(struct pssh *p)
{
	if (p->pid == getpid())
		return false;
	if (!p->left)
		fleet_leave(p);
	return true;
}
