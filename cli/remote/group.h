/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered output: hosts with the same output form a group, the largest first. */
#ifndef CLI_REMOTE_GROUP_H
#define CLI_REMOTE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/remote/fold.h"

struct buf;
struct fanout;
struct outcome;

struct group {
	struct outcome **hosts; /* in their order */
	size_t count;
};

struct groups {
	struct group *items; /* the largest first */
	size_t count;
	struct outcome **sorted;
};

/* The hosts by what they answered; all: also those that were not reached. */
void groups_make(struct fanout *f, bool all, struct groups *g);
void groups_release(struct groups *g);

char *group_text_of(struct fold_place place, size_t *len); /* free() it */

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

/* The same, and turns off the colour that the text leaves on. */
int group_shown(struct buf *out, const char *text, size_t len);

#endif
