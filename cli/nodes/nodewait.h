/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until nodes run, and shows on one line how many do. Waiting changes nothing at the market. */
#ifndef CLI_NODES_NODEWAIT_H
#define CLI_NODES_NODEWAIT_H

#include <stddef.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

/*
 * Waits until all of these (names or ids) run and can be reached, or for wait_ms (below 0: without end).
 * reservation: where they are looked for; NULL: in all. start and now: when their time begins and what time
 * it is, Unix seconds, for the line that people see; start 0: not known.
 * 0: they run; 1: wait_ms ran out; 2: a signal asked to stop (*number); 3: one of them ended instead, and
 * m->fail says so; or a negative code.
 */
int nodewait_by(struct market_link *m, const char *reservation, const char *const *names, size_t count, int64_t start,
	int64_t now, int64_t wait_ms, int *number);

/* Signs in and waits like nodewait_by(). An exit status, everything said: STATUS_WAITING where wait_ms ran out. */
int nodewait(struct nanopod *np, const char *const *names, size_t count, int64_t wait_ms);

/* Prints what nodewait_by()'s answer means; hint: the command that continues waiting. An exit status; 0: they run. */
int nodewait_told(struct market_link *m, int answer, int number, const char *hint);

#endif
