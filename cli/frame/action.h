/* SPDX-License-Identifier: Apache-2.0 */
/* Commands whose first words say what they do: `nanopod token create`, `nanopod admin host add`. */
#ifndef CLI_FRAME_ACTION_H
#define CLI_FRAME_ACTION_H

#include "cli/frame/command.h"

struct action {
	const char *name;          /* "create", "host add"; { 0 } ends the list */
	const char *usage;         /* what follows the name: "NAME [--scope LIST]" */
	int min, max;              /* of words after the name */
	/* words: those after the name, ends with NULL */
	int (*run)(struct nanopod *np, const struct options *o, char **words);
};

/* Finds it by the positionals and runs it, or says what there is. fallback: where no word was typed; NULL: none. */
int action_run(struct nanopod *np, const struct options *o, const char *command, const struct action *actions,
	const char *fallback);

#endif
