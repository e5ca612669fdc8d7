/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes the file from whom in a tree copy: a pure function of how far everybody is. Nodes form a chain, which
 * costs each link one copy; a slow node becomes a leaf beside the chain, so that nobody waits for it.
 */
#ifndef CLI_TREE_TREEPLAN_H
#define CLI_TREE_TREEPLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_NONE = -1, TREE_SOURCE = -2 };
enum { TREE_CHILDREN = 2, TREE_TRIES = 4, TREE_STALL_MS = 12000 };

struct tree_node {
	uint64_t have;    /* bytes from the beginning */
	uint64_t rate;    /* bytes a second, lately */
	int64_t still_ms; /* since it last received something */
	bool ready;       /* it answers: it can serve, and pull where it is not complete */
	bool busy;        /* it changes its parent now: leave it alone */
	bool direct;      /* only the source can reach it */
	bool slow;        /* kept between calls: it gets children only where nobody else is free */
	int parent;       /* now: a node, TREE_SOURCE or TREE_NONE */
	int next;         /* the result: the parent from now on */
	bool stuck;       /* kept, too: it gets nothing, and neither its parent nor what is above it is why */
	unsigned fails;   /* parents that failed it, each of which is never its parent again: */
	int failed[TREE_TRIES];
	/* The plan's own: children that are not complete, those that are not slow; it was looked at. */
	unsigned load, fast;
	bool seen;
};

/* How far behind its parent a node may be before its speed is judged. */
uint64_t tree_lag(uint64_t size);

/* A parent gave the node nothing, or wrong bytes. After TREE_TRIES of them the source alone sends to the node. */
void tree_blame(struct tree_node *n, int parent);

/* Sets `next`, `slow` and `stuck` of each node. */
void tree_plan(struct tree_node *nodes, size_t count, uint64_t size);

#endif
