/* SPDX-License-Identifier: Apache-2.0 */
/* What every door does: pssh.c, pssh_host.c and pssh_task.c check arguments and hand them on. */
#ifndef PSSH_ENTRY_H
#define PSSH_ENTRY_H

#include "pssh/fleet/fleet.h"

int door_invalid(struct pssh *p, const char *what);  /* PSSH_EINVAL, with that sentence */
int door_no_memory(struct pssh *p);                  /* PSSH_ENOMEM */

/* Replaces a text of ours by a copy of the caller's, or by nothing. */
int door_replace(struct pssh *p, char **where, const char *text);

#endif
