/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster of `nanopod buy --stack`: checked and shown before the money is spent, installed by `nanopod provision`
 * when the nodes run. The purchase stays on disk until then, so that the same command continues.
 */
#ifndef CLI_CMD_BUY_BUY_STACK_H
#define CLI_CMD_BUY_BUY_STACK_H

#include "cli/cmd/buy/buy_plan.h"

enum { BUY_STACK_WAIT_MS = 15 * 60 * 1000 }; /* nodes that boot from a disk image take minutes */

bool buy_stack_wanted(const struct buy *b);

/* What was typed, against the stacks of this machine. 0, or an exit status after saying why. */
int buy_stack_read(struct buy *b);
void buy_stack_release(struct buy *b);

/* Adds what will be installed. */
void buy_stack_plan(const struct buy *b, struct plan *p);

/* Whether the reservation of an unfinished purchase, whose order filled, has ended: its cluster ended with it. */
bool buy_stack_has_ended(struct buy *b);

/*
 * Installs it on the nodes of the reservation. status: of what was bought so far; wait_ms: as its nodes were waited
 * for. Returns the exit status.
 */
int buy_stack_install(struct buy *b, const char *pool, const char *name, int64_t start, int64_t wait_ms, int status);

#endif
