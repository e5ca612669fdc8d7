/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine keeps of a cluster, readable by its owner alone: ~/.local/state/nanopod/clusters/NAME/ with
 * cluster.yaml (as it was applied last), members (as they were then), journal.jsonl (only ever appended to) and
 * logs/STACK.STEP.NODE.log of the last run of each step. Never a secret.
 */
#ifndef CLI_PROVISION_REPORT_RUNLOG_H
#define CLI_PROVISION_REPORT_RUNLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

struct runlog;
struct note;

/* Letters, digits and '-': it is a folder's name and a word on the nodes. 0 or -EINVAL. */
int runlog_check_name(const char *cluster, struct fail *f);

/* Makes the folder. -EBUSY where another nanopod of this person works on the same cluster: f says its pid. */
int runlog_open(const char *cluster, struct runlog **out, struct fail *f);
void runlog_close(struct runlog *j); /* NULL too; takes the folder away again where nothing was kept in it */

int runlog_note(struct runlog *j,
	const struct note *n); /* appended; synced where it is an end. Ticks and log lines are not kept */
/* The log of a step on a node: emptied; its path is in room. A descriptor or -errno. */
int runlog_log(struct runlog *j, const char *stack, const char *step, const char *node, char *room, size_t size);

/* The file as it was applied last, and who the members were. -ENOENT where it never was. */
int runlog_keep(struct runlog *j, const char *text, size_t len, char *const *members, size_t count, struct fail *f);
int runlog_kept(const char *cluster, struct buf *out, struct fail *f);
int runlog_members(const char *cluster, struct buf *out, struct fail *f);    /* a line each */
char **runlog_clusters(void);                                  /* names, sorted; ends with NULL; free each and all */
char *runlog_near(const char *typed);                          /* the one that may have been meant, malloc'd; NULL */
int runlog_forget(struct runlog *j, struct fail *f);          /* the folder goes, after a whole remove */
int runlog_folder(const char *cluster, char *room, size_t size, struct fail *f);

/* What was done last, and how that ended. */
struct journal_run {
	char verb[24];
	char time[40];      /* as the journal has it */
	int status;
};
int runlog_ran(struct runlog *j, const char *verb, int status);
bool runlog_last(const char *cluster, struct journal_run *out);

#endif
