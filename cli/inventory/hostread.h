/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an inventory, whatever it is. */
#ifndef CLI_INVENTORY_HOSTREAD_H
#define CLI_INVENTORY_HOSTREAD_H

#include "cli/inventory/hostbook.h"

/* Adds a file, or what an executable one prints with --list. 0, or a negative code with a sentence. */
int hostread_file(struct hostbook *b, const char *path, struct fail *f);

/* A groups.conf of ClusterShell's in its usual place: one that is no regular file fails, too. */
int hostread_found(struct hostbook *b, const char *path, struct fail *f);

/* The same for a text; path: its ending may tell what it is. */
int hostread_text(struct hostbook *b, const char *path, const char *text, size_t len, struct fail *f);

#endif
