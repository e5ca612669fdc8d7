/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of groups as ClusterShell's groups.conf has them: a section each, with commands that print a group's hosts.
 * They run when a group is asked for, by /bin/sh, and only from files of this user or root that nobody else may write.
 */
#ifndef CLI_INVENTORY_HOSTCONF_H
#define CLI_INVENTORY_HOSTCONF_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cli/inventory/hostbook.h"

/* Is it of this kind: "*.conf", and has [Main] with one of its keys, or a section with 'map' or 'mapall'? */
bool hostconf_is(const char *path, const char *text);

/*
 * Adds the sources of the file, of its confdir and its autodir. st: of the file that the text was read from, for what
 * it names is run. 0, or a negative code.
 */
int hostconf_read(struct hostbook *b, const char *path, const char *text, const struct stat *st, struct fail *f);

/* "$GROUP", "${CFGDIR}", "$$", as Python's Template fills them in. names: pairs, ends with NULL. malloc'd. */
char *hostconf_fill(const char *text, const char *const *names);

#endif
