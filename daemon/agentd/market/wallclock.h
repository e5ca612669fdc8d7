/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The market's time as this machine knows it: learnt from each answer, and carried on while the market is away by a
 * clock that neither jumps nor stops in sleep. Leases end by it.
 */
#ifndef AGENTD_MARKET_WALLCLOCK_H
#define AGENTD_MARKET_WALLCLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct wallclock {
	const char *file;     /* --test-clock: holds Unix seconds; NULL */
	int64_t offset;       /* market's seconds minus those since boot */
	int64_t stands;       /* the time of a market whose clock is moved by hand; 0: a running clock */
	bool learnt;
};

int64_t wallclock_now(const struct wallclock *w);
void wallclock_learn(struct wallclock *w, int64_t market_now, bool test_clock);

#endif
