/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine has promised: for each host that was sold with a size, the size and the processors that are its
 * own. Nothing is promised twice; what does not fit is refused here, whatever the market allowed. Kept in room.json, so
 * that a host keeps its processors.
 */
#ifndef AGENTD_ROOM_H
#define AGENTD_ROOM_H

#include <stddef.h>

#include "agentd/driver.h"
#include "agentd/machine/capacity.h"
#include "agentd/market/work.h"
#include "agentd/node_journal.h"
#include "base/fail.h"
#include "base/log.h"

struct room_host {
	char id[WORK_ID];
	struct contract contract;
	char cores[NODE_CORES]; /* "0-1,4"; "": all */
};

struct room {
	const char *data, *sysfs_root; /* data: absolute */
	const struct log *log;
	struct driver_terms terms; /* of the driver that makes its nodes */
	struct capacity capacity;  /* as last read */
	struct room_host *hosts;
	size_t count;
};

/* Reads room.json. A damaged file is an error: its hosts' nodes may be running. */
int room_load(struct room *r, struct fail *f);
void room_release(struct room *r);

/* A node that runs here keeps what it has, whatever became of room.json. */
int room_keep(struct room *r, const struct node *n);

/*
 * Takes the market's word: forgets hosts that it lacks, and finds room for new ones. A host with a node here (has)
 * stays as it is.
 */
void room_take(struct room *r, const struct work *w, bool (*has)(const void *arg, const char *host), const void *arg);

/*
 * Finds room for a node on this host, and its processors if it was sold some. Hosts without a node (has) give way.
 * -ENOSPC: the machine cannot hold it beside the others, and the sentence.
 */
int room_place(struct room *r, const char *host, const struct contract *c,
	bool (*has)(const void *arg, const char *host), const void *arg, char cores[NODE_CORES], struct fail *f);

/*
 * Would it fit once the hosts that now have a node keep their size only if that stays, and all others have the size
 * that the market wants?
 */
bool room_later(const struct room *r, const struct work *w, const char *host, const struct contract *c,
	bool (*stays)(const void *arg, const char *host), const void *arg);

/* Thousandths of processors, bytes of memory and of disk that are promised. */
void room_promised(const struct room *r, int64_t *cpu_milli, int64_t *memory, int64_t *disk);

/* The processors that no host has to itself; "": all. false: none is left. */
bool room_rest(const struct room *r, char cores[NODE_CORES]);

#endif
