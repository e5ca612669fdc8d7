/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order that was placed, as far as is known, and waiting for what becomes of it. Waiting never
 * changes anything: whoever stops it leaves the order as it is.
 */
#ifndef CLI_TRADE_ORDER_STATUS_H
#define CLI_TRADE_ORDER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

struct order_status {
	char id[64], pool[64], pool_name[256], sku[64];
	enum model_order_status status;
	char status_text[32];
	bool sell, standing;
	int64_t limit, average;                         /* prices; average -1: nothing filled */
	int64_t start, end, nodes;                      /* what was asked for, as the market took it */
	int64_t filled_start, filled_end, filled_nodes; /* the first and last moment, the most at once; 0: nothing */
	int64_t filled_minutes;                         /* node-minutes */
	int64_t total; /* micro-dollars of what filled; by average where the market does not tell */
	int64_t hold;
	int reason; /* enum reason; REASON_NONE */
	char reason_text[64];
};

void order_status_copy(struct order_status *p, const struct model_order *o);

/* Reads m->doc. 0 or a negative code in m->fail. */
int order_status_take(struct market_link *m, struct order_status *p);
int order_status_look(struct market_link *m, const char *id, struct order_status *p);

bool order_status_decided(const struct order_status *p); /* nothing more can become of it */
bool order_status_filled(const struct order_status *p);  /* the whole of it */

/*
 * Until it is decided, or wait_ms is over (below 0: for ever; 0: not at all). 0: decided; 1: the
 * time ran out; 2: a signal asked to stop (*number); or a negative code in m->fail. Between
 * signals_begin() and signals_end().
 */
int order_status_wait(struct market_link *m, struct order_status *p, int64_t wait_ms, int *number);

#endif
