/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of hosts in the files of pdsh and ClusterShell: genders, dsh's groups, lists of machines, groups.d. */
#ifndef CLI_DROPIN_DROPGROUPS_H
#define CLI_DROPIN_DROPGROUPS_H

#include "cli/frame/command.h"
#include "pssh/pssh.h"

/*
 * Adds the hosts of "attribute", "attribute=value", or the group of that name, comma-separated. genders: the file, or
 * NULL for PDSH_GENDERS_FILE or /etc/genders; without that file groups are dsh's, then nanopod's. An exit status.
 */
int dropgroups_pdsh(struct nanopod *np, struct pssh_list *l, const char *genders, const char *names);

/* All hosts of the genders file, or of /etc/machines. skip: but not those with pdsh_all_skip. */
int dropgroups_pdsh_all(struct nanopod *np, struct pssh_list *l, const char *genders, bool skip);

/* Makes '@name' know the groups of ClusterShell's files. An exit status. */
int dropgroups_clush(struct nanopod *np);

#endif
