/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the commands of ClusterShell's sources for the hosts of a group. */
#ifndef CLI_INVENTORY_HOSTCALL_H
#define CLI_INVENTORY_HOSTCALL_H

#include "base/buf.h"
#include "cli/inventory/hostbook.h"

/* What a program prints, which gets no standard input. folder: where it runs, or NULL. what: its name in errors. */
int hostcall_run(const char *what, const char *const *words, const char *folder, struct buf *out, struct fail *f);

/* The group of the book, or "group" or "source:group" of a source that has it; else NULL. 0, or a negative code. */
int hostcall_ask(struct hostbook *b, const char *name, const char **text, struct fail *f);

#endif
