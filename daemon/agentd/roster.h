/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of this machine: read from their journals at the start, and brought to what the market wants of them. */
#ifndef AGENTD_ROSTER_H
#define AGENTD_ROSTER_H

#include "agentd/node_journal.h"
#include "agentd/market/work.h"
#include "base/log.h"

struct roster {
	const char *data;          /* absolute */
	const struct log *log;
	struct node **nodes;
	size_t count, cap;
	bool reads;                /* for showing alone: nothing on disk is changed */
	const char *lists;         /* whose list is being read (verb_nodes.c) */
};

/* What a new node gets. */
struct roster_share {
	const char *driver;
	int64_t memory, disk;
	unsigned cpu_milli;
};

/* Every folder below data/nodes. A journal that cannot be read makes a node that nobody ordered. */
int roster_load(struct roster *r, const char *driver, struct fail *f);
void roster_release(struct roster *r);

struct node *roster_find(const struct roster *r, const char *id);
/* It runs here, and is in no journal. NULL: no memory, no slot, or it could not be written down. */
struct node *roster_add_unknown(struct roster *r, const char *id, const char *driver, int64_t now);
/* Its journal and folder go, and it is freed. 0, or -errno where something is left in the folder (then it stays). */
int roster_forget(struct roster *r, struct node *n);

/* The market's word: what is wanted, until when, with which keys. New nodes are in their journals when this returns. */
void roster_take(struct roster *r, const struct work *w, const struct roster_share *share, int64_t now);

void roster_save(const struct roster *r, const struct node *n);

#endif
