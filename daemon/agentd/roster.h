/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of this machine: read from their journals at the start, and updated to what the market wants of them. */
#ifndef AGENTD_ROSTER_H
#define AGENTD_ROSTER_H

#include "agentd/driver.h"
#include "agentd/node_journal.h"
#include "agentd/market/work.h"
#include "agentd/room.h"
#include "base/log.h"

struct roster {
	const char *data;          /* absolute */
	const struct log *log;
	const struct driver_setup *setup; /* where nodes listen; needed only by roster_take() */
	struct room *room;                /* what is promised to whom; needed only by roster_take() */
	struct node **nodes;
	size_t count, cap;
	bool reads;                /* only for display: changes nothing on disk */
	const char *lists;         /* the driver whose list is being read (verb_nodes.c) */
};

/* The share of the machine that a new node gets of what its type does not promise. */
struct roster_share {
	const char *driver;
	bool devices; /* the driver gives nodes GPUs */
	int64_t memory, disk;
	unsigned cpu_milli, pids;
	char cores[NODE_CORES]; /* that nobody has to himself; "": all */
	bool none_left;         /* somebody has each to himself: nodes keep to those that they had */
};

/* Reads every folder below data/nodes. A journal that cannot be read makes a node that nobody ordered. */
int roster_load(struct roster *r, const char *driver, struct fail *f);
void roster_release(struct roster *r);

/* Has the host a node here, whose promise must not change? */
bool roster_has(const void *roster, const char *host);

/* The port at which the node's SSH is reached; and another one, where a program has taken that. 0: none is free. */
unsigned roster_port(const struct roster *r, const struct node *n);
unsigned roster_other_port(const struct roster *r, const struct node *n);

struct node *roster_find(const struct roster *r, const char *id);
/* Adds a node that runs here and has no journal. NULL: no memory, no slot, or the journal could not be written. */
struct node *roster_add_unknown(struct roster *r, const char *id, const char *driver, int64_t now);
/* Removes its journal and folder, and frees it. 0, or -errno if the folder is not empty (then the node stays). */
int roster_forget(struct roster *r, struct node *n);

/*
 * Takes the market's word: what it wants, until when, with which keys. On return new nodes have their journals; one
 * that others have to make room for is left to a later call. True: nodes that may run now have other processors.
 */
bool roster_take(struct roster *r, const struct work *w, const struct roster_share *share, int64_t now);

void roster_save(const struct roster *r, const struct node *n);

#endif
