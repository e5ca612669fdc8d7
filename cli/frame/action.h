/* SPDX-License-Identifier: Apache-2.0 */
/* Commands with actions: `nanopod token create`, `nanopod admin host add`. */
#ifndef CLI_FRAME_ACTION_H
#define CLI_FRAME_ACTION_H

#include "cli/frame/command.h"

struct action {
	const char *name;          /* "create", "host add"; { 0 } ends the list */
	const char *usage;         /* what follows the name: "NAME [--scope LIST]" */
	int min, max;              /* number of words after the name */
	/* words: after the name; ends with NULL */
	int (*run)(struct nanopod *np, const struct options *o, char **words);
};

/* Runs the action that the positionals name, or lists the actions. fallback: what no words mean; NULL: nothing. */
int action_run(struct nanopod *np, const struct options *o, const char *command, const struct action *actions,
	const char *fallback);

/* ": URL", the argument that a usage such as "URL [--name NAME]" has at n, from 0 on; "" where it has none. */
enum { ACTION_MISSING = 80 };
const char *action_missing(const char *usage, int n, char room[ACTION_MISSING]);

#endif
