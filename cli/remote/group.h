/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered output: hosts that said the same are one group, the largest first. */
#ifndef CLI_REMOTE_GROUP_H
#define CLI_REMOTE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct fanout;

/* diff: the largest group's output, then of each other group only where it differs. */
void group_show(struct fanout *f, bool diff);

/*
 * Adds text for a terminal: colours stay, all else that could drive it goes ('?'), as does the
 * carriage return at a line's end. A code of buf_add.
 */
int group_harmless(struct buf *out, const char *text, size_t len);

#endif
