/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One log on one node, read by a command over SSH so that it can be gone on with: what was taken is
 * known by the journal's cursor, or by inode and offset of a file, and the next command begins there.
 */
#ifndef CLI_LOGS_LOGSOURCE_H
#define CLI_LOGS_LOGSOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/logs/logmerge.h"

/* X(name, word) */
#define LOGKINDS(X) \
	X(LOG_CONSOLE, "console")   /* the market has it: not read by this */ \
	X(LOG_JOURNAL, "journal")   /* of systemd; what: a unit, or "" for all */ \
	X(LOG_FILE, "file") \
	X(LOG_COMMAND, "command") \
	X(LOG_POD, "pod")           /* of Kubernetes, by kubectl there; what: "[NAMESPACE/]NAME[:CONTAINER]" */ \
	X(LOG_FAILED, "failed")     /* the journal of those units of systemd that failed */

enum log_kind {
#define LOGKIND_X(name, word) name,
	LOGKINDS(LOGKIND_X)
#undef LOGKIND_X
};

const char *logkind_name(enum log_kind kind);

/* What is wanted of all of them. */
struct log_want {
	bool follow;
	long lines;              /* of what was there already; -1: all */
	int64_t since, until;    /* Unix seconds; 0: not said */
	int priority;            /* of the journal, and of lines that say how bad they are: this and worse; -1: any */
};

struct log_source {
	enum log_kind kind;
	char *what;              /* unit, path, command */
	char *unit;              /* of a file: whose journal is read where the file is not there; NULL */
	bool root;               /* read by sudo where the user is not root and may */
	size_t number;           /* in the merge */
	char *cursor;            /* journal: of the last line that was taken; NULL */
	uint64_t inode, offset;  /* file: of what was taken */
	bool begun, lost;        /* something was taken; a file was rotated away while nobody looked */
	int east;                /* its clock's zone, in seconds */
	int level;               /* of the last line that had a time: those without one belong to it */
	bool out;                /* and whether it was left out */
	int64_t last_us;         /* pod: the time of the last line that was taken, */
	size_t last_count, skip; /* how many lines had it, and how many of them come again now */
	uint64_t left;           /* bytes of the piece that is under way */
	struct buf head, line;   /* not whole yet */
};

/* "journal", "ssh.service", "unit:ssh", "/var/log/x", "~/x", "console": 0, or -EINVAL with the forms. */
int logsource_what(const char *typed, enum log_kind *kind, const char **what, struct fail *f);

void logsource_init(struct log_source *s, enum log_kind kind, char *what, size_t number); /* takes what */
void logsource_release(struct log_source *s);

/* How many last lines are asked of what does not know their times; -1: all. Of those until some time logtail counts the last. */
long logsource_lines(const struct log_want *w);

/* What to run on the node, for the first time or to go on; a new connection's output is fed from its start. 0 or -errno. */
int logsource_command(struct log_source *s, const struct log_want *w, struct buf *out);

/* Does the command want standard input to stay open? It ends when that does. */
bool logsource_holds(const struct log_source *s, const struct log_want *w);

/* Output as it comes; whole lines go into the merge. 0 or -ENOMEM. */
int logsource_feed(struct log_source *s, const struct log_want *w, struct logmerge *m, const char *data, size_t len,
	int64_t now_us);

/* No more comes by this connection. A line without its end counts where the source is not gone on with. */
int logsource_end(struct log_source *s, const struct log_want *w, struct logmerge *m, int64_t now_us);

#endif
