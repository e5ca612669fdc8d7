/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of the market in a list of hosts, and which of them a command takes. */
#ifndef CLI_REMOTE_SELECTNODES_H
#define CLI_REMOTE_SELECTNODES_H

#include "cli/frame/command.h"
#include "pssh/pssh.h"

/* An array of the names, which belong to the list; ends with NULL; free() it. */
const char **select_names(const struct pssh_list *l);

/* Before connecting: looks up which of them are nodes of the market. */
void select_recognize(struct nanopod *np, const struct pssh_list *l);

/* Tells people on a terminal, in one line, which reservation of these nodes ends first, where that is soon. */
void select_tell_end(struct nanopod *np, const struct pssh_list *l);

/* --wait and --only-ready exclude each other; the callees below check it too. An exit status. */
int select_check(struct nanopod *np, const struct options *o);

/*
 * Applies --type, --zone, --wait and --only-ready to a list from elsewhere; select_options() does it itself. An exit
 * status.
 */
int select_nodes(struct nanopod *np, const struct options *o, struct pssh_list *l);

#endif
