/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes stop when a reservation gives back some of its hosts, and what the time was worth. The market takes hosts
 * without a node first, then those whose node has the lowest priority: so a priority chooses the node.
 */
#ifndef CLI_TRADE_GIVEBACK_H
#define CLI_TRADE_GIVEBACK_H

#include "cli/trade/reservation.h"

struct giveback_node {
	char id[64], name[256], pool[64], sku[64];
	int rank; /* of its priority: 0 goes first */
	bool goes;
};

struct giveback {
	struct giveback_node *list; /* those that are pending or run, in the order in which they go */
	size_t count, going;
	size_t idle; /* hosts that have no node go before all nodes */
	bool marked; /* the priorities must be set for these nodes to go */
};

/* The nodes of this reservation (NULL: of all) and type (NULL: any). 0, or a negative code in m->fail. */
int giveback_load(struct market_link *m, const char *pool, const char *sku, struct giveback *g);
void giveback_release(struct giveback *g);

/* By name or id. NULL. */
struct giveback_node *giveback_find(const struct giveback *g, const char *name);

/*
 * Marks the nodes that go: `one`, else as many as give back `nodes` of the `hosts` that there are. 0, or
 * REASON_WRONG_STATE in m->fail where the market would take another one.
 */
int giveback_choose(struct market_link *m, struct giveback *g, struct giveback_node *one, int64_t nodes, int64_t hosts);

/* Sets the priorities of those that go, where that is needed. 0, or a negative code in m->fail. */
int giveback_mark(struct market_link *m, const struct giveback *g);

/* "train-1, train-2" */
const char *giveback_names(const struct giveback *g, char *room, size_t size);

/*
 * What was paid for so many nodes of the reservation from then on, at the most: exact where its leases have one price.
 * 0, or a negative code in m->fail. *exact: it is.
 */
int giveback_worth(struct market_link *m, const struct reservation *r, const char *sku, int64_t from, int64_t nodes,
	int64_t *worth, bool *exact);

/* A sell order of the reservation's time after `from`: what is given back leaves the sale. */
struct giveback_offer {
	char id[64];
	int64_t nodes, start, end; /* as ordered */
};

struct giveback_offers {
	struct giveback_offer *list;
	size_t count;
};

/* Those of the type (NULL: any) that wait for buyers. 0, or a negative code in m->fail. Free the list. */
int giveback_offers(struct market_link *m, const char *pool, const char *sku, int64_t from,
	struct giveback_offers *out);

#endif
