/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a provisioned cluster logs: the words that its stacks list under `logs`, pods and jobs, as logs of its members.
 * From what this machine kept of it; which files a job writes is asked in cli/provision/report/joblogs.h.
 */
#ifndef CLI_PROVISION_REPORT_CLUSTERLOGS_H
#define CLI_PROVISION_REPORT_CLUSTERLOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "cli/logs/logsource.h"
#include "cli/provision/model/cluster.h"

/* One log of one member. */
struct clusterlog {
	size_t member;
	enum log_kind kind;
	char *what, *name;      /* name: what it is shown as */
	char *unit;             /* of a file: whose journal is read where it is not there; NULL */
	bool optional;          /* nobody named it: where it is not there nothing is said */
};

struct clusterlogs {
	struct cluster *cluster;
	const struct log_want *want;
	bool *left_out;         /* of each member: nothing of it is wanted */
	struct clusterlog *at;
	size_t count;
};

/* Does this machine keep a cluster of that name? */
bool clusterlogs_known(const char *cluster);

/* 0 or a negative code. */
int clusterlogs_open(const char *cluster, const struct log_want *w, struct clusterlogs **out, struct fail *f);
void clusterlogs_free(struct clusterlogs *c);

/* A row of one of its stacks, "pod/…" or "job/…"; not what every host has: a path, a unit, the journal. */
bool clusterlogs_word(const struct clusterlogs *c, const char *word);

/* Adds all that a word means, of each member that has it; not of jobs. -ENOENT or -EINVAL with a sentence that names the words. */
int clusterlogs_add(struct clusterlogs *c, const char *word, struct fail *f);
void clusterlogs_all(struct clusterlogs *c); /* every row of every stack but "base", whose are those of any machine */
void clusterlogs_failed(struct clusterlogs *c);   /* of every member what tells why something failed */

/* One more; what, unit and name are copied. */
void clusterlogs_put(struct clusterlogs *c, size_t member, enum log_kind kind, const char *what, const char *unit,
	const char *name);

/* The members of the stack that have that role ("all": any), in their order. How many. */
size_t clusterlogs_members(const struct clusterlogs *c, const char *stack, const char *role, size_t *room, size_t size);

/* A step that failed when it was run last; its log is kept here. */
struct clusterlogs_step {
	char *node, *step;      /* step: "STACK.STEP" */
	char *log, *text;       /* log: its file; text: why it failed */
	int64_t us;             /* when it was written last */
};

typedef void clusterlogs_line(void *arg, const struct clusterlogs_step *s, const char *line, size_t len);
int clusterlogs_steps(const char *cluster, long lines, clusterlogs_line *fn, void *arg, struct fail *f);

#endif
