/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind net.h. Nodes start and end in parallel, so whoever changes hubs holds the lock. */
#ifndef AGENTD_NS_NET_PART_H
#define AGENTD_NS_NET_PART_H

#include <stdbool.h>

#include "agentd/driver.h"
#include "base/buf.h"

enum { NET_PATH = 512, NET_COMMAND_MS = 20000 };

/* Runs inside(arg) in the namespace, then returns to the caller's own. inside's result, or -errno. */
int net_inside(int space, int (*inside)(void *arg), void *arg);

/* Opens the namespace of this name: 0, or -ENOENT where none exists (a name without a namespace counts as none). */
int net_space_open(const char *hub, int *fd);

/* Passes the lines to one `ip -batch` in the hub. */
int net_batch(const char *hub, const struct buf *lines, struct fail *f);

/* Raises or renews the wall of the hub named so; 0 also if nothing changed. Forget: its hub is gone. */
int net_wall(const struct driver_setup *s, const char *hub, struct fail *f);
void net_wall_forget(const struct driver_setup *s, const char *hub);
/* Can this kernel raise one, in the namespace named so? */
int net_wall_probe(const char *hub, struct fail *f);

/* Starts the uplink of the hub named so (0 if it runs), or ends it. */
int net_uplink(const struct driver_setup *s, const char *hub, int space, struct fail *f);
int net_uplink_end(const char *hub, struct fail *f);
bool net_uplink_works(struct fail *f);

/* Is space the network namespace of this pid? */
bool net_is_in(pid_t pid, int space);

#endif
