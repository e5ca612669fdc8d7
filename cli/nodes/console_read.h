/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a node's console as the market keeps it: numbered pieces, so that a reader can continue where it was. */
#ifndef CLI_NODES_CONSOLE_READ_H
#define CLI_NODES_CONSOLE_READ_H

#include "cli/trade/market_link.h"

/* Anything but 0 ends the reading and is returned. */
typedef int (*console_read_fn)(void *arg, const struct model_log *l);

/*
 * Hands out the pieces after this number, oldest first. last: only so many of the newest (-1: all), for a start
 * with after 0. 0, or a negative code in m->fail.
 */
int console_read(struct market_link *m, const char *instance, uint64_t after, long last, console_read_fn fn, void *arg);

/* On our own markets a piece is a line without its newline; on others, bytes as they came. */
bool console_read_lines(const struct market_link *m);

#endif
