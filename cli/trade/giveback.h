/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes end when a reservation gives back some of its hosts: the market says it. It takes hosts without a node
 * first, then those whose node has the lowest priority: so a priority chooses the node.
 */
#ifndef CLI_TRADE_GIVEBACK_H
#define CLI_TRADE_GIVEBACK_H

#include "cli/trade/reservation.h"

struct giveback_node {
	char id[64], name[256], pool[64], sku[64], type[64]; /* type: the SKU as people type it */
	int rank; /* of its priority: 0 goes first */
	bool goes, ended;
	int64_t start; /* it waits for this time; 0: it has a host */
};

struct giveback {
	struct giveback_node *list; /* those that are pending or run (or all), the highest number first */
	size_t count;
	size_t stopping, waiting; /* of those that go: they have a host; they have none */
	size_t idle; /* hosts that have no node go before all nodes */
	bool marked; /* the priorities must be set for this node to go */
};

/*
 * The nodes of this reservation (NULL: of all, with those that have ended) and type (NULL: any). 0, or a negative code
 * in m->fail.
 */
int giveback_load(struct market_link *m, const char *pool, const char *sku, struct giveback *g);
void giveback_release(struct giveback *g);

/* By name or id, one that lives before one that has ended. NULL. */
struct giveback_node *giveback_find(const struct giveback *g, const char *name);

/* Takes over which nodes end by what the market says; it knows those that the list lacks, too. */
void giveback_take(struct giveback *g, const struct model_release *said);

/* How a hint types the release of its reservation: its name with the type where it has several, and " --from TIME". */
struct giveback_words {
	char subject[256], from[64];
};

/*
 * Whether this node can be given back alone, after the market said what a release of all hosts ends. 0, or
 * REASON_WRONG_STATE in m->fail.
 */
int giveback_may(struct market_link *m, const struct giveback *g, const struct giveback_node *one,
	const struct giveback_words *words);

/*
 * Makes it the one that goes, after the market said which it would take. Fails like giveback_may(), also where other
 * time might go with it or instead of it: the market tells only of what it would take itself.
 */
int giveback_choose(struct market_link *m, struct giveback *g, struct giveback_node *one,
	const struct giveback_words *words);

/* Sets the priorities of those that go, where that is needed. 0, or a negative code in m->fail. */
int giveback_mark(struct market_link *m, const struct giveback *g);

/* "train-1, train-2": those that go and wait for their time, or that have a host. */
const char *giveback_names(const struct giveback *g, bool waiting, char *room, size_t size);

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
