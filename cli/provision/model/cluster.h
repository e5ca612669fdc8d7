/* SPDX-License-Identifier: Apache-2.0 */
/* What is wanted: the cluster file, checked against its stacks. Which nodes have which roles, and every setting. */
#ifndef CLI_PROVISION_MODEL_CLUSTER_H
#define CLI_PROVISION_MODEL_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/provision/model/pairs.h"
#include "cli/provision/model/stack.h"
#include "pssh/pssh.h"

enum { CLUSTER_USES = 16, CLUSTER_NODES = 4096 };

/* A stack that is wanted. */
struct use {
	struct stack *stack;
	struct pairs
		settings; /* all of the stack's; "disk-mb" as its key is, maps flattened below it: "partitions_gpu_nodes" */
	unsigned char *roles;       /* of each member: bit i is stack->roles[i]; 0: no part of the stack */
};

struct cluster {
	char *name;                 /* letters, digits, '-': it names folders and is a word on the nodes */
	char *from;                 /* what `nodes` said, for people: "reservation r-7f3", "n[1-4]" */
	char **members;             /* as they are reached */
	size_t count;
	struct use uses[CLUSTER_USES];   /* in the order in which they are to be installed; the first is "base" */
	size_t use_count;
};

/* Adds the hosts of one expression ("n[1-4]", "@r-7f3") to the list. 0, or -EINVAL with f set. */
typedef int cluster_expand(void *arg, const char *text, struct pssh_list *into, struct fail *f);

/* Text of a cluster file. folder: of stacks. 0 or -EINVAL with file, line and column in f. */
int cluster_parse(const char *file, const char *text, size_t len, const char *folder, cluster_expand *expand, void *arg,
	struct cluster **out, struct fail *f);
int cluster_read(const char *file, const char *folder, cluster_expand *expand, void *arg, struct cluster **out,
	struct fail *f);
void cluster_free(struct cluster *c);
/* Before something is brought: are the local files and folders there that settings name? -ENOENT with a sentence. */
int cluster_check_files(const struct cluster *c, struct fail *f);
/*
 * What its airgap folder is for: "release", "arch", as its file `bundle` says it. "": there is none, or it does not say; of
 * a release where it has no packages.
 */
void cluster_airgap(const struct cluster *c, const char *key, char *room, size_t size);

/*
 * A cluster file for those stacks on those nodes, with each role and setting as a comment that says what it does; parsed
 * again it gives defaults. set: "slurm.accounting=yes" …, roles: "slurm.controller=n1" or "controller=n1"; end with NULL.
 */
int cluster_write(const char *name, const char *nodes, const char *const *stacks, const char *const *set,
	const char *const *roles, const char *folder, bool comments, struct buf *out, struct fail *f);

struct use *cluster_use(struct cluster *c, const char *stack);
size_t cluster_member(const struct cluster *c, const char *name);   /* (size_t)-1: none */
/* What people type first once it is there, with names in it. 0, or -ENOENT: nothing. */
int cluster_first(const struct cluster *c, const struct use *u, struct buf *out);
bool cluster_has_role(const struct use *u, size_t member, const char *role);

#endif
