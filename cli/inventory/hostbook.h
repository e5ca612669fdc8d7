/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts and groups as files of other programs have them: Ansible (INI, YAML, the JSON of a script), ClusterShell's
 * groups, Terraform's output and state, Kubernetes' nodes, Slurm's lists of nodes, /etc/hosts. Names are theirs;
 * addresses and keys come along.
 */
#ifndef CLI_INVENTORY_HOSTBOOK_H
#define CLI_INVENTORY_HOSTBOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "base/table.h"

struct hostbook_host {
	char *address, *user, *key_file; /* NULL: not told */
	unsigned port;                   /* 0: not told */
};

/* A source of groups that ClusterShell's groups.conf has: commands, or groups of the book "NAME:group". */
struct hostbook_source {
	char *name, *folder;             /* folder: $CFGDIR, where the commands run */
	char *map, *all, *list, *mapall; /* NULL: it has no such command */
};

struct hostbook {
	struct table hosts, groups; /* to struct hostbook_host; to struct buf */
	struct hostbook_source *sources;
	size_t source_count;
	char *standard; /* the source of groups that name none; NULL */
};

struct hostbook *hostbook_new(void);
void hostbook_free(struct hostbook *b); /* NULL too */

/* NULL: none of that name. "all" is a group of all hosts. An expression for names: "n[1-3],n7,@other". */
const struct hostbook_host *hostbook_find(const struct hostbook *b, const char *name);
const char *hostbook_group(const struct hostbook *b, const char *name);

/* ---- For its readers ------------------------------------------------------------------- */

/* Of one host or of ranges of them. All exit where memory runs out. Names that are none: -EINVAL with a sentence. */
int hostbook_add(struct hostbook *b, const char *group, const char *expression, struct fail *f);
/* The same for a group of a source, whose hosts are not in "all"; "": a group without hosts. */
int hostbook_put(struct hostbook *b, const char *group, const char *expression, struct fail *f);
int hostbook_put_all(struct hostbook *b, const char *group, const char *source, struct fail *f); /* its groups */
void hostbook_forget(struct hostbook *b, const char *group); /* it may not be there */
bool hostbook_is_group(const char *name);
struct hostbook_source *hostbook_add_source(struct hostbook *b, const char *name);
int hostbook_set(struct hostbook *b, const char *hosts, const char *variable, const char *value, struct fail *f);

#endif
