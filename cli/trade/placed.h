/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order that was placed, as far as is known, and waiting for what becomes of it. Waiting never
 * changes anything: whoever stops it leaves the order as it is.
 */
#ifndef CLI_TRADE_PLACED_H
#define CLI_TRADE_PLACED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

struct placed {
	char id[64], pool[64], pool_name[256], sku[64];
	enum model_order_status status;
	char status_text[32];
	bool sell, standing;
	int64_t limit, average;         /* prices; average -1: nothing filled */
	int64_t start, end, nodes;      /* what was asked for, as the market took it */
	int64_t filled_start, filled_end, filled_nodes; /* the first and last moment, the most at once; 0: nothing */
	int64_t filled_minutes;         /* node-minutes */
	int64_t total;                  /* micro-dollars of what filled; by average where the market does not tell */
	int64_t hold;
	int reason;                     /* enum reason; REASON_NONE */
	char reason_text[64];
};

void placed_copy(struct placed *p, const struct model_order *o);

/* Reads m->doc. 0 or a negative code in m->fail. */
int placed_take(struct market_link *m, struct placed *p);
int placed_look(struct market_link *m, const char *id, struct placed *p);

bool placed_decided(const struct placed *p); /* nothing more can become of it */
bool placed_filled(const struct placed *p);  /* the whole of it */

/*
 * Until it is decided, or wait_ms is over (below 0: for ever; 0: not at all). 0: decided; 1: the
 * time ran out; 2: a signal asked to stop (*number); or a negative code in m->fail. Between
 * signals_begin() and signals_end().
 */
int placed_wait(struct market_link *m, struct placed *p, int64_t wait_ms, int *number);

#endif
