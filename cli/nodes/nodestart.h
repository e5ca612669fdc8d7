/* SPDX-License-Identifier: Apache-2.0 */
/* When a pending node starts, and what it waits for, in words. */
#ifndef CLI_NODES_NODESTART_H
#define CLI_NODES_NODESTART_H

#include "cli/nodes/nodedata.h"

enum { NODESTART_TEXT = 400 };

/* "41 s", "2:05", "1:02:05" */
const char *nodestart_left(int64_t ms, char room[NODESTART_TEXT]);

/* "starts at 15:19"; of a time that is further away with its day. ms: until then. */
const char *nodestart_at(int64_t start, int64_t ms, char room[NODESTART_TEXT]);

/* Milliseconds until a pending node's time begins; 0: it has begun, or nobody knows when it does. */
int64_t node_starts_in(const struct node *n);

/* "starts at 15:19 (in 41 s)", or its host's or the market's message. NULL: there is nothing to say of it. */
const char *node_why(const struct node *n, char room[NODESTART_TEXT]);

#endif
