/* SPDX-License-Identifier: Apache-2.0 */
/* Inventories of lines: Ansible's INI, ClusterShell, /etc/hosts, `sinfo -N`, names and ranges alone. */
#ifndef CLI_INVENTORY_HOSTLINES_H
#define CLI_INVENTORY_HOSTLINES_H

#include "cli/inventory/hostbook.h"

int hostlines_read(struct hostbook *b, const char *text, struct fail *f);

#endif
