/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that was typed as text again, as it is or changed: what to type to resume, what would
 * be filled instead, and what makes two commands the same.
 */
#ifndef CLI_RETYPE_H
#define CLI_RETYPE_H

#include "base/buf.h"
#include "cli/command.h"

/* An option by its long name; text NULL takes it away, else it replaces what was typed or is added. */
struct retype_change {
	const char *name, *text;
};

/* "nanopod buy -t h100 -n 2 …", quoted for a shell. changes ends with { 0 }, or is NULL. */
void retype(const struct command *cmd, const struct options *o, const struct retype_change *changes, struct buf *out);

/*
 * One line an option, sorted, without those that change nothing about what is asked for (-y, -o,
 * --wait …); then the words.
 */
void retype_same(const struct options *o, struct buf *out);

#endif
