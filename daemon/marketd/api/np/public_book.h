/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is for sale of each type from the next minute on, for who has no account: counted in one pass over the hosts.
 * It knows prices and nodes, and not whose they are.
 */
#ifndef MARKETD_API_NP_PUBLIC_BOOK_H
#define MARKETD_API_NP_PUBLIC_BOOK_H

#include "marketd/api/api.h"

enum { PUBLIC_WINDOWS = 3, PUBLIC_ASKS = 5 };

extern const int64_t public_minutes[PUBLIC_WINDOWS]; /* an hour, a day, a week */

/* Nodes that cost the same for a window. */
struct public_ask {
	int64_t cost;    /* of the window, micro-dollars */
	int64_t dearest; /* the limit that buys one: the price of its dearest minute */
	int64_t nodes;
};

struct public_window {
	int64_t nodes;                       /* that have all of the window for sale */
	struct public_ask asks[PUBLIC_ASKS]; /* the cheapest first */
	int ask_count;
};

struct public_type {
	const struct sku *sku;
	int64_t hosts;    /* that are up */
	int64_t on_sale;  /* nodes, in the next minute, that can be bought one by one */
	int64_t together; /* nodes, in the next minute, of offers that are sold only whole */
	struct public_window windows[PUBLIC_WINDOWS];
};

struct public_book {
	struct public_type *types; /* in order of id */
	size_t count;
};

/* 0, or -ENOMEM. Points into the engine; free with public_book_release(). */
int public_book_count(const struct engine *e, struct public_book *out);
void public_book_release(struct public_book *b);

#endif
