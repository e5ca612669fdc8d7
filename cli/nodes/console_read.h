/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's console said, as the market keeps it: pieces with a number each, so that it can be gone on with. */
#ifndef CLI_NODES_CONSOLE_READ_H
#define CLI_NODES_CONSOLE_READ_H

#include "cli/trade/market_link.h"

/* Not 0 ends it, and comes back. */
typedef int (*console_read_fn)(void *arg, const struct model_log *l);

/*
 * Pieces after this number, oldest first, as many as there are. last: only so many of the newest (-1: all),
 * for a beginning with after 0. 0, or a negative code in m->fail.
 */
int console_read(struct market_link *m, const char *instance, uint64_t after, long last, console_read_fn fn, void *arg);

/* Of our own market a piece is a line without its end; of others, bytes as they came. */
bool console_read_lines(const struct market_link *m);

#endif
