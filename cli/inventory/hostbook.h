/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts and groups as files of other programs have them: Ansible (INI, YAML, the JSON of a script), ClusterShell's
 * groups, Terraform's output and state, Kubernetes' nodes, Slurm's lists of nodes, /etc/hosts. Names are theirs;
 * addresses and keys come along.
 */
#ifndef CLI_INVENTORY_HOSTBOOK_H
#define CLI_INVENTORY_HOSTBOOK_H

#include <stddef.h>

#include "base/fail.h"
#include "base/table.h"

struct hostbook_host {
	char *address, *user, *key_file; /* NULL: not told */
	unsigned port;                   /* 0: not told */
};

struct hostbook {
	struct table hosts, groups; /* to struct hostbook_host; to struct hostbook_group */
};

struct hostbook *hostbook_new(void);
void hostbook_free(struct hostbook *b); /* NULL too */

/* NULL: none of that name. "all" is a group of all hosts. An expression for names: "n[1-3],n7,@other". */
const struct hostbook_host *hostbook_find(const struct hostbook *b, const char *name);
const char *hostbook_group(const struct hostbook *b, const char *name);

/* ---- For its readers ------------------------------------------------------------------- */

/* Of one host or of ranges of them. All exit where memory runs out. Names that are none: -EINVAL with a sentence. */
int hostbook_add(struct hostbook *b, const char *group, const char *expression, struct fail *f);
int hostbook_set(struct hostbook *b, const char *hosts, const char *variable, const char *value, struct fail *f);

#endif
