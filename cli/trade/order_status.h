/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an order that was placed, and waiting for the rest. Stopping to wait leaves the order as it is. */
#ifndef CLI_TRADE_ORDER_STATUS_H
#define CLI_TRADE_ORDER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

struct order_status {
	char id[64], pool[64], pool_name[256], sku[64];
	enum model_order_status status;
	char status_text[32];
	bool sell, standing, granted;
	int64_t limit, average;                         /* prices; average -1: nothing filled */
	int64_t start, end, nodes;                      /* as ordered */
	int64_t filled_start, filled_end,
		filled_nodes; /* first and last second, most nodes at once; 0: nothing filled */
	int64_t filled_minutes;                         /* node-minutes */
	int64_t total; /* micro-dollars for what filled; computed from the average where the market does not say */
	int64_t hold;
	int reason; /* enum reason; REASON_NONE */
	char reason_text[64];
};

void order_status_copy(struct order_status *p, const struct model_order *o);

/* The order in m->doc; the order with this id. 0 or a negative code in m->fail. */
int order_status_take(struct market_link *m, struct order_status *p);
int order_status_look(struct market_link *m, const char *id, struct order_status *p);

/* The status for a cell: the word of the market for programs, a plainer one for people. */
const char *order_status_cell(const struct nanopod *np, const struct order_status *p);

bool order_status_decided(const struct order_status *p); /* it cannot change any more */
bool order_status_filled(const struct order_status *p);  /* in full */

/*
 * Waits until the order is decided, at most wait_ms (below 0: for ever). 0: decided; 1: timed out; 2: a
 * signal asked to stop (*number); or a negative code in m->fail. Call it between signals_begin() and
 * signals_end().
 */
int order_status_wait(struct market_link *m, struct order_status *p, int64_t wait_ms, int *number);

#endif
