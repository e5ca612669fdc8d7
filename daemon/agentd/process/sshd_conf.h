/* SPDX-License-Identifier: Apache-2.0 */
/* What runs a node of the process driver: the program nanopod-node, sshd's settings, its port. */
#ifndef AGENTD_PROCESS_SSHD_CONF_H
#define AGENTD_PROCESS_SSHD_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "agentd/driver.h"

/* Finds nanopod-node: in $NANOPOD_LIBEXEC, beside this program, or where it was installed. */
int process_program(char *room, size_t size, struct fail *f);

/* Writes dir/ssh/sshd_config, and the key beside it. */
int process_conf(const struct node_spec *n, bool plain, const char *program, struct fail *f);

#endif
