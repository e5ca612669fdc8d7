/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sponsors and sellers are promised, and nothing of how it is kept: a grant never costs more than its maximum;
 * nobody gets back more than they paid themselves, so that nobody makes money of a grant; what a grant paid for is not
 * sold on. From events and effects alone.
 */
#ifndef TESTS_SIM_GIFTS_H
#define TESTS_SIM_GIFTS_H

#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"

struct gifts {
	struct gift {
		uint64_t id, sponsor;
		int64_t max, net;
	} * list;
	size_t count;
	struct gift_lease {
		uint64_t id, grant, order, buyer, seller;
	} * leases;
	size_t lease_count;
	struct gift_order {
		uint64_t id;
		int64_t net; /* what its buyer paid, less what came back */
	} * orders;
	size_t order_count;
	long paid, returned; /* times that a grant paid, and that some of it came back */
};

/* An event that was done. NULL, or what is wrong. */
const char *gifts_look(struct gifts *g, const struct event *ev, const struct effects *did);
void gifts_release(struct gifts *g);

#endif
