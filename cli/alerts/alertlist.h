/* SPDX-License-Identifier: Apache-2.0 */
/* What the market says is wrong now, all pages of it. */
#ifndef CLI_ALERTS_ALERTLIST_H
#define CLI_ALERTS_ALERTLIST_H

#include <stdbool.h>

#include "cli/trade/market_link.h"

struct alerts {
	struct doc **docs; /* the rows are in them */
	size_t doc_count;
	struct model_alert *list;
	size_t count;
	const char **unjudged; /* ids of machines and nodes that could not be judged in full */
	size_t unjudged_count;
	struct model_alerts_of of; /* of all pages together, without `unjudged` */
};

/*
 * The most severe first, up to the rank `least`. 0, or a negative code with m->fail set. *a is zeroed before; release
 * it in either case.
 */
int alerts_ask(struct market_link *m, int least, struct alerts *a);
void alerts_release(struct alerts *a);

/* 0: critical, 1: warning, 2: info; 3: none of them. */
int alerts_rank(const char *severity);

/* By an option --silence RULE[:THING]. */
bool alerts_silenced(const struct options *o, const struct model_alert *a);

#endif
