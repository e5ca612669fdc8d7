/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was typed for an order, in the same words for `price`, `buy`, `extend` and `sell`: how many nodes of
 * which type, when, at which price. What can be checked without the market is checked first.
 */
#ifndef CLI_TRADE_ORDER_ARGS_H
#define CLI_TRADE_ORDER_ARGS_H

#include "cli/frame/command.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/window.h"

struct order_args {
	struct window window;
	int64_t nodes;
	int64_t limit;         /* price per node-minute; set by order_args_price() */
	int64_t max_total;     /* the smaller of --max-total and spend-max; 0: none */
	const char *max_where; /* "--max-total" or "spend-max" */
	bool per_node;         /* --per node */
	struct market_clock clock;
};

/* Which of the options a command has; the others are not read. */
enum order_args_flags {
	ORDER_ARGS_WINDOW = 1,
	ORDER_ARGS_PRICE = 2,
	ORDER_ARGS_NEEDS_PRICE = 4,
	ORDER_ARGS_SPENDS = 8,
	ORDER_ARGS_NODES = 16,
};

/* Those below return 0, or an exit status after saying why, unless they say otherwise. */

/* Without the network: the window is by this machine's clock, where that can be, and the price is only checked. */
int order_args_read(struct nanopod *np, const struct options *o, unsigned flags, struct order_args *w);

/* The window again, by the market's clock. now 0: before it is known. */
int order_args_window(struct nanopod *np, const struct options *o, int64_t now, struct order_args *w);

/* Sets limit from --price, now that the number of GPUs per node is known. */
int order_args_price(struct nanopod *np, const struct options *o, const struct sku *sku, struct order_args *w);

/* GPUs of the unit that prices on this command line are for; 0: a node. */
unsigned order_args_gpus(const struct order_args *w, const struct sku *sku);

/* How long to wait, in ms: 0 with --no-wait, 5 minutes with a bare --wait, `otherwise` with neither. */
int64_t order_args_wait(const struct options *o, int64_t otherwise);
int order_args_check_wait(struct nanopod *np, const struct options *o);

#endif
