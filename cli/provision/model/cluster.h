/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster that a file describes, checked against its stacks: nodes, their roles, and every setting. */
#ifndef CLI_PROVISION_MODEL_CLUSTER_H
#define CLI_PROVISION_MODEL_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/provision/model/pairs.h"
#include "cli/provision/model/stack.h"
#include "pssh/pssh.h"

enum { CLUSTER_USES = 16, CLUSTER_NODES = 4096 };

/* A stack that the file uses. */
struct use {
	struct stack *stack;
	char *broken; /* cluster_parse_known(): why its stack cannot be read, which is then one without steps; NULL */
	/* All settings of the stack: "disk-mb" under its key, maps flattened below theirs: "partitions_gpu_nodes". */
	struct pairs settings;
	unsigned char *roles; /* of each member: bit i is stack->roles[i]; 0: the member has no role in the stack */
};

/* `autoscale` of the file: nodes that are bought and given back as jobs need them (cli/autoscale). */
struct cluster_autoscale {
	bool on;
	long min, max;
	int64_t idle_ms, ahead_ms;   /* given back after so long; bought and extended for so long */
	char *type, *price, *budget; /* as a person types them; never NULL where it is on */
	char *reservation;           /* that the nodes become a part of; NULL: the controller's */
	char *node;                  /* what Slurm is told of a node that can be bought; NULL: what its type promises */
};

struct cluster {
	char *name;                 /* letters, digits, '-': it names folders and is a word on the nodes */
	char *from;                 /* the text of `nodes`, for people: "reservation r-7f3", "n[1-4]" */
	char **members;             /* the names by which SSH reaches them */
	size_t count;
	struct use uses[CLUSTER_USES]; /* in the order of installation; the first is "base" */
	size_t use_count;
	struct cluster_autoscale autoscale;
};

/* Adds the hosts of one expression ("n[1-4]", "@r-7f3") to the list. 0, or -EINVAL with f set. */
typedef int cluster_expand(void *arg, const char *text, struct pssh_list *into, struct fail *f);

/* Text of a cluster file. folder: of stacks. 0 or -EINVAL with file, line and column in f. */
int cluster_parse(const char *file, const char *text, size_t len, const char *folder, cluster_expand *expand, void *arg,
	struct cluster **out, struct fail *f);
/* The same, but for stacks that cannot be read: see `broken`. For what must work all the same, like removing them. */
int cluster_parse_known(const char *file, const char *text, size_t len, const char *folder, cluster_expand *expand,
	void *arg, struct cluster **out, struct fail *f);
int cluster_read(const char *file, const char *folder, cluster_expand *expand, void *arg, struct cluster **out,
	struct fail *f);
void cluster_free(struct cluster *c);
/* Checks before any upload that the local files and folders that settings name exist. -ENOENT with a sentence. */
int cluster_check_files(const struct cluster *c, struct fail *f);
/*
 * Which "release" or "arch" the airgap folder was made for, from its file `bundle`. "" without a folder or without the
 * key; also for "release" if the folder has no packages.
 */
void cluster_airgap(const struct cluster *c, const char *key, char *room, size_t size);

/*
 * Writes a cluster file for those stacks on those nodes. A comment explains each role and setting and shows its
 * default; cluster_parse() reads the defaults from it. set: "slurm.accounting=yes" …; roles: "slurm.controller=n1" or
 * "controller=n1"; both end with NULL.
 */
int cluster_write(const char *name, const char *nodes, const char *const *stacks, const char *const *set,
	const char *const *roles, const char *folder, bool comments, struct buf *out, struct fail *f);

/* A cluster's name from one of the market, with '-' for characters that it may not have; malloc'd. */
char *cluster_plain_name(const char *text);

/* Parts the text of a file NAME.pub: the next line in *rest that is no comment, trimmed; NULL at the end. */
char *cluster_user_line(char **rest);
/* Whether such a line is a public key of SSH. */
bool cluster_user_key(const char *line);
struct use *cluster_use(struct cluster *c, const char *stack);
size_t cluster_member(const struct cluster *c, const char *name);   /* (size_t)-1: none */
/* The first command to type on the finished cluster, names filled in. 0, or -ENOENT without one. */
int cluster_first(const struct cluster *c, const struct use *u, struct buf *out);
bool cluster_has_role(const struct use *u, size_t member, const char *role);

#endif
