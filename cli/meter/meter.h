/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod admin meter: usage events of the ledger, or of a gateway's spool, to whoever bills or meters, once each; and
 * whether all arrived.
 */
#ifndef CLI_METER_METER_H
#define CLI_METER_METER_H

#include "cli/meter/meterbook.h"
#include "cli/meter/meterspool.h"
#include "cli/meter/meterway.h"
#include "cli/trade/market_link.h"

struct meter {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;    /* NULL: the events are the spool's */
	struct meter_spool spool; /* --from-file */
	struct meter_way way;
	struct meter_book book;
	bool catching; /* signals, without a market */
	char *key;     /* the receiver's */
	int64_t from;  /* --from, Unix seconds; 0: from the first event on */
};

/* Signs in or opens the spool; opens the receiver and its book. 0 or an exit status. Close it in both cases. */
int meter_open(struct meter *x, struct nanopod *np, const struct options *o, int64_t from);
void meter_close(struct meter *x);

/* A page of the ledger after `after` ("": from x->from on). Free *list. 0, or a negative code in m->fail. */
int meter_page(struct meter *x, const char *after, size_t limit, struct model_usage **list, size_t *count);

int meter_send(struct meter *x);  /* an exit status */
int meter_check(struct meter *x); /* an exit status: STATUS_CHECK where the receiver counted something else */

#endif
