/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `price`, `buy`, `extend` and `sell` are told in the same words: how many nodes of which type,
 * when, at which price. All that can be checked without the market is checked first.
 */
#ifndef CLI_TRADE_WISH_H
#define CLI_TRADE_WISH_H

#include "cli/frame/command.h"
#include "cli/trade/market_link.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/window.h"

struct wish {
	struct window window;
	int64_t nodes;
	int64_t limit;        /* node-minute price; after wish_price() */
	int64_t max_total;    /* the smaller of --max-total and spend-max; 0: none */
	const char *max_where; /* which of them it is */
	bool per_node;        /* --per node */
	int64_t clock_at, clock_ms; /* the market's time, and ours, when it was asked */
	bool clock_stands;    /* a test's */
};

/* Options that a command has: those that it lacks are not asked for. */
enum wish_flags { WISH_WINDOW = 1, WISH_PRICE = 2, WISH_NEEDS_PRICE = 4, WISH_SPENDS = 8, WISH_NODES = 16 };

/* Without the network, by this machine's clock. 0, or an exit status and it was said why. */
int wish_read(struct nanopod *np, const struct options *o, unsigned flags, struct wish *w);

/* The window again, by the market's clock. */
int wish_window(struct nanopod *np, const struct options *o, int64_t now, struct wish *w);

/* --price for nodes with so many GPUs. */
int wish_price(struct nanopod *np, const struct options *o, const struct sku *sku, struct wish *w);

/* GPUs of the unit in which this command line speaks of prices: 0 where it is a node. */
unsigned wish_gpus(const struct wish *w, const struct sku *sku);

/* Which market is it: 1 one of ours, 0 another's, or below 0 (market_fail tells). Sets the clock. */
int wish_market(struct market_link *m, struct wish *w);
int64_t wish_now(const struct wish *w); /* what time it is there */

/* How long to wait, in ms: 0 with --no-wait, --wait=5m; without a word `otherwise`. */
int64_t wish_wait(const struct options *o, int64_t otherwise);
int wish_check_wait(struct nanopod *np, const struct options *o);

#endif
