/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered output: hosts with the same output form a group, the largest first. */
#ifndef CLI_REMOTE_GROUP_H
#define CLI_REMOTE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct fanout;

/* diff: prints the largest group's output, then only the differences of each other group. */
void group_show(struct fanout *f, bool diff);

/*
 * Adds lines without what a carriage return in a line overwrites, as a progress bar does it: the last state is what a
 * person would see. A code of buf_add.
 */
int group_last_state(struct buf *out, const char *text, size_t len);

/*
 * The same for a terminal: keeps colours, replaces other control characters by '?', drops the carriage return at
 * the end of a line. A code of buf_add.
 */
int group_harmless(struct buf *out, const char *text, size_t len);

#endif
