/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until nodes run, with a line that says how far it is. Waiting never changes anything. */
#ifndef CLI_NODES_NODEWAIT_H
#define CLI_NODES_NODEWAIT_H

#include <stddef.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

/*
 * Until all of these (names or ids) run and can be reached, or wait_ms is over (below 0: for ever).
 * reservation: where they are looked for; NULL: in all. 0: they run; 1: the time ran out; 2: a signal
 * asked to stop (*number); 3: one of them ended instead, and m->fail says so; or a negative code.
 */
int nodewait_by(struct market_link *m, const char *reservation, const char *const *names, size_t count, int64_t wait_ms,
	int *number);

/* The same as an exit status, everything said: STATUS_WAITING where the time ran out. */
int nodewait(struct nanopod *np, const char *const *names, size_t count, int64_t wait_ms);

/* What to say of nodewait_by()'s answer; hint: what goes on with it. An exit status; 0: they run. */
int nodewait_told(struct market_link *m, int answer, int number, const char *hint);

#endif
