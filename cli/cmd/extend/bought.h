/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the orders of a reservation bought of one type, as the market lists them: what they cost, and which ends of its
 * nodes are those that were bought. Where its account sold or released time, or a host took it back, nodes end, too.
 */
#ifndef CLI_CMD_EXTEND_BOUGHT_H
#define CLI_CMD_EXTEND_BOUGHT_H

#include "cli/trade/order_status.h"
#include "cli/trade/reservation.h"

struct bought {
	int64_t sum;                 /* micro-dollars */
	char last[64];               /* the newest order of any type; "": none */
	struct order_status *orders; /* of this type that filled, the newest first */
	size_t count, room;
	int64_t *given_up; /* from when on; one for each node and time */
	size_t given_up_count, given_up_room;
};

void bought_release(struct bought *b);

/* 0, or a negative code in m->fail. */
int bought_read(struct market_link *m, const char *reservation, const char *sku, struct bought *out);

/* Of these ends of its nodes, those that were bought, in place. Returns how many there are. */
size_t bought_ends(const struct bought *b, struct part_end_at *list, size_t count);

/* What this order of `now` cost since `before`. */
int64_t bought_since(const struct bought *before, const struct order_status *now);

#endif
