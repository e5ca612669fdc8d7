/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of net.h. Who changes hubs holds the lock: nodes start and end beside each other. */
#ifndef AGENTD_NS_NET_PART_H
#define AGENTD_NS_NET_PART_H

#include <stdbool.h>

#include "agentd/driver.h"
#include "base/buf.h"

enum { NET_PATH = 512, NET_COMMAND_MS = 20000 };

/* Runs inside(arg) in the namespace; the caller's own is back after it. Its result, or -errno. */
int net_inside(int space, int (*inside)(void *arg), void *arg);

/* 0 and a descriptor of the namespace of this name, or -ENOENT where there is none (a name without one counts as none). */
int net_space_open(const char *hub, int *fd);

/* The lines are handed to one `ip -batch` in the hub. */
int net_batch(const char *hub, const struct buf *lines, struct fail *f);

/* Of a hub, by its name: it is there and runs, or it is gone. */
int net_uplink(const struct driver_setup *s, const char *hub, int space, struct fail *f);
int net_uplink_end(const char *hub, struct fail *f);
bool net_uplink_works(struct fail *f);

/* The pid's network namespace is the one behind space. */
bool net_is_in(pid_t pid, int space);

#endif
