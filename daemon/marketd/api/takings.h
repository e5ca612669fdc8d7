/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was settled in this month: turnover, fees and credits, by day in UTC. The ledger has no sum of them, so it is
 * read once, a bounded piece for each question, and from then on only what is new.
 */
#ifndef MARKETD_API_TAKINGS_H
#define MARKETD_API_TAKINGS_H

#include "marketd/api/api.h"

struct takings;

struct takings_sum {
	int64_t turnover; /* what sellers were paid, before fees */
	int64_t fees;
	int64_t credited; /* by the operator, less what he took back */
	int64_t minutes;  /* node-minutes that passed in leases */
};

/* *counted: false where the ledger has more: the sums are of its older part, so ask again. 0, or a reason. */
int takings_read(struct api *api, struct takings_sum *today, struct takings_sum *month, bool *counted, struct fail *f);
void takings_free(struct takings *t); /* NULL too */

#endif
