/* SPDX-License-Identifier: Apache-2.0 */
/* The local side of nanopod cp: what "{host}" in a path stands for, and mistakes found before connecting. */
#ifndef CLI_CMD_CP_LOCAL_H
#define CLI_CMD_CP_LOCAL_H

#include "cli/frame/command.h"
#include "pssh/pssh.h"

/* All return an exit status, and have told the person what is wrong. */

/* A local source. With "{host}" in it, hosts says for whom. */
int cp_local_check(struct nanopod *np, const char *path, bool recursive, const struct pssh_list *hosts);

/* Two hosts that "{host}" does not tell apart, as 'a@n1' and 'b@n1'. */
int cp_local_apart(struct nanopod *np, const struct pssh_list *hosts, const char *target);

/* Two sources that would get one name in the target directory. */
int cp_local_twice(struct nanopod *np, const char *a, const char *b);

#endif
