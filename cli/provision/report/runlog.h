/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine saves of a cluster, readable by its owner alone, in ~/.local/state/nanopod/clusters/NAME/:
 * cluster.yaml and members as last applied, journal.jsonl (append-only), and logs/STACK.STEP.NODE.log of each step's
 * last run. No secrets.
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

/* Checks a cluster's name, which is a folder name and a word on nodes: letters, digits and '-'. 0 or -EINVAL. */
int runlog_check_name(const char *cluster, struct fail *f);

/* Creates the folder. -EBUSY if another nanopod of this user works on the same cluster: f has its pid. */
int runlog_open(const char *cluster, struct runlog **out, struct fail *f);
void runlog_close(struct runlog *j); /* NULL too; removes the folder if nothing was saved in it */

int runlog_note(struct runlog *j,
	const struct note *n); /* appends, and syncs after an end; ignores ticks and log lines */
/* Opens and empties the log of a step on a node; room gets its path. A descriptor or -errno. */
int runlog_log(struct runlog *j, const char *stack, const char *step, const char *node, char *room, size_t size);
/* Removes that of a look that went well, where nothing was ever applied: see runlog_close(). */
void runlog_drop_log(const struct runlog *j, const char *path);

/* The file as last applied, and its members. -ENOENT if never applied. */
int runlog_keep(struct runlog *j, const char *text, size_t len, char *const *members, size_t count, struct fail *f);
int runlog_kept(const char *cluster, struct buf *out, struct fail *f);
int runlog_members(const char *cluster, struct buf *out, struct fail *f);    /* a line each */
char **runlog_clusters(void);                                  /* names, sorted; ends with NULL; free each and all */
char *runlog_near(const char *typed);                          /* the name the user may have meant, malloc'd; NULL */
int runlog_forget(struct runlog *j, struct fail *f);           /* deletes the folder, after a complete remove */
int runlog_folder(const char *cluster, char *room, size_t size, struct fail *f);

/* The last action, and how it ended. */
struct journal_run {
	char verb[24];
	char time[40]; /* as in the journal */
	int status;
};
int runlog_ran(struct runlog *j, const char *verb, int status);
bool runlog_last(const char *cluster, struct journal_run *out);

#endif
