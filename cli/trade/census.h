/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes a reservation has, and how many have to be started for its time to be used. A node ends with the time of
 * its host, so a later window needs a node of its own, which waits until then.
 */
#ifndef CLI_TRADE_CENSUS_H
#define CLI_TRADE_CENSUS_H

#include "cli/trade/market_link.h"
#include "cli/trade/reservation.h"

struct census {
	const char *sku, *name;
	size_t waiting;      /* for a host */
	int64_t *ends;       /* of those that have one; 0: unknown */
	size_t running;
	long next;           /* NAME-next is the first free name */
};

/* For market_each() over instances of the reservation `name`. */
int census_count(void *arg, struct doc *d, long at, struct fail *f);
void census_release(struct census *c);

/* How many more nodes the part's time from now on has room for. */
int64_t census_missing(const struct census *c, const struct reservation_part *part, int64_t now);

#endif
