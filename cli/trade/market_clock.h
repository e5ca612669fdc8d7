/* SPDX-License-Identifier: Apache-2.0 */
/* What time it is at the market: orders are for its minutes, and a test moves its clock. */
#ifndef CLI_TRADE_MARKET_CLOCK_H
#define CLI_TRADE_MARKET_CLOCK_H

#include "cli/trade/market_link.h"

struct market_clock {
	int64_t at;       /* the market's time when it was asked, in Unix seconds */
	int64_t asked_ms; /* our clock_ms() at that moment */
	bool stands;      /* a test's clock, which does not run */
};

/*
 * Asks the market. 1: a nanopod market; 0: another, so the clock of this machine counts;
 * below 0: it could not be asked, and market_fail() says why.
 */
int market_clock_read(struct market_link *m, struct market_clock *c);

/* Asks again, for a command that runs for hours at a market of ours. 0, or a negative code in m->fail. */
int market_clock_again(struct market_link *m, struct market_clock *c);

int64_t market_clock_now(const struct market_clock *c);

#endif
