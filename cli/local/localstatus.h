/* SPDX-License-Identifier: Apache-2.0 */
/* How the market and agent of `nanopod local` are, for `nanopod local status`. */
#ifndef CLI_LOCAL_LOCALSTATUS_H
#define CLI_LOCAL_LOCALSTATUS_H

#include "cli/local/localmarket.h"
#include "cli/local/localproc.h"

struct localstatus {
	struct localproc market, agent;
	bool market_runs, agent_runs;
	bool silent; /* the market runs and does not answer */
	bool known; /* the market answered: what follows is true */
	struct localhosts hosts;
	size_t running;    /* nodes */
	int64_t available; /* the buyer's money */
};

/* Looks at both daemons and asks the market, where it runs. */
void localstatus_look(struct nanopod *np, const struct localstate *s, struct localstatus *st);

/* One JSON object, or lines for people. */
void localstatus_print(struct nanopod *np, const struct localstate *s, const struct localstatus *st);

#endif
