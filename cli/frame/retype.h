/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that was typed as text again, as it is or changed: what to type to resume, what would
 * be filled instead, and what makes two commands the same.
 */
#ifndef CLI_FRAME_RETYPE_H
#define CLI_FRAME_RETYPE_H

#include "base/buf.h"
#include "cli/frame/command.h"

/* An option by its long name; text NULL takes it away, else it replaces what was typed or is added. */
struct retype_change {
	const char *name, *text;
};

/* "nanopod buy -t h100 -n 2 …", quoted for a shell. changes ends with { 0 }, or is NULL. */
void retype(const struct command *cmd, const struct options *o, const struct retype_change *changes, struct buf *out);

/* The same for some of the words that were typed only; NULL: all of them. */
void retype_words(const struct command *cmd, const struct options *o, char *const *words,
	const struct retype_change *changes, struct buf *out);

/* This command can be told so: it has an option for each change. */
bool retype_can(const struct command *cmd, const struct retype_change *changes);

/*
 * One line an option, sorted, without those that change nothing about what is asked for (-y, -o,
 * --wait …); then the words.
 */
void retype_same(const struct options *o, struct buf *out);

#endif
