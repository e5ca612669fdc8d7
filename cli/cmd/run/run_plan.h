/* SPDX-License-Identifier: Apache-2.0 */
/* What nanopod run decides before it connects: --pick, and --dry-run, which shows the rest. */
#ifndef CLI_CMD_RUN_RUN_PLAN_H
#define CLI_CMD_RUN_RUN_PLAN_H

#include <stddef.h>

#include "cli/frame/command.h"
#include "cli/remote/perhost.h"
#include "pssh/pssh.h"

/* Leaves n of the hosts in *list, at random and in their order, and says which. An exit status. */
int run_plan_pick(struct nanopod *np, struct pssh_list **list, size_t n);

/* Prints each host with its command as a person would type it there. user: of sudo, or NULL. An exit status. */
int run_plan_show(struct nanopod *np, const struct pssh_list *hosts, const struct perhost *p, const char *user);

#endif
