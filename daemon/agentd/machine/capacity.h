/* SPDX-License-Identifier: Apache-2.0 */
/* How much of this machine can be promised to nodes: all of it, less what it needs itself. */
#ifndef AGENTD_MACHINE_CAPACITY_H
#define AGENTD_MACHINE_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capacity {
	int64_t vcpus, memory, disk; /* -1: unknown */
	int64_t disk_files;          /* what files of nodes' disks may take; disk: what such disks may hold */
};

/* root: as in inventory_setup. data: the agent's folder, absolute; NULL: the disk is unknown. */
void capacity_read(const char *root, const char *data, struct capacity *out);

/*
 * The processors that nodes may be bound to, the threads of a core side by side. At most max; returns how many. None
 * where root is another machine's tree.
 */
size_t capacity_cpus(const char *root, unsigned *cpus, size_t max);

/* Has the later of two inventories, as JSON, noticeably less for nodes? What either does not say is not compared. */
bool capacity_shrank(const char *before, const char *after);

#endif
