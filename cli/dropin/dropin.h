/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod under the name of another tool: pdsh, pdcp, rpdcp, clush, pssh, pscp. What they share: their options become
 * nanopod's settings, and what nanopod has not is refused by name.
 */
#ifndef CLI_DROPIN_DROPIN_H
#define CLI_DROPIN_DROPIN_H

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/frame/settings.h"

/* An option of the tool that is refused, and what to use instead. */
struct dropin_absent {
	const char *option, *instead; /* option NULL ends a list */
};

/* All return an exit status, and have told the person what is wrong. */

int dropin_refuse(struct nanopod *np, const struct options *o, const struct dropin_absent *absent);

/* Sets a setting over files and NANOPOD_*; where: the option or variable that says so. text NULL: leaves it. */
int dropin_set(struct nanopod *np, enum setting id, const char *text, const char *where);

/* The same for seconds: "10", "0.5"; "0" is no timeout. */
int dropin_seconds(struct nanopod *np, enum setting id, const char *text, const char *where);

/* --fanout; text NULL: the tool's own number, unless a file or NANOPOD_FANOUT has one. */
int dropin_fanout(struct nanopod *np, const char *text, const char *usual, const char *where);

/* The words of the command, with the "--" among them that parsing took out. A code of buf_add. */
int dropin_join(const struct options *o, struct buf *out);

/* The option's text, else the variable's, else fallback. */
const char *dropin_text(const struct options *o, const char *option, const char *variable, const char *fallback);

/* The variable, or NULL where it is empty. */
const char *dropin_env(const char *variable);

/* "pdsh 1.2.3 (nanopod)" */
int dropin_version(struct nanopod *np, const char *tool);

#endif
