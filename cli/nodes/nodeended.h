/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a name that no node has any more. */
#ifndef CLI_NODES_NODEENDED_H
#define CLI_NODES_NODEENDED_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/frame/command.h"

/*
 * True: the host, as typed, was a node of the account and ended; a sentence says when. It asks the market, in silence,
 * where the command did so before or the name looks like a node's.
 */
bool node_ended_told(struct nanopod *np, const char *host, char *room, size_t size);

#endif
