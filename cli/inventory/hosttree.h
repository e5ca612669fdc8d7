/* SPDX-License-Identifier: Apache-2.0 */
/* Inventories of maps: Ansible's YAML, the JSON of its scripts and of `terraform output`. */
#ifndef CLI_INVENTORY_HOSTTREE_H
#define CLI_INVENTORY_HOSTTREE_H

#include "cli/inventory/hostbook.h"

int hosttree_read(struct hostbook *b, const char *path, const char *text, size_t len, struct fail *f);

#endif
