/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed command as text again, unchanged or changed: for hints that can be pasted, and to tell whether two
 * commands are the same.
 */
#ifndef CLI_FRAME_RETYPE_H
#define CLI_FRAME_RETYPE_H

#include "base/buf.h"
#include "cli/frame/command.h"

/* An option by its long name. text NULL: removes it; else replaces or adds it. */
struct retype_change {
	const char *name, *text;
};

/* "nanopod buy -t h100 -n 2 …", quoted for a shell. changes ends with { 0 }, or is NULL. */
void retype(const struct command *cmd, const struct options *o, const struct retype_change *changes, struct buf *out);

/* The same with these words only; NULL: with all that were typed. */
void retype_words(const struct command *cmd, const struct options *o, char *const *words,
	const struct retype_change *changes, struct buf *out);

/* A blank and one word, quoted where a shell needs it. */
void retype_word(struct buf *out, const char *text);

/* Does a shell take the word as it is, without quotes? */
bool retype_plain(const char *text);

/* Does the command have an option for each change? */
bool retype_can(const struct command *cmd, const struct retype_change *changes);

/*
 * One line per option, sorted, without those that do not change what the command does (-y, -o, --wait …); then
 * the words.
 */
void retype_same(const struct options *o, struct buf *out);

#endif
