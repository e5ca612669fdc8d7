/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the logs of a provisioned cluster's members: the words that its stacks list under `logs`, pods, and jobs. It
 * uses the kept cluster file; cli/provision/report/joblogs.h asks the nodes which files a job writes.
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
	char *what, *name; /* name: shown to people */
	char *unit;        /* for a file: the unit whose journal replaces a missing file; NULL */
	bool optional;     /* nobody named it: if it does not exist, that is no error */
};

struct clusterlogs {
	struct cluster *cluster;
	const struct log_want *want;
	bool *left_out; /* of each member: skip its logs */
	struct clusterlog *at;
	size_t count;
};

/* Whether this machine keeps a cluster of that name. */
bool clusterlogs_known(const char *cluster);

/* 0 or a negative code. */
int clusterlogs_open(const char *cluster, const struct log_want *w, struct clusterlogs **out, struct fail *f);
void clusterlogs_free(struct clusterlogs *c);

/*
 * Whether it is a word of one of its stacks, "pod/…" or "job/…"; false for what every host has: a path, a unit, the
 * journal.
 */
bool clusterlogs_word(const struct clusterlogs *c, const char *word);

/*
 * Adds the logs of a word on each member that has it, but no jobs. -ENOENT or -EINVAL with a sentence that lists the
 * words.
 */
int clusterlogs_add(struct clusterlogs *c, const char *word, struct fail *f);
void clusterlogs_all(struct clusterlogs *c); /* all words of all stacks except "base", which has those of any machine */
void clusterlogs_failed(struct clusterlogs *c); /* of every member the logs that explain a failure */

/* Adds one; what, unit and name are copied. */
void clusterlogs_put(struct clusterlogs *c, size_t member, enum log_kind kind, const char *what, const char *unit,
	const char *name);

/* Fills in the members with that role of the stack ("all": any role), in their order, and returns how many. */
size_t clusterlogs_members(const struct clusterlogs *c, const char *stack, const char *role, size_t *room, size_t size);

/* A step whose last run failed, and its log on this machine. */
struct clusterlogs_step {
	char *node, *step;      /* step: "STACK.STEP" */
	char *log, *text;       /* log: its file; text: why it failed */
	int64_t us;             /* time of the last write */
};

typedef void clusterlogs_line(void *arg, const struct clusterlogs_step *s, const char *line, size_t len);
int clusterlogs_steps(const char *cluster, long lines, clusterlogs_line *fn, void *arg, struct fail *f);

#endif
