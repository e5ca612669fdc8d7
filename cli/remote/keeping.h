/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that outlive a command: where they are kept, and whether this command wants them. */
#ifndef CLI_REMOTE_KEEPING_H
#define CLI_REMOTE_KEEPING_H

#include "cli/frame/command.h"
#include "pssh/pssh.h"

/* The folder of this user's keepers; malloc'd. Without `make`, NULL where it does not exist. */
char *keeping_folder(bool make);

/* By --keep: the fleet borrows kept connections, and leaves its own. A failure is a warning: it works without. */
void keeping_apply(struct nanopod *np, struct pssh *fleet);

/*
 * What is kept, for free(); none where nothing ever was. *silent: how many more have a keeper that does not
 * answer; NULL: that is a warning. An exit status.
 */
int keeping_list(struct nanopod *np, bool stop, struct pssh_kept **list, size_t *count, size_t *silent);

#endif
