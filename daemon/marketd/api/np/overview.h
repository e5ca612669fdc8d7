/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A market in numbers, for its operator: counted anew for each question in one pass over accounts, leases, hosts,
 * orders, nodes and machines; nothing is sorted but types. 10,000 hosts with a lease each take about 10 ms.
 */
#ifndef MARKETD_API_NP_OVERVIEW_H
#define MARKETD_API_NP_OVERVIEW_H

#include "marketd/api/api.h"

enum { OVERVIEW_AWAY = 10, OVERVIEW_DAY = 1440, OVERVIEW_WEEK = 7 * OVERVIEW_DAY }; /* rows; minutes */

/* Node-minutes of hosts that are not retired. */
struct overview_time {
	int64_t sold, on_sale; /* on_sale: of hosts that are up */
};

struct overview_type {
	const struct sku *sku;
	int64_t hosts, up;
	struct overview_time now, day, week; /* now: one minute, so nodes */
};

/* A machine that is silent, or a host that is down for another reason. */
struct overview_away {
	const struct agent *agent; /* NULL: a host */
	const struct host *host;   /* NULL: a machine */
	int64_t since;             /* Unix seconds; 0: unknown */
	int64_t hosts, sold;       /* hosts of the machine; of those, leased now */
};

struct overview {
	int64_t accounts, suspended, buying, selling;
	int64_t available, held, escrow; /* of all accounts */
	int64_t per_minute;              /* what running leases cost */
	struct {
		int64_t up, down, silent, draining; /* silent: their machine is; draining: of those that are up */
	} hosts;
	struct {
		int64_t up, silent, joined;
	} machines;
	struct {
		int64_t running, starting, pending, longest_start; /* seconds */
	} nodes;
	int64_t buys, sells; /* open orders */
	struct overview_type *types;
	size_t type_count;
	struct overview_away away[OVERVIEW_AWAY]; /* longest away first */
	size_t away_count, away_total;
};

/* 0, or -ENOMEM. Points into the engine; free with overview_release(). */
int overview_count(const struct api *api, struct overview *out);
void overview_release(struct overview *o);

#endif
